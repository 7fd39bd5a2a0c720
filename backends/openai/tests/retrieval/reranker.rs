//! Scores of a server that answers.

use alloquy_core::ErrorKind;
use alloquy_core::media::Digest;
use alloquy_openai::{RemoteReranker, RemoteRerankerBuilder, RemoteRetries};
use alloquy_retrieval::{HEADING, Passage, Reranker, laws};
use pollster::block_on;
use serde_json::{Value, json};

use crate::stub::{Answer, Stub};

fn passages() -> Vec<Passage> {
    vec![
        Passage::new("1", "Coffee is grown in Kona."),
        Passage::new("2", "It is grown in Assam.").metadata(HEADING, "Where is tea grown?"),
    ]
}

#[test]
fn requests_for_scores_are_sent_again() {
    let stub = Stub::new();
    let mut retries = RemoteRetries::default();
    retries.attempts = 2;
    let server = stub.server().retries(retries);
    let reranker = block_on(RemoteReranker::connect(server)).unwrap();
    stub.requests();
    stub.plan([Answer::status(429)]);
    assert!(block_on(reranker.rerank("tea", passages())).is_ok());
    assert_eq!(stub.requests().len(), 2);
    stub.plan([Answer::status(503), Answer::status(503)]);
    let error = block_on(reranker.rerank("tea", passages())).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Busy);
    stub.plan([Answer::Endless]);
    let error = block_on(reranker.rerank("tea", passages())).err().unwrap();
    assert!(error.to_string().contains("has more than"), "{error}");
}

#[test]
fn the_remote_reranker_is_a_reranker() {
    let stub = Stub::new();
    for builder in [stub.reranker(), stub.reranker().max_characters(12)] {
        block_on(laws::reranker::all(&block_on(builder.connect()).unwrap())).unwrap();
    }
}

#[test]
fn passages_are_sent_with_their_headings() {
    let stub = Stub::new();
    let reranker = block_on(stub.reranker().connect()).unwrap();
    assert_eq!(reranker.info().model, "script");
    stub.requests();
    let found = block_on(reranker.rerank("Where is tea grown?", passages())).unwrap();
    let expected = json!({
        "model": "script",
        "query": "Where is tea grown?",
        "documents": ["Coffee is grown in Kona.", "Where is tea grown?\n\nIt is grown in Assam."],
        "top_n": 2,
    });
    assert_eq!(stub.requests(), [expected]);
    let ids: Vec<&str> = found.iter().map(|passage| passage.id.as_str()).collect();
    assert_eq!(ids, ["2", "1"]);

    let reranker = block_on(stub.reranker().max_characters(5).connect()).unwrap();
    stub.requests();
    block_on(reranker.rerank("tea", passages())).unwrap();
    assert_eq!(stub.requests()[0]["documents"], json!(["Coffe", "Where"]));
}

fn item(index: i64, score: &Value) -> Value {
    json!({"index": index, "relevance_score": score})
}

#[test]
fn wrong_scores_are_errors() {
    let stub = Stub::new();
    let reranker = block_on(stub.reranker().connect()).unwrap();
    let cases = [
        (vec![], "no item of index 0"),
        (vec![item(0, &json!(1.0))], "no item of index 1"),
        (vec![item(0, &json!(1.0)), item(0, &json!(2.0))], "two items of index 0"),
        (vec![item(0, &json!(1.0)), item(2, &json!(2.0))], "an item of index 2"),
        (vec![item(0, &json!(1.0)), item(-1, &json!(2.0))], "protocol"),
        (vec![item(0, &json!(1.0)), item(1, &Value::Null)], "no number"),
        (vec![item(0, &json!(1.0)), item(1, &json!("high"))], "protocol"),
        (vec![item(0, &json!(1.0)), json!({"index": 1})], "no number"),
    ];
    for (results, expected) in cases {
        stub.plan([Answer::json(&json!({"results": results}))]);
        let error = block_on(reranker.rerank("tea", passages())).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Backend, "{error}");
        assert!(error.to_string().contains(expected), "{error} has no {expected:?}");
    }
    assert!(block_on(reranker.rerank("tea", passages())).is_ok(), "the reranker is usable afterwards");
}

fn digest(builder: RemoteRerankerBuilder) -> Digest {
    block_on(builder.connect()).unwrap().digest()
}

#[test]
fn the_digest_is_that_of_what_changes_scores() {
    let (stub, other) = (Stub::new(), Stub::new());
    let first = digest(stub.reranker());
    assert_eq!(first, digest(other.reranker()), "another address");
    for builder in
        [stub.reranker().model("b"), stub.reranker().revision("2"), stub.reranker().max_characters(9)]
    {
        assert_ne!(first, digest(builder));
    }
}
