//! A server of vectors and scores that answers from a plan.

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use alloquy_openai::{
    RemoteEmbedder, RemoteEmbedderBuilder, RemoteReranker, RemoteRerankerBuilder, RemoteRetries, RemoteServer,
};
use alloquy_retrieval::{Embedder, NgramEmbedder, TextKind};
use serde_json::{Value, json};

use crate::http::{self, Asked, respond};

/// How many numbers the server's vectors have, if it is not asked for fewer.
pub(crate) const DIMENSIONS: usize = 64;

/// What a request is answered with instead.
#[derive(Clone)]
pub(crate) enum Answer {
    /// What it is answered with otherwise.
    Whole,
    /// This status, these headers and this body.
    Status(u16, &'static str, String),
    /// The first bytes of the answer. The connection ends as if it were complete.
    Cut(usize),
    /// The first bytes of the answer. The connection ends although more was announced.
    Torn(usize),
    /// An answer without an end, until the client closes.
    Endless,
    /// Nothing, until the client closes.
    Stall,
}

impl Answer {
    pub(crate) fn status(status: u16) -> Self {
        Self::Status(status, "", String::new())
    }

    pub(crate) fn json(body: &Value) -> Self {
        Self::Status(200, "", body.to_string())
    }
}

pub(crate) struct Stub {
    pub(crate) url: String,
    pub(crate) shared: Arc<Shared>,
}

#[derive(Default)]
pub(crate) struct Shared {
    plan: Mutex<VecDeque<Answer>>,
    /// The bodies of requests for vectors or scores.
    pub(crate) requests: Mutex<Vec<Value>>,
    /// How often a client has closed a connection before its answer was complete.
    pub(crate) closed: AtomicUsize,
    /// How many requests have come.
    pub(crate) begun: AtomicUsize,
    /// The bytes of the last answer.
    pub(crate) length: AtomicUsize,
}

impl Stub {
    pub(crate) fn new() -> Self {
        let shared = Arc::new(Shared::default());
        let state = Arc::clone(&shared);
        let url = http::serve(move |stream, asked| state.answer(stream, &asked));
        Self { url, shared }
    }

    /// Returns how the server is reached if requests are tried once.
    pub(crate) fn server(&self) -> RemoteServer {
        let mut retries = RemoteRetries::default();
        retries.attempts = 1;
        RemoteServer::at(&self.url).retries(retries)
    }

    pub(crate) fn embedder(&self) -> RemoteEmbedderBuilder {
        RemoteEmbedder::builder(self.server())
    }

    pub(crate) fn connected(&self) -> RemoteEmbedder {
        pollster::block_on(self.embedder().connect()).unwrap()
    }

    pub(crate) fn reranker(&self) -> RemoteRerankerBuilder {
        RemoteReranker::builder(self.server())
    }

    pub(crate) fn plan(&self, answers: impl IntoIterator<Item = Answer>) {
        self.shared.plan.lock().unwrap().extend(answers);
    }

    /// Returns the requests that came since the last call.
    pub(crate) fn requests(&self) -> Vec<Value> {
        std::mem::take(&mut *self.shared.requests.lock().unwrap())
    }
}

impl Shared {
    fn answer(&self, stream: &mut TcpStream, asked: &Asked) {
        let body = &asked.body;
        match asked.path.as_str() {
            "/v1/models" => respond(stream, 200, "", &json!({"data": [{"id": "script"}]}).to_string()),
            "/v1/embeddings" => self.send(stream, body, &embeddings(body)),
            "/v1/rerank" => self.send(stream, body, &ranks(body)),
            _ => respond(stream, 404, "", "{}"),
        }
    }

    fn send(&self, stream: &mut TcpStream, request: &Value, answer: &Value) {
        self.requests.lock().unwrap().push(request.clone());
        self.begun.fetch_add(1, Ordering::SeqCst);
        let text = answer.to_string();
        self.length.store(text.len(), Ordering::SeqCst);
        let planned = self.plan.lock().unwrap().pop_front();
        match planned {
            None | Some(Answer::Whole) => respond(stream, 200, "", &text),
            Some(Answer::Status(status, headers, body)) => respond(stream, status, headers, &body),
            Some(Answer::Cut(kept)) => respond(stream, 200, "", &text[..kept]),
            Some(Answer::Torn(kept)) => {
                let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", text.len());
                let _ = stream.write_all(head.as_bytes());
                let _ = stream.write_all(&text.as_bytes()[..kept]);
            }
            Some(Answer::Endless) => {
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n");
                while stream.write_all(&[b' '; 1 << 16]).is_ok() {}
                self.closed.fetch_add(1, Ordering::SeqCst);
            }
            Some(Answer::Stall) => {
                if matches!(stream.read(&mut [0; 16]), Ok(0) | Err(_)) {
                    self.closed.fetch_add(1, Ordering::SeqCst);
                }
            }
        }
    }
}

fn texts(value: &Value) -> Vec<String> {
    serde_json::from_value(value.clone()).unwrap()
}

/// Returns vectors of length 3, the last one first.
pub(crate) fn embeddings(request: &Value) -> Value {
    let dimensions = request.get("dimensions").and_then(Value::as_u64);
    let dimensions = dimensions.map_or(DIMENSIONS, |dimensions| usize::try_from(dimensions).unwrap());
    let embedder = NgramEmbedder::new(dimensions);
    let mut data = Vec::new();
    for (index, text) in texts(&request["input"]).iter().enumerate() {
        let embeddings = pollster::block_on(embedder.embed(&[text], TextKind::Passage)).unwrap();
        let vector: Vec<f32> = embeddings.vectors[0].iter().map(|number| number * 3.0).collect();
        data.push(json!({"object": "embedding", "index": index, "embedding": vector}));
    }
    data.reverse();
    json!({"object": "list", "model": request["model"], "data": data, "usage": {"prompt_tokens": 9}})
}

/// Returns a score for each document: how many of the question's words it has, less a little for its length.
pub(crate) fn ranks(request: &Value) -> Value {
    let query = request["query"].as_str().unwrap();
    let mut results = Vec::new();
    for (index, document) in texts(&request["documents"]).iter().enumerate() {
        let words = query.split(' ').filter(|word| document.contains(word)).count();
        let score = words as f64 - document.len() as f64 / 1000.0;
        results.push(json!({"index": index, "document": {"text": document}, "relevance_score": score}));
    }
    results.sort_by(|left, right| {
        let [left, right] = [left, right].map(|result| result["relevance_score"].as_f64().unwrap());
        right.total_cmp(&left)
    });
    json!({"model": request["model"], "results": results})
}
