//! Servers that answer with noise, wherever they are asked, and servers that are busy without a token.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod stub;

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use alloquy_core::tokenizer::TokenId;
use alloquy_core::{ChatModel, Error, ErrorKind, Message, Preface, Reply, Request, Result};
use alloquy_engine::decoder::{DecodeEventKind, DecodeRequest, Decoder};
use alloquy_openai::{
    ChatProtocol, Dialect, RemoteChat, RemoteDecoder, RemoteServer, RemoteTimeouts, TokenizerCheck,
};
use futures::StreamExt;
use proptest::prelude::*;
use serde_json::{Value, json};
use stub::{Answer, SCRIPT, Stub, builder_at, outcome, prompt, sse};

/// The statuses that noise may have.
const STATUSES: [u16; 9] = [200, 302, 400, 401, 404, 418, 429, 500, 503];

/// What else than replies a server is asked for.
const PATHS: [&str; 7] = [
    "/v1/models",
    "/props",
    "/tokenize",
    "/_internal/tokenize",
    "/version",
    "/get_model_info",
    "/get_server_info",
];

fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed;
    let mut bytes = Vec::with_capacity(length);
    for _ in 0..length {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        bytes.push(u8::try_from(state >> 56).unwrap());
    }
    bytes
}

fn reply(decoder: &dyn Decoder, limit: usize) -> (Vec<TokenId>, Option<Error>) {
    outcome(decoder, DecodeRequest::new(prompt("Tell me: "), limit))
}

fn chat(model: &RemoteChat) -> Result<Reply> {
    let request = Request::new(Preface::default(), vec![Message::user("Hi")]);
    pollster::block_on(async { model.reply(request).await?.finish().await })
}

/// Connects where these paths have this answer.
fn connect(dialect: Dialect, paths: &[&str], status: u16, body: &[u8]) -> (Stub, Result<RemoteDecoder>) {
    let stub = Stub::new(dialect);
    for path in paths {
        stub.shared.odd.lock().unwrap().insert((*path).to_owned(), (status, body.to_vec()));
    }
    let connected = pollster::block_on(stub.builder().connect());
    (stub, connected)
}

#[test]
fn a_million_random_bytes_are_an_error_in_every_protocol() {
    for protocol in ChatProtocol::ALL {
        let stub = Stub::new(Dialect::Completions);
        let model = stub.chat(protocol);
        for seed in 0..4 {
            stub.plan([Answer::Raw(noise(seed, 1_000_000))]);
            let error = chat(&model).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Backend, "{protocol:?}");
            assert!(error.whole().len() < 5_000, "{protocol:?}: {} bytes", error.whole().len());
        }
        assert_eq!(chat(&model).unwrap().text(), SCRIPT, "the model is usable afterwards");
    }
    for dialect in Dialect::ALL {
        let stub = Stub::new(dialect);
        let decoder = stub.decoder();
        for seed in 0..4 {
            stub.plan([Answer::Raw(noise(seed, 1_000_000))]);
            let (ids, error) = reply(&decoder, 4);
            let message = error.unwrap().whole();
            assert!(ids.is_empty() && message.len() < 5_000, "{dialect:?}: {ids:?}, {} bytes", message.len());
        }
        assert_eq!(reply(&decoder, 4).0.len(), 4, "the decoder is usable afterwards");
    }
}

#[test]
fn errors_of_random_bytes_have_the_kind_of_their_status() {
    let paths = ["/v1/completions", "/completion", "/generate"];
    for dialect in Dialect::ALL {
        let stub = Stub::new(dialect);
        let decoder = stub.decoder();
        for (status, expected) in
            [(400, ErrorKind::Invalid), (429, ErrorKind::Busy), (500, ErrorKind::Backend)]
        {
            // The second one is longer than what is read of an error.
            for length in [0, 1_000, 1_000_000] {
                for path in paths {
                    let body = noise(7, length);
                    stub.shared.odd.lock().unwrap().insert(path.to_owned(), (status, body));
                }
                let error = reply(&decoder, 4).1.unwrap();
                assert_eq!(error.kind(), expected, "{dialect:?}: {status} with {length} bytes: {error:#}");
                assert!(error.whole().len() < 5_000);
            }
        }
        stub.shared.odd.lock().unwrap().clear();
        assert_eq!(reply(&decoder, 4).0.len(), 4, "the decoder is usable afterwards");
    }
}

#[test]
fn a_million_random_bytes_at_connect_are_an_error_or_nothing() {
    let bytes = noise(11, 1_000_000);
    for dialect in Dialect::ALL {
        for path in PATHS {
            for status in STATUSES {
                let (_stub, connected) = connect(dialect, &[path], status, &bytes);
                match connected {
                    // What a server says beside its models is not needed.
                    Ok(decoder) => assert!(reply(&decoder, 4).1.is_none(), "{dialect:?}: {status} at {path}"),
                    Err(error) => {
                        let is_needed = matches!(path, "/v1/models" | "/tokenize" | "/_internal/tokenize");
                        assert!(is_needed, "{dialect:?}: {status} at {path}: {error:#}");
                        assert!(error.whole().len() < 5_000);
                    }
                }
            }
        }
    }
}

#[test]
fn a_server_whose_tokenizer_is_noise_is_not_checked() {
    for dialect in Dialect::ALL {
        let (_stub, connected) =
            connect(dialect, &["/tokenize", "/_internal/tokenize"], 200, &noise(3, 1_000));
        let check = connected.unwrap().description().tokenizer.clone();
        assert!(matches!(check, TokenizerCheck::Unchecked { .. }), "{dialect:?}: {check:?}");
    }
}

/// JSON of any form, with names that are read somewhere.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(|number| json!(number)),
        "[a-z<>\\u{0}-\\u{20}]{0,12}".prop_map(Value::from),
        Just(Value::from("script")),
        Just(Value::from("llamacpp")),
    ];
    let names = prop::sample::select(vec![
        "data",
        "id",
        "owned_by",
        "max_model_len",
        "tokens",
        "default_generation_settings",
        "n_ctx",
        "build_info",
        "version",
        "model_path",
        "choices",
        "token_ids",
        "output_ids",
        "meta_info",
        "finish_reason",
        "usage",
        "error",
        "code",
        "message",
        "type",
        "stop",
        "stop_type",
        "timings",
        "cache_n",
        "delta",
        "content",
        "response",
        "index",
    ]);
    leaf.prop_recursive(4, 40, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((names.clone(), inner), 0..5).prop_map(|fields| {
                let fields = fields.into_iter().map(|(name, value)| (name.to_owned(), value));
                Value::Object(fields.collect())
            }),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn any_json_at_connect_is_an_error_or_nothing(
        body in any_json(),
        path in prop::sample::select(PATHS.to_vec()),
        status in prop::sample::select(STATUSES.to_vec()),
        dialect in prop::sample::select(Dialect::ALL.to_vec()),
    ) {
        let (_stub, connected) = connect(dialect, &[path], status, body.to_string().as_bytes());
        if let Ok(decoder) = connected {
            // The answer may have named another dialect or a shorter context, so the reply may be an error, too.
            let (ids, error) = reply(&decoder, 4);
            prop_assert!(error.is_some() || ids.len() == 4);
        }
    }

    #[test]
    fn any_events_are_an_error_or_a_reply(
        bodies in prop::collection::vec(any_json(), 1..6),
        dialect in prop::sample::select(Dialect::ALL.to_vec()),
        protocol in prop::sample::select(ChatProtocol::ALL.to_vec()),
    ) {
        let events: String = bodies.iter().map(|body| format!("data: {body}\n\n")).collect();
        let stub = Stub::new(dialect);
        let decoder = stub.decoder();
        stub.plan([Answer::Raw(events.clone().into_bytes())]);
        let (ids, error) = reply(&decoder, 4);
        prop_assert!(error.is_some() || ids.len() <= 4);
        let model = stub.chat(protocol);
        stub.plan([Answer::Raw(events.into_bytes())]);
        let _ = chat(&model);
        prop_assert_eq!(chat(&model).unwrap().text(), SCRIPT);
    }
}

/// Returns how a server is reached whose first token may take `first` milliseconds, and a further one `between`.
fn timed(stub: &Stub, first: u64, between: u64) -> RemoteServer {
    let mut timeouts = RemoteTimeouts::default();
    timeouts.first = Duration::from_millis(first);
    timeouts.between = Duration::from_millis(between);
    stub.server().timeouts(timeouts)
}

/// An event of each dialect without a token.
fn empty(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::LlamaCpp => "data: {\"content\": \"\", \"tokens\": [], \"stop\": false}\n\n",
        Dialect::Sglang => ": ping\n\n",
        _ => {
            "data: {\"choices\": [{\"index\": 0, \"text\": \"\", \"token_ids\": [], \"finish_reason\": null}]}\n\n"
        }
    }
}

fn wait_for_close(stub: &Stub, count: usize) {
    let begun = Instant::now();
    while stub.shared.closed.load(Ordering::SeqCst) < count {
        assert!(begun.elapsed() < Duration::from_secs(5), "the connection stays open");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn events_without_a_token_do_not_extend_the_wait_for_one() {
    for dialect in Dialect::ALL {
        let stub = Stub::new(dialect);
        let decoder = pollster::block_on(builder_at(timed(&stub, 1_000, 400)).connect()).unwrap();
        let _ = reply(&decoder, 5);
        let length = stub.shared.length.load(Ordering::SeqCst);
        let floods = [
            (0, ": ping\n\n"),
            (0, empty(dialect)),
            (0, "\n"),
            (length / 2, ": ping\n\n"),
            (length / 2, empty(dialect)),
        ];
        for (place, (kept, text)) in floods.into_iter().enumerate() {
            // A flood after half an event would end that event.
            let kept = if kept == 0 { 0 } else { kept_events(&stub, kept) };
            stub.plan([Answer::Flood(kept, text)]);
            let begun = Instant::now();
            let (ids, error) = reply(&decoder, 5);
            let error = error.unwrap();
            assert_eq!(error.kind(), ErrorKind::Busy, "{dialect:?}, {text:?}: {error:#}");
            assert!(error.to_string().contains("sent no token within"), "{error}");
            assert_eq!(ids.is_empty(), kept == 0, "{dialect:?}, {text:?}: {ids:?}");
            let waited = begun.elapsed();
            assert!(waited >= Duration::from_millis(200) && waited < Duration::from_secs(5), "{waited:?}");
            wait_for_close(&stub, place + 1);
        }
    }
}

/// Returns the length of the whole events within the first `most` bytes of the reply.
fn kept_events(stub: &Stub, most: usize) -> usize {
    let reply = stub.shared.body.lock().unwrap();
    let ends = reply.windows(2).enumerate().filter(|(_, bytes)| *bytes == b"\n\n");
    ends.map(|(at, _)| at + 2).take_while(|end| *end <= most).last().unwrap()
}

#[test]
fn comments_while_the_prompt_is_computed_are_allowed() {
    for dialect in Dialect::ALL {
        let stub = Stub::new(dialect);
        // The comments take longer than the next token may, and not as long as the first one.
        let decoder = pollster::block_on(builder_at(timed(&stub, 20_000, 100)).connect()).unwrap();
        stub.plan([Answer::Late(60, ": ping\n\n")]);
        let (ids, error) = reply(&decoder, 5);
        assert_eq!((ids.len(), error.map(|error| error.to_string())), (5, None), "{dialect:?}");
    }
}

#[test]
fn a_slow_reader_is_not_a_slow_server() {
    let stub = Stub::new(Dialect::Vllm);
    let decoder = pollster::block_on(builder_at(timed(&stub, 20_000, 100)).connect()).unwrap();
    // More than waits in between, so that the server has to wait for the reader, too.
    let choice =
        |reason: Value| json!({"choices": [{"index": 0, "token_ids": [97], "finish_reason": reason}]});
    let mut events = vec![choice(Value::Null); 499];
    events.push(choice(json!("length")));
    stub.plan([Answer::Raw(sse(Dialect::Vllm, &events))]);
    let mut stream = decoder.decode(DecodeRequest::new(prompt("Tell me: "), 500));
    let mut count = 0;
    pollster::block_on(async {
        while let Some(event) = stream.next().await {
            if let DecodeEventKind::Token { .. } = event.unwrap().kind {
                count += 1;
                if count == 1 {
                    std::thread::sleep(Duration::from_millis(500));
                }
            }
        }
    });
    assert_eq!(count, 500);
}

#[test]
fn a_chat_endpoint_that_sends_pings_has_as_long_as_for_the_first_token() {
    for protocol in ChatProtocol::ALL {
        let stub = Stub::new(Dialect::Completions);
        let builder = RemoteChat::builder(timed(&stub, 700, 100)).protocol(protocol).model("script");
        let model = pollster::block_on(builder.connect()).unwrap();
        chat(&model).unwrap();
        let kept = kept_events(&stub, stub.shared.length.load(Ordering::SeqCst) / 2);
        let begun = Instant::now();
        stub.plan([Answer::Flood(kept, ": ping\n\n")]);
        let cut = chat(&model).unwrap();
        assert!(!cut.text().is_empty() && SCRIPT.starts_with(&cut.text()), "{protocol:?}: {:?}", cut.text());
        assert!(
            cut.error.as_ref().is_some_and(|error| error.contains("sent no token within")),
            "{:?}",
            cut.error
        );
        let waited = begun.elapsed();
        assert!(waited >= Duration::from_millis(600) && waited < Duration::from_secs(5), "{waited:?}");
        // Silence is not a sign of life.
        stub.plan([Answer::Stall(kept)]);
        let begun = Instant::now();
        assert!(chat(&model).unwrap().error.is_some());
        assert!(begun.elapsed() < Duration::from_millis(5_000), "{:?}", begun.elapsed());
    }
}
