//! Vectors of texts over a real socket, in OpenAI's form.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod shared;

use std::sync::{Arc, Mutex};

use alloquy_core::Result;
use alloquy_core::media::Digest;
use alloquy_retrieval::{Embedder, Embeddings, NgramEmbedder, TextKind};
use alloquy_server::{KeyFile, KeyLimits, ServedEmbedder, ServedModel, Server};
use alloquy_testing::EchoModel;
use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use shared::TestServer;

const PATH: &str = "/v1/embeddings";

async fn server() -> TestServer {
    let words = ServedEmbedder::new("words", NgramEmbedder::new(16)).tokens(|text| text.split(' ').count());
    TestServer::start(Server::builder().model(ServedModel::loaded("tea", EchoModel)).embedder(words)).await
}

#[tokio::test]
async fn a_list_of_texts_has_a_list_of_vectors() {
    let server = server().await;
    let request = json!({"model": "words", "input": ["green tea", "cups"], "user": "ann", "dimensions": 16});
    let answer = server.post(PATH, &request).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    let body = answer.json();
    assert_eq!((&body["object"], &body["model"]), (&json!("list"), &json!("words")));
    assert_eq!(body["usage"], json!({"prompt_tokens": 3, "total_tokens": 3}));
    let data = body["data"].as_array().unwrap();
    assert_eq!(data.len(), 2);
    assert_eq!((&data[1]["object"], &data[1]["index"]), (&json!("embedding"), &json!(1)));
    assert_eq!(data[1]["embedding"].as_array().unwrap().len(), 16);
    let alone = server.post(PATH, &json!({"model": "words", "input": "cups"})).await.json();
    assert_eq!(alone["data"][0]["embedding"], data[1]["embedding"]);
}

#[tokio::test]
async fn base64_has_the_same_numbers() {
    let server = server().await;
    let floats = server
        .post(PATH, &json!({"model": "words", "input": "tea", "encoding_format": "float"}))
        .await
        .json();
    let packed = server
        .post(PATH, &json!({"model": "words", "input": "tea", "encoding_format": "base64"}))
        .await
        .json();
    let bytes = STANDARD.decode(packed["data"][0]["embedding"].as_str().unwrap()).unwrap();
    let numbers: Vec<f32> =
        bytes.chunks(4).map(|four| f32::from_le_bytes(four.try_into().unwrap())).collect();
    let floats: Vec<f32> = serde_json::from_value(floats["data"][0]["embedding"].clone()).unwrap();
    assert_eq!(numbers, floats);
}

/// Cuts every text after the first, and remembers what texts were for.
#[derive(Clone, Debug, Default)]
struct Cutting(Arc<Mutex<Vec<TextKind>>>);

#[async_trait]
impl Embedder for Cutting {
    fn digest(&self) -> Digest {
        Digest::of(b"cutting")
    }

    fn dimensions(&self) -> usize {
        1
    }

    async fn embed(&self, texts: &[&str], kind: TextKind) -> Result<Embeddings> {
        self.0.lock().unwrap().push(kind);
        Ok(Embeddings { vectors: vec![vec![1.0]; texts.len()], cut: (1..texts.len()).collect() })
    }
}

#[tokio::test]
async fn cut_texts_are_reported_and_uses_are_passed_on() {
    let cutting = Cutting::default();
    let model = ServedModel::loaded("tea", EchoModel);
    let embedder = ServedEmbedder::new("cutting", cutting.clone());
    let server = TestServer::start(Server::builder().model(model).embedder(embedder)).await;
    let texts: Vec<String> = (0..40).map(|number| format!("text {number}")).collect();
    let body =
        server.post(PATH, &json!({"model": "cutting", "input": texts, "input_type": "query"})).await.json();
    let mut cut: Vec<usize> = (1..32).collect();
    cut.extend(33..40);
    assert_eq!(body["alloquy"]["cut"], json!(cut), "a batch after the first has its own places");
    assert_eq!(body["usage"]["prompt_tokens"], 0);
    server.post(PATH, &json!({"model": "cutting", "input": "a", "input_type": "document"})).await;
    assert_eq!(*cutting.0.lock().unwrap(), [TextKind::Query, TextKind::Query, TextKind::Passage]);
    let strict = json!({"model": "cutting", "input": ["a", "b"], "truncate": false});
    assert_eq!(server.post("/api/embed", &strict).await.status, 400);
}

#[tokio::test]
async fn what_has_no_vector_is_refused_by_its_place() {
    let server = server().await;
    let cases = [
        (json!({"input": []}), "input"),
        (json!({"input": ""}), "input[0]"),
        (json!({"input": ["a", ""]}), "input[1]"),
        (json!({"input": [1, 2]}), "input[0]"),
        (json!({"input": [[1, 2]]}), "input[0]"),
        (json!({"input": 5}), "input"),
        (json!({"input": "a", "dimensions": 8}), "dimensions"),
        (json!({"input": "a", "encoding_format": "int8"}), "encoding_format"),
        (json!({"input": "a", "truncate": true}), "truncate"),
    ];
    for (mut request, param) in cases {
        request["model"] = json!("words");
        let answer = server.post(PATH, &request).await;
        assert_eq!(answer.status, 400, "{request}: {}", answer.text);
        assert_eq!(answer.error()["param"], param, "{request}");
    }
    for model in ["tea", "coffee"] {
        let answer = server.post(PATH, &json!({"model": model, "input": "a"})).await;
        assert_eq!((answer.status, &answer.error()["code"]), (404, &json!("model_not_found")));
    }
}

#[tokio::test]
async fn models_of_vectors_are_listed() {
    let server = server().await;
    let list = server.get("/v1/models").await.json();
    let ids: Vec<&Value> = list["data"].as_array().unwrap().iter().map(|model| &model["id"]).collect();
    assert_eq!(ids, [&json!("tea"), &json!("words")]);
    assert_eq!(server.get("/v1/models/words").await.json()["alloquy"]["dimensions"], 16);
}

#[test]
fn one_name_is_one_model() {
    let words = ServedEmbedder::new("tea", NgramEmbedder::new(16));
    let error =
        Server::builder().model(ServedModel::loaded("tea", EchoModel)).embedder(words).build().unwrap_err();
    assert!(error.to_string().contains("two models have the name"), "{error}");
    // Also later, when the models are replaced.
    let words = ServedEmbedder::new("words", NgramEmbedder::new(16));
    let server =
        Server::builder().model(ServedModel::loaded("tea", EchoModel)).embedder(words).build().unwrap();
    let error = server.handle().replace_models(vec![ServedModel::loaded("words", EchoModel)]).unwrap_err();
    assert!(error.to_string().contains("two models have the name \"words\""), "{error}");
}

/// A server of one key, whose owner may use so much.
async fn limited(limits: KeyLimits, embedder: ServedEmbedder) -> (TestServer, String) {
    let mut keys = KeyFile::default();
    let key = keys.add("ann".parse().unwrap(), limits).unwrap();
    let builder = Server::builder().model(ServedModel::loaded("tea", EchoModel)).embedder(embedder);
    (TestServer::start(builder.keys(keys)).await, key)
}

#[tokio::test]
async fn texts_count_as_tokens_and_calls_of_the_key() {
    let words = || ServedEmbedder::new("words", NgramEmbedder::new(16));
    let mut limits = KeyLimits::default();
    limits.tokens_per_day = Some(5);
    let counted = words().tokens(|text| text.split(' ').count());
    let (server, key) = limited(limits.clone(), counted).await;
    let ask = |path: &str, input: &str| {
        server.send(server.posting(path, &json!({"model": "words", "input": input})).bearer_auth(&key))
    };
    assert_eq!(ask(PATH, "a cup of").await.status, 200);
    let refused = ask("/api/embed", "green tea now").await;
    assert_eq!(refused.status, 429, "{}", refused.text);
    assert!(refused.text.contains("the budget of 5 tokens a day"), "{}", refused.text);
    // What is refused takes nothing.
    assert_eq!(ask(PATH, "").await.status, 400);
    assert_eq!(ask("/api/embed", "green tea").await.status, 200);
    assert_eq!(ask(PATH, "tea").await.status, 429);

    let (server, key) = limited(limits, words()).await;
    let body = json!({"model": "words", "input": "tea"});
    let unknown = server.send(server.posting(PATH, &body).bearer_auth(&key)).await;
    assert_eq!(unknown.status, 400, "{}", unknown.text);
    assert!(unknown.text.contains("tokens_per_day"), "{}", unknown.text);

    let mut limits = KeyLimits::default();
    limits.calls_per_minute = Some(1);
    let (server, key) = limited(limits, words()).await;
    let mut statuses = Vec::new();
    for _ in 0..2 {
        statuses.push(server.send(server.posting(PATH, &body).bearer_auth(&key)).await.status);
    }
    assert_eq!(statuses, [200, 429]);
}
