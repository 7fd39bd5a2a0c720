//! A server on a real loopback socket, and a client of it.
#![allow(dead_code, reason = "each test binary uses a part of it")]

pub(crate) mod document;
pub(crate) mod grammar;
pub(crate) mod host_tools;
pub(crate) mod noted;
mod obedient;
pub(crate) mod prompts;
pub(crate) mod saved;
pub(crate) mod sending;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use alloquy_core::report::{CacheReport, FinishReason};
use alloquy_core::stream::EventStream;
use alloquy_core::{ChatModel, Delta, Message, Reply, ReplyStream, Request, Result};
use alloquy_server::{ServedModel, Server, ServerBuilder, ServerHandle};
use alloquy_testing::{ScriptedModel, ScriptedReply};
use async_trait::async_trait;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use document::DOCUMENT;
#[allow(unused_imports, reason = "each test binary uses a part of it")]
pub(crate) use obedient::ObedientModel;

pub(crate) struct TestServer {
    pub(crate) url: String,
    pub(crate) address: std::net::SocketAddr,
    pub(crate) handle: ServerHandle,
    pub(crate) served: JoinHandle<Result<()>>,
    pub(crate) client: reqwest::Client,
}

pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: reqwest::header::HeaderMap,
    pub(crate) text: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }

    /// The data of server-sent events.
    pub(crate) fn events(&self) -> Vec<String> {
        let lines = self.text.lines().filter_map(|line| line.strip_prefix("data: "));
        lines.map(str::to_owned).collect()
    }

    /// The chunks of a stream, whose last event is `[DONE]`.
    pub(crate) fn chunks(&self) -> Vec<Value> {
        let mut events = self.events();
        assert_eq!(events.pop().as_deref(), Some("[DONE]"), "{}", self.text);
        events.iter().map(|event| serde_json::from_str(event).unwrap()).collect()
    }

    pub(crate) fn error(&self) -> Value {
        let body = self.json();
        let error = &body["error"];
        for name in ["message", "type", "param", "code"] {
            assert!(error.get(name).is_some(), "{name} is missing in {body}");
        }
        error.clone()
    }
}

impl TestServer {
    pub(crate) async fn start(builder: ServerBuilder) -> Self {
        let server = builder.build().unwrap();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let handle = server.handle();
        let served = tokio::spawn(server.serve(listener));
        // Nothing is encrypted here, and the client of this workspace asks for it all the same.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder().timeout(Duration::from_secs(60)).build().unwrap();
        Self { url: format!("http://{address}"), address, handle, served, client }
    }

    /// A server of one model, which answers with these texts.
    pub(crate) async fn saying<const N: usize>(texts: [&str; N]) -> Self {
        Self::start(Server::builder().model(scripted("tea", texts))).await
    }

    /// Sends a request, and compares the answer with the document of OpenAPI.
    pub(crate) async fn send(&self, request: reqwest::RequestBuilder) -> Answer {
        let request = request.build().unwrap();
        let method = request.method().to_string();
        let address = request.url().path().to_owned();
        let response = self.client.execute(request).await.unwrap();
        let status = response.status().as_u16();
        let headers = response.headers().clone();
        let answer = Answer { status, headers, text: response.text().await.unwrap() };
        let is_json = answer.headers.get("content-type").is_some_and(|kind| kind == "application/json");
        if is_json && method != "HEAD" {
            DOCUMENT.check(&method, &address, status, &answer.json());
        }
        answer
    }

    pub(crate) fn request(&self, method: &str, path: &str) -> reqwest::RequestBuilder {
        self.client.request(method.parse().unwrap(), format!("{}{path}", self.url))
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.send(self.request("GET", path)).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Answer {
        self.send(self.request("DELETE", path)).await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Answer {
        self.send(self.posting(path, body)).await
    }

    pub(crate) fn posting(&self, path: &str, body: &Value) -> reqwest::RequestBuilder {
        self.request("POST", path).header("content-type", "application/json").body(body.to_string())
    }

    /// Asks for a completion with these fields beside the message.
    pub(crate) async fn chat(&self, fields: Value) -> Answer {
        self.post("/v1/chat/completions", &asking(fields)).await
    }
}

/// A request with the message "Hi" and these fields.
#[allow(clippy::needless_pass_by_value, reason = "callers write the fields in place")]
pub(crate) fn asking(fields: Value) -> Value {
    let mut request = json!({"model": "tea", "messages": [{"role": "user", "content": "Hi"}]});
    for (name, value) in fields.as_object().unwrap() {
        request[name] = value.clone();
    }
    request
}

pub(crate) fn scripted<const N: usize>(name: &str, texts: [&str; N]) -> ServedModel {
    replying(name, texts.map(ScriptedReply::text))
}

pub(crate) fn replying<const N: usize>(name: &str, replies: [ScriptedReply; N]) -> ServedModel {
    ServedModel::loaded(name, ScriptedModel::replying(replies).named(name))
}

/// Answers with one reply, and remembers what was requested.
#[derive(Clone, Debug)]
pub(crate) struct Recorder {
    pub(crate) requests: Arc<Mutex<Vec<Request>>>,
    reply: Reply,
}

impl Recorder {
    pub(crate) fn new(reply: Reply) -> Self {
        Self { requests: Arc::default(), reply }
    }

    pub(crate) fn last(&self) -> Request {
        self.requests.lock().unwrap().last().cloned().expect("a request")
    }
}

#[async_trait]
impl ChatModel for Recorder {
    fn name(&self) -> &str {
        "recorder"
    }

    async fn reply(&self, request: Request) -> Result<ReplyStream> {
        self.requests.lock().unwrap().push(request.clone());
        ScriptedModel::replying([ScriptedReply::from(self.reply.clone())]).reply(request).await
    }

    async fn warm(&self, _: Request) -> Result<Option<CacheReport>> {
        Ok(None)
    }
}

/// Writes ten words, each after a pause.
#[derive(Clone, Debug)]
pub(crate) struct Paced(pub(crate) Duration);

const WORDS: &str = "one two three four five six seven eight nine ten";

#[async_trait]
impl ChatModel for Paced {
    fn name(&self) -> &str {
        "paced"
    }

    async fn reply(&self, request: Request) -> Result<ReplyStream> {
        let pause = self.0;
        Ok(EventStream::new(|mut emit| async move {
            let mut said = String::new();
            for word in WORDS.split_inclusive(' ') {
                tokio::time::sleep(pause).await;
                if request.stop.is_stopped() {
                    let mut reply = Reply::new(Message::assistant(said));
                    reply.finish = FinishReason::Cancelled;
                    return Ok(reply);
                }
                said.push_str(word);
                emit.send(Delta::Text(word.to_owned())).await;
            }
            Ok(Reply::new(Message::assistant(said)))
        }))
    }

    async fn warm(&self, _: Request) -> Result<Option<CacheReport>> {
        Ok(None)
    }
}
