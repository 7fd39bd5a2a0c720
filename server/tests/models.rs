//! Models by name: aliases, loading on demand, and unloading where another needs the memory.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod shared;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use alloquy_core::error::Upstream;
use alloquy_core::report::CacheReport;
use alloquy_core::{ChatModel, Error, ErrorKind, ReplyStream, Request, Result};
use alloquy_server::{ModelSource, OpenedModel, RequestLimits, ServedModel, Server};
use alloquy_testing::{EchoModel, ScriptedModel, ScriptedReply};
use async_trait::async_trait;
use serde_json::{Value, json};

use shared::noted::NotedStore;
use shared::{TestServer, asking};

/// A model of some size, which counts how often it was loaded.
#[derive(Clone, Debug)]
struct Sized {
    memory: u64,
    loads: Arc<AtomicUsize>,
    /// Whether its replies hang.
    hangs: bool,
    identity: Option<String>,
}

impl Sized {
    fn new(memory: u64) -> Self {
        Self { memory, loads: Arc::default(), hangs: false, identity: None }
    }

    fn loads(&self) -> usize {
        self.loads.load(Ordering::SeqCst)
    }
}

impl ModelSource for Sized {
    fn memory(&self) -> u64 {
        self.memory
    }

    fn identity(&self) -> Option<String> {
        self.identity.clone()
    }

    fn open(&self) -> Result<OpenedModel> {
        self.loads.fetch_add(1, Ordering::SeqCst);
        if self.hangs {
            let reply = ScriptedReply::Hangs("Once upon".to_owned());
            return Ok(OpenedModel::new(ScriptedModel::replying([reply])));
        }
        Ok(OpenedModel::new(EchoModel))
    }
}

async fn ask(server: &TestServer, model: &str) -> u16 {
    server.chat(json!({"model": model})).await.status
}

async fn loaded(server: &TestServer) -> Vec<String> {
    let body = server.get("/v1/models").await.json();
    let models = body["data"].as_array().unwrap();
    let loaded = models.iter().filter(|model| model["alloquy"]["loaded"] == true);
    loaded.map(|model| model["id"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn models_are_listed_under_their_names() {
    let mut opened = OpenedModel::new(EchoModel);
    opened.context_length = Some(4096);
    let model = ServedModel::opened("onnx-community/tea", opened).alias("gpt-4o");
    let server = TestServer::start(Server::builder().model(model)).await;
    let body = server.get("/v1/models").await.json();
    assert_eq!((&body["object"], &body["data"][0]["object"]), (&json!("list"), &json!("model")));
    assert_eq!(body["data"][0]["id"], "onnx-community/tea");
    assert_eq!(ask(&server, "gpt-4o").await, 200);
    for name in ["onnx-community/tea", "gpt-4o"] {
        let model = server.get(&format!("/v1/models/{name}")).await.json();
        assert_eq!(model["id"], "onnx-community/tea");
        assert_eq!(model["alloquy"]["context_length"], 4096);
    }
    let answer = server.chat(json!({"model": "gpt-4o"})).await.json();
    assert_eq!(answer["model"], "onnx-community/tea");
}

#[tokio::test]
async fn the_least_recently_used_model_makes_room() {
    let tea = Sized::new(40);
    let coffee = Sized::new(40);
    let milk = Sized::new(40);
    let builder = Server::builder().memory(100);
    let builder = builder.model(ServedModel::new("tea", tea.clone()));
    let builder = builder.model(ServedModel::new("coffee", coffee.clone()));
    let server = TestServer::start(builder.model(ServedModel::new("milk", milk.clone()))).await;
    assert_eq!(loaded(&server).await, Vec::<String>::new());
    for name in ["tea", "coffee", "tea"] {
        assert_eq!(ask(&server, name).await, 200);
    }
    assert_eq!(loaded(&server).await, ["tea", "coffee"]);
    assert_eq!(ask(&server, "milk").await, 200);
    assert_eq!(loaded(&server).await, ["tea", "milk"]);
    assert_eq!(ask(&server, "coffee").await, 200);
    assert_eq!(loaded(&server).await, ["coffee", "milk"]);
    assert_eq!((tea.loads(), coffee.loads(), milk.loads()), (1, 2, 1));
}

#[tokio::test]
async fn requests_at_once_load_a_model_once() {
    let tea = Sized::new(1);
    let server = TestServer::start(Server::builder().model(ServedModel::new("tea", tea.clone()))).await;
    let asked: Vec<Value> = vec![json!({}); 8];
    let statuses = futures::future::join_all(asked.into_iter().map(|fields| server.chat(fields))).await;
    assert!(statuses.iter().all(|answer| answer.status == 200));
    assert_eq!(tea.loads(), 1);
}

#[tokio::test]
async fn a_model_that_writes_a_reply_is_not_unloaded() {
    let tea = Sized { hangs: true, ..Sized::new(60) };
    let builder = Server::builder().memory(100).model(ServedModel::new("tea", tea.clone()));
    let server = TestServer::start(builder.model(ServedModel::new("coffee", Sized::new(60)))).await;
    let body = asking(json!({"stream": true}));
    let mut running = server.posting("/v1/chat/completions", &body).send().await.unwrap();
    running.chunk().await.unwrap();
    let refused = server.chat(json!({"model": "coffee"})).await;
    assert_eq!(refused.status, 429, "{}", refused.text);
    assert!(refused.headers.contains_key("retry-after"));
    drop(running);
    for _ in 0..500 {
        if ask(&server, "coffee").await == 200 {
            assert_eq!(loaded(&server).await, ["coffee"]);
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    panic!("the model was not unloaded");
}

/// A model whose loading waits until it is let go.
#[derive(Clone, Debug, Default)]
struct Waiting {
    loads: Arc<AtomicUsize>,
    is_free: Arc<(Mutex<bool>, Condvar)>,
}

impl Waiting {
    fn free(&self) {
        *self.is_free.0.lock().unwrap() = true;
        self.is_free.1.notify_all();
    }
}

impl ModelSource for Waiting {
    fn open(&self) -> Result<OpenedModel> {
        self.loads.fetch_add(1, Ordering::SeqCst);
        let is_free = self.is_free.0.lock().unwrap();
        drop(self.is_free.1.wait_while(is_free, |is_free| !*is_free).unwrap());
        Ok(OpenedModel::new(EchoModel))
    }
}

/// Waits until something holds.
async fn until(mut holds: impl FnMut() -> bool) {
    for _ in 0..500 {
        if holds() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("it does not hold");
}

#[tokio::test]
async fn a_client_that_leaves_while_a_model_loads_starts_no_second_load() {
    let tea = Waiting::default();
    let mut limits = RequestLimits::default();
    limits.running = 2;
    limits.waiting = 0;
    let builder = Server::builder().model(ServedModel::new("tea", tea.clone())).limits(limits);
    let server = TestServer::start(builder).await;
    for _ in 0..3 {
        let request = server.posting("/v1/chat/completions", &asking(json!({})));
        let gone = request.timeout(Duration::from_millis(100)).send().await;
        assert!(gone.unwrap_err().is_timeout());
    }
    // Those who wait have places, which are free again once they have gone.
    let answered = tokio::spawn(server.posting("/v1/chat/completions", &asking(json!({}))).send());
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(loaded(&server).await, Vec::<String>::new());
    tea.free();
    assert_eq!(answered.await.unwrap().unwrap().status(), 200);
    assert_eq!(tea.loads.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_server_that_ends_does_not_wait_for_a_model_that_loads() {
    let tea = Waiting::default();
    let mut limits = RequestLimits::default();
    limits.drain = Duration::from_millis(100);
    let builder = Server::builder().model(ServedModel::new("tea", tea.clone())).limits(limits);
    let server = TestServer::start(builder).await;
    let asked = tokio::spawn(server.posting("/v1/chat/completions", &asking(json!({}))).send());
    until(|| tea.loads.load(Ordering::SeqCst) == 1).await;
    server.handle.shut_down();
    tokio::time::timeout(Duration::from_secs(20), server.served).await.unwrap().unwrap().unwrap();
    asked.abort();
    tea.free();
}

#[tokio::test]
async fn models_are_replaced_and_those_that_write_stay_until_they_are_idle() {
    let tea = Sized { hangs: true, ..Sized::new(60) };
    let same = Sized { identity: Some("same".to_owned()), ..Sized::new(1) };
    let builder = Server::builder().memory(100).model(ServedModel::new("tea", tea));
    let server = TestServer::start(builder.model(ServedModel::new("milk", same.clone()))).await;
    assert_eq!(ask(&server, "milk").await, 200);
    let body = asking(json!({"stream": true}));
    let mut running = server.posting("/v1/chat/completions", &body).send().await.unwrap();
    running.chunk().await.unwrap();

    let coffee = ServedModel::new("coffee", Sized::new(60));
    let again = Sized { identity: Some("same".to_owned()), ..Sized::new(1) };
    assert!(server.handle.replace_models(Vec::new()).is_err());
    server.handle.replace_models(vec![coffee, ServedModel::new("milk", again.clone())]).unwrap();
    assert_eq!(loaded(&server).await, ["milk"]);
    assert_eq!(ask(&server, "milk").await, 200);
    assert_eq!((same.loads(), again.loads()), (1, 0));
    assert_eq!(ask(&server, "tea").await, 404);
    // The reply of the former model still needs its memory.
    assert_eq!(ask(&server, "coffee").await, 429);
    assert!(running.chunk().await.unwrap().is_some());
    drop(running);
    for _ in 0..500 {
        if ask(&server, "coffee").await == 200 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("the former model was not unloaded");
}

#[tokio::test]
async fn a_reply_that_cannot_be_stored_does_not_fail_the_request_of_another_model() {
    let tea = Sized { hangs: true, ..Sized::new(60) };
    let store = Arc::new(NotedStore::default());
    let builder = Server::builder().memory(100).store(store.clone()).model(ServedModel::new("tea", tea));
    let server = TestServer::start(builder.model(ServedModel::new("coffee", Sized::new(60)))).await;
    let asked = server.posting("/v1/chat/completions", &asking(json!({"store": true})));
    let asked = tokio::spawn(asked.send());
    // The reply has begun once the question is stored.
    until(|| store.was_called("append")).await;
    store.is_full.store(true, Ordering::SeqCst);
    asked.abort();
    until(|| store.was_called("append_and_move")).await;
    for _ in 0..500 {
        match ask(&server, "coffee").await {
            200 => return,
            status => assert_eq!(status, 429, "only a model that is still used is an obstacle"),
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("the model was not unloaded");
}

/// A model whose memory is freed when a test says so.
#[derive(Clone, Debug)]
struct Sticky(Arc<Gate>);

#[derive(Debug, Default)]
struct Gate {
    is_asked: Mutex<bool>,
    is_open: Mutex<bool>,
    opened: Condvar,
}

#[derive(Debug)]
struct StickyModel(Arc<Gate>);

impl Drop for StickyModel {
    fn drop(&mut self) {
        *self.0.is_asked.lock().unwrap() = true;
        let mut is_open = self.0.is_open.lock().unwrap();
        while !*is_open {
            is_open = self.0.opened.wait(is_open).unwrap();
        }
    }
}

#[async_trait]
impl ChatModel for StickyModel {
    fn name(&self) -> &str {
        "sticky"
    }

    async fn reply(&self, request: Request) -> Result<ReplyStream> {
        EchoModel.reply(request).await
    }

    async fn warm(&self, request: Request) -> Result<Option<CacheReport>> {
        EchoModel.warm(request).await
    }
}

impl ModelSource for Sticky {
    fn memory(&self) -> u64 {
        60
    }

    fn open(&self) -> Result<OpenedModel> {
        Ok(OpenedModel::new(StickyModel(Arc::clone(&self.0))))
    }
}

#[tokio::test]
async fn a_model_is_loaded_once_the_memory_of_the_replaced_one_is_free() {
    let gate = Arc::new(Gate::default());
    let builder = Server::builder().memory(100).model(ServedModel::new("tea", Sticky(Arc::clone(&gate))));
    let server = TestServer::start(builder).await;
    assert_eq!(ask(&server, "tea").await, 200);
    let coffee = Sized::new(60);
    server.handle.replace_models(vec![ServedModel::new("coffee", coffee.clone())]).unwrap();
    until(|| *gate.is_asked.lock().unwrap()).await;
    let mut asked = Box::pin(ask(&server, "coffee"));
    let others = async {
        for _ in 0..20 {
            assert_eq!(server.get("/health").await.status, 200);
        }
    };
    tokio::select! {
        biased;
        status = &mut asked => panic!("{status} while the former model is in memory"),
        () = others => {}
    }
    assert_eq!(coffee.loads(), 0);
    *gate.is_open.lock().unwrap() = true;
    gate.opened.notify_all();
    assert_eq!((asked.await, coffee.loads()), (200, 1));
}

/// A model of a server elsewhere, which refuses this one.
#[derive(Debug)]
struct Elsewhere(u16);

impl ModelSource for Elsewhere {
    fn open(&self) -> Result<OpenedModel> {
        let error = Error::new(ErrorKind::NotFound, "https://user@example.org has no model \"tea\"");
        Err(error.from_upstream(Upstream::answered(self.0)))
    }
}

#[tokio::test]
async fn a_server_elsewhere_that_refuses_is_not_quoted() {
    for (answered, status, code) in [
        (401, 502, "upstream"),
        (404, 502, "upstream"),
        (503, 503, "upstream"),
        (429, 429, "rate_limit_exceeded"),
    ] {
        let server =
            TestServer::start(Server::builder().model(ServedModel::new("tea", Elsewhere(answered)))).await;
        let refused = server.chat(json!({})).await;
        assert_eq!((refused.status, &refused.error()["code"]), (status, &json!(code)), "{}", refused.text);
        assert!(!refused.text.contains("example.org"), "{}", refused.text);
        assert_eq!(refused.headers.contains_key("retry-after"), [429, 503].contains(&status));
    }
}

/// A model that loads at the second attempt.
#[derive(Debug, Default)]
struct Slow(AtomicUsize);

impl ModelSource for Slow {
    fn open(&self) -> Result<OpenedModel> {
        match self.0.fetch_add(1, Ordering::SeqCst) {
            0 => Err(Error::new(ErrorKind::Model, "the file \"model.onnx\" is damaged")),
            1 => panic!("loading panics, as scripted"),
            _ => Ok(OpenedModel::new(EchoModel)),
        }
    }
}

#[tokio::test]
async fn a_model_that_does_not_load_is_an_error_and_is_tried_again() {
    let server = TestServer::start(Server::builder().model(ServedModel::new("tea", Slow::default()))).await;
    let refused = server.chat(json!({})).await;
    assert_eq!((refused.status, &refused.error()["type"]), (500, &json!("server_error")));
    assert_eq!(server.chat(json!({})).await.status, 500);
    assert_eq!(server.chat(json!({})).await.status, 200);
}

#[test]
fn a_server_that_cannot_work_is_not_built() {
    let tea = ServedModel::new("tea", Sized::new(60));
    let cases = [
        (Server::builder(), "at least one model"),
        (Server::builder().model(tea.clone()).model(tea.clone()), "two models have the name \"tea\""),
        (
            Server::builder().model(tea.clone()).model(ServedModel::loaded("a", EchoModel).alias("tea")),
            "two models",
        ),
        (Server::builder().model(tea).memory(59), "raise it"),
    ];
    for (builder, words) in cases {
        let error = builder.build().unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
    }
}
