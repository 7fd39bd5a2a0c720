//! Stored completions: kept, found, listed, changed, deleted, and kept as far as they came.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod shared;

use std::sync::Arc;
use std::time::Duration;

use alloquy_core::report::CacheReport;
use alloquy_core::store::{ConversationStore, MemoryStore};
use alloquy_core::tree::NodeStatus;
use alloquy_core::{ChatModel, Error, ErrorKind, Node, Owner, Query, ReplyStream, Request, Result};
use alloquy_server::{ServedModel, Server};
use alloquy_testing::ScriptedReply;
use serde_json::{Value, json};

use shared::{TestServer, replying, scripted};

async fn stored(server: &TestServer, metadata: Value) -> String {
    let messages = json!([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}]);
    let answer = server.chat(json!({"store": true, "metadata": metadata, "messages": messages})).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.json()["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_stored_completion_is_found_changed_and_deleted() {
    let server = TestServer::saying(["Hello!"]).await;
    let id = stored(&server, json!({"color": "green"})).await;
    let path = format!("/v1/chat/completions/{id}");
    let body = server.get(&path).await.json();
    assert_eq!(body["id"], *id);
    assert_eq!(body["object"], "chat.completion");
    assert_eq!(body["choices"][0]["message"]["content"], "Hello!");
    assert_eq!(body["metadata"], json!({"color": "green"}));
    assert!(body["alloquy"]["node"].is_string());

    let messages = server.get(&format!("{path}/messages")).await.json();
    assert_eq!(messages["data"][0]["content"], "Be brief.");
    assert_eq!(messages["data"][1]["content"], "Hi");
    assert_eq!(messages["data"].as_array().unwrap().len(), 2);
    let second = server.get(&format!("{path}/messages?limit=1&order=desc")).await.json();
    assert_eq!((&second["data"][0]["content"], &second["has_more"]), (&json!("Hi"), &json!(true)));

    let changed = server.post(&path, &json!({"metadata": {"color": "black"}})).await;
    assert_eq!(changed.json()["metadata"], json!({"color": "black"}), "{}", changed.text);

    assert_eq!(server.delete(&path).await.json()["deleted"], true);
    let missing = server.get(&path).await;
    assert_eq!((missing.status, &missing.error()["code"]), (404, &json!("not_found")));
}

/// The ids of a list.
fn listed(body: &Value) -> Vec<String> {
    let data = body["data"].as_array().unwrap();
    data.iter().map(|object| object["id"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn lists_have_pages_and_conditions() {
    let server = TestServer::saying(["1", "2", "3"]).await;
    let mut ids = Vec::new();
    for color in ["green", "black", "green"] {
        ids.push(stored(&server, json!({"color": color})).await);
        tokio::time::sleep(Duration::from_millis(3)).await;
    }
    let path = "/v1/chat/completions";
    assert_eq!(listed(&server.get(path).await.json()), ids);
    let first = server.get(&format!("{path}?limit=2")).await.json();
    assert_eq!(first["has_more"], true);
    let rest =
        server.get(&format!("{path}?limit=2&after={}", first["last_id"].as_str().unwrap())).await.json();
    assert_eq!((listed(&rest), &rest["has_more"]), (vec![ids[2].clone()], &json!(false)));
    let green = server.get(&format!("{path}?metadata[color]=green&order=desc")).await.json();
    assert_eq!(listed(&green), [ids[2].clone(), ids[0].clone()]);
    assert_eq!(listed(&server.get(&format!("{path}?model=coffee")).await.json()), Vec::<String>::new());
    for query in ["limit=0", "limit=101", "order=up", "color=green"] {
        assert_eq!(server.get(&format!("{path}?{query}")).await.status, 400, "{query}");
    }
}

#[tokio::test]
async fn only_what_is_asked_for_is_stored() {
    let store = Arc::new(MemoryStore::default());
    let builder = Server::builder().model(scripted("tea", ["Hello!"])).store(store.clone());
    let server = TestServer::start(builder).await;
    let id = server.chat(json!({})).await.json()["id"].as_str().unwrap().to_owned();
    assert_eq!(server.get(&format!("/v1/chat/completions/{id}")).await.status, 404);
    // The script has no more replies: what is refused leaves nothing either.
    assert_eq!(server.chat(json!({"store": true})).await.status, 400);
    assert_eq!(server.chat(json!({"store": true, "stream": true})).await.status, 400);
    assert_eq!(store.count(&Owner::local(), &Query::default()).await.unwrap(), 0);
}

#[tokio::test]
async fn pages_are_full_where_there_are_more() {
    let store = Arc::new(MemoryStore::default());
    let replies: [ScriptedReply; 7] = std::array::from_fn(|index| match index {
        1 | 2 => hanging(),
        _ => ScriptedReply::text("Hello!"),
    });
    let server = TestServer::start(Server::builder().model(replying("tea", replies)).store(store)).await;
    let mut ids = vec![stored(&server, json!({})).await];
    let mut running = Vec::new();
    for _ in 0..2 {
        let body = shared::asking(json!({"store": true, "stream": true}));
        running.push(server.posting("/v1/chat/completions", &body).send().await.unwrap());
        tokio::time::sleep(Duration::from_millis(3)).await;
    }
    for _ in 0..4 {
        ids.push(stored(&server, json!({})).await);
        tokio::time::sleep(Duration::from_millis(3)).await;
    }
    // Two that are being generated, and one that is deleted.
    let deleted = ids.remove(2);
    assert_eq!(server.delete(&format!("/v1/chat/completions/{deleted}")).await.status, 200);
    let mut found = Vec::new();
    let mut after = String::new();
    loop {
        let page = server.get(&format!("/v1/chat/completions?limit=2{after}")).await.json();
        found.extend(listed(&page));
        if page["has_more"] == false {
            break;
        }
        assert_eq!(listed(&page).len(), 2, "{page}");
        after = format!("&after={}", page["last_id"].as_str().unwrap());
    }
    assert_eq!(found, ids);
}

#[tokio::test]
async fn images_of_stored_messages_are_shown() {
    let store = Arc::new(MemoryStore::default());
    let server = TestServer::start(Server::builder().model(scripted("tea", ["A dot."])).store(store)).await;
    let url = format!("data:image/png;base64,{PNG}");
    let content =
        json!([{"type": "text", "text": "What is it?"}, {"type": "image_url", "image_url": {"url": url}}]);
    let answer =
        server.chat(json!({"store": true, "messages": [{"role": "user", "content": content}]})).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    let path = format!("/v1/chat/completions/{}/messages", answer.json()["id"].as_str().unwrap());
    let messages = server.get(&path).await;
    assert_eq!(messages.status, 200, "{}", messages.text);
    assert_eq!(messages.json()["data"][0]["content"][1]["image_url"]["url"], json!(url));
}

/// An image of one dot.
const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// Refuses every request, after a while.
#[derive(Clone, Copy, Debug)]
struct LateRefusal;

#[async_trait::async_trait]
impl ChatModel for LateRefusal {
    fn name(&self) -> &'static str {
        "late"
    }

    async fn reply(&self, _: Request) -> Result<ReplyStream> {
        tokio::time::sleep(Duration::from_millis(300)).await;
        Err(Error::new(ErrorKind::Invalid, "no"))
    }

    async fn warm(&self, _: Request) -> Result<Option<CacheReport>> {
        Ok(None)
    }
}

/// Waits until nothing is stored.
async fn nothing_is_stored(store: &MemoryStore) {
    for _ in 0..500 {
        if store.count(&Owner::local(), &Query::default()).await.unwrap() == 0 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("a conversation without a reply stays");
}

#[tokio::test]
async fn what_is_refused_late_or_left_early_stores_nothing() {
    let store = Arc::new(MemoryStore::default());
    let mut limits = alloquy_server::RequestLimits::default();
    limits.first_event = Duration::from_millis(20);
    let builder = Server::builder().model(ServedModel::loaded("tea", LateRefusal));
    let server = TestServer::start(builder.store(store.clone()).limits(limits)).await;
    let refused = server.chat(json!({"store": true, "stream": true})).await;
    assert_eq!(refused.status, 200);
    assert!(refused.text.contains("invalid_value"), "{}", refused.text);
    nothing_is_stored(&store).await;
    for is_streamed in [true, false] {
        let body = shared::asking(json!({"store": true, "stream": is_streamed}));
        let request = server.posting("/v1/chat/completions", &body).timeout(Duration::from_millis(15));
        assert!(request.send().await.unwrap_err().is_timeout());
        nothing_is_stored(&store).await;
    }
}

/// Waits until a stored reply is interrupted, and returns it.
async fn interrupted(store: &MemoryStore) -> Node {
    for _ in 0..500 {
        let page = store.list(&Owner::local(), &Query::default()).await.unwrap();
        for summary in page.conversations {
            let (_, tree) = store.load(&Owner::local(), &summary.record.id).await.unwrap();
            if let Some(node) = tree.nodes().find(|node| node.status == NodeStatus::Interrupted) {
                return node.clone();
            }
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("no reply was kept");
}

fn hanging() -> ScriptedReply {
    ScriptedReply::Hangs("Once upon".to_owned())
}

#[tokio::test]
async fn a_client_that_leaves_ends_its_stream_and_the_text_so_far_is_kept() {
    let store = Arc::new(MemoryStore::default());
    let builder = Server::builder().model(replying("tea", [hanging()])).store(store.clone());
    let server = TestServer::start(builder).await;
    let body = shared::asking(json!({"store": true, "stream": true}));
    let mut response = server.posting("/v1/chat/completions", &body).send().await.unwrap();
    let mut text = String::new();
    while !text.contains("Once upon") {
        text += std::str::from_utf8(&response.chunk().await.unwrap().unwrap()).unwrap();
    }
    drop(response);
    assert_eq!(interrupted(&store).await.message.text(), "Once upon");
}

#[tokio::test]
async fn a_client_that_leaves_ends_its_whole_reply_too() {
    let store = Arc::new(MemoryStore::default());
    let builder = Server::builder().model(replying("tea", [hanging()])).store(store.clone());
    let server = TestServer::start(builder).await;
    let body = shared::asking(json!({"store": true}));
    let request = server.posting("/v1/chat/completions", &body).timeout(Duration::from_secs(2));
    assert!(request.send().await.unwrap_err().is_timeout());
    assert_eq!(interrupted(&store).await.message.text(), "Once upon");
}

#[tokio::test]
async fn a_server_that_ends_keeps_the_replies_that_run() {
    let store = Arc::new(MemoryStore::default());
    let mut limits = alloquy_server::RequestLimits::default();
    limits.drain = Duration::from_millis(200);
    let builder = Server::builder().model(replying("tea", [hanging()])).store(store.clone()).limits(limits);
    let server = TestServer::start(builder).await;
    let body = shared::asking(json!({"store": true, "stream": true}));
    let mut response = server.posting("/v1/chat/completions", &body).send().await.unwrap();
    response.chunk().await.unwrap();
    server.handle.shut_down();
    server.served.await.unwrap().unwrap();
    assert_eq!(interrupted(&store).await.message.text(), "Once upon");
}
