//! The cache of one owner helps no other: equal prompts are computed again, by every protocol, and no answer says that another owner has sent
//! them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod shared;

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use alloquy_core::report::{CacheReport, Usage};
use alloquy_core::stream::EventStream;
use alloquy_core::{ChatModel, Delta, Message, Reply, ReplyStream, Request, Result};
use alloquy_flows::Flow;
use alloquy_server::{KeyFile, KeyLimits, ServedModel, Server};
use async_trait::async_trait;
use serde_json::{Value, json};

use shared::TestServer;

/// How many tokens each prompt has.
const PROMPT: usize = 20;

/// Caches whole prompts by their owner, as models of this machine do.
#[derive(Clone, Debug, Default)]
struct CachingModel {
    known: Arc<Mutex<HashSet<String>>>,
    /// The owner of each call, and how many tokens of its prompt were cached.
    calls: Arc<Mutex<Vec<(String, usize)>>>,
}

#[async_trait]
impl ChatModel for CachingModel {
    fn name(&self) -> &str {
        "caching"
    }

    async fn reply(&self, request: Request) -> Result<ReplyStream> {
        let owner = request.origin.as_ref().expect("an owner").owner.as_str().to_owned();
        let texts: Vec<String> = request.path.iter().map(Message::text).collect();
        let is_new = self.known.lock().unwrap().insert(format!("{owner} {texts:?}"));
        let cached = if is_new { 0 } else { PROMPT - 1 };
        self.calls.lock().unwrap().push((owner, cached));
        Ok(EventStream::new(move |mut emit| async move {
            emit.send(Delta::Text("Tea.".to_owned())).await;
            let mut reply = Reply::new(Message::assistant("Tea."));
            reply.usage = Usage::new(PROMPT, 2);
            reply.usage.cached = cached;
            reply.cache = Some(CacheReport::new(PROMPT, cached));
            Ok(reply)
        }))
    }

    async fn warm(&self, _: Request) -> Result<Option<CacheReport>> {
        Ok(None)
    }
}

/// All numbers under these names in an answer: a document, events, or lines of JSON.
fn reported(text: &str) -> Vec<u64> {
    let mut found = Vec::new();
    for line in text.lines() {
        let line = line.strip_prefix("data: ").unwrap_or(line);
        if let Ok(value) = serde_json::from_str::<Value>(line) {
            collect(&value, &mut found);
        }
    }
    found
}

fn collect(value: &Value, found: &mut Vec<u64>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                if ["cached_tokens", "cache_read_input_tokens", "cached"].contains(&name.as_str()) {
                    found.extend(value.as_u64());
                }
                collect(value, found);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, found)),
        _ => {}
    }
}

/// The requests that ask a model, each with a text of its own.
fn requests() -> Vec<(String, Value)> {
    let messages = |text: &str| json!([{"role": "user", "content": text}]);
    let chat = "/v1/chat/completions";
    let usage = json!({"include_usage": true});
    let turns = "/v1/alloquy/conversations/conv_tea/turns";
    let requests = [
        (chat, json!({"messages": messages("chat")})),
        (chat, json!({"messages": messages("stored"), "store": true})),
        (chat, json!({"messages": messages("streamed"), "stream": true, "stream_options": usage})),
        ("/v1/responses", json!({"input": "response"})),
        ("/v1/responses", json!({"input": "not stored", "store": false})),
        ("/v1/responses", json!({"input": "streamed response", "stream": true})),
        ("/v1/responses", json!({"input": "in the background", "stream": true, "background": true})),
        ("/v1/messages", json!({"model": "tea", "max_tokens": 9, "messages": messages("message")})),
        (
            "/v1/messages",
            json!({"model": "tea", "max_tokens": 9, "messages": messages("events"), "stream": true}),
        ),
        ("/api/chat", json!({"model": "tea", "messages": messages("ollama"), "stream": false})),
        ("/api/chat", json!({"model": "tea", "messages": messages("lines")})),
        ("/api/generate", json!({"model": "tea", "prompt": "prompt", "stream": false})),
        (turns, json!({"text": "turn", "node": ""})),
        (turns, json!({"text": "streamed turn", "node": "", "stream": true})),
        ("/v1/alloquy/flows/poem/runs", json!({})),
    ];
    requests.map(|(path, body)| (path.to_owned(), body)).to_vec()
}

#[tokio::test]
async fn what_one_owner_has_sent_is_not_cached_for_another() {
    let mut keys = KeyFile::default();
    let mut key = |owner: &str| keys.add(owner.parse().unwrap(), KeyLimits::default()).unwrap();
    let (ann, bob) = (key("ann"), key("bob"));
    let model = CachingModel::default();
    let poem = Flow::from_yaml("name: poem\nstates:\n  poem: {ask: Write a poem.}\n").unwrap();
    let builder = Server::builder().model(ServedModel::loaded("tea", model.clone())).flow("poem", poem);
    let server = TestServer::start(builder.keys(keys)).await;
    for key in [&ann, &bob] {
        let created = server.posting("/v1/alloquy/conversations", &json!({"name": "tea"})).bearer_auth(key);
        assert_eq!(server.send(created).await.status, 201);
    }
    for (path, body) in requests() {
        for (key, owner, is_cached) in [(&ann, "ann", false), (&bob, "bob", false), (&ann, "ann", true)] {
            let answer = server.send(server.posting(&path, &body).bearer_auth(key)).await;
            assert!(answer.status < 300, "{path} {body}: {}", answer.text);
            let calls = std::mem::take(&mut *model.calls.lock().unwrap());
            let cached = if is_cached { PROMPT - 1 } else { 0 };
            assert_eq!(calls, [(owner.to_owned(), cached)], "{path} {body}");
            let reported = reported(&answer.text);
            // The first event of a stream does not know the number yet.
            let is_right = reported.iter().all(|number| [0, cached as u64].contains(number));
            assert!(is_right, "{path} {body} of {owner}: {reported:?}");
            let names_none = path.starts_with("/api") || path.contains("/flows/");
            assert!(
                names_none || reported.last() == Some(&(cached as u64)),
                "{path} {body}: {}",
                answer.text
            );
        }
    }
}
