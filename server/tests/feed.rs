//! The changes of a conversation as events: at once, of other processes too, and continued after a lost connection.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod shared;

use std::sync::Arc;
use std::time::Duration;

use alloquy_core::store::{ConversationStore, MemoryStore};
use alloquy_core::{Message, Node, Owner};
use alloquy_server::{KeyFile, KeyLimits, RequestLimits, ServedModel, Server};
use alloquy_testing::EchoModel;
use serde_json::{Value, json};

use shared::TestServer;

/// A stream of events.
struct Listener {
    response: reqwest::Response,
    text: String,
}

#[derive(Clone, Debug)]
struct Event {
    id: Option<String>,
    name: String,
    data: Value,
}

impl Listener {
    async fn start(server: &TestServer, last: Option<&str>) -> Self {
        Self::at(server, "/v1/alloquy/conversations/tea/events", last).await
    }

    async fn at(server: &TestServer, path: &str, last: Option<&str>) -> Self {
        let mut request = server.request("GET", path);
        if let Some(last) = last {
            request = request.header("last-event-id", last);
        }
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Self { response, text: String::new() }
    }

    async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some((event, rest)) = self.text.split_once("\n\n") {
                let field = |name: &str| {
                    let line = event.lines().find_map(|line| line.strip_prefix(name));
                    line.map(str::to_owned)
                };
                let found = (field("id: "), field("event: "), field("data: "));
                self.text = rest.to_owned();
                if let (id, Some(name), Some(data)) = found {
                    return Some(Event { id, name, data: serde_json::from_str(&data).unwrap() });
                }
                continue;
            }
            let chunk = tokio::time::timeout(Duration::from_secs(20), self.response.chunk()).await;
            self.text += std::str::from_utf8(&chunk.expect("an event").unwrap()?).unwrap();
        }
    }

    /// The next events, as many as are wanted.
    async fn take(&mut self, count: usize) -> Vec<Event> {
        let mut events = Vec::new();
        for _ in 0..count {
            events.push(self.next().await.unwrap());
        }
        events
    }
}

fn names(events: &[Event]) -> Vec<&str> {
    events.iter().map(|event| event.name.as_str()).collect()
}

async fn started(store: &Arc<MemoryStore>) -> TestServer {
    let builder = Server::builder().model(ServedModel::loaded("echo", EchoModel)).store(store.clone());
    TestServer::start(builder).await
}

async fn ask(server: &TestServer, text: &str) -> Value {
    let answer = server.post("/v1/alloquy/conversations/tea/turns", &json!({"text": text})).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.json()
}

async fn created() -> (Arc<MemoryStore>, TestServer) {
    let store = Arc::new(MemoryStore::default());
    let server = started(&store).await;
    server.post("/v1/alloquy/conversations", &json!({"name": "tea"})).await;
    (store, server)
}

#[tokio::test]
async fn changes_come_at_once_and_in_order() {
    let (_store, server) = created().await;
    let mut listener = Listener::start(&server, None).await;
    let first = listener.next().await.unwrap();
    assert_eq!((first.name.as_str(), &first.data["nodes"]), ("state", &json!(0)));
    let asked = ask(&server, "Hi").await;
    let events = listener.take(3).await;
    // The reply is stored with its question, or after it.
    let added: Vec<_> = events.iter().filter(|event| event.name == "node.added").collect();
    assert_eq!(added.len(), 2, "{events:?}");
    assert_eq!(added[1].data["id"], asked["node"]);
    server.post("/v1/alloquy/conversations/tea", &json!({"metadata": {"title": "Tea"}})).await;
    let event = next_of(&mut listener, "metadata.changed").await;
    assert_eq!(event.data["metadata"], json!({"title": "Tea"}));
    server.delete("/v1/alloquy/conversations/tea").await;
    next_of(&mut listener, "conversation.deleted").await;
    assert!(listener.next().await.is_none(), "the stream ends");
}

/// The next event of a name.
async fn next_of(listener: &mut Listener, name: &str) -> Event {
    loop {
        let event = listener.next().await.unwrap();
        if event.name == name {
            return event;
        }
    }
}

#[tokio::test]
async fn a_lost_connection_continues_on_another_server() {
    let (store, server) = created().await;
    let mut listener = Listener::start(&server, None).await;
    let state = listener.next().await.unwrap();
    ask(&server, "One").await;
    let seen = next_of(&mut listener, "head.moved").await;
    drop(listener);
    ask(&server, "Two").await;
    // Another process, which knows nothing of the first one's listeners.
    let other = started(&store).await;
    let mut again = Listener::start(&other, seen.id.as_deref()).await;
    let events = again.take(3).await;
    assert_eq!(names(&events), ["node.added", "node.added", "head.moved"]);
    assert_eq!(events[0].data["text"], "Two");
    // From the beginning, each event once.
    let mut all = Listener::start(&other, state.id.as_deref()).await;
    let events = all.take(5).await;
    assert_eq!(names(&events), ["node.added", "node.added", "node.added", "node.added", "head.moved"]);
    // Nothing is missed after any of them.
    for (index, event) in events.iter().enumerate() {
        let mut rest = Listener::start(&other, event.id.as_deref()).await;
        for expected in &events[index + 1..] {
            let found = rest.next().await.unwrap();
            assert_eq!((&found.name, &found.id, &found.data), (&expected.name, &expected.id, &expected.data));
        }
    }
}

#[tokio::test]
async fn changes_of_other_processes_are_seen() {
    let (store, server) = created().await;
    let mut listener = Listener::start(&server, None).await;
    listener.next().await.unwrap();
    let (owner, id) = (Owner::local(), "tea".parse().unwrap());
    let node = Node::new(None, Message::user("From elsewhere"));
    store.append(&owner, &id, std::slice::from_ref(&node)).await.unwrap();
    let event = next_of(&mut listener, "node.added").await;
    assert_eq!(event.data["text"], "From elsewhere");
    store.prune(&owner, &id, node.id).await.unwrap();
    let event = next_of(&mut listener, "nodes.pruned").await;
    assert_eq!(event.data["nodes"], json!([node.id]));
}

#[tokio::test]
async fn what_cannot_be_continued_is_read_again() {
    let (store, server) = created().await;
    let first = ask(&server, "One").await;
    ask(&server, "Two").await;
    let mut listener = Listener::start(&server, None).await;
    let state = listener.next().await.unwrap();
    drop(listener);
    let (owner, id) = (Owner::local(), "tea".parse().unwrap());
    let (record, tree) = store.load(&owner, &id).await.unwrap();
    let to = first["node"].as_str().unwrap().parse().unwrap();
    store.set_head(&owner, &id, record.head, Some(to)).await.unwrap();
    store.prune(&owner, &id, tree.path(record.head).unwrap()[2].id).await.unwrap();
    let mut again = Listener::start(&server, state.id.as_deref()).await;
    let reset = again.next().await.unwrap();
    assert_eq!((reset.name.as_str(), &reset.data["nodes"]), ("reset", &json!(2)));
    let request = server.request("GET", "/v1/alloquy/conversations/tea/events").header("last-event-id", "7");
    assert_eq!(server.send(request).await.status, 400);
}

#[tokio::test]
async fn listeners_do_not_delay_the_end_of_the_server() {
    let (_store, server) = created().await;
    let mut listener = Listener::start(&server, None).await;
    listener.next().await.unwrap();
    server.handle.shut_down();
    tokio::time::timeout(Duration::from_secs(10), server.served).await.unwrap().unwrap().unwrap();
    assert!(listener.next().await.is_none());
}

#[tokio::test]
async fn one_stream_reports_all_conversations() {
    let (store, server) = created().await;
    let path = "/v1/alloquy/events";
    let mut listener = Listener::at(&server, path, None).await;
    let state = listener.next().await.unwrap();
    assert_eq!((state.name.as_str(), &state.data), ("state", &json!({"conversations": 1})));
    server.post("/v1/alloquy/conversations", &json!({"name": "coffee"})).await;
    let event = listener.next().await.unwrap();
    assert_eq!((event.name.as_str(), &event.data["name"]), ("conversation.changed", &json!("coffee")));
    server.delete("/v1/alloquy/conversations/coffee").await;
    next_of(&mut listener, "conversation.deleted").await;
    // Another process, and a connection that is lost.
    let (owner, id) = (Owner::local(), "tea".parse().unwrap());
    let node = Node::new(None, Message::user("From elsewhere"));
    store.append(&owner, &id, &[node]).await.unwrap();
    let event = next_of(&mut listener, "conversation.changed").await;
    assert_eq!((&event.data["name"], &event.data["nodes"]), (&json!("tea"), &json!(1)));
    let mut again = Listener::at(&server, path, state.id.as_deref()).await;
    assert_eq!(next_of(&mut again, "conversation.changed").await.id, event.id);
    let request = server.request("GET", path).header("last-event-id", "x");
    assert_eq!(server.send(request).await.status, 400);
}

#[tokio::test]
async fn an_owner_holds_a_number_of_streams() {
    let mut keys = KeyFile::default();
    let mut key = |owner: &str| keys.add(owner.parse().unwrap(), KeyLimits::default()).unwrap();
    let (ann, bob) = (key("ann"), key("bob"));
    let mut limits = RequestLimits::default();
    limits.event_streams = 2;
    let builder = Server::builder().model(ServedModel::loaded("echo", EchoModel)).keys(keys).limits(limits);
    let server = TestServer::start(builder).await;
    let made = server.posting("/v1/alloquy/conversations", &json!({"name": "tea"})).bearer_auth(&ann);
    assert_eq!(server.send(made).await.status, 201);
    let listening = |path: &str, key: &str| server.request("GET", path).bearer_auth(key).send();
    let mut open = Vec::new();
    for path in ["/v1/alloquy/events", "/v1/alloquy/conversations/tea/events"] {
        let mut stream = listening(path, &ann).await.unwrap();
        assert_eq!(stream.status(), 200);
        stream.chunk().await.unwrap();
        open.push(stream);
    }
    let refused = server.send(server.request("GET", "/v1/alloquy/events").bearer_auth(&ann)).await;
    assert_eq!((refused.status, &refused.error()["code"]), (429, &json!("rate_limit_exceeded")));
    assert!(refused.text.contains("2 event streams"), "{}", refused.text);
    assert!(refused.headers.contains_key("retry-after"));
    let background = json!({"model": "echo", "input": "Hi", "background": true, "stream": true});
    let refused = server.send(server.posting("/v1/responses", &background).bearer_auth(&ann)).await;
    assert_eq!(refused.status, 429, "{}", refused.text);
    // Another owner has streams of its own.
    assert_eq!(listening("/v1/alloquy/events", &bob).await.unwrap().status(), 200);
    drop(open);
    for _ in 0..500 {
        if listening("/v1/alloquy/events", &ann).await.unwrap().status() == 200 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("the streams of a client that has gone are still counted");
}
