//! Properties of the dialects: what was written reads as it was, and no document makes a reader panic.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

use alloquy_core::message::{ChannelText, Malformed, ToolCall, ToolResult};
use alloquy_core::{Content, Media, Message, Part, Role, ToolSpec};
use alloquy_formats::messages::{self, Dialect, MediaRules, Transcript};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::{option, sample};
use serde_json::{Map, Value, json};

/// Names that mean something to one dialect or another, so that they meet where they do harm.
const NAMES: [&str; 42] = [
    "role",
    "content",
    "name",
    "parts",
    "text",
    "type",
    "image",
    "audio",
    "video",
    "path",
    "blob",
    "url",
    "image_url",
    "input_audio",
    "data",
    "format",
    "tool_calls",
    "function",
    "arguments",
    "id",
    "tool_call_id",
    "tool_response",
    "response",
    "value",
    "tool_name",
    "channels",
    "thought",
    "reasoning",
    "refusal",
    "openai_role",
    "functionCall",
    "functionResponse",
    "inlineData",
    "mimeType",
    "args",
    "contents",
    "messages",
    "tools",
    "systemInstruction",
    "is_error",
    "from",
    "error",
];
const WORDS: [&str; 22] = [
    "",
    "x",
    "{}",
    "{\"a\":1}",
    "[1]",
    "1",
    "null",
    "\u{2028}é\0",
    "<|im_start|>",
    "<|im_end|>\n",
    "user",
    "assistant",
    "model",
    "tool",
    "system",
    "developer",
    "function",
    "text",
    "tool_response",
    "data:image/png;base64,AAAA",
    "audio/wav",
    "image_url",
];

fn word() -> impl Strategy<Value = String> {
    prop_oneof![3 => sample::select(&WORDS[..]).prop_map(str::to_owned), 1 => any::<String>()]
}

/// Text that ChatML can hold.
fn plain() -> impl Strategy<Value = String> {
    any::<String>().prop_filter("no marker", |text| !text.contains("<|im_"))
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![sample::select(&NAMES[..]).prop_map(str::to_owned), "[a-z]{1,3}"]
}

fn number() -> impl Strategy<Value = Value> {
    let float = prop_oneof![any::<f64>(), -10.0..10.0].prop_filter("finite", |number| number.is_finite());
    prop_oneof![
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        float.prop_map(Value::from)
    ]
}

fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        number(),
        word().prop_map(Value::from)
    ];
    leaf.prop_recursive(5, 48, 5, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            vec((name(), inner), 0..5).prop_map(|fields| Value::Object(fields.into_iter().collect()))
        ]
    })
}

fn object() -> impl Strategy<Value = Value> {
    vec((name(), json()), 0..3).prop_map(|fields| Value::Object(fields.into_iter().collect()))
}

/// Something that is nearly a message of one dialect or another.
fn nearly_a_message() -> impl Strategy<Value = Value> {
    let roles = ["system", "developer", "user", "assistant", "model", "tool", "function"];
    let types = ["text", "image", "audio", "image_url", "tool_response", "refusal"];
    let item = (
        option::weighted(0.7, sample::select(types.to_vec()).prop_map(str::to_owned)),
        option::of(word()),
        object(),
    )
        .prop_map(|(kind, text, item)| {
            let named =
                [("type", kind), ("text", text)].into_iter().filter_map(|(name, value)| Some((name, value?)));
            merged(named.map(|(name, value)| (name.to_owned(), value.into())).collect(), item)
        });
    let content = prop_oneof![word().prop_map(Value::from), vec(item, 0..3).prop_map(Value::from), json()];
    (
        sample::select(roles.to_vec()),
        option::weighted(0.9, content),
        option::of("[a-c]"),
        option::of(object()),
    )
        .prop_map(|(role, content, call, more)| {
            let mut message = Map::from_iter([("role".to_owned(), role.into())]);
            message.extend(content.map(|content| ("content".to_owned(), content)));
            message.extend(
                call.map(|id| ("tool_calls".to_owned(), json!([{"id": id, "function": {"name": "f"}}]))),
            );
            merged(message, more.unwrap_or_else(|| json!({})))
        })
}

fn merged(mut first: Map<String, Value>, second: Value) -> Value {
    let Value::Object(second) = second else { return first.into() };
    for (name, value) in second {
        first.entry(name).or_insert(value);
    }
    first.into()
}

/// Fields that no dialect has itself.
fn extra() -> impl Strategy<Value = Map<String, Value>> {
    vec(("x[a-z]{0,2}", json()), 0..3).prop_map(|fields| fields.into_iter().collect())
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let known = [&b"\x89PNG\r\n\x1a\n"[..], b"RIFF....WAVE", b"ID3", b"OggS", b"GIF89a"].map(<[u8]>::to_vec);
    prop_oneof![vec(any::<u8>(), 1..20), sample::select(known.to_vec())]
}

fn media(types: &'static [&'static str]) -> impl Strategy<Value = Media> {
    (sample::select(types), bytes()).prop_map(|(media_type, bytes)| Media::new(media_type, bytes))
}

fn image() -> impl Strategy<Value = Content> {
    media(&["image/png", "image/svg+xml", "image/jpeg"]).prop_map(Content::Image)
}

fn audio() -> impl Strategy<Value = Content> {
    media(&["audio/wav", "audio/mpeg", "audio/ogg"]).prop_map(Content::Audio)
}

fn video() -> impl Strategy<Value = Content> {
    media(&["video/mp4", "video/webm"]).prop_map(|media| Content::Video(vec![media]))
}

fn text() -> impl Strategy<Value = Content> {
    word().prop_map(Content::Text)
}

fn thinking() -> impl Strategy<Value = Content> {
    word().prop_map(Content::Thinking)
}

/// Channels, each of a name of its own.
fn channels() -> impl Strategy<Value = Vec<Content>> {
    btree_map("[k-m]{1,2}", word(), 0..3).prop_map(|channels| {
        channels.into_iter().map(|(name, text)| Content::Channel(ChannelText { name, text })).collect()
    })
}

/// Puts channels after the thinking block.
fn with_channels((mut parts, channels): (Vec<Part>, Vec<Content>)) -> Vec<Part> {
    let thought = matches!(parts.first(), Some(Part { content: Content::Thinking(_), .. }));
    let start = usize::from(thought);
    parts.splice(start..start, channels.into_iter().map(Part::from));
    parts
}

fn call(arguments: impl Strategy<Value = Value>) -> impl Strategy<Value = Content> {
    ("[a-c]", "[f-h]", arguments)
        .prop_map(|(id, name, arguments)| Content::ToolCall(ToolCall::new(id, name, arguments)))
}

fn result(content: impl Strategy<Value = Value>) -> impl Strategy<Value = Content> {
    ("[a-c]", "[f-h]?", content, any::<bool>()).prop_map(|(id, name, content, is_error)| {
        let mut result = ToolResult::new(id, name, content);
        result.is_error = is_error;
        Content::ToolResult(result)
    })
}

fn malformed() -> impl Strategy<Value = Content> {
    (word(), word()).prop_map(|(raw, reason)| Content::Malformed(Malformed { raw, reason }))
}

/// Parts with further fields, some of them inside the object that a dialect has within a part's.
fn with_further(
    part: impl Strategy<Value = Content>,
    inner: fn(&Content) -> Option<&'static str>,
) -> impl Strategy<Value = Part> {
    (part, option::weighted(0.3, extra()), option::weighted(0.3, extra())).prop_map(
        move |(content, beside, inside)| {
            let mut extra = beside.unwrap_or_default();
            let inside = inside.filter(|inside| !inside.is_empty());
            if let Some((name, inside)) = inner(&content).zip(inside) {
                extra.insert(name.to_owned(), inside.into());
            }
            Part { extra, ..Part::from(content) }
        },
    )
}

fn inner_of_litert(part: &Content) -> Option<&'static str> {
    match part {
        Content::ToolCall(_) => Some("function"),
        Content::ToolResult(result) if result.content.is_object() => Some("tool_response"),
        _ => None,
    }
}

fn inner_of_openai(part: &Content) -> Option<&'static str> {
    match part {
        Content::Image(_) => Some("image_url"),
        Content::Audio(_) => Some("input_audio"),
        Content::Video(_) => Some("video_url"),
        Content::ToolCall(_) => Some("function"),
        _ => None,
    }
}

fn inner_of_gemini(part: &Content) -> Option<&'static str> {
    match part {
        Content::Image(_) | Content::Audio(_) | Content::Video(_) => Some("inlineData"),
        Content::ToolCall(_) => Some("functionCall"),
        Content::ToolResult(_) => Some("functionResponse"),
        _ => None,
    }
}

fn spoken() -> impl Strategy<Value = Role> {
    sample::select(vec![Role::System, Role::User, Role::Assistant])
}

/// A thinking block, content, calls: the order of the dialects that have a field for each.
fn laid_out(
    content: impl Strategy<Value = Content>,
    calls: impl Strategy<Value = Content>,
    inner: fn(&Content) -> Option<&'static str>,
) -> impl Strategy<Value = Vec<Part>> {
    let thought = option::of(thinking().prop_map(Part::from));
    (thought, vec(with_further(content, inner), 0..4), vec(with_further(calls, inner), 0..3))
        .prop_map(|(thought, content, calls)| thought.into_iter().chain(content).chain(calls).collect())
}

fn message(
    role: impl Strategy<Value = Role>,
    parts: impl Strategy<Value = Vec<Part>>,
) -> impl Strategy<Value = Message> {
    (role, parts, option::of(word()), extra()).prop_map(|(role, parts, name, extra)| Message {
        role,
        parts,
        name,
        extra,
    })
}

fn tool() -> impl Strategy<Value = ToolSpec> {
    (word(), word(), prop_oneof![Just(Value::Null), object()], extra())
        .prop_map(|(name, description, parameters, extra)| ToolSpec { name, description, parameters, extra })
}

fn transcript(message: impl Strategy<Value = Message>) -> impl Strategy<Value = Transcript> {
    (vec(message, 0..5), vec(tool(), 0..3), extra()).prop_map(|(messages, tools, extra)| Transcript {
        messages,
        tools,
        extra,
    })
}

fn litert() -> impl Strategy<Value = Transcript> {
    let content = prop_oneof![text(), image(), audio(), malformed(), result(json())];
    let answers = vec(with_further(prop_oneof![result(json()), image()], inner_of_litert), 0..4);
    let laid_out = (laid_out(content, call(json()), inner_of_litert), channels()).prop_map(with_channels);
    let said = message(spoken(), laid_out);
    transcript(prop_oneof![said, message(Just(Role::Tool), answers)])
}

fn openai() -> impl Strategy<Value = Transcript> {
    let developer = |mut message: Message| {
        message.extra.insert("openai_role".into(), "developer".into());
        message
    };
    let refusal = |(text, further): (String, Map<String, Value>)| {
        let mut message = Message::assistant(text);
        message.parts[0].extra = further;
        message.extra.insert("refusal".into(), true.into());
        message
    };
    let content = prop_oneof![text(), image(), audio(), video()];
    let arguments = prop_oneof![object(), Just(json!("{")), Just(json!([1])), Just(Value::Null)];
    let answer = with_further(result(word().prop_map(Value::from)), inner_of_openai).boxed();
    let answers = vec(answer.clone(), 1..4).prop_map(|parts| Message::new(Role::Tool, parts));
    let message = prop_oneof![
        4 => message(spoken(), laid_out(content, call(arguments), inner_of_openai)),
        1 => message(Just(Role::System), vec(with_further(text(), inner_of_openai), 0..2)).prop_map(developer),
        1 => (word(), extra()).prop_map(refusal),
        1 => answers,
        1 => (answer, extra())
            .prop_map(|(part, extra)| Message { extra, ..Message::new(Role::Tool, vec![part]) }),
    ];
    transcript(message).prop_filter("answers in a row are one message", |made| {
        *made == as_written(Dialect::OpenAi, made.clone())
    })
}

fn gemini() -> impl Strategy<Value = Transcript> {
    let part = prop_oneof![text(), thinking(), image(), audio(), video(), call(object())];
    let said = message(
        sample::select(vec![Role::User, Role::Assistant]),
        vec(with_further(part, inner_of_gemini), 0..4),
    );
    let wrapped = (sample::select(vec!["output", "error"]), json(), object())
        .prop_map(|(key, value, more)| merged(Map::from_iter([(key.to_owned(), value)]), more));
    let answer = with_further(result(prop_oneof![json(), wrapped]), inner_of_gemini);
    let answers = message(Just(Role::Tool), vec(answer, 1..4));
    let first = option::of(message(Just(Role::System), vec(with_further(text(), inner_of_gemini), 0..2)));
    (first, transcript(prop_oneof![said, answers])).prop_map(|(first, mut transcript)| {
        transcript.messages.splice(0..0, first);
        transcript
    })
}

fn aki() -> impl Strategy<Value = Transcript> {
    let content = prop_oneof![text(), image(), audio(), video()];
    vec(message(spoken(), vec(with_further(content, |_| None), 0..4)), 0..5).prop_map(Transcript::new)
}

fn chatml() -> impl Strategy<Value = Transcript> {
    let name = option::of(plain().prop_filter("one line", |name| !name.contains(['\n', '\r'])));
    let message = (sample::select(&Role::ALL[..]), plain(), name)
        .prop_map(|(role, text, name)| Message { name, ..Message::new(role, vec![Content::Text(text)]) });
    vec(message, 0..5).prop_map(Transcript::new)
}

/// Any transcript at all, most of which a dialect cannot express.
fn wild() -> impl Strategy<Value = Transcript> {
    let odd = media(&["image/png", "audio/mp3", "application/pdf", "video/mp4"]).boxed();
    let odd = prop_oneof![
        odd.clone().prop_map(Content::Image),
        odd.clone().prop_map(Content::Audio),
        vec(odd, 0..3).prop_map(Content::Video)
    ];
    let part = prop_oneof![4 => text(), 1 => thinking(), 1 => odd, 1 => call(json()), 2 => result(json()), 1 => malformed()];
    let fields =
        vec((name(), json()), 0..2).prop_map(|fields| fields.into_iter().collect::<Map<_, _>>()).boxed();
    let part = (part, option::weighted(0.3, fields.clone()))
        .prop_map(|(content, extra)| Part { extra: extra.unwrap_or_default(), ..Part::from(content) });
    let message = (sample::select(&Role::ALL[..]), vec(part, 0..3), fields)
        .prop_map(|(role, parts, extra)| Message { extra, ..Message::new(role, parts) });
    vec(message, 0..3).prop_map(Transcript::new)
}

/// What a transcript is to a dialect that says less than it does, as `docs/message-formats.md` lists it.
fn as_written(dialect: Dialect, mut transcript: Transcript) -> Transcript {
    match dialect {
        Dialect::OpenAi => transcript.messages = answers_joined(transcript.messages),
        Dialect::Aki | Dialect::ChatMl => transcript.messages.iter_mut().for_each(forget_developer),
        _ => {}
    }
    transcript
}

fn forget_developer(message: &mut Message) {
    if message.role == Role::System
        && message.extra.get("openai_role").is_some_and(|role| role == "developer")
    {
        message.extra.shift_remove("openai_role");
    }
}

fn answers_joined(messages: Vec<Message>) -> Vec<Message> {
    let mut joined: Vec<Message> = Vec::new();
    for mut message in messages {
        let joins = |message: &Message| message.role == Role::Tool && message.extra.is_empty();
        for part in &mut message.parts {
            if let Content::ToolResult(result) = &mut part.content {
                result.content = result.text().into();
            }
        }
        match joined.last_mut().filter(|last| joins(last) && joins(&message)) {
            Some(last) => last.parts.append(&mut message.parts),
            None => joined.push(message),
        }
    }
    joined
}

/// Equality that also looks at the types of media, which are equal when their bytes are.
fn assert_same(one: &Transcript, other: &Transcript) {
    assert_eq!(one, other);
    let [one, other] = [one, other].map(|transcript| serde_json::to_string(&transcript.messages).unwrap());
    assert_eq!(one.len(), other.len(), "{one}\n{other}");
}

fn assert_round_trip(dialect: Dialect, transcript: &Transcript) {
    let rules = MediaRules::default();
    let written = messages::write(dialect, transcript).unwrap();
    assert_same(&messages::read(dialect, &written, &rules).unwrap(), transcript);
    let text = messages::write_text(dialect, transcript).unwrap();
    assert_same(&messages::read_text(dialect, &text, &rules).unwrap(), transcript);
}

proptest! {
    #[test]
    fn litert_round_trips(transcript in litert()) {
        assert_round_trip(Dialect::LiteRt, &transcript);
    }

    #[test]
    fn openai_round_trips(transcript in openai()) {
        assert_round_trip(Dialect::OpenAi, &transcript);
    }

    #[test]
    fn gemini_round_trips(transcript in gemini()) {
        assert_round_trip(Dialect::Gemini, &transcript);
    }

    #[test]
    fn aki_round_trips(transcript in aki()) {
        assert_round_trip(Dialect::Aki, &transcript);
    }

    #[test]
    fn chatml_round_trips(transcript in chatml()) {
        assert_round_trip(Dialect::ChatMl, &transcript);
    }

    #[test]
    fn what_is_written_reads_as_it_was(transcript in wild()) {
        for dialect in Dialect::ALL {
            let Ok(written) = messages::write(dialect, &transcript) else { continue };
            let again = messages::read(dialect, &written, &MediaRules::default()).unwrap();
            assert_eq!(again, as_written(dialect, transcript.clone()), "{dialect}: {written}");
        }
    }

    #[test]
    fn any_document_reads_or_says_why(document in json(), messages in vec(nearly_a_message(), 0..3)) {
        for dialect in Dialect::ALL {
            for document in [&document, &Value::from(messages.clone())] {
                let Ok(transcript) = messages::read(dialect, document, &MediaRules::default()) else { continue };
                let Ok(written) = messages::write(dialect, &transcript) else { continue };
                let again = messages::read(dialect, &written, &MediaRules::default()).unwrap();
                assert_eq!(again, as_written(dialect, transcript), "{dialect}: {written}");
            }
        }
    }

    #[test]
    fn any_text_is_chatml_or_says_why(pieces in vec(sample::select(&["<|im_start|>", "<|im_end|>", "\n", "user", " name=", "x"][..]), 0..12)) {
        let text = pieces.concat();
        if let Ok(transcript) = messages::read_text(Dialect::ChatMl, &text, &MediaRules::default()) {
            let written = messages::write_text(Dialect::ChatMl, &transcript).unwrap();
            assert_eq!(written.trim_end_matches('\n'), text.trim_end_matches('\n'));
        }
    }
}
