//! What others wrote and panics: an error of the turn that met it, never an unwind through the host.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod support;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use alloquy_core::manager::ManagerBuilder;
use alloquy_core::message::ToolCall;
use alloquy_core::middleware::{Middleware, Next};
use alloquy_core::report::CacheReport;
use alloquy_core::store::MemoryStore;
use alloquy_core::stream::EventStream;
use alloquy_core::tool::{ApprovalDecision, Timer, ToolApproval, ToolContext, ToolProvider, Toolbox};
use alloquy_core::{
    ChatModel, Conversation, Delta, ErrorKind, Manager, Preface, Reply, ReplyStream, Request, Result, Role,
    Tool, ToolSpec, TurnEvent, TurnRequest,
};
use alloquy_testing::{EchoModel, FaultStore, ScriptedModel, StoreCall};
use futures::StreamExt;
use futures::future::BoxFuture;
use pollster::block_on;
use serde_json::{Value, json};

use support::{Clock, spec};

/// Panics once, when it is set to, with a formatted text or a constant one.
#[derive(Clone, Debug, Default)]
struct Bomb(Arc<AtomicBool>);

impl Bomb {
    fn armed() -> Self {
        Self(Arc::new(AtomicBool::new(true)))
    }

    fn tick(&self) {
        if self.0.swap(false, Ordering::SeqCst) {
            panic!("boom {}", 42);
        }
    }
}

/// Where a middleware panics.
#[derive(Clone, Copy, Debug, PartialEq)]
enum At {
    Begin,
    AfterAwait,
    FirstWord,
    LaterWord,
    End,
}

#[derive(Debug)]
struct Faulty(At, Bomb);

impl Faulty {
    fn at(&self, place: At) {
        if self.0 == place {
            self.1.tick();
        }
    }
}

#[async_trait::async_trait]
impl Middleware for Faulty {
    async fn handle(&self, request: Request, next: Next<'_>) -> Result<ReplyStream> {
        self.at(At::Begin);
        let mut inner = next.call(request).await?;
        self.at(At::AfterAwait);
        let this = Faulty(self.0, self.1.clone());
        Ok(EventStream::new(|mut emit| async move {
            let mut place = At::FirstWord;
            while let Some(delta) = inner.next().await {
                this.at(place);
                emit.send(delta).await;
                place = At::LaterWord;
            }
            this.at(At::End);
            inner.finish().await
        }))
    }

    async fn prepare(&self, request: Request) -> Result<Request> {
        self.at(At::Begin);
        Ok(request)
    }
}

async fn conversation(builder: ManagerBuilder) -> Conversation {
    builder.build().unwrap().create(Preface::default()).await.unwrap()
}

/// Says what a turn failed with, and takes the next one.
async fn failure(conversation: &Conversation) -> (ErrorKind, String) {
    let error = conversation.send("one two three").finish().await.unwrap_err();
    assert_eq!(conversation.send("on").finish().await.unwrap().text(), "on");
    (error.kind(), error.to_string())
}

#[test]
fn a_middleware_that_panics_fails_its_turn() {
    for place in [At::Begin, At::AfterAwait, At::FirstWord] {
        block_on(async {
            let conversation =
                conversation(Manager::builder(EchoModel).middleware(Faulty(place, Bomb::armed()))).await;
            let (kind, sentence) = failure(&conversation).await;
            assert_eq!(kind, ErrorKind::Backend, "{place:?}");
            assert!(sentence.ends_with(" panicked: boom 42"), "{place:?}: {sentence}");
            assert_eq!(
                conversation.tree().await.unwrap().len(),
                2,
                "{place:?}: the question was never asked"
            );
        });
    }
    for place in [At::LaterWord, At::End] {
        block_on(async {
            let conversation =
                conversation(Manager::builder(EchoModel).middleware(Faulty(place, Bomb::armed()))).await;
            let reply = conversation.send("one two three").finish().await.unwrap();
            assert!(reply.text().starts_with("one"), "{place:?}: what was said is kept");
            assert!(reply.reply.error.unwrap().ends_with(" panicked: boom 42"), "{place:?}");
            assert_eq!(conversation.send("on").finish().await.unwrap().text(), "on");
            assert_eq!(conversation.history().await.unwrap().len(), 4);
        });
    }
}

#[test]
fn warming_and_scoring_fail_if_a_middleware_panics() {
    block_on(async {
        for is_warm in [true, false] {
            let builder = Manager::builder(ScriptedModel::new([("<assistant>", "on")]));
            let conversation = conversation(builder.middleware(Faulty(At::Begin, Bomb::armed()))).await;
            conversation.add("Hi").await.unwrap();
            let error = if is_warm {
                conversation.warm(TurnRequest::default()).await.unwrap_err()
            } else {
                conversation.score(TurnRequest::default(), &["on".to_owned()]).await.unwrap_err()
            };
            assert!(error.to_string().ends_with("panicked: boom 42"), "{error}");
            assert!(conversation.warm(TurnRequest::default()).await.is_ok());
        }
    });
}

#[test]
fn asking_returns_the_error_and_the_conversation_continues() {
    for place in [At::Begin, At::AfterAwait, At::FirstWord] {
        let conversation =
            block_on(conversation(Manager::builder(EchoModel).middleware(Faulty(place, Bomb::armed()))));
        let error = conversation.ask("one two").unwrap_err();
        assert!(error.to_string().ends_with(" panicked: boom 42"), "{place:?}: {error}");
        assert_eq!(conversation.ask("on").unwrap().text(), "on");
    }
}

/// A model that panics before it answers, or in the middle.
#[derive(Debug)]
struct Careless {
    words: usize,
    bomb: Bomb,
}

#[async_trait::async_trait]
impl ChatModel for Careless {
    fn name(&self) -> &str {
        "careless"
    }
    async fn reply(&self, request: Request) -> Result<ReplyStream> {
        let words = self.words;
        let bomb = self.bomb.clone();
        if words == 0 {
            bomb.tick();
        }
        let last = request.path.last().unwrap().clone();
        Ok(EventStream::new(move |mut emit| async move {
            for (number, word) in last.text().split_inclusive(' ').enumerate() {
                if number + 1 == words {
                    bomb.tick();
                }
                emit.send(Delta::Text(word.to_owned())).await;
            }
            Ok(Reply::new(alloquy_core::Message::assistant(last.text())))
        }))
    }
    async fn warm(&self, _: Request) -> Result<Option<CacheReport>> {
        Ok(None)
    }
}

#[test]
fn a_model_that_panics_fails_its_turn_and_its_text_so_far_is_kept() {
    block_on(async {
        for words in [0, 1] {
            let conversation = conversation(Manager::builder(Careless { words, bomb: Bomb::armed() })).await;
            let (kind, sentence) = failure(&conversation).await;
            assert!(kind == ErrorKind::Backend && sentence.ends_with("panicked: boom 42"), "{sentence}");
        }
        let conversation = conversation(Manager::builder(Careless { words: 2, bomb: Bomb::armed() })).await;
        let reply = conversation.send("one two three").finish().await.unwrap();
        assert_eq!(reply.text(), "one ");
        assert!(reply.reply.error.unwrap().ends_with("panicked: boom 42"));
    });
}

/// A tool that panics at a place that is set.
#[derive(Debug)]
struct Risky {
    describes: Bomb,
    begins: Bomb,
    waits: Bomb,
}

impl Risky {
    fn audio() -> Self {
        Self { describes: Bomb::default(), begins: Bomb::default(), waits: Bomb::default() }
    }
}

impl Tool for Risky {
    fn spec(&self) -> ToolSpec {
        self.describes.tick();
        spec("risky")
    }

    /// As a tool that is not an `async fn`: it may panic before there is a future.
    fn call<'life0, 'life1, 'async_trait>(
        &'life0 self,
        _arguments: &'life1 Value,
    ) -> BoxFuture<'async_trait, Result<Value>>
    where
        'life0: 'async_trait,
        'life1: 'async_trait,
        Self: 'async_trait,
    {
        self.begins.tick();
        Box::pin(async {
            futures::future::ready(()).await;
            self.waits.tick();
            Ok(json!("done"))
        })
    }
}

fn with_tools() -> ManagerBuilder {
    let script = [
        ("<user>go<end><assistant>", "call:risky {}\ncall:clock {\"zone\":\"UTC\"}"),
        ("<user>on<end><assistant>", "on"),
        ("noon<end><assistant>", "It is noon."),
        ("<user>one two three<end><assistant>", "call:risky {}"),
        ("<tool>done<end><assistant>", "Done."),
    ];
    Manager::builder(ScriptedModel::new(script))
}

#[test]
fn a_tool_that_panics_has_an_error_as_its_result() {
    for tool in
        [Risky { begins: Bomb::armed(), ..Risky::audio() }, Risky { waits: Bomb::armed(), ..Risky::audio() }]
    {
        block_on(async {
            let conversation = conversation(with_tools().tool(tool).tool(Clock)).await;
            let reply = conversation.send("go").finish().await.unwrap();
            assert_eq!(reply.text(), "It is noon.");
            let history = conversation.history().await.unwrap();
            let results: Vec<_> =
                history[2].message.tool_results().map(alloquy_core::message::ToolResult::text).collect();
            assert_eq!(results, ["the tool panicked: boom 42", "noon"]);
            assert_eq!(conversation.send("on").finish().await.unwrap().text(), "on");
        });
    }
}

/// A source that panics once.
#[derive(Debug)]
struct Source(Bomb);

impl ToolProvider for Source {
    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        self.0.tick();
        vec![Arc::new(Risky::audio())]
    }
}

#[test]
fn a_source_or_a_description_that_panics_fails_the_turn_or_the_building() {
    block_on(async {
        let error =
            with_tools().toolbox(Toolbox::default().source(Source(Bomb::armed()))).build().unwrap_err();
        assert_eq!(
            (error.kind(), error.to_string().as_str()),
            (ErrorKind::Tool, "a source of tools panicked: boom 42")
        );
        for is_source in [true, false] {
            let source = Bomb::default();
            let describes = Bomb::default();
            let tool = Risky { describes: describes.clone(), ..Risky::audio() };
            let toolbox = if is_source {
                Toolbox::default().source(Source(source.clone()))
            } else {
                Toolbox::default().tool(tool)
            };
            let conversation = conversation(with_tools().toolbox(toolbox)).await;
            [source, describes].iter().for_each(|bomb| bomb.0.store(true, Ordering::SeqCst));
            let error = conversation.send("on").finish().await.unwrap_err();
            assert!(
                error.kind() == ErrorKind::Tool && error.to_string().ends_with("panicked: boom 42"),
                "{error}"
            );
            assert_eq!(conversation.send("on").finish().await.unwrap().text(), "on");
        }
    });
}

#[derive(Debug)]
struct Asks(Bomb);

#[async_trait::async_trait]
impl ToolApproval for Asks {
    async fn approve(&self, _: &ToolCall, _: &ToolSpec, _: &ToolContext) -> ApprovalDecision {
        self.0.tick();
        ApprovalDecision::Allow
    }
}

#[test]
fn an_approval_that_panics_fails_the_turn_before_anything_runs_and_completing_asks_again() {
    block_on(async {
        let toolbox = Toolbox::default().tool(Risky::audio()).approval(Asks(Bomb::armed()));
        let calls = [ToolCall::new("a", "risky", json!({})), ToolCall::new("b", "risky", json!({}))];
        let answers: Vec<_> =
            toolbox.now().unwrap().answer(&calls, &[]).map(|result| result.text()).collect().await;
        let refused = "this call was refused: call \"a\" of \"risky\": the approval panicked: boom 42";
        assert_eq!(answers, [refused, refused]);
        let toolbox = Toolbox::default().tool(Risky::audio()).approval(Asks(Bomb::armed()));
        let conversation = conversation(with_tools().toolbox(toolbox)).await;
        let error = conversation.send("one two three").finish().await.unwrap_err();
        let sentence = "call \"call_0\" of \"risky\": the approval panicked: boom 42";
        assert_eq!((error.kind(), error.to_string().as_str()), (ErrorKind::Tool, sentence));
        let roles: Vec<_> =
            conversation.history().await.unwrap().iter().map(|node| node.message.role).collect();
        assert_eq!(roles, [Role::User, Role::Assistant], "the call is at the head");
        assert_eq!(conversation.complete(Default::default()).finish().await.unwrap().text(), "Done.");
    });
}

/// A timer that panics when it is set, as one does that needs a runtime, or when it is waited for.
struct Rings {
    is_set: bool,
}

impl Timer for Rings {
    fn sleep(&self, _: Duration) -> BoxFuture<'static, ()> {
        if self.is_set {
            panic!("there is no reactor running");
        }
        Box::pin(async { panic!("there is no reactor running") })
    }
}

/// Never answers.
#[derive(Debug)]
struct Waits;

#[async_trait::async_trait]
impl Tool for Waits {
    fn spec(&self) -> ToolSpec {
        spec("risky")
    }
    async fn call(&self, _: &Value) -> Result<Value> {
        futures::future::pending().await
    }
}

#[test]
fn a_timer_that_panics_ends_the_call() {
    block_on(async {
        for is_set in [true, false] {
            let toolbox = Toolbox::default().tool(Waits).timeout(Duration::from_secs(1), Rings { is_set });
            let call = [ToolCall::new("a", "risky", json!({}))];
            let answers: Vec<_> = toolbox.now().unwrap().answer(&call, &[]).collect().await;
            assert_eq!(answers[0].text(), "the timer of the tools panicked: there is no reactor running");
        }
    });
}

#[test]
fn a_store_that_panics_fails_the_call_and_stays_usable() {
    let calls = [
        StoreCall::Create,
        StoreCall::Record,
        StoreCall::LoadPath,
        StoreCall::Append,
        StoreCall::AppendAndMove,
        StoreCall::Load,
        StoreCall::UpdateMetadata,
        StoreCall::Prune,
        StoreCall::List,
        StoreCall::Delete,
    ];
    let mut failures = 0;
    for call in calls {
        block_on(async {
            let store = Arc::new(FaultStore::new(MemoryStore::default()));
            let manager = Manager::builder(EchoModel).store(store.clone()).build().unwrap();
            let conversation = manager.create(Preface::default()).await.unwrap();
            let first = conversation.send("Hi").finish().await.unwrap();
            // Another manager: the first one remembers the path, and would not read it.
            let manager = Manager::builder(EchoModel).store(store.clone()).build().unwrap();
            let conversation =
                alloquy_core::ConversationManager::open(&manager, conversation.id()).await.unwrap();
            store.panic(call, 0);
            let outcomes = [
                manager.create(Preface::default()).await.map(drop),
                conversation.send("Hi").finish().await.map(drop),
                conversation.add("Hi").await.map(drop),
                conversation.goto(None).await,
                conversation.set_metadata("title", "tea").await,
                conversation.goto(None).await,
                conversation.prune(first.node).await.map(drop),
                conversation.tree().await.map(drop),
                alloquy_core::ConversationManager::list(&manager, &Default::default()).await.map(drop),
                alloquy_core::ConversationManager::delete(&manager, conversation.id()).await,
            ];
            let failed: Vec<_> = outcomes.into_iter().filter_map(Result::err).collect();
            assert_eq!(failed.len(), 1, "{call:?}: {failed:?}");
            assert_eq!(failed[0].kind(), ErrorKind::Store);
            assert!(failed[0].to_string().starts_with("the store panicked: "), "{}", failed[0]);
            failures += 1;
        });
    }
    assert_eq!(failures, calls.len());
}

#[test]
fn a_store_that_panics_while_a_dropped_reply_is_kept_does_not_unwind() {
    block_on(async {
        let store = Arc::new(FaultStore::new(MemoryStore::default()));
        let manager = Manager::builder(EchoModel).store(store.clone()).build().unwrap();
        let conversation = manager.create(Preface::default()).await.unwrap();
        let mut turn = conversation.send("one two three");
        while !matches!(turn.next().await, Some(Ok(TurnEvent::Delta(_)))) {}
        store.panic(StoreCall::AppendAndMove, 0);
        assert!(catch_unwind(AssertUnwindSafe(|| drop(turn))).is_ok());
        let error = manager.flush().await.unwrap_err();
        assert!(format!("{error:#}").contains("the store panicked"), "{error:#}");
        assert_eq!(conversation.send("on").finish().await.unwrap().text(), "on");
    });
}
