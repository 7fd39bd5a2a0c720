//! Redaction while a reply streams: any pieces give what the whole text gives, and nothing that is removed is visible.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use alloquy_core::message::{ChannelText, Malformed, ToolCall, ToolResult};
use alloquy_core::middleware::{Middleware, Next};
use alloquy_core::processor::ToolCallDelta;
use alloquy_core::report::{CacheReport, Warning};
use alloquy_core::{
    ChatModel, Content, Delta, Error, ErrorKind, Message, Preface, Reply, ReplyStream, Request, Result, Role,
};
use alloquy_guards::redact::{
    Blocks, Pattern, RedactHistory, RedactReplies, Redactor, ScanFinding, ScanReplies, Scanner, Strategy,
    recognizers,
};
use alloquy_testing::{join_deltas, laws};
use futures::StreamExt;
use pollster::block_on;
use proptest::prelude::*;
use serde_json::json;

/// Patterns with borders of words and lines, choices, checks and lengths of all kinds.
fn redactor() -> Redactor {
    static ALL: LazyLock<Redactor> = LazyLock::new(compiled);
    ALL.clone()
}

fn compiled() -> Redactor {
    let mut patterns = vec![
        Pattern::new("mail", r"\b[a-z0-9.]{1,20}@[a-z0-9]{1,10}\.[a-z]{2,4}\b"),
        Pattern::new("ssn", r"\b\d{3}-\d{2}-\d{4}\b"),
        Pattern::new("sk", r"sk-[A-Za-z0-9]{4,32}"),
        Pattern::new("line", r"(?m)^secret: .{1,8}$"),
        Pattern::new("ss", "ß{2,3}"),
        Pattern::new("choice", "1c|1cab|b1b?"),
        Pattern::new("start", r"\Aa\.c"),
    ];
    patterns.extend([recognizers::card(), recognizers::email(), recognizers::phone(), recognizers::iban()]);
    Redactor::new(patterns).unwrap()
}

fn texts() -> impl proptest::strategy::Strategy<Value = String> {
    proptest::string::string_regex(
        "((a|b1|1c|@|\\.com|\\.c| |-|1|123-45-6789|sk-|AbC9|ß|secret: |\n|日|me@x\\.org|4111 1111 1111 1111|4111|\\+49 30|DE89 3704 0044 0532 0130 00){0,24})",
    )
    .unwrap()
}

/// The cases of a debug build, of a release build, or as many as `PROPTEST_CASES` says.
fn cases() -> ProptestConfig {
    let mut config = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    if std::env::var_os("PROPTEST_CASES").is_none() {
        config.cases = if cfg!(debug_assertions) { 1_500 } else { 200_000 };
    }
    config
}

/// Cuts a text at places, which move to the next border of a character.
fn cut(text: &str, cuts: &[usize]) -> Vec<String> {
    let mut places: Vec<_> = cuts.iter().map(|cut| text.ceil_char_boundary(cut % (text.len() + 1))).collect();
    places.extend([0, text.len()]);
    places.sort_unstable();
    places.windows(2).map(|pair| text[pair[0]..pair[1]].to_owned()).collect()
}

/// Patterns without a check, each with its replacement, for the reference.
const SIMPLE: [(&str, &str); 6] = [
    ("mail", r"\b[a-z0-9.]{1,20}@[a-z0-9]{1,10}\.[a-z]{2,4}\b"),
    ("ssn", r"\b\d{3}-\d{2}-\d{4}\b"),
    ("sk", r"sk-[A-Za-z0-9]{4,32}"),
    ("line", r"(?m)^secret: .{1,8}$"),
    ("ss", "ß{2,3}"),
    ("choice", "1c|1cab|b1b?"),
];

/// Knows no pieces: reads the text once, from its beginning, by patterns of one match each.
fn reference(text: &str) -> String {
    static PATTERNS: LazyLock<Vec<(String, regex::Regex)>> = LazyLock::new(|| {
        SIMPLE.iter().map(|(name, regex)| (format!("[{name}]"), regex::Regex::new(regex).unwrap())).collect()
    });
    let mut shown = String::new();
    let mut from = 0;
    loop {
        let mut first: Option<(usize, usize, &str)> = None;
        for (instead, regex) in &*PATTERNS {
            if let Some(found) = regex.find_at(text, from)
                && first.is_none_or(|(start, ..)| found.start() < start)
            {
                first = Some((found.start(), found.end(), instead));
            }
        }
        let Some((start, end, instead)) = first else { break };
        shown += &text[from..start];
        shown += instead;
        from = end;
    }
    shown + &text[from..]
}

fn simple() -> Redactor {
    static ALL: LazyLock<Redactor> = LazyLock::new(|| {
        Redactor::new(SIMPLE.iter().map(|(name, regex)| Pattern::new(*name, *regex))).unwrap()
    });
    ALL.clone()
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn the_whole_text_is_redacted_as_by_the_reference(text in texts()) {
        prop_assert_eq!(simple().redact(&text).unwrap(), reference(&text));
    }

    #[test]
    fn any_pieces_give_what_the_whole_gives(
        text in texts(),
        cuts in proptest::collection::vec(0_usize..4000, 0..12),
    ) {
        let redactor = redactor();
        let expected = redactor.redact(&text).unwrap();
        let mut stream = redactor.stream();
        let mut shown = String::new();
        let mut read = 0;
        for piece in cut(&text, &cuts) {
            read += piece.len();
            shown += &stream.push(&piece).unwrap();
            prop_assert!(expected.starts_with(&shown), "{:?} is no beginning of {:?}", shown, expected);
            // What the text so far would show without its last bytes is shown.
            let held = read.saturating_sub(redactor.longest() + 4);
            let old = redactor.redact(&text[..text.floor_char_boundary(held)]).unwrap();
            prop_assert!(shown.len() + redactor.longest() + 4 + 16 >= old.len());
        }
        shown += &stream.finish().unwrap();
        prop_assert_eq!(shown, expected);
    }

    #[test]
    fn kinds_of_text_that_interrupt_each_other_are_redacted_each_as_a_whole(
        pieces in proptest::collection::vec((0_usize..5, texts()), 0..8),
        cuts in proptest::collection::vec(0_usize..4000, 0..6),
    ) {
        let mut deltas = Vec::new();
        for (kind, text) in &pieces {
            for piece in cut(text, &cuts) {
                deltas.push(delta(*kind, piece));
            }
        }
        let redactor = redactor();
        let guard = RedactReplies::new(redactor.clone());
        let (shown, reply) = streamed(&guard, deltas.clone()).unwrap();
        prop_assert_eq!(join_deltas(&shown), reply.message.parts.clone());
        for kind in 0..4 {
            let whole = redactor.redact(&text_of(&join_deltas(&deltas), kind)).unwrap();
            prop_assert_eq!(text_of(&join_deltas(&shown), kind), whole);
        }
        let was_changed = join_deltas(&deltas) != reply.message.parts;
        prop_assert_eq!(reply.facts.contains_key("alloquy.redaction"), was_changed);
        if was_changed {
            prop_assert!(reply.tokens.is_empty() && reply.logprobs.is_empty());
        } else {
            prop_assert_eq!(reply.tokens, vec![1, 2, 3]);
        }
        let (separate, reply) = streamed(&guard.blocks(Blocks::Separate), deltas.clone()).unwrap();
        prop_assert_eq!(join_deltas(&separate), reply.message.parts.clone());
        prop_assert_eq!(text_of(&join_deltas(&separate), 0), text_of(&join_deltas(&shown), 0));
    }
}

fn delta(kind: usize, text: String) -> Delta {
    match kind {
        0 => Delta::Text(text),
        1 => Delta::Thinking(text),
        2 => Delta::Channel(ChannelText::new("joke", text)),
        3 => Delta::Channel(ChannelText::new("note", text)),
        _ => Delta::ToolCall(ToolCall::new("call_1", "note", json!({"text": text}))),
    }
}

fn text_of(parts: &[Content], kind: usize) -> String {
    let mut all = String::new();
    for part in parts {
        match (kind, part) {
            (0, Content::Text(text)) | (1, Content::Thinking(text)) => all += text,
            (2, Content::Channel(said)) if said.name == "joke" => all += &said.text,
            (3, Content::Channel(said)) if said.name == "note" => all += &said.text,
            _ => {}
        }
    }
    all
}

/// A model that sends these deltas.
#[derive(Clone, Debug)]
struct Sends(Vec<Delta>);

#[async_trait::async_trait]
impl ChatModel for Sends {
    fn name(&self) -> &str {
        "sends"
    }

    async fn reply(&self, _: Request) -> Result<ReplyStream> {
        let deltas = self.0.clone();
        Ok(ReplyStream::new(|mut emit| async move {
            emit.send_all(deltas.clone()).await;
            let mut reply = Reply::new(Message::new(Role::Assistant, join_deltas(&deltas)));
            reply.tokens = vec![1, 2, 3];
            Ok(reply)
        }))
    }

    async fn warm(&self, _: Request) -> Result<Option<CacheReport>> {
        Ok(None)
    }
}

fn streamed(guard: &RedactReplies, deltas: Vec<Delta>) -> Result<(Vec<Delta>, Reply)> {
    let model = Sends(deltas);
    let stack: [Arc<dyn Middleware>; 1] = [Arc::new(guard.clone())];
    block_on(async {
        let mut stream = Next::new(&stack, &model).call(request()).await?;
        let mut shown = Vec::new();
        while let Some(delta) = stream.next().await {
            shown.push(delta);
        }
        Ok((shown, stream.finish().await?))
    })
}

fn request() -> Request {
    Request::new(Preface::default(), vec![Message::user("Tell me.")])
}

#[test]
fn every_two_cuts_of_fixtures() {
    let redactor = Redactor::named(["email", "card", "iban", "key", "phone"]).unwrap();
    let fixtures = [
        ("Write ann@example.org or +49 30 901820.", "Write [email] or [phone]."),
        ("4111 1111 1111 1111, 12/29", "[card], 12/29"),
        ("DE89 3704 0044 0532 0130 00 and me", "[iban] and me"),
        ("KEY=sk-aB3dE6gH9aB3dE6gH9aB; x", "KEY=[key]; x"),
        ("o'neil@b.example.co.uk\nbye", "[email]\nbye"),
        ("4111111111111112 is none", "4111111111111112 is none"),
        ("ßé日 a@b.io ßé日", "ßé日 [email] ßé日"),
    ];
    for (text, expected) in fixtures {
        for first in (0..=text.len()).filter(|place| text.is_char_boundary(*place)) {
            for second in (first..=text.len()).filter(|place| text.is_char_boundary(*place)) {
                let mut stream = redactor.stream();
                let mut shown = String::new();
                for piece in [&text[..first], &text[first..second], &text[second..]] {
                    shown += &stream.push(piece).unwrap();
                    assert!(expected.starts_with(&shown), "{shown:?} of {text:?} at {first}, {second}");
                }
                assert_eq!(shown + &stream.finish().unwrap(), expected, "{text:?} at {first}, {second}");
            }
        }
    }
}

#[test]
fn a_stream_holds_back_only_what_may_become_a_match() {
    let mut stream = Redactor::named(["email", "card", "iban", "key", "phone"]).unwrap().stream();
    assert_eq!(
        stream.push("Hello, this is a text. It has, of course, ").unwrap(),
        "Hello, this is a text. It has, of course, "
    );
    assert_eq!(stream.push("an address: ann").unwrap(), "an address: ");
    assert_eq!(stream.push("@example.org!").unwrap(), "[email]!");
}

/// A reply with a secret in each place where text can be.
fn reply_with_secrets() -> (Reply, Vec<&'static str>) {
    let secret = "sk-aB3dE6gH9aB3dE6gH9aB";
    let call = ToolCall::new(
        format!("call_{secret}"),
        "note",
        json!({"text": format!("the key {secret}"), "n": 4111111111111111_u64, (secret): [secret]}),
    );
    let parts = vec![
        Content::Thinking("The address is ann@example.org. So".to_owned()),
        Content::Text("Write to ann@exa".to_owned()),
        Content::Channel(ChannelText::new("joke", format!("{secret}!"))),
        Content::Text("mple.org".to_owned()),
        Content::Text(" soon.".to_owned()),
        Content::ToolCall(call),
        Content::Malformed(Malformed { raw: format!("<call>{secret}"), reason: format!("at {secret}") }),
    ];
    // The fourth and fifth part are one in a reply that deltas join to.
    let mut joined = Vec::new();
    for part in parts {
        match (joined.last_mut(), part) {
            (Some(Content::Text(text)), Content::Text(more)) => text.push_str(&more),
            (_, part) => joined.push(part),
        }
    }
    let mut reply = Reply::new(Message::new(Role::Assistant, joined));
    reply.stop_string = Some(secret.to_owned());
    reply.warnings = vec![Warning::UnwantedCall { marker: secret.to_owned() }];
    reply.facts.insert("other".to_owned(), json!({"text": secret}));
    let secrets = vec![secret, "sk-aB3d", "ann@exa", "mple.org", "4111111111111111"];
    (reply, secrets)
}

#[test]
fn nothing_removed_is_visible_wherever_the_turn_is_dropped() {
    let (reply, secrets) = reply_with_secrets();
    for blocks in [Blocks::Joined, Blocks::Separate] {
        let redactor = Redactor::named(["email", "card", "key"]).unwrap();
        let guard: Arc<dyn Middleware> = Arc::new(RedactReplies::new(redactor).blocks(blocks));
        block_on(laws::middleware::all(&guard, &request(), &reply));
        block_on(laws::middleware::nothing_removed_is_visible(&guard, &reply, &secrets));
    }
}

#[test]
fn a_blocked_reply_is_an_error_that_quotes_nothing() {
    let (reply, secrets) = reply_with_secrets();
    let patterns = [recognizers::email(), recognizers::card(), recognizers::key()];
    let blocking = patterns.map(|pattern| pattern.strategy(Strategy::Block));
    let guard: Arc<dyn Middleware> = Arc::new(RedactReplies::new(Redactor::new(blocking).unwrap()));
    block_on(laws::middleware::all(&guard, &request(), &reply));
    block_on(laws::middleware::nothing_removed_is_visible(&guard, &reply, &secrets));
}

#[test]
fn an_unchanged_reply_keeps_its_ids_and_its_pieces_of_arguments() {
    let call = ToolCall::new("call_1", "note", json!({"text": "hello"}));
    let piece = |text: &str| {
        Delta::Arguments(ToolCallDelta { id: "call_1".into(), name: "note".into(), text: text.into() })
    };
    let deltas = vec![piece("{\"text\":"), piece("\"hello\"}"), Delta::ToolCall(call.clone())];
    let guard = RedactReplies::new(redactor());
    let (shown, reply) = streamed(&guard, deltas).unwrap();
    assert_eq!(shown, [piece("{\"text\":\"hello\"}"), Delta::ToolCall(call)]);
    assert_eq!(reply.tokens, [1, 2, 3]);
    assert!(reply.facts.is_empty());

    let secret = ToolCall::new("call_1", "note", json!({"text": "me@x.org"}));
    let deltas = vec![piece("{\"text\":\"me\\u0040x.org\"}"), Delta::ToolCall(secret)];
    let (shown, _) = streamed(&guard, deltas).unwrap();
    assert_eq!(shown.len(), 1, "escaped arguments are not shown: {shown:?}");
}

#[test]
fn a_failure_shows_the_redacted_text_so_far() {
    #[derive(Debug)]
    struct Fails;

    #[async_trait::async_trait]
    impl ChatModel for Fails {
        fn name(&self) -> &str {
            "fails"
        }

        async fn reply(&self, _: Request) -> Result<ReplyStream> {
            Ok(ReplyStream::new(|mut emit| async move {
                emit.send(Delta::Text("Ask me@x.org, or y".to_owned())).await;
                Err(Error::new(ErrorKind::Backend, "failed after \"Ask me@x.org, or y\""))
            }))
        }

        async fn warm(&self, _: Request) -> Result<Option<CacheReport>> {
            Ok(None)
        }
    }

    let stack: [Arc<dyn Middleware>; 1] = [Arc::new(RedactReplies::new(redactor()))];
    block_on(async {
        let mut stream = Next::new(&stack, &Fails).call(request()).await.unwrap();
        let mut text = String::new();
        while let Some(Delta::Text(piece)) = stream.next().await {
            text += &piece;
        }
        assert_eq!(text, "Ask [mail], or y");
        let error = stream.finish().await.unwrap_err();
        assert_eq!(error.to_string(), "failed after \"Ask [mail], or y\"");
    });
}

#[test]
fn the_history_is_redacted_the_same_in_both_ways() {
    let secret = "sk-aB3dE6gH9aB3dE6gH9aB";
    let call = ToolCall::new(secret, "note", json!({"key": secret}));
    let mut request = Request::new(
        Preface::system("Ask boss@example.org.").message(Message::user("I am me@example.org.")),
        vec![
            Message::user("Hello me@example.org").named("me@example.org"),
            Message::new(Role::Assistant, vec![Content::ToolCall(call.clone())]),
            Message::tool(vec![ToolResult::ok(&call, json!({"mail": "me@example.org"}))]),
        ],
    );
    request.path.push_sampled(Message::assistant("you@example.org"), vec![1, 2]);
    request.path.push_sampled(Message::assistant("bye"), vec![3]);
    request.path.push(Message::user("And?"));
    request.replies = vec![vec![9]];
    let redactor = Redactor::named(["email", "key"]).unwrap();
    let guard: Arc<dyn Middleware> = Arc::new(RedactHistory::new(redactor));
    block_on(laws::middleware::all(&guard, &request, &Reply::new(Message::assistant("Yes."))));

    let prepared = block_on(guard.prepare(request)).unwrap();
    assert_eq!(prepared.preface.messages[0].text(), "Ask boss@example.org.", "the host's own message stays");
    assert_eq!(prepared.preface.messages[1].text(), "I am [email].");
    assert_eq!(
        (prepared.path[0].text().as_str(), prepared.path[0].name.as_deref()),
        ("Hello [email]", Some("[email]"))
    );
    let call = prepared.path[1].tool_calls().next().unwrap();
    let result = prepared.path[2].tool_results().next().unwrap();
    assert_eq!(call.id, result.id);
    assert_eq!((&call.arguments, &result.content), (&json!({"key": "[key]"}), &json!({"mail": "[email]"})));
    assert_eq!(prepared.path.sampled().collect::<Vec<_>>(), [&[3][..]], "an unchanged reply keeps its ids");
    assert!(prepared.replies.is_empty());
}

/// Finds names, or fails.
#[derive(Debug)]
struct Names(Option<ErrorKind>);

#[async_trait::async_trait]
impl Scanner for Names {
    async fn scan(&self, text: &str) -> Result<Vec<ScanFinding>> {
        match self.0 {
            Some(kind) => Err(Error::new(kind, "the service is unavailable")),
            None => Ok(text
                .match_indices("Ann")
                .map(|(start, _)| ScanFinding::new("person", start..start + 3))
                .collect()),
        }
    }
}

#[test]
fn a_scanner_shows_nothing_before_it_has_scanned_and_fails_closed() {
    let parts = vec![Content::Thinking("Ann?".into()), Content::Text("Hi Ann, Ann!".into())];
    let reply = Reply::new(Message::new(Role::Assistant, parts));
    for failure in [None, Some(ErrorKind::Backend)] {
        let guard: Arc<dyn Middleware> = Arc::new(ScanReplies::new(Names(failure)));
        block_on(laws::middleware::all(&guard, &request(), &reply));
        block_on(laws::middleware::nothing_removed_is_visible(&guard, &reply, &["Ann"]));
    }
}

#[test]
fn time_is_linear_also_for_texts_that_almost_match() {
    let redactor = Redactor::named(["email", "card", "iban", "key", "phone"]).unwrap();
    for unit in ["a", "1", "1 ", "a@", "sk-", "eyJ", "DE89 ", "+4", "-----BEGIN PRIVATE KEY-----", "日"] {
        let short = duration(&redactor, &unit.repeat(20_000 / unit.len()));
        let long = duration(&redactor, &unit.repeat(160_000 / unit.len()));
        println!("{unit:?}: {short:?}, {long:?}");
        let limit = short.max(Duration::from_millis(20)) * 32;
        assert!(long < limit, "{unit:?}: {short:?}, and 8 times the text {long:?}");
    }
}

fn duration(redactor: &Redactor, text: &str) -> Duration {
    let start = Instant::now();
    let mut stream = redactor.stream();
    let mut rest = text;
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(rest.ceil_char_boundary(64.min(rest.len())));
        stream.push(piece).unwrap();
        rest = after;
    }
    stream.finish().unwrap();
    start.elapsed()
}

/// Run it with `cargo test --release -- --ignored`.
#[test]
#[ignore = "measures the speed of a release build"]
fn the_speed_is_20_megabytes_a_second() {
    let redactor = Redactor::named(["email", "card", "iban", "key", "phone"]).unwrap();
    let prose =
        "The quick brown fox, who is 12 years old, jumps over the lazy dog at 10:30; ask ann@example.org. ";
    let text = prose.repeat(20_000_000 / prose.len());
    for size in [16, 64, 4096, text.len()] {
        let start = Instant::now();
        let mut stream = redactor.stream();
        for piece in text.as_bytes().chunks(size) {
            stream.push(std::str::from_utf8(piece).unwrap()).unwrap();
        }
        stream.finish().unwrap();
        let rate = text.len() as f64 / start.elapsed().as_secs_f64() / 1e6;
        println!("pieces of {size} bytes: {rate:.1} MB/s");
    }
}
