//! Two managers over one store, against a model of what a conversation is; and histories that no call is lost in.
//! `ALLOQUY_HISTORIES` says how many histories: a million take less than a minute in an optimised build, which is
//! `ALLOQUY_HISTORIES=1000000 cargo test --release -p alloquy-core --test model no_history -- --nocapture`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use alloquy_core::message::{ToolCall, ToolResult};
use alloquy_core::store::{HeadMove, MemoryStore};
use alloquy_core::tree::Address;
use alloquy_core::{
    Content, Conversation, ConversationManager, Error, ErrorKind, Manager, Message, Node, NodeId, Preface,
    Role, Tool, ToolSpec, TurnEvent, TurnRequest,
};
use alloquy_testing::EchoModel;
use futures::StreamExt;
use pollster::block_on;
use proptest::prelude::*;
use serde_json::{Value, json};

/// What somebody does to a conversation; numbers choose among the nodes that there are.
#[derive(Clone, Debug)]
enum Step {
    Add(Option<u8>),
    Send(Option<u8>),
    /// Both managers begin a turn, and the second one ends first.
    Race,
    Regenerate,
    Edit(u8),
    Drop(u8),
    Goto(Option<u8>),
    BranchFrom(u8),
    Undo,
    Prune(u8),
    Label(u8),
    Bookmark(u8, bool),
    Note(bool),
    Reset,
    Compact,
}

fn step() -> impl Strategy<Value = Step> {
    let place = || prop::option::weighted(0.4, any::<u8>());
    prop_oneof![
        4 => place().prop_map(Step::Add),
        6 => place().prop_map(Step::Send),
        2 => Just(Step::Race),
        2 => Just(Step::Regenerate),
        2 => any::<u8>().prop_map(Step::Edit),
        2 => any::<u8>().prop_map(Step::Drop),
        3 => place().prop_map(Step::Goto),
        1 => any::<u8>().prop_map(Step::BranchFrom),
        1 => Just(Step::Undo),
        2 => any::<u8>().prop_map(Step::Prune),
        2 => any::<u8>().prop_map(Step::Label),
        1 => any::<(u8, bool)>().prop_map(|(place, here)| Step::Bookmark(place, here)),
        1 => any::<bool>().prop_map(Step::Note),
        1 => prop::bool::weighted(0.2).prop_map(|all| if all { Step::Reset } else { Step::Compact }),
    ]
}

/// What a conversation is: who follows whom, what was said, where it stands, what is noted on it.
#[derive(Debug, Default, PartialEq)]
struct Model {
    nodes: BTreeMap<NodeId, (Option<NodeId>, Role, String)>,
    head: Option<NodeId>,
    labels: BTreeMap<NodeId, String>,
    bookmarks: BTreeMap<String, NodeId>,
    metadata: BTreeMap<String, Value>,
}

impl Model {
    fn pick(&self, number: u8) -> Option<NodeId> {
        let count = self.nodes.len().max(1);
        self.nodes.keys().nth(usize::from(number) % count).copied()
    }

    fn add(&mut self, node: NodeId, parent: Option<NodeId>, role: Role, text: &str) {
        assert!(self.nodes.insert(node, (parent, role, text.to_owned())).is_none(), "an id is new");
    }

    fn path(&self, to: Option<NodeId>) -> Vec<NodeId> {
        let mut path: Vec<_> = std::iter::successors(to, |id| self.nodes[id].0).collect();
        path.reverse();
        path
    }

    fn prune(&mut self, node: NodeId) {
        let gone: BTreeSet<_> =
            self.nodes.keys().filter(|id| self.path(Some(**id)).contains(&node)).copied().collect();
        self.nodes.retain(|id, _| !gone.contains(id));
    }

    /// The last question before the head, or before everything.
    fn question(&self) -> Option<NodeId> {
        self.path(self.head).into_iter().rfind(|id| self.nodes[id].1 == Role::User)
    }

    async fn read(conversation: &Conversation) -> Self {
        let tree = conversation.tree().await.unwrap();
        let head = conversation.head().await.unwrap();
        let notes = conversation.annotations().await.unwrap();
        let entry = |node: &Node| (node.id, (node.parent, node.message.role, node.message.text()));
        let labels = tree.nodes().filter_map(|node| Some((node.id, notes.label(node)?.to_owned()))).collect();
        let there = |(name, node): (&str, NodeId)| tree.node(node).is_ok().then(|| (name.to_owned(), node));
        let bookmarks = notes.bookmarks().filter_map(there).collect();
        let metadata = conversation.metadata().await.unwrap().into_iter().collect();
        Self { nodes: tree.nodes().map(entry).collect(), head, labels, bookmarks, metadata }
    }
}

/// The model's side of a turn that said `text` below `parent` and was answered by an echo.
fn answered(model: &mut Model, parent: Option<NodeId>, text: &str, reply: &alloquy_core::TurnReply) {
    let question = reply.answers().unwrap();
    model.add(question, parent, Role::User, text);
    model.add(reply.node, Some(question), Role::Assistant, text);
}

async fn take(step: Step, number: usize, chats: [&Conversation; 2], model: &mut Model) {
    let conversation = chats[number % 2];
    let other = chats[(number + 1) % 2];
    let text = number.to_string();
    let at = |model: &Model, place: Option<u8>| place.map_or(model.head, |place| model.pick(place));
    let ask = |place: Option<NodeId>| TurnRequest::from(text.as_str()).at(place);
    match step {
        Step::Add(place) => {
            let parent = at(model, place);
            let added = conversation.add(ask(parent)).await.unwrap();
            model.add(added.node.unwrap(), parent, Role::User, &text);
            model.head = added.node;
        }
        Step::Send(place) => {
            let parent = at(model, place);
            let reply = conversation.send(ask(parent)).finish().await.unwrap();
            answered(model, parent, &text, &reply);
            model.head = Some(reply.node);
        }
        Step::Race => {
            let parent = model.head;
            let mut slow = conversation.send(text.as_str());
            assert!(matches!(slow.next().await, Some(Ok(TurnEvent::Node(_)))));
            let fast = other.send(text.as_str()).finish().await.unwrap();
            let slow = slow.finish().await.unwrap();
            assert_eq!(slow.head, HeadMove::Branched { head: Some(fast.node) });
            answered(model, parent, &text, &fast);
            answered(model, parent, &text, &slow);
            model.head = Some(fast.node);
        }
        Step::Regenerate => {
            let question = model.question();
            match conversation.regenerate(TurnRequest::default()).finish().await {
                Ok(reply) => {
                    let said = model.nodes[&question.unwrap()].2.clone();
                    model.add(reply.node, question, Role::Assistant, &said);
                    model.head = Some(reply.node);
                }
                Err(error) => assert_eq!((error.kind(), question), (ErrorKind::Invalid, None)),
            }
        }
        Step::Edit(place) => {
            let Some(node) = model.pick(place) else { return };
            let parent = model.nodes[&node].0;
            let reply = conversation.edit(node, text.as_str()).finish().await.unwrap();
            answered(model, parent, &text, &reply);
            model.head = Some(reply.node);
        }
        Step::Drop(events) => dropped(conversation, events % 4, &text, model).await,
        Step::Goto(place) => {
            let to = place.and_then(|place| model.pick(place));
            let position = conversation.tree().await.unwrap().position(to).unwrap();
            conversation.goto(position).await.unwrap();
            model.head = to;
        }
        step => change(step, &text, conversation, model).await,
    }
}

async fn dropped(conversation: &Conversation, events: u8, text: &str, model: &mut Model) {
    let mut turn = conversation.send(text);
    let parent = model.head;
    for _ in 0..events {
        match turn.next().await {
            Some(Ok(TurnEvent::Node(node))) if node.message.role == Role::User => {
                model.add(node.id, parent, Role::User, text);
            }
            _ => {}
        }
    }
    drop(turn);
    let tree = conversation.tree().await.unwrap();
    for node in tree.nodes().filter(|node| !model.nodes.contains_key(&node.id)).collect::<Vec<_>>() {
        assert!(events > 0 && node.message.text() == text, "{node:?}");
        model.add(node.id, node.parent, node.message.role, text);
        model.head = if node.message.role == Role::Assistant { Some(node.id) } else { model.head };
    }
}

async fn change(step: Step, text: &str, conversation: &Conversation, model: &mut Model) {
    match step {
        Step::BranchFrom(place) => {
            let Some(node) = model.pick(place) else { return };
            model.head = model.nodes[&node].0;
            assert_eq!(conversation.branch_from(node).await.unwrap(), model.head);
        }
        Step::Undo => match (conversation.undo().await, model.question()) {
            (Ok(before), Some(question)) => {
                assert_eq!(before, model.nodes[&question].0);
                model.head = before;
            }
            (outcome, question) => assert!(outcome.is_err() && question.is_none()),
        },
        Step::Prune(place) => {
            let Some(node) = model.pick(place) else { return };
            if model.path(model.head).contains(&node) {
                assert!(conversation.prune(node).await.unwrap_err().is_conflict());
            } else {
                let before = model.nodes.len();
                model.prune(node);
                assert_eq!(conversation.prune(node).await.unwrap(), before - model.nodes.len());
                model.labels.retain(|id, _| model.nodes.contains_key(id));
                model.bookmarks.retain(|_, id| model.nodes.contains_key(id));
            }
        }
        Step::Label(place) => {
            let Some(node) = model.pick(place) else { return };
            conversation.label(Address::from(node), Some(text)).await.unwrap();
            model.labels.insert(node, text.to_owned());
        }
        Step::Reset => {
            conversation.reset().await.unwrap();
            *model = Model { metadata: std::mem::take(&mut model.metadata), ..Model::default() };
        }
        Step::Compact => conversation.compact().await.unwrap(),
        step => note(step, text, conversation, model).await,
    }
}

async fn note(step: Step, text: &str, conversation: &Conversation, model: &mut Model) {
    match step {
        Step::Bookmark(place, is_put) => {
            let name = if place % 2 == 0 { "here" } else { "there" };
            match model.pick(place).filter(|_| is_put) {
                Some(node) => {
                    conversation.bookmark(name, node).await.unwrap();
                    model.bookmarks.insert(name.to_owned(), node);
                    assert_eq!(conversation.resolve(name).await.unwrap(), Some(node));
                }
                None => {
                    conversation.remove_bookmark(name).await.unwrap();
                    model.bookmarks.remove(name);
                }
            }
        }
        Step::Note(is_put) => {
            if is_put {
                conversation.set_metadata("title", text).await.unwrap();
                model.metadata.insert("title".to_owned(), text.into());
            } else {
                conversation.remove_metadata("title").await.unwrap();
                model.metadata.remove("title");
            }
        }
        other => unreachable!("{other:?} is done elsewhere"),
    }
}

async fn two_chats() -> [Conversation; 2] {
    let store = Arc::new(MemoryStore::default());
    let manager = || Manager::builder(EchoModel).store(store.clone()).build().unwrap();
    let first = manager().create(Preface::default()).await.unwrap();
    let second = manager().open(first.id()).await.unwrap();
    [first, second]
}

proptest! {
    #[test]
    fn two_managers_over_one_store_equal_a_model(steps in prop::collection::vec(step(), 1..40)) {
        block_on(async {
            let [left, right] = two_chats().await;
            let mut model = Model::default();
            for (number, step) in steps.into_iter().enumerate() {
                take(step, number, [&left, &right], &mut model).await;
                assert_eq!(Model::read(&left).await, model);
                assert_eq!(Model::read(&right).await, model);
            }
        });
    }
}

/// Answers calls, but not all of them.
#[derive(Debug)]
struct Fickle;

#[async_trait::async_trait]
impl Tool for Fickle {
    fn spec(&self) -> ToolSpec {
        ToolSpec::new("tool", "Does something", json!({"type": "object"}))
    }
    async fn call(&self, arguments: &Value) -> alloquy_core::Result<Value> {
        match arguments["n"].as_u64().unwrap_or(0) % 2 {
            0 => Ok(json!("done")),
            _ => Err(Error::new(ErrorKind::Tool, "not today")),
        }
    }
}

/// Numbers that look random: enough for histories, and the same on every machine.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, count: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % count
    }

    fn message(&mut self) -> Message {
        let id = |number: usize| format!("call_{number}");
        match self.below(4) {
            0 => Message::user("on"),
            1 => Message::system("on"),
            2 => {
                let calls = (0..self.below(3)).map(|_| {
                    let number = self.below(3);
                    Content::ToolCall(ToolCall::new(id(number), "tool", json!({"n": number})))
                });
                Message::new(Role::Assistant, calls.collect())
            }
            _ => {
                let call = |number| ToolCall::new(id(number), "tool", json!({}));
                Message::tool(
                    (0..self.below(3)).map(|_| ToolResult::ok(&call(self.below(3)), "done")).collect(),
                )
            }
        }
    }
}

/// Every result follows its call, and every call has its result before anybody else speaks.
fn assert_well_formed(nodes: &[&Node]) {
    let mut open: Vec<&str> = Vec::new();
    for message in nodes.iter().map(|node| &node.message) {
        for result in message.tool_results() {
            let place = open.iter().position(|id| *id == result.id).expect("a result without its call");
            open.remove(place);
        }
        assert!(message.role == Role::Tool || open.is_empty(), "a call was left behind: {open:?}");
        open.extend(message.tool_calls().map(|call| call.id.as_str()));
    }
}

async fn history(manager: &Manager, numbers: &mut Numbers) {
    let conversation = manager.create(Preface::default()).await.unwrap();
    for _ in 0..1 + numbers.below(8) {
        let nodes = conversation.tree().await.unwrap();
        let nodes: Vec<_> = nodes.walk().map(|(_, node)| node.id).collect();
        let place = (!nodes.is_empty() && numbers.below(3) == 0).then(|| nodes[numbers.below(nodes.len())]);
        let messages: Vec<_> = (0..numbers.below(3)).map(|_| numbers.message()).collect();
        let ask = match place {
            Some(place) => TurnRequest::from(messages).at(place),
            None => TurnRequest::from(messages),
        };
        // What does not fit is refused.
        let _ = match numbers.below(6) {
            0 | 1 => conversation.add(ask).await.map(drop),
            2 => conversation.send(ask).finish().await.map(drop),
            3 => conversation.regenerate(ask).finish().await.map(drop),
            4 => {
                let mut turn = conversation.send(ask);
                for _ in 0..numbers.below(5) {
                    turn.next().await;
                }
                Ok(())
            }
            _ => conversation.goto(place).await,
        };
    }
    let tree = conversation.tree().await.unwrap();
    for leaf in tree.leaves() {
        assert_well_formed(&tree.path(Some(leaf)).unwrap());
    }
    manager.delete(conversation.id()).await.unwrap();
}

#[test]
fn no_history_has_a_result_without_its_call_or_a_call_without_a_result() {
    let count = std::env::var("ALLOQUY_HISTORIES").map_or(5_000, |count| count.parse().unwrap());
    let manager = Manager::builder(EchoModel).tool(Fickle).build().unwrap();
    let mut numbers = Numbers(7);
    block_on(async {
        for _ in 0..count {
            history(&manager, &mut numbers).await;
        }
    });
    println!("{count} histories");
}
