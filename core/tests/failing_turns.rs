//! Turns that fail after something happened: what a tool did is on the path of the head, what was refused leaves nothing.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod support;

use std::collections::BTreeSet;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Context;

use alloquy_core::manager::ManagerBuilder;
use alloquy_core::message::{ToolCall, ToolResult};
use alloquy_core::report::{CacheReport, FinishReason};
use alloquy_core::store::{ConversationStore, MemoryStore};
use alloquy_core::stream::EventStream;
use alloquy_core::tool::RESULT_DEPTH;
use alloquy_core::turn::{PartialReplyPolicy, TurnEnd};
use alloquy_core::{
    ChatModel, Content, Conversation, Delta, Error, ErrorKind, Manager, Message, Node, NodeId, Preface,
    Reply, ReplyStream, Request, Result, Role, Tool, ToolSpec, TurnEvent,
};
use alloquy_testing::{FaultStore, StoreCall};
use futures::{Stream, StreamExt};
use pollster::block_on;
use serde_json::{Value, json};

use support::spec;

/// Calls the tools that a question names, a word each, and says what they gave; it has room for so many characters.
#[derive(Clone, Debug)]
struct Clerk {
    room: usize,
}

fn length(request: &Request) -> usize {
    let of = |message: &Message| -> usize {
        message.text().len() + message.tool_results().map(|result| result.text().len()).sum::<usize>()
    };
    request.path.iter().map(of).sum()
}

impl Clerk {
    fn answer(message: &Message) -> Message {
        if message.role == Role::Tool {
            let results: Vec<_> = message.tool_results().map(ToolResult::text).collect();
            let text: String = results.join("|").chars().take(12).collect();
            return Message::assistant(format!("I read: {text}"));
        }
        let text = message.text();
        let Some(names) = text.strip_prefix("use ") else {
            return Message::assistant(format!("You said: {text}"));
        };
        let call =
            |(number, name)| Content::ToolCall(ToolCall::new(format!("call_{number}"), name, json!({})));
        Message::new(Role::Assistant, names.split(' ').enumerate().map(call).collect())
    }
}

#[async_trait::async_trait]
impl ChatModel for Clerk {
    fn name(&self) -> &str {
        "clerk"
    }

    async fn reply(&self, request: Request) -> Result<ReplyStream> {
        let length = length(&request);
        let room = self.room;
        if length > room {
            let message = format!("the prompt has {length} units and the model's context {room}");
            return Err(Error::new(ErrorKind::ContextOverflow, message));
        }
        let message = Self::answer(request.path.last().unwrap());
        let finish =
            if message.tool_calls().next().is_some() { FinishReason::ToolCalls } else { FinishReason::Stop };
        Ok(EventStream::new(|mut emit| async move {
            let text = message.text();
            for word in text.split_inclusive(' ').map(str::to_owned) {
                emit.send(Delta::Text(word)).await;
            }
            let mut reply = Reply::new(message);
            reply.finish = finish;
            Ok(reply)
        }))
    }

    async fn warm(&self, _: Request) -> Result<Option<CacheReport>> {
        Ok(None)
    }
}

/// Gives what it was made with, and counts how often it ran.
#[derive(Clone, Debug)]
struct Gives {
    name: &'static str,
    value: Value,
    ran: Arc<AtomicUsize>,
}

impl Gives {
    fn new(name: &'static str, value: impl Into<Value>) -> Self {
        Self { name, value: value.into(), ran: Arc::default() }
    }
}

#[async_trait::async_trait]
impl Tool for Gives {
    fn spec(&self) -> ToolSpec {
        spec(self.name)
    }
    async fn call(&self, _: &Value) -> Result<Value> {
        self.ran.fetch_add(1, Ordering::SeqCst);
        Ok(self.value.clone())
    }
}

/// Nests as deep as it is requested.
#[derive(Debug)]
struct Nests(usize);

#[async_trait::async_trait]
impl Tool for Nests {
    fn spec(&self) -> ToolSpec {
        spec("nests")
    }
    async fn call(&self, _: &Value) -> Result<Value> {
        Ok((0..self.0).fold(json!("core"), |inner, _| Value::Array(vec![inner])))
    }
}

fn over(room: usize, tools: Vec<Gives>, store: Arc<dyn ConversationStore>) -> Manager {
    let manager = Manager::builder(Clerk { room }).store(store);
    tools.into_iter().fold(manager, ManagerBuilder::tool).build().unwrap()
}

fn memory() -> Arc<dyn ConversationStore> {
    Arc::new(MemoryStore::default())
}

fn roles(nodes: &[Node]) -> Vec<Role> {
    nodes.iter().map(|node| node.message.role).collect()
}

fn results(node: &Node) -> Vec<&ToolResult> {
    node.message.tool_results().collect()
}

const WHOLE: [Role; 4] = [Role::User, Role::Assistant, Role::Tool, Role::Assistant];

#[test]
fn a_result_that_nests_too_deep_is_an_error_that_the_model_reads() {
    for (levels, is_kept) in [(1, true), (RESULT_DEPTH, true), (RESULT_DEPTH + 1, false), (100_000, false)] {
        block_on(async {
            let manager = Manager::builder(Clerk { room: 10_000 }).tool(Nests(levels)).build().unwrap();
            let conversation = manager.create(Preface::default()).await.unwrap();
            let reply = conversation.send("use nests").finish().await.unwrap();
            assert_eq!(reply.end, TurnEnd::Answered);
            let history = conversation.history().await.unwrap();
            assert_eq!(roles(&history), WHOLE);
            let result = results(&history[2])[0];
            assert_eq!(result.is_error, !is_kept);
            if !is_kept {
                let sentence = format!(
                    "the result of the call \"call_0\" of \"nests\" nests {levels} levels deep, and at most {RESULT_DEPTH} \
                     are kept"
                );
                assert_eq!(result.text(), sentence);
            }
            conversation.send("Hello").finish().await.unwrap();
            assert_eq!(conversation.history().await.unwrap().len(), 6);
        });
    }
}

#[test]
fn a_result_of_the_host_that_nests_too_deep_is_refused_and_not_stored() {
    block_on(async {
        let manager = over(10_000, vec![], memory());
        let conversation = manager.create(Preface::default().tool(spec("host"))).await.unwrap();
        let reply = conversation.send("use host").finish().await.unwrap();
        assert_eq!(reply.end, TurnEnd::HostCalls);
        let deep = (0..=RESULT_DEPTH).fold(json!(1), |inner, _| json!({ "in": inner }));
        let deep = Message::tool(vec![ToolResult::ok(&reply.pending[0], deep)]);
        for error in [
            conversation.send(deep.clone()).finish().await.map(drop).unwrap_err(),
            conversation.add(deep).await.map(drop).unwrap_err(),
        ] {
            assert_eq!(error.kind(), ErrorKind::Invalid);
            assert!(error.to_string().contains("\"call_0\" of \"host\" nests 101 levels deep"), "{error}");
        }
        assert_eq!(conversation.tree().await.unwrap().len(), 2);
    });
}

#[test]
fn a_result_too_long_for_the_context_becomes_an_error_and_stays_as_a_branch() {
    block_on(async {
        let long = Gives::new("long", "x".repeat(5000));
        let conversation = over(2000, vec![long.clone()], memory()).create(Preface::default()).await.unwrap();
        let mut turn = conversation.send("use long");
        let mut reported = Vec::new();
        while let Some(event) = turn.next().await {
            if let Ok(TurnEvent::ToolResult(result)) = event {
                reported.push(result.is_error);
            }
        }
        let reply = turn.finish().await.unwrap();
        assert_eq!((reply.end, reply.model_calls, reported), (TurnEnd::Answered, 2, vec![false, true]));
        assert_eq!(long.ran.load(Ordering::SeqCst), 1, "the tool runs once");
        let history = conversation.history().await.unwrap();
        assert_eq!((roles(&history), history.last().unwrap().id), (WHOLE.to_vec(), reply.node));
        let result = results(&history[2])[0];
        let sentence = "the result of the call \"call_0\" of \"long\" has 5000 characters, for which the model's context has \
                        no room: the prompt has 5008 units and the model's context 2000; ask for less at once";
        assert_eq!((result.text().as_str(), result.is_error), (sentence, true));
        let beside = conversation.children(history[1].id).await.unwrap();
        assert_eq!(
            (beside.len(), results(&beside[0])[0].text().len()),
            (2, 5000),
            "what the tool gave is kept"
        );
        conversation.send("Hello").finish().await.unwrap();
        assert_eq!(conversation.history().await.unwrap().len(), 6);
    });
}

#[test]
fn of_several_results_only_the_longest_become_errors() {
    block_on(async {
        let tools = || {
            vec![
                Gives::new("short", "s".repeat(300)),
                Gives::new("long", "l".repeat(5000)),
                Gives::new("longer", json!(["x".repeat(9000)])),
            ]
        };
        for (room, failed) in [(20_000, vec![]), (8000, vec!["longer"]), (2000, vec!["long", "longer"])] {
            let conversation = over(room, tools(), memory()).create(Preface::default()).await.unwrap();
            let reply = conversation.send("use short long longer").finish().await.unwrap();
            assert_eq!(reply.end, TurnEnd::Answered);
            let history = conversation.history().await.unwrap();
            let results = results(&history[2]);
            let names: Vec<_> = results.iter().map(|result| result.name.as_str()).collect();
            assert_eq!(names, ["short", "long", "longer"], "the order stays");
            let errors = results.iter().filter(|result| result.is_error);
            assert_eq!(errors.map(|result| result.name.as_str()).collect::<Vec<_>>(), failed);
            assert_eq!(conversation.branches().await.unwrap().len(), if failed.is_empty() { 1 } else { 2 });
        }
    });
}

#[test]
fn a_result_of_the_host_too_long_for_the_context_becomes_an_error() {
    block_on(async {
        let conversation =
            over(1000, vec![], memory()).create(Preface::default().tool(spec("host"))).await.unwrap();
        let reply = conversation.send("use host").finish().await.unwrap();
        let long = ToolResult::ok(&reply.pending[0], "x".repeat(5000));
        let reply = conversation.send(Message::tool(vec![long])).finish().await.unwrap();
        assert_eq!(reply.end, TurnEnd::Answered);
        let history = conversation.history().await.unwrap();
        assert_eq!(roles(&history), WHOLE);
        assert!(results(&history[2])[0].is_error);
        assert_eq!(conversation.tree().await.unwrap().len(), 4, "what was not stored yet needs no branch");
    });
}

#[test]
fn if_shorter_results_do_not_help_the_turn_fails_with_the_head_at_them() {
    block_on(async {
        let conversation = over(40, vec![Gives::new("short", "s".repeat(33))], memory());
        let conversation = conversation.create(Preface::default()).await.unwrap();
        let error = conversation.send("use short").finish().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ContextOverflow);
        let history = conversation.history().await.unwrap();
        assert_eq!(roles(&history), [Role::User, Role::Assistant, Role::Tool]);
        assert!(!results(&history[2])[0].is_error);
        assert_eq!(conversation.tree().await.unwrap().len(), 3);
    });
}

#[test]
fn a_result_that_the_store_refuses_becomes_an_error() {
    block_on(async {
        for kind in [ErrorKind::Invalid, ErrorKind::Unsupported] {
            let store = Arc::new(FaultStore::new(MemoryStore::default()));
            // The first is the reply that calls, the second its results.
            store.fail_with(StoreCall::AppendAndMove, 1, kind);
            let conversation =
                over(2000, vec![Gives::new("odd", "value")], store).create(Preface::default()).await;
            let conversation = conversation.unwrap();
            let reply = conversation.send("use odd").finish().await.unwrap();
            assert_eq!(reply.end, TurnEnd::Answered);
            let history = conversation.history().await.unwrap();
            assert_eq!(roles(&history), WHOLE);
            let sentence = "the result of the call \"call_0\" of \"odd\", of 5 characters, cannot be stored: AppendAndMove \
                            number 1 fails on purpose";
            assert_eq!(results(&history[2])[0].text(), sentence);
        }
    });
}

#[test]
fn a_refused_message_stores_nothing_however_often_it_is_sent() {
    block_on(async {
        let store = Arc::new(FaultStore::new(MemoryStore::default()));
        let manager = over(100, vec![], store.clone());
        let conversation = manager.create(Preface::default()).await.unwrap();
        conversation.send("Hi").finish().await.unwrap();
        let head = conversation.head().await.unwrap();
        let before = store.calls().len();
        let writes = |calls: &[StoreCall]| {
            let is_write = |call: &&StoreCall| {
                matches!(call, StoreCall::Append | StoreCall::AppendAndMove | StoreCall::SetHead)
            };
            calls.iter().filter(is_write).count()
        };
        for _ in 0..8 {
            let error = conversation.send("long ".repeat(100)).finish().await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::ContextOverflow);
        }
        assert_eq!(writes(&store.calls()[before..]), 0, "nothing is written");
        assert_eq!((conversation.head().await.unwrap(), conversation.tree().await.unwrap().len()), (head, 2));
        assert_eq!(conversation.branches().await.unwrap().len(), 1);
        // Nor does one that is said beside another, or at a place.
        let node = conversation.history().await.unwrap()[0].id;
        conversation.edit(node, "long ".repeat(100)).finish().await.unwrap_err();
        conversation.send("Hi again").finish().await.unwrap();
        assert_eq!(
            (conversation.history().await.unwrap().len(), conversation.branches().await.unwrap().len()),
            (4, 1)
        );
    });
}

/// A turn with two rounds of tools, and what became of it.
struct Trial {
    store: Arc<FaultStore<MemoryStore>>,
    manager: Manager,
    conversation: Conversation,
    tool: Gives,
    /// The nodes of which the turn said that they are stored.
    acknowledged: Vec<NodeId>,
}

impl Trial {
    async fn new(policy: PartialReplyPolicy) -> Self {
        let store = Arc::new(FaultStore::new(MemoryStore::default()).slow());
        let tool = Gives::new("long", "x".repeat(900));
        let manager = Manager::builder(Clerk { room: 800 }).store(store.clone()).tool(tool.clone());
        let manager = manager.partial_replies(policy).build().unwrap();
        let conversation = manager.create(Preface::default()).await.unwrap();
        conversation.send("Hi").finish().await.unwrap();
        Self { store, manager, conversation, tool, acknowledged: Vec::new() }
    }

    fn hear(&mut self, event: &Result<TurnEvent>) {
        if let Ok(TurnEvent::Node(node)) = event {
            self.acknowledged.push(node.id);
        }
    }

    /// Polls a turn so many times and drops it; says whether it ended before.
    async fn poll(&mut self, times: usize) -> bool {
        let mut turn = self.conversation.send("use long");
        let waker = futures::task::noop_waker();
        for _ in 0..times {
            match Pin::new(&mut turn).poll_next(&mut Context::from_waker(&waker)) {
                std::task::Poll::Ready(Some(event)) => self.hear(&event),
                std::task::Poll::Ready(None) => return true,
                std::task::Poll::Pending => {}
            }
        }
        false
    }

    /// Nothing acknowledged is lost, what a tool did is on the path of the head, and the next turn goes well.
    async fn check(&self, what: &str) {
        let tree = self.conversation.tree().await.unwrap();
        let history = self.conversation.history().await.unwrap();
        for id in &self.acknowledged {
            assert!(tree.node(*id).is_ok(), "{what}: {id} is lost");
        }
        if self.tool.ran.load(Ordering::SeqCst) > 0 {
            let path: BTreeSet<_> = history.iter().map(|node| node.id).collect();
            let off: Vec<_> = self.acknowledged.iter().filter(|id| !path.contains(id)).collect();
            let of = |id: &NodeId| tree.node(*id).unwrap().message.role;
            // The result that was too long is the one thing beside the path.
            assert!(
                off.len() <= 1 && off.iter().all(|id| of(id) == Role::Tool),
                "{what}: {off:?} are off the path"
            );
            assert!(
                history.len() >= 4 && history[3].message.tool_calls().count() == 1,
                "{what}: the call is there"
            );
        }
        well_formed(&history, what);
        let ran = self.tool.ran.load(Ordering::SeqCst);
        assert!(ran <= 1, "{what}: the tool ran {ran} times");
        let reply = self.conversation.send("Hello").finish().await;
        assert_eq!(reply.unwrap().text(), "You said: Hello", "{what}");
        well_formed(&self.conversation.history().await.unwrap(), what);
    }
}

/// Every result follows its call, and every call has its result before anybody else speaks.
fn well_formed(nodes: &[Node], what: &str) {
    let mut open: Vec<&str> = Vec::new();
    for message in nodes.iter().map(|node| &node.message) {
        for result in message.tool_results() {
            let place = open.iter().position(|id| *id == result.id);
            open.remove(place.unwrap_or_else(|| panic!("{what}: a result without its call")));
        }
        assert!(message.role == Role::Tool || open.is_empty(), "{what}: a call was left behind: {open:?}");
        open.extend(message.tool_calls().map(|call| call.id.as_str()));
    }
}

#[test]
fn a_turn_dropped_at_any_await_loses_nothing_that_happened() {
    block_on(async {
        for policy in [PartialReplyPolicy::Keep, PartialReplyPolicy::Discard] {
            let mut drops = 0;
            loop {
                let mut trial = Trial::new(policy).await;
                let is_done = trial.poll(drops).await;
                trial.manager.flush().await.unwrap();
                trial.check(&format!("dropped after {drops} polls, {policy:?}")).await;
                if is_done {
                    break;
                }
                drops += 1;
            }
            println!("{policy:?}: dropped at {drops} places");
            assert!(drops > 20, "{drops} places");
        }
    });
}

#[test]
fn a_turn_loses_nothing_that_happened_if_any_call_of_the_store_fails() {
    let calls = [
        StoreCall::Record,
        StoreCall::LoadPath,
        StoreCall::Append,
        StoreCall::AppendAndMove,
        StoreCall::SetHead,
        StoreCall::PutBlob,
    ];
    let mut failures = 0;
    let mut trials = 0;
    for call in calls {
        for successes in 0..5 {
            for fault in [Some(ErrorKind::Store), Some(ErrorKind::Busy), Some(ErrorKind::Invalid), None] {
                block_on(async {
                    let mut trial = Trial::new(PartialReplyPolicy::Keep).await;
                    match fault {
                        Some(kind) => trial.store.fail_with(call, successes, kind),
                        None => trial.store.panic(call, successes),
                    }
                    let mut turn = trial.conversation.send("use long");
                    while let Some(event) = turn.next().await {
                        trial.hear(&event);
                    }
                    let outcome = turn.finish().await;
                    trial.store.recover();
                    trial.manager.flush().await.unwrap();
                    trial.check(&format!("{call:?} {successes} fails {fault:?}: {outcome:?}")).await;
                    if let (Err(error), None) = (&outcome, fault) {
                        assert_eq!(error.kind(), ErrorKind::Store);
                        assert!(error.to_string().starts_with("the store panicked: "), "{error}");
                    }
                    failures += usize::from(outcome.is_err());
                    trials += 1;
                });
            }
        }
    }
    println!("{failures} of {trials} turns failed");
    assert!(failures > 20, "{failures} of {trials}");
}
