//! Servers that refuse, break off, send noise, or serve another model.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod matcher;
mod stub;

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use alloquy_core::grammar::{Grammar, GrammarMatcher};
use alloquy_core::report::MissReason;
use alloquy_core::tokenizer::TokenId;
use alloquy_core::{Error, ErrorKind};
use alloquy_engine::decoder::{DecodeEventKind, DecodeRequest, Decoder, GuidedDecoding, ThinkingRule};
use alloquy_openai::{
    ApiKey, Dialect, RemoteBuilder, RemoteRetries, RemoteTimeouts, SaltSecret, TokenizerCheck,
};
use futures::StreamExt;
use matcher::Anything;
use proptest::prelude::*;
use serde_json::json;
use stub::{Answer, SCRIPT, Stub, builder_at, outcome, prompt, sse};

/// Returns the ids that came, and the error that followed.
fn reply(decoder: &dyn Decoder, limit: usize) -> (Vec<TokenId>, Option<Error>) {
    outcome(decoder, DecodeRequest::new(prompt("Tell me: "), limit))
}

fn kind(decoder: &dyn Decoder) -> Option<ErrorKind> {
    reply(decoder, 5).1.map(|error| error.kind())
}

#[test]
fn statuses_have_kinds() {
    let stub = Stub::new(Dialect::Vllm);
    let decoder = stub.decoder();
    let context =
        r#"{"error": {"message": "This model's maximum context length is 512 tokens", "code": 400}}"#;
    let llama = r#"{"error": {"code": 400, "message": "too long", "type": "exceed_context_size_error"}}"#;
    let cases = [
        (400, context, ErrorKind::ContextOverflow),
        (400, llama, ErrorKind::ContextOverflow),
        (400, r#"{"error": {"message": "Token id 99999 is out of vocabulary"}}"#, ErrorKind::Invalid),
        (401, "{}", ErrorKind::Invalid),
        (403, "{}", ErrorKind::Invalid),
        (404, "<html>", ErrorKind::NotFound),
        (408, "", ErrorKind::Busy),
        (413, "", ErrorKind::Invalid),
        (429, "{}", ErrorKind::Busy),
        (500, "{}", ErrorKind::Backend),
        (501, "{}", ErrorKind::Unsupported),
        (503, "{}", ErrorKind::Busy),
        (302, "", ErrorKind::Backend),
    ];
    for (status, body, expected) in cases {
        stub.plan([Answer::Status(status, "", body)]);
        assert_eq!(kind(&decoder), Some(expected), "status {status} with {body}");
    }
    assert_eq!(kind(&decoder), None, "the decoder is usable afterwards");
}

#[test]
fn requests_are_sent_again_only_before_the_first_token() {
    for dialect in Dialect::ALL {
        let stub = Stub::new(dialect);
        let mut retries = RemoteRetries::default();
        retries.attempts = 3;
        retries.longest_wait = Duration::from_millis(5);
        let decoder = pollster::block_on(builder_at(stub.server().retries(retries)).connect()).unwrap();
        stub.plan([Answer::Status(503, "", ""), Answer::Torn(0)]);
        assert_eq!(reply(&decoder, 5).1.map(|error| error.to_string()), None);
        assert_eq!(stub.shared.requests.lock().unwrap().len(), 3);

        stub.plan([Answer::Status(429, "", ""), Answer::Status(429, "", ""), Answer::Status(429, "", "")]);
        assert_eq!(kind(&decoder), Some(ErrorKind::Busy));
        assert_eq!(stub.shared.requests.lock().unwrap().len(), 6);

        let most = stub.shared.length.load(Ordering::SeqCst) * 2 / 3;
        stub.plan([Answer::Torn(most)]);
        let (ids, error) = reply(&decoder, 5);
        assert!(!ids.is_empty() && error.is_some(), "{dialect:?}: {ids:?} {error:?}");
        assert_eq!(stub.shared.requests.lock().unwrap().len(), 7);
    }
}

#[test]
fn a_server_that_wants_a_long_rest_is_not_tried_again() {
    let stub = Stub::new(Dialect::Vllm);
    let mut retries = RemoteRetries::default();
    retries.longest_wait = Duration::from_millis(1500);
    let decoder = pollster::block_on(builder_at(stub.server().retries(retries)).connect()).unwrap();
    stub.plan([Answer::Status(429, "retry-after: 3600\r\n", "")]);
    assert_eq!(kind(&decoder), Some(ErrorKind::Busy));
    let begun = Instant::now();
    stub.plan([Answer::Status(429, "retry-after: 1\r\n", "")]);
    assert_eq!(kind(&decoder), None);
    assert!(begun.elapsed() >= Duration::from_secs(1), "it waits as long as the server wants");
}

#[test]
fn an_answer_that_ends_anywhere_keeps_what_was_said() {
    for dialect in Dialect::ALL {
        let stub = Stub::new(dialect);
        let decoder = stub.decoder();
        let whole: Vec<TokenId> = SCRIPT.bytes().take(4).map(TokenId::from).collect();
        assert_eq!(reply(&decoder, 4).0, whole);
        let mut most = 0;
        for at in 0..stub.shared.length.load(Ordering::SeqCst) {
            stub.plan([Answer::Cut(at)]);
            let (ids, error) = reply(&decoder, 4);
            assert!(whole.starts_with(&ids), "{dialect:?} cut at byte {at}: {ids:?}");
            assert!(ids.len() >= most, "{dialect:?} cut at byte {at}: tokens are lost");
            assert!(error.is_some() || ids.len() == 4, "{dialect:?} cut at byte {at}: no error");
            most = ids.len();
        }
    }
}

#[test]
fn noise_is_an_error() {
    let mut noise = Vec::new();
    let mut state = 7_u64;
    while noise.len() < 1_000_000 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        noise.push(u8::try_from(state >> 56).unwrap());
    }
    let endless = [b"data: ".to_vec(), vec![b'x'; 5_000_000]].concat();
    let json = b"data: {\"a\": 1}\n\n".to_vec();
    let text = br#"{"choices": [{"text": "hello"}]}"#;
    let text = [b"data: ".as_slice(), text, b"\n\n"].concat();
    let large = [b"data: ".as_slice(), br#"{"choices": [{"token_ids": [4294967296]}]}"#, b"\n\n"].concat();
    for dialect in Dialect::ALL {
        let stub = Stub::new(dialect);
        let decoder = stub.decoder();
        for bytes in [noise.clone(), endless.clone(), json.clone(), text.clone(), large.clone()] {
            stub.plan([Answer::Raw(bytes)]);
            let (ids, error) = reply(&decoder, 4);
            assert!(ids.is_empty() && error.is_some(), "{dialect:?}: {ids:?}");
        }
    }
}

#[test]
fn ids_of_another_model_are_an_error() {
    let stub = Stub::new(Dialect::Vllm);
    let decoder = stub.decoder();
    let event = "data: {\"choices\": [{\"token_ids\": [97, 5000]}]}\n\n";
    stub.plan([Answer::Raw(event.as_bytes().to_vec())]);
    let (ids, error) = reply(&decoder, 4);
    assert_eq!(ids, [97], "what came before is kept");
    let error = error.unwrap();
    assert_eq!(error.kind(), ErrorKind::Backend);
    assert!(error.to_string().contains("token 5000"), "{error}");
}

#[test]
fn errors_within_a_stream_have_kinds() {
    let stub = Stub::new(Dialect::LlamaCpp);
    let decoder = stub.decoder();
    for field in ["data", "error"] {
        let event = format!("{field}: {{\"error\": {{\"code\": 503, \"message\": \"loading\"}}}}\n\n");
        stub.plan([Answer::Raw(event.into_bytes())]);
        assert_eq!(kind(&decoder), Some(ErrorKind::Busy));
    }
}

#[test]
fn dropping_a_stream_closes_its_connection() {
    for dialect in Dialect::ALL {
        let stub = Stub::new(dialect);
        let decoder = stub.decoder();
        let _ = reply(&decoder, 40);
        stub.plan([Answer::Stall(stub.shared.length.load(Ordering::SeqCst) / 2)]);
        let mut stream = decoder.decode(DecodeRequest::new(prompt("Tell me: "), 40));
        pollster::block_on(async {
            for _ in 0..3 {
                stream.next().await.unwrap().unwrap();
            }
        });
        assert_eq!(stub.shared.closed.load(Ordering::SeqCst), 0);
        drop(stream);
        let begun = Instant::now();
        while stub.shared.closed.load(Ordering::SeqCst) == 0 {
            assert!(begun.elapsed() < Duration::from_secs(5), "{dialect:?}: the connection stays open");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

#[test]
fn a_silent_server_is_left() {
    let stub = Stub::new(Dialect::Vllm);
    let mut timeouts = RemoteTimeouts::default();
    timeouts.first = Duration::from_millis(200);
    timeouts.between = Duration::from_millis(200);
    let decoder = pollster::block_on(builder_at(stub.server().timeouts(timeouts)).connect()).unwrap();
    let _ = reply(&decoder, 5);
    stub.plan([Answer::Stall(0)]);
    let (ids, error) = reply(&decoder, 5);
    assert_eq!((ids.len(), error.map(|error| error.kind())), (0, Some(ErrorKind::Busy)));
    stub.plan([Answer::Stall(stub.shared.length.load(Ordering::SeqCst) / 2)]);
    let (ids, error) = reply(&decoder, 5);
    assert!(!ids.is_empty());
    assert_eq!(error.map(|error| error.kind()), Some(ErrorKind::Busy));
}

#[test]
fn another_tokenizer_is_refused() {
    let stub = Stub::with(Dialect::Vllm, usize::MAX, true);
    let error = pollster::block_on(stub.builder().connect()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Model);
    let message = error.whole();
    assert!(
        message.contains("\"Once upon a time\" is [101, 109,") && message.contains("and [79, 110,"),
        "{message}"
    );
}

#[test]
fn the_server_is_described() {
    let stub = Stub::new(Dialect::LlamaCpp);
    let decoder = stub.decoder();
    let description = decoder.description();
    assert_eq!(description.dialect, Dialect::LlamaCpp);
    assert_eq!(description.model, "script");
    assert_eq!(description.context_length, Some(512));
    assert_eq!(description.version.as_deref(), Some("b1"));
    assert_eq!(description.tokenizer, TokenizerCheck::Equal { texts: 20 });
    assert_eq!(decoder.model().context_length, 512, "the server has less than the model");
}

#[test]
fn what_a_server_cannot_do_is_refused() {
    let stub = Stub::new(Dialect::LlamaCpp);
    let kind = |builder: RemoteBuilder| {
        pollster::block_on(builder.connect()).map(|_| ()).map_err(|error| error.kind())
    };
    assert_eq!(kind(stub.builder().priority(1)), Err(ErrorKind::Unsupported));
    assert_eq!(kind(stub.builder().salts(SaltSecret::new("x"))), Err(ErrorKind::Unsupported));
    assert_eq!(kind(stub.builder().model("another")), Err(ErrorKind::NotFound));
    for url in ["ftp://x", "http://user:secret@localhost", "localhost:80", "http://localhost?a=b"] {
        assert_eq!(kind(builder_at(url)), Err(ErrorKind::Invalid), "{url}");
    }
}

#[test]
fn grammars_that_a_server_cannot_do_are_refused() {
    let budget = |rule: &mut ThinkingRule| rule.budget = Some(5);
    let open = |rule: &mut ThinkingRule| rule.is_open = true;
    let choice = Grammar::choice(["yes", "no"]);
    let lark = Grammar::Lark("start: \"a\"".to_owned());
    let schema = Grammar::JsonSchema(json!({"type": "boolean"}));
    let regex = Grammar::Regex("[ab]".to_owned());
    let both = Grammar::AnyOf(vec![choice.clone(), regex.clone()]);
    for dialect in Dialect::ALL {
        let stub = Stub::new(dialect);
        let decoder = stub.decoder();
        assert_eq!(guided(&decoder, Some(both.clone()), open), Some(ErrorKind::Unsupported));
        assert!(stub.shared.requests.lock().unwrap().is_empty(), "{dialect:?} thinks before it is refused");
        assert_eq!(guided(&decoder, None, budget), None);
        assert_eq!(guided(&decoder, Some(schema.clone()), open), None);
        assert_eq!(guided(&decoder, None, open), None);
        assert_eq!(guided(&decoder, Some(schema.clone()), |_| {}), None);
        assert_eq!(guided(&decoder, Some(both.clone()), |_| {}), Some(ErrorKind::Unsupported));
        let refused =
            [&choice, &regex, &lark].map(|grammar| guided(&decoder, Some(grammar.clone()), |_| {}).is_some());
        let expected = match dialect {
            Dialect::Completions => [true, true, true],
            Dialect::LlamaCpp => [false, true, true],
            Dialect::Vllm => [false, false, false],
            _ => [false, false, true],
        };
        assert_eq!(refused, expected, "{dialect:?}");
    }
}

/// Returns the kind of the error of a request with a grammar and a rule of thinking.
fn guided(
    decoder: &dyn Decoder,
    grammar: Option<Grammar>,
    change: impl Fn(&mut ThinkingRule),
) -> Option<ErrorKind> {
    let mut rule = ThinkingRule::new("<think>", "</think>");
    change(&mut rule);
    let mut guided = GuidedDecoding::default();
    guided.thinking = Some(rule);
    guided.grammar = grammar.map(|grammar| (grammar, Box::new(Anything) as Box<dyn GrammarMatcher>));
    outcome(decoder, DecodeRequest::new(prompt("a"), 3).guided(guided)).1.map(|error| error.kind())
}

#[test]
fn owners_have_salts_of_their_own_and_secrets_are_not_printed() {
    let stub = Stub::new(Dialect::Vllm);
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "very-secret\n").unwrap();
    let server = stub.server().key(ApiKey::file(file.path()).unwrap());
    let builder = builder_at(server).salts(SaltSecret::new("salty-secret"));
    let printed = format!("{builder:?}");
    let decoder = pollster::block_on(builder.connect()).unwrap();
    let mut salts = Vec::new();
    for owner in ["ada", "bob", "ada"] {
        let _ = reply(&decoder.for_owner(owner).unwrap(), 2);
        salts.push(stub.last_request()["cache_salt"].as_str().unwrap().to_owned());
    }
    assert_eq!((salts[0].len(), &salts[0]), (64, &salts[2]));
    assert_ne!(salts[0], salts[1]);
    // A request that has an owner needs no decoder of its own.
    let _ = outcome(&decoder, DecodeRequest::new(prompt("a"), 2).owner("ada".to_owned()));
    assert_eq!(stub.last_request()["cache_salt"], salts[0].as_str());
    let printed = printed + &format!("{decoder:?}");
    assert!(!printed.contains("secret\"") && !printed.contains("very-"), "{printed}");
}

#[test]
fn owners_without_salts_are_not_told_what_others_have_cached() {
    let stub = Stub::new(Dialect::LlamaCpp);
    let decoder = stub.decoder();
    let report = |owner: Option<&str>| {
        let request = DecodeRequest::new(prompt("Tell me a tale"), 2).owner(owner.map(str::to_owned));
        let events = pollster::block_on(decoder.decode(request).collect::<Vec<_>>());
        let reports = events.into_iter().filter_map(|event| match event.unwrap().kind {
            DecodeEventKind::Prefilled(report) | DecodeEventKind::Cached(report) => Some(report),
            _ => None,
        });
        reports.last().unwrap()
    };
    stub.shared.cached.store(5, Ordering::SeqCst);
    assert_eq!(report(None).cached, 5);
    let hidden = report(Some("ada"));
    assert_eq!((hidden.cached, hidden.miss), (0, Some(MissReason::Unreported)));
}

#[test]
fn what_was_cached_is_the_servers_and_a_miss_has_a_reason() {
    let stub = Stub::new(Dialect::LlamaCpp);
    let decoder = stub.decoder();
    let report = |text: &str| {
        let mut stream = decoder.decode(DecodeRequest::new(prompt(text), 3));
        pollster::block_on(async {
            let mut found = None;
            while let Some(event) = stream.next().await {
                if let DecodeEventKind::Prefilled(report) = event.unwrap().kind {
                    found = Some(report);
                }
            }
            found.unwrap()
        })
    };
    let first = report("Tell me: ");
    assert_eq!((first.cached, first.miss, first.first_difference), (0, None, None));
    // The prompt and two tokens of the reply: the third one was sampled and not computed.
    stub.shared.cached.store(11, Ordering::SeqCst);
    let second = report("Tell me: a more");
    assert_eq!((second.cached, second.computed, second.miss), (11, 4, None));
    stub.shared.cached.store(2, Ordering::SeqCst);
    let third = report("Tell me: a more and more");
    assert_eq!((third.cached, third.miss), (2, Some(MissReason::Evicted)));
    let statistics = pollster::block_on(decoder.cache_statistics()).unwrap().unwrap();
    assert_eq!((statistics.cached, statistics.computed), (13, 9 + 4 + 22));
}

#[test]
fn numbers_of_any_size_are_survived() {
    for dialect in Dialect::ALL {
        let stub = Stub::new(dialect);
        let decoder = stub.decoder();
        // The second time, the prompt is remembered and the number is one that no context has.
        for cached in [1_000_000, usize::MAX] {
            stub.shared.cached.store(cached, Ordering::SeqCst);
            let (ids, error) = outcome(&decoder, DecodeRequest::new(prompt("Tell me: "), usize::MAX));
            assert_eq!(
                (ids.len(), error.map(|error| error.to_string())),
                (SCRIPT.len(), None),
                "{dialect:?}"
            );
        }
        let statistics = pollster::block_on(decoder.cache_statistics()).unwrap().unwrap();
        assert_eq!((statistics.cached, statistics.computed), (9, 0), "{dialect:?}: one number was usable");
    }
}

#[test]
fn messages_quote_the_beginning_of_what_a_server_sent() {
    let stub = Stub::new(Dialect::Vllm);
    let decoder = stub.decoder();
    let long = "x".repeat(1_000_000);
    for event in [
        json!({"choices": [{"token_ids": [], "finish_reason": long}]}),
        json!({"choices": [{"token_ids": long}]}),
        json!({"error": {"message": long}}),
    ] {
        stub.plan([Answer::Raw(sse(Dialect::Vllm, &[event]))]);
        let message = reply(&decoder, 4).1.unwrap().whole();
        assert!(message.contains("xxx") && message.len() < 2_000, "{} bytes", message.len());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
    #[test]
    fn any_bytes_are_an_error_or_a_reply(bytes in prop::collection::vec(any::<u8>(), 0..400), dialect in 0..5_usize) {
        let stub = Stub::new(Dialect::ALL[dialect]);
        let decoder = stub.decoder();
        stub.plan([Answer::Raw(bytes)]);
        let (ids, error) = reply(&decoder, 4);
        prop_assert!(ids.is_empty() && error.is_some());
    }
}
