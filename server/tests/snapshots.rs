//! Snapshots of stored conversations: what one server has computed, another one continues from, and what cannot be used is computed.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod shared;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use alloquy_core::Result;
use alloquy_core::store::{ConversationStore, MemoryStore};
use alloquy_engine::decoder::SnapshotStore;
use alloquy_inference::{Generator, LanguageModel};
use alloquy_server::{KeyFile, KeyLimits, ModelSource, OpenedModel, ServedModel, Server, ServerBuilder};
use alloquy_storage::{SnapshotBucket, SnapshotFolder, open_snapshots};
use alloquy_testing::{ScriptedEngine, TaggedProcessor, TaggedTemplate};
use serde_json::{Value, json};

use shared::{Answer, TestServer, scripted};

const ALL: &str = "/v1/alloquy/conversations";
const SCRIPT: [(&str, &str); 2] =
    [("<user>Hi<end><assistant>", "Hello, world!"), ("<user>And now?<end><assistant>", "Now we talk.")];

/// A change of the bytes of a snapshot.
type Damage = fn(&mut Vec<u8>);

fn language_model(script: [(&str, &str); 2]) -> LanguageModel {
    let generator = Generator::new(Arc::new(ScriptedEngine::new(script)), 4).unwrap();
    LanguageModel::builder(generator).template(TaggedTemplate).processor(TaggedProcessor).build().unwrap()
}

/// A model with sessions of its own, which computes what every other one of the script does.
fn model(name: &str, script: [(&str, &str); 2]) -> ServedModel {
    let model = language_model(script);
    ServedModel::opened(name, OpenedModel::new(model.clone()).snapshots(model))
}

fn tea() -> ServedModel {
    model("tea", SCRIPT)
}

/// A store of conversations and a place of snapshots, which servers share.
struct Shared {
    store: Arc<dyn ConversationStore>,
    place: Arc<dyn SnapshotStore>,
}

impl Shared {
    fn at(place: Arc<dyn SnapshotStore>) -> Self {
        Self { store: Arc::new(MemoryStore::default()), place }
    }

    fn in_folder(folder: &Path) -> Self {
        Self::at(Arc::new(SnapshotFolder::new(folder)))
    }

    fn builder(&self, model: ServedModel) -> ServerBuilder {
        Server::builder().model(model).store(Arc::clone(&self.store)).snapshots(Arc::clone(&self.place))
    }

    async fn server(&self) -> TestServer {
        TestServer::start(self.builder(tea())).await
    }

    /// A server that has answered "Hi" in a new conversation.
    async fn begun(&self) -> (TestServer, String) {
        let server = self.server().await;
        let answer =
            server.post(ALL, &json!({"messages": [{"role": "system", "content": "Be kind."}]})).await;
        let id = answer.json()["id"].as_str().unwrap().to_owned();
        let reply = turn(&server, &id, json!({"text": "Hi"})).await;
        assert_eq!((&reply["text"], cached(&reply)), (&json!("Hello, world!"), 0), "{reply}");
        (server, id)
    }
}

async fn turn(server: &TestServer, id: &str, body: Value) -> Value {
    let answer = server.post(&format!("{ALL}/{id}/turns"), &body).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.json()
}

fn snapshot(id: &str) -> String {
    format!("{ALL}/{id}/snapshot")
}

async fn put(server: &TestServer, id: &str) -> Answer {
    server.send(server.request("PUT", &snapshot(id))).await
}

/// Saves the snapshot of a conversation, and returns how many tokens it has.
async fn saved(server: &TestServer, id: &str) -> u64 {
    let answer = put(server, id).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    let saved = answer.json();
    assert_eq!((&saved["object"], &saved["model"]), (&json!("snapshot"), &json!("tea")), "{saved}");
    saved["tokens"].as_u64().unwrap()
}

fn cached(reply: &Value) -> u64 {
    let cached = reply["usage"]["prompt_tokens_details"]["cached_tokens"].as_u64().unwrap();
    assert_eq!(reply["alloquy"]["cache"]["cached"], json!(cached), "{reply}");
    cached
}

fn fact(reply: &Value) -> &Value {
    &reply["alloquy"]["facts"]["snapshot"]
}

/// The only snapshot of a folder.
fn only_file(folder: &Path) -> PathBuf {
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(files.len(), 1, "{files:?}");
    files.remove(0)
}

async fn metric(server: &TestServer, line: &str) -> bool {
    let text = server.get("/metrics").await.text;
    text.lines().any(|other| other == line)
}

/// What holds at each place.
async fn is_continued_at(place: Arc<dyn SnapshotStore>) {
    let shared = Shared::at(place);
    let (first, id) = shared.begun().await;
    assert_eq!(first.get(&snapshot(&id)).await.status, 404);
    let tokens = saved(&first, &id).await;
    let second = shared.server().await;
    let stored = second.get(&snapshot(&id)).await.json();
    assert_eq!((&stored["tokens"], &stored["model"]), (&json!(tokens), &Value::Null), "no model is loaded");
    let alone = TestServer::start(Server::builder().model(tea()).store(Arc::clone(&shared.store))).await;
    let head = second.get(&format!("{ALL}/{id}/head")).await.json()["head"].clone();

    let restored = turn(&second, &id, json!({"text": "And now?"})).await;
    assert_eq!(fact(&restored), &json!({"restored": tokens}), "{restored}");
    assert_eq!(cached(&restored), tokens);
    let computed = turn(&alone, &id, json!({"text": "And now?", "node": head})).await;
    assert_eq!((cached(&computed), fact(&computed)), (0, &Value::Null), "{computed}");
    for field in ["text", "end", "finish"] {
        assert_eq!(restored[field], computed[field]);
    }
    for field in ["prompt_tokens", "completion_tokens"] {
        assert_eq!(restored["usage"][field], computed["usage"][field]);
    }
    let stored = second.get(&snapshot(&id)).await.json();
    assert_eq!(stored["model"], "tea", "the model is loaded now");
    assert!(
        metric(
            &second,
            "alloquy_snapshots_total{gen_ai_request_model=\"tea\",outcome=\"restored\",reason=\"\"} 1"
        )
        .await
    );
    let line = format!("alloquy_snapshot_restored_tokens_total{{gen_ai_request_model=\"tea\"}} {tokens}");
    assert!(metric(&second, &line).await);
    assert!(
        metric(
            &first,
            "alloquy_snapshots_total{gen_ai_request_model=\"tea\",outcome=\"saved\",reason=\"\"} 1"
        )
        .await
    );

    // The first server holds less than the other one has saved by now.
    let longer = saved(&second, &id).await;
    assert!(longer > tokens);
    let back = turn(&first, &id, json!({"text": "Hi"})).await;
    assert_eq!((cached(&back), fact(&back)), (longer, &json!({"restored": longer})), "{back}");

    assert_eq!(first.delete(&snapshot(&id)).await.status, 200);
    assert_eq!(second.delete(&snapshot(&id)).await.status, 404);
    assert_eq!(second.get(&snapshot(&id)).await.status, 404);
}

#[tokio::test]
async fn another_server_continues_from_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    is_continued_at(Arc::new(SnapshotFolder::new(folder.path().join("snapshots")))).await;
}

#[tokio::test]
async fn another_server_continues_from_a_bucket() {
    is_continued_at(Arc::new(SnapshotBucket::in_memory().await.unwrap())).await;
}

#[tokio::test]
async fn another_server_continues_from_a_bucket_on_a_server() {
    let Some(endpoint) = std::env::var("ALLOQUY_TEST_S3").ok().filter(|endpoint| !endpoint.is_empty()) else {
        eprintln!("skipped: ALLOQUY_TEST_S3 does not say where a server is");
        return;
    };
    let prefix = alloquy_core::NodeId::new();
    let url = format!("s3://alloquy/{prefix}?endpoint={endpoint}&region=us-east-1");
    is_continued_at(open_snapshots(&url, None).await.unwrap()).await;
}

#[tokio::test]
async fn every_protocol_of_stored_conversations_continues_from_a_snapshot() {
    let folder = tempfile::tempdir().unwrap();
    let shared = Shared::in_folder(folder.path());
    let first = shared.server().await;
    let response =
        first.post("/v1/responses", &json!({"input": "Hi", "instructions": "Be brief."})).await.json();
    let id = response["alloquy"]["conversation"].as_str().unwrap().to_owned();
    let tokens = saved(&first, &id).await;

    let previous = response["id"].clone();
    let asked = json!({"input": "And now?", "instructions": "Be brief.", "previous_response_id": previous});
    for (fields, is_stored) in
        [(json!({}), true), (json!({"stream": true}), true), (json!({"store": false}), false)]
    {
        let second = shared.server().await;
        let mut asked = asked.clone();
        asked.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        let answer = second.post("/v1/responses", &asked).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        let text = answer.text.replace(' ', "");
        let expected = if is_stored { tokens } else { 0 };
        assert!(text.contains(&format!("\"cached_tokens\":{expected}")), "{expected} in {text}");
        if !is_stored {
            // What is not stored is not saved either.
            assert_eq!(put(&second, &id).await.error()["code"], "nothing_held");
        }
    }

    let first = shared.server().await;
    let asked = json!({"model": "tea", "store": true, "messages": [{"role": "user", "content": "Hi"}]});
    let completion = first.post("/v1/chat/completions", &asked).await.json();
    let id = completion["alloquy"]["conversation"].as_str().unwrap().to_owned();
    let tokens = saved(&first, &id).await;
    let second = shared.server().await;
    assert_eq!(cached(&turn(&second, &id, json!({"text": "And now?"})).await), tokens);
}

#[tokio::test]
async fn what_a_server_holds_already_is_not_looked_for() {
    let folder = tempfile::tempdir().unwrap();
    let shared = Shared::in_folder(folder.path());
    let (server, id) = shared.begun().await;
    let tokens = saved(&server, &id).await;
    // A refusal would be reported.
    std::fs::write(only_file(folder.path()), b"damaged").unwrap();
    let next = turn(&server, &id, json!({"text": "And now?"})).await;
    assert_eq!((cached(&next), fact(&next)), (tokens, &Value::Null), "{next}");
}

#[tokio::test]
async fn a_snapshot_that_cannot_be_used_is_refused_with_a_reason_and_the_turn_is_computed() {
    let damages: [(&str, Damage); 6] = [
        ("foreign", |bytes| *bytes = b"no snapshot".to_vec()),
        ("foreign", Vec::clear),
        ("other_version", |bytes| bytes[8] ^= 1),
        ("cut", |bytes| bytes.truncate(bytes.len() / 2)),
        ("damaged", |bytes| bytes[150] ^= 1),
        ("damaged", |bytes| *bytes.last_mut().unwrap() ^= 1),
    ];
    for (reason, damage) in damages {
        let folder = tempfile::tempdir().unwrap();
        let shared = Shared::in_folder(folder.path());
        let (first, id) = shared.begun().await;
        saved(&first, &id).await;
        let file = only_file(folder.path());
        let mut bytes = std::fs::read(&file).unwrap();
        damage(&mut bytes);
        std::fs::write(&file, bytes).unwrap();
        let second = shared.server().await;
        let reply = turn(&second, &id, json!({"text": "And now?"})).await;
        assert_eq!((&reply["text"], cached(&reply)), (&json!("Now we talk."), 0), "{reason}: {reply}");
        assert_eq!(fact(&reply)["refused"]["reason"], reason, "{reply}");
        let line = format!(
            "alloquy_snapshots_total{{gen_ai_request_model=\"tea\",outcome=\"refused\",reason=\"{reason}\"}} 1"
        );
        assert!(metric(&second, &line).await, "{line}");
        // A new snapshot takes its place.
        saved(&second, &id).await;
    }
}

#[tokio::test]
async fn a_snapshot_of_another_model_is_refused_and_stays() {
    let folder = tempfile::tempdir().unwrap();
    let shared = Shared::in_folder(folder.path());
    let (first, id) = shared.begun().await;
    let tokens = saved(&first, &id).await;
    let coffee = model("coffee", [("<user>And now?<end><assistant>", "Coffee."), ("Tea", "No.")]);
    let second = TestServer::start(shared.builder(tea()).model(coffee)).await;
    let head = second.get(&format!("{ALL}/{id}/head")).await.json()["head"].clone();
    let other = turn(&second, &id, json!({"text": "And now?", "model": "coffee"})).await;
    assert_eq!((&other["text"], cached(&other)), (&json!("Coffee."), 0), "{other}");
    assert_eq!(fact(&other)["refused"]["reason"], "other_model", "{other}");
    assert!(fact(&other)["refused"]["message"].as_str().unwrap().contains("another model"), "{other}");
    let own = turn(&second, &id, json!({"text": "And now?", "node": head})).await;
    assert_eq!((&own["text"], cached(&own)), (&json!("Now we talk."), tokens), "{own}");
}

#[tokio::test]
async fn an_owner_has_no_use_of_what_another_one_has_saved() {
    let folder = tempfile::tempdir().unwrap();
    let shared = Shared::in_folder(folder.path());
    let mut keys = KeyFile::default();
    let mut key = |owner: &str| keys.add(owner.parse().unwrap(), KeyLimits::default()).unwrap();
    let (ann, bob) = (key("ann"), key("bob"));
    let first = TestServer::start(shared.builder(tea()).keys(keys.clone())).await;
    let second = TestServer::start(shared.builder(tea()).keys(keys)).await;
    let asked = async |server: &TestServer, key: &str, method: &str, path: &str, body: Option<Value>| {
        let mut request = server.request(method, path).bearer_auth(key);
        if let Some(body) = body {
            request = request.header("content-type", "application/json").body(body.to_string());
        }
        server.send(request).await
    };
    let turns = format!("{ALL}/conv_talk/turns");
    let place = snapshot("conv_talk");
    asked(&first, &ann, "POST", ALL, Some(json!({"name": "talk"}))).await;
    // The conversation is as unknown to Bob as one that never was.
    for method in ["PUT", "GET", "DELETE"] {
        let answer = asked(&first, &bob, method, &place, None).await;
        let never = asked(&first, &bob, method, &snapshot("conv_none"), None).await;
        assert_eq!(answer.status, 404, "{}", answer.text);
        assert_eq!(answer.text.replace("talk", "none"), never.text);
    }
    asked(&first, &bob, "POST", ALL, Some(json!({"name": "talk"}))).await;
    assert_eq!(asked(&first, &ann, "POST", &turns, Some(json!({"text": "Hi"}))).await.status, 200);
    assert_eq!(asked(&first, &bob, "POST", &turns, Some(json!({"text": "Hi"}))).await.status, 200);
    let tokens = asked(&first, &ann, "PUT", &place, None).await.json()["tokens"].as_u64().unwrap();
    // Bob has a conversation of the same name and the same texts, and no snapshot.
    assert_eq!(asked(&second, &bob, "GET", &place, None).await.status, 404);
    assert_eq!(asked(&second, &bob, "DELETE", &place, None).await.status, 404);
    for (key, expected) in [(&bob, 0), (&ann, tokens), (&bob, 0)] {
        let reply = asked(&second, key, "POST", &turns, Some(json!({"text": "And now?"}))).await.json();
        if *key == ann {
            assert_eq!(cached(&reply), expected, "{reply}");
        }
        assert_eq!(fact(&reply).is_null(), *key == bob, "{reply}");
    }
}

#[tokio::test]
async fn the_end_of_a_server_saves_what_it_holds() {
    let folder = tempfile::tempdir().unwrap();
    let shared = Shared::in_folder(folder.path());
    let (first, id) = shared.begun().await;
    let deleted = first.post(ALL, &json!({})).await.json()["id"].as_str().unwrap().to_owned();
    turn(&first, &deleted, json!({"text": "Hi"})).await;
    assert_eq!(first.delete(&format!("{ALL}/{deleted}")).await.status, 200);
    first.handle.shut_down();
    first.served.await.unwrap().unwrap();
    only_file(folder.path());

    let second = shared.server().await;
    let reply = turn(&second, &id, json!({"text": "And now?"})).await;
    assert!(cached(&reply) > 0, "{reply}");
    assert_eq!(fact(&reply)["restored"], json!(cached(&reply)), "{reply}");
    second.handle.shut_down();
    second.served.await.unwrap().unwrap();

    // A server that has less does not replace what another one has saved.
    let third = shared.server().await;
    let longer = third.get(&snapshot(&id)).await.json();
    assert!(longer["tokens"].as_u64().unwrap() > cached(&reply), "{longer}");
    let first_node = third.get(&format!("{ALL}/{id}/tree")).await.json()["nodes"][0]["id"].clone();
    turn(&third, &id, json!({"action": "retry", "node": first_node})).await;
    third.handle.shut_down();
    third.served.await.unwrap().unwrap();
    let fourth = shared.server().await;
    assert_eq!(fourth.get(&snapshot(&id)).await.json()["tokens"], longer["tokens"]);
}

#[tokio::test]
async fn a_snapshot_goes_with_what_is_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let shared = Shared::in_folder(folder.path());
    for is_pruned in [true, false] {
        let (server, id) = shared.begun().await;
        saved(&server, &id).await;
        let file = only_file(folder.path());
        let answer = if is_pruned {
            let moved = server.request("PUT", &format!("{ALL}/{id}/head"));
            let moved =
                moved.header("content-type", "application/json").body(json!({"head": "0"}).to_string());
            assert_eq!(server.send(moved).await.status, 200);
            server.post(&format!("{ALL}/{id}/prune"), &json!({"node": "0.0"})).await
        } else {
            server.delete(&format!("{ALL}/{id}")).await
        };
        assert_eq!(answer.status, 200, "{}", answer.text);
        assert!(!file.exists(), "{answer:?}", answer = answer.text);
        if is_pruned {
            assert_eq!(put(&server, &id).await.error()["code"], "nothing_held");
        }
    }
    // What another process has deleted is not saved again.
    let (server, id) = shared.begun().await;
    let local = alloquy_core::Owner::local();
    shared.store.delete(&local, &id.trim_start_matches("conv_").parse().unwrap()).await.unwrap();
    server.handle.shut_down();
    server.served.await.unwrap().unwrap();
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// A model of some size, which is made again each time it is loaded.
#[derive(Debug)]
struct Loaded(fn() -> LanguageModel);

impl ModelSource for Loaded {
    fn memory(&self) -> u64 {
        60
    }

    fn open(&self) -> Result<OpenedModel> {
        let model = (self.0)();
        Ok(OpenedModel::new(model.clone()).snapshots(model))
    }
}

fn tea_model() -> LanguageModel {
    language_model(SCRIPT)
}

fn coffee_model() -> LanguageModel {
    language_model([("<user>Hi<end><assistant>", "Hello!"), ("<user>Bye<end><assistant>", "Bye!")])
}

#[tokio::test]
async fn a_model_that_is_unloaded_is_saved_before() {
    let folder = tempfile::tempdir().unwrap();
    let shared = Shared::in_folder(folder.path());
    let builder = shared.builder(ServedModel::new("tea", Loaded(tea_model))).memory(100);
    let server = TestServer::start(builder.model(ServedModel::new("coffee", Loaded(coffee_model)))).await;
    let id = server.post(ALL, &json!({})).await.json()["id"].as_str().unwrap().to_owned();
    turn(&server, &id, json!({"text": "Hi"})).await;
    assert_eq!(server.get(&snapshot(&id)).await.status, 404);
    // The other model needs the memory.
    let other = server.post(ALL, &json!({})).await.json()["id"].as_str().unwrap().to_owned();
    turn(&server, &other, json!({"model": "coffee", "text": "Hi"})).await;
    let saved = server.get(&snapshot(&id)).await.json();
    assert!(saved["tokens"].as_u64().unwrap() > 0, "{saved}");
    let continued = turn(&server, &id, json!({"text": "And now?"})).await;
    assert_eq!(fact(&continued), &json!({"restored": saved["tokens"]}), "{continued}");
    assert_eq!(cached(&continued), saved["tokens"].as_u64().unwrap());

    // One that is replaced is saved as well.
    let before = server.get(&snapshot(&id)).await.json()["tokens"].clone();
    server.handle.replace_models(vec![ServedModel::new("milk", Loaded(coffee_model))]).unwrap();
    turn(&server, &other, json!({"model": "milk", "text": "Bye"})).await;
    let after = server.get(&snapshot(&id)).await.json()["tokens"].clone();
    assert!(after.as_u64() > before.as_u64(), "{before} {after}");

    // A place that fails keeps no model in memory.
    let file = folder.path().join("file");
    std::fs::write(&file, b"").unwrap();
    let broken = Shared::at(Arc::new(SnapshotFolder::new(&file)));
    let builder = broken.builder(ServedModel::new("tea", Loaded(tea_model))).memory(100);
    let server = TestServer::start(builder.model(ServedModel::new("coffee", Loaded(coffee_model)))).await;
    let id = server.post(ALL, &json!({})).await.json()["id"].as_str().unwrap().to_owned();
    turn(&server, &id, json!({"text": "Hi"})).await;
    turn(&server, &id, json!({"model": "coffee", "text": "Bye"})).await;
}

#[tokio::test]
async fn what_cannot_be_saved_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let shared = Shared::in_folder(folder.path());
    // A server without a place.
    let server = TestServer::start(Server::builder().model(tea()).store(Arc::clone(&shared.store))).await;
    let id = server.post(ALL, &json!({})).await.json()["id"].as_str().unwrap().to_owned();
    let refused = put(&server, &id).await;
    assert_eq!((refused.status, &refused.error()["code"]), (400, &json!("unsupported_value")));
    assert!(refused.error()["message"].as_str().unwrap().contains("--snapshots"), "{}", refused.text);

    // Nothing is computed, or nothing of it here.
    let server = shared.server().await;
    let refused = put(&server, &id).await;
    assert_eq!((refused.status, &refused.error()["code"]), (409, &json!("nothing_held")));

    // A model that another server computes.
    let remote = TestServer::start(shared.builder(scripted("far", ["Hello!"]))).await;
    turn(&remote, &id, json!({"text": "Hi"})).await;
    let refused = put(&remote, &id).await;
    assert_eq!((refused.status, &refused.error()["code"]), (400, &json!("unsupported_value")));
    assert!(
        refused.error()["message"].as_str().unwrap().contains("\"far\" has no snapshots"),
        "{}",
        refused.text
    );

    // A snapshot that is larger than the quota.
    let small = Shared::at(Arc::new(SnapshotFolder::new(folder.path()).quota(100)));
    let (server, id) = small.begun().await;
    let refused = put(&server, &id).await;
    assert_eq!((refused.status, &refused.error()["code"]), (507, &json!("snapshot_too_large")));
    let line =
        "alloquy_snapshots_total{gen_ai_request_model=\"tea\",outcome=\"not_saved\",reason=\"too_large\"} 1";
    assert!(metric(&server, line).await);
    assert_eq!(server.get(&snapshot(&id)).await.status, 404);

    // A place that fails is no error of a turn.
    let file = folder.path().join("file");
    std::fs::write(&file, b"").unwrap();
    let broken = Shared::at(Arc::new(SnapshotFolder::new(&file)));
    let (server, id) = broken.begun().await;
    let refused = put(&server, &id).await;
    assert_eq!(refused.status, 500, "{}", refused.text);
    assert!(!refused.text.contains(&file.display().to_string()), "{}", refused.text);
}
