//! Servers that refuse, break off, are late, or answer something else.

use std::future::poll_fn;
use std::sync::atomic::Ordering;
use std::task::Poll;
use std::thread;
use std::time::{Duration, Instant};

use alloquy_core::{Error, ErrorKind, Result};
use alloquy_openai::{RemoteEmbedder, RemoteEmbedderBuilder, RemoteRetries, RemoteTimeouts};
use alloquy_retrieval::{Embedder, Embeddings, TextKind};
use pollster::block_on;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::stub::{Answer, DIMENSIONS, Stub};

const TEXTS: [&str; 3] = ["tea", "rain", "cup"];

fn embed(embedder: &RemoteEmbedder) -> Result<Embeddings> {
    block_on(embedder.embed(&TEXTS, TextKind::Passage))
}

fn failure(embedder: &RemoteEmbedder) -> Error {
    embed(embedder).expect_err("an error")
}

/// Sets up an embedder whose requests are sent so often.
fn patient(stub: &Stub, attempts: u32) -> RemoteEmbedderBuilder {
    let mut retries = RemoteRetries::default();
    retries.attempts = attempts;
    retries.longest_wait = Duration::from_millis(1500);
    RemoteEmbedder::builder(stub.server().retries(retries))
}

#[test]
fn statuses_have_kinds() {
    let stub = Stub::new();
    let embedder = stub.connected();
    let llama = r#"{"error": {"code": 500, "message": "input (9002 tokens) is too large to process. increase the physical batch size"}}"#;
    let vllm = r#"{"error": {"message": "This model's maximum context length is 512 tokens", "code": 400}}"#;
    let matryoshka = r#"{"error": {"message": "Model does not support matryoshka representation"}}"#;
    let cases = [
        (500, llama, ErrorKind::ContextOverflow),
        (400, vllm, ErrorKind::ContextOverflow),
        (400, matryoshka, ErrorKind::Invalid),
        (401, "{}", ErrorKind::Invalid),
        (404, "<html>", ErrorKind::NotFound),
        (429, "{}", ErrorKind::Busy),
        (500, "{}", ErrorKind::Backend),
        (501, "{}", ErrorKind::Unsupported),
        (503, "{}", ErrorKind::Busy),
    ];
    for (status, body, expected) in cases {
        stub.plan([Answer::Status(status, "", body.to_owned())]);
        assert_eq!(failure(&embedder).kind(), expected, "status {status} with {body}");
    }
    assert!(embed(&embedder).is_ok(), "the embedder is usable afterwards");
}

#[test]
fn only_what_failed_is_sent_again() {
    let stub = Stub::new();
    let embedder = block_on(patient(&stub, 3).batch_size(1).connect()).unwrap();
    let expected = embed(&embedder).unwrap();
    stub.requests();
    // The second of three requests fails twice: once with a status, and once within its answer.
    stub.plan([Answer::Whole, Answer::status(503), Answer::Torn(40)]);
    assert_eq!(embed(&embedder).unwrap(), expected);
    let requests = stub.requests();
    let sent: Vec<&str> = requests.iter().map(|request| request["input"][0].as_str().unwrap()).collect();
    assert_eq!(sent, ["tea", "rain", "rain", "rain", "cup"]);

    stub.plan([Answer::status(429), Answer::status(429), Answer::status(429)]);
    assert_eq!(failure(&embedder).kind(), ErrorKind::Busy);
    assert_eq!(stub.requests().len(), 3);
    stub.plan([Answer::status(400)]);
    assert_eq!(failure(&embedder).kind(), ErrorKind::Invalid);
    assert_eq!(stub.requests().len(), 1, "a refusal is final");
}

#[test]
fn a_server_is_left_alone_as_long_as_it_wants() {
    let stub = Stub::new();
    let embedder = block_on(patient(&stub, 2).connect()).unwrap();
    stub.plan([Answer::Status(429, "retry-after: 3600\r\n", String::new())]);
    assert_eq!(failure(&embedder).kind(), ErrorKind::Busy);
    let begun = Instant::now();
    stub.plan([Answer::Status(503, "retry-after: 1\r\n", String::new())]);
    assert!(embed(&embedder).is_ok());
    assert!(begun.elapsed() >= Duration::from_secs(1));
}

#[test]
fn an_answer_that_ends_anywhere_is_an_error() {
    let stub = Stub::new();
    let embedder = stub.connected();
    embed(&embedder).unwrap();
    let length = stub.shared.length.load(Ordering::SeqCst);
    for kept in (0..length).step_by(97) {
        stub.plan([Answer::Cut(kept)]);
        assert_eq!(failure(&embedder).kind(), ErrorKind::Backend, "{kept} bytes");
        stub.plan([Answer::Torn(kept)]);
        assert_eq!(failure(&embedder).kind(), ErrorKind::Backend, "{kept} bytes of more");
    }
}

fn item(index: usize, vector: &Value) -> Value {
    json!({"index": index, "embedding": vector})
}

fn good(index: usize) -> Value {
    item(index, &json!(vec![1.0; DIMENSIONS]))
}

#[test]
fn wrong_vectors_are_errors() {
    let stub = Stub::new();
    let embedder = stub.connected();
    let mut broken = vec![json!(1.0); DIMENSIONS];
    broken[3] = Value::Null;
    let mut huge = vec![json!(1.0); DIMENSIONS];
    huge[3] = json!(1e300);
    let cases = [
        (vec![], "no item of index 0 for 3 texts"),
        (vec![good(0), good(1)], "no item of index 2"),
        (vec![good(0), good(1), good(2), good(3)], "an item of index 3"),
        (vec![good(0), good(0), good(0)], "two items of index 0"),
        (vec![good(0), good(1), item(2, &json!([1.0, 2.0]))], "a vector of 2 numbers: it had 64"),
        (vec![good(0), good(1), item(2, &json!([]))], "a vector of 0 numbers"),
        (vec![good(0), good(1), item(2, &json!(broken))], "not finite"),
        (vec![good(0), good(1), item(2, &json!(huge))], "protocol"),
        (vec![good(0), good(1), item(2, &json!("AACAPw=="))], "protocol"),
        (vec![good(0), good(1), json!({"embedding": [1.0]})], "protocol"),
    ];
    for (data, expected) in cases {
        stub.plan([Answer::json(&json!({"data": data}))]);
        let error = failure(&embedder);
        assert_eq!(error.kind(), ErrorKind::Backend, "{error}");
        assert!(error.to_string().contains(expected), "{error} has no {expected:?}");
    }
    for text in ["<html>", "", "[]", r#"{"data": [{"index": 0, "embedding": [NaN]}]}"#, "\u{0}"] {
        stub.plan([Answer::Status(200, "", text.to_owned())]);
        assert_eq!(failure(&embedder).kind(), ErrorKind::Backend, "{text:?}");
    }
    assert!(embed(&embedder).is_ok(), "the embedder is usable afterwards");
}

#[test]
fn a_vector_of_zeros_has_a_direction() {
    let stub = Stub::new();
    let embedder = stub.connected();
    let zeros = json!({"data": [{"index": 0, "embedding": vec![0.0; DIMENSIONS]}]});
    stub.plan([Answer::json(&zeros)]);
    let found = block_on(embedder.embed(&["tea"], TextKind::Passage)).unwrap();
    let blank = block_on(embedder.embed(&[""], TextKind::Passage)).unwrap();
    assert_eq!(found, blank);
}

#[test]
fn a_server_that_ignores_the_dimensions_is_refused() {
    let stub = Stub::new();
    let answer = json!({"data": [{"index": 0, "embedding": [1.0, 2.0, 3.0]}]});
    stub.plan([Answer::json(&answer)]);
    let error = block_on(stub.embedder().dimensions(2).connect()).err().unwrap();
    assert!(error.to_string().contains("leave `dimensions` out"), "{error}");
}

#[test]
fn an_answer_without_an_end_is_not_read_to_the_end() {
    let stub = Stub::new();
    let embedder = stub.connected();
    stub.plan([Answer::Endless]);
    let error = failure(&embedder);
    assert_eq!(error.kind(), ErrorKind::Backend);
    assert!(error.to_string().contains("has more than"), "{error}");
    // Three vectors of 64 numbers: an answer of 10 MB is none of them.
    let long = " ".repeat(10 << 20) + r#"{"data": []}"#;
    stub.plan([Answer::Status(200, "", long)]);
    assert!(failure(&embedder).to_string().contains("has more than"));
    waits_for(|| stub.shared.closed.load(Ordering::SeqCst) == 1);
}

#[test]
fn a_late_answer_is_an_error() {
    let stub = Stub::new();
    let mut timeouts = RemoteTimeouts::default();
    timeouts.first = Duration::from_millis(300);
    let embedder = block_on(RemoteEmbedder::builder(stub.server().timeouts(timeouts)).connect()).unwrap();
    stub.plan([Answer::Stall]);
    assert_eq!(failure(&embedder).kind(), ErrorKind::Busy);
    waits_for(|| stub.shared.closed.load(Ordering::SeqCst) == 1);
}

#[test]
fn dropping_the_future_closes_the_connection() {
    let stub = Stub::new();
    let embedder = block_on(patient(&stub, 4).connect()).unwrap();
    let begun = stub.shared.begun.load(Ordering::SeqCst);
    stub.plan([Answer::Stall]);
    let mut future = Box::pin(embedder.embed(&TEXTS, TextKind::Passage));
    block_on(poll_fn(|context| {
        assert!(future.as_mut().poll(context).is_pending());
        Poll::Ready(())
    }));
    waits_for(|| stub.shared.begun.load(Ordering::SeqCst) == begun + 1);
    drop(future);
    waits_for(|| stub.shared.closed.load(Ordering::SeqCst) == 1);
    assert!(embed(&embedder).is_ok(), "the embedder is usable afterwards");
    assert_eq!(stub.shared.begun.load(Ordering::SeqCst), begun + 2);
}

fn waits_for(condition: impl Fn() -> bool) {
    let begun = Instant::now();
    while !condition() {
        assert!(begun.elapsed() < Duration::from_secs(10), "it did not happen");
        thread::sleep(Duration::from_millis(5));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_answer_is_vectors_or_an_error(text in ".{0,60}", item in r#"\{"index": [0-2-]{1,2}, "embedding": [\[\]01.,e-]{1,9}\}"#) {
        let stub = Stub::new();
        let embedder = block_on(stub.embedder().batch_size(1).connect()).unwrap();
        for body in [text, format!(r#"{{"data": [{item}]}}"#)] {
            stub.plan([Answer::Status(200, "", body)]);
            let answer = block_on(embedder.embed(&["tea"], TextKind::Passage));
            prop_assert!(answer.is_err_and(|error| error.kind() == ErrorKind::Backend));
        }
    }
}
