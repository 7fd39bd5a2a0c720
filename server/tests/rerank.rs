//! The order of texts over a real socket.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod shared;

use alloquy_core::Result;
use alloquy_core::media::Digest;
use alloquy_retrieval::{Passage, Reranker};
use alloquy_server::{KeyFile, KeyLimits, ServedModel, ServedReranker, Server};
use alloquy_testing::EchoModel;
use async_trait::async_trait;
use serde_json::json;

use shared::TestServer;

const PATH: &str = "/v1/rerank";

/// Scores the words that a text shares with the question, and leaves out texts without any.
#[derive(Debug)]
struct SharedWords;

#[async_trait]
impl Reranker for SharedWords {
    fn digest(&self) -> Digest {
        Digest::of(b"shared words")
    }

    async fn rerank(&self, text: &str, mut passages: Vec<Passage>) -> Result<Vec<Passage>> {
        for passage in &mut passages {
            let shared = passage.text.split(' ').filter(|word| text.split(' ').any(|asked| asked == *word));
            passage.score = f64::from(u32::try_from(shared.count()).unwrap());
        }
        passages.retain(|passage| passage.score > 0.0);
        passages.sort_by(|left, right| right.score.total_cmp(&left.score));
        Ok(passages)
    }
}

async fn server() -> TestServer {
    let words = ServedReranker::new("words", SharedWords);
    TestServer::start(Server::builder().model(ServedModel::loaded("tea", EchoModel)).reranker(words)).await
}

#[tokio::test]
async fn the_best_text_is_first() {
    let server = server().await;
    let documents = json!(["cups", {"text": "green tea"}, "tea"]);
    let request = json!({"model": "words", "query": "green tea", "documents": documents});
    let answer = server.post(PATH, &request).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    let expected = json!({"model": "words", "results": [
        {"index": 1, "relevance_score": 2.0},
        {"index": 2, "relevance_score": 1.0},
    ]});
    assert_eq!(answer.json(), expected);
    let request = json!({"model": "words", "query": "tea", "documents": documents, "top_n": 1, "return_documents": true});
    let body = server.post(PATH, &request).await.json();
    assert_eq!(
        body["results"],
        json!([{"index": 1, "relevance_score": 1.0, "document": {"text": "green tea"}}])
    );
}

#[tokio::test]
async fn what_cannot_be_ordered_is_refused_by_its_place() {
    let server = server().await;
    let cases = [
        (json!({"documents": []}), 400, "documents"),
        (json!({"documents": ["a"], "top_n": 0}), 400, "top_n"),
        (json!({"documents": ["a"], "extra": 1}), 400, "extra"),
        (json!({"documents": [1]}), 400, "documents[0]"),
        (json!({"documents": ["a"], "model": "tea"}), 404, "model"),
    ];
    for (fields, status, param) in cases {
        let mut request = json!({"model": "words", "query": "tea"});
        for (name, value) in fields.as_object().unwrap() {
            request[name] = value.clone();
        }
        let answer = server.post(PATH, &request).await;
        assert_eq!(answer.status, status, "{}", answer.text);
        assert_eq!(answer.error()["param"], param);
    }
}

#[tokio::test]
async fn rerankers_are_listed_under_names_of_their_own() {
    let server = server().await;
    assert_eq!(server.get("/v1/models").await.json()["data"][1]["id"], "words");
    assert_eq!(server.get("/v1/models/words").await.json()["alloquy"]["reranker"], true);
    let same = ServedReranker::new("tea", SharedWords);
    let error =
        Server::builder().model(ServedModel::loaded("tea", EchoModel)).reranker(same).build().unwrap_err();
    assert!(error.to_string().contains("two models have the name"), "{error}");
}

#[tokio::test]
async fn texts_count_as_tokens_of_the_key() {
    let mut limits = KeyLimits::default();
    limits.tokens_per_day = Some(10);
    let mut keys = KeyFile::default();
    let key = keys.add("ann".parse().unwrap(), limits).unwrap();
    let words = ServedReranker::new("words", SharedWords);
    let counted = ServedReranker::new("counted", SharedWords).tokens(|text| text.split(' ').count());
    let builder = Server::builder().model(ServedModel::loaded("tea", EchoModel)).keys(keys);
    let server = TestServer::start(builder.reranker(words).reranker(counted)).await;
    let ask = |model: &str| {
        let body = json!({"model": model, "query": "green tea", "documents": ["tea", "cups of tea"]});
        server.send(server.posting(PATH, &body).bearer_auth(&key))
    };
    // The question is read with each text: 2 + 1 and 2 + 3 tokens.
    assert_eq!(ask("counted").await.status, 200);
    let refused = ask("counted").await;
    assert_eq!(refused.status, 429, "{}", refused.text);
    assert!(refused.text.contains("8 tokens are used"), "{}", refused.text);
    let unknown = ask("words").await;
    assert_eq!(unknown.status, 400, "{}", unknown.text);
}
