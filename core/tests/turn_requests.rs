//! What a turn names for itself: its model, its tools, its middleware; and whose it is.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod support;

use std::sync::{Arc, Mutex};

use alloquy_core::chat_model::{Models, Origin};
use alloquy_core::message::ToolCall;
use alloquy_core::middleware::{Middleware, Next};
use alloquy_core::store::MemoryStore;
use alloquy_core::tool::{ApprovalDecision, ToolApproval, ToolContext, Toolbox, TypedTool};
use alloquy_core::turn::TurnData;
use alloquy_core::{
    ChatModel, Conversation, ErrorKind, Manager, Owner, Preface, ReplyStream, Request, Result, Tool,
    ToolSpec, TurnEvent, TurnRequest,
};
use alloquy_testing::{ScriptedModel, ScriptedReply};
use futures::StreamExt;
use pollster::block_on;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use support::spec;

const SCRIPT: [(&str, &str); 4] = [
    ("<user>Who am I?<end><assistant>", "call:who {}"),
    ("<tool>ann<end><assistant>", "You are Ann."),
    ("<tool>this call was refused: not bob<end><assistant>", "I may not say."),
    ("<user>Hi<end><assistant>", "Hello!"),
];

/// A name and an origin.
type Seen = (&'static str, Option<Origin>);

/// Keeps the origin of everything it sees, under its name.
#[derive(Clone, Debug, Default)]
struct Witness {
    name: &'static str,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Witness {
    fn named(&self, name: &'static str) -> Self {
        Self { name, seen: Arc::clone(&self.seen) }
    }

    fn note(&self, origin: Option<&Origin>) {
        self.seen.lock().unwrap().push((self.name, origin.cloned()));
    }

    fn take(&self) -> Vec<Seen> {
        std::mem::take(&mut self.seen.lock().unwrap())
    }

    fn names(&self) -> Vec<&'static str> {
        self.take().into_iter().map(|(name, _)| name).collect()
    }
}

#[async_trait::async_trait]
impl Middleware for Witness {
    async fn handle(&self, request: Request, next: Next<'_>) -> Result<ReplyStream> {
        self.note(request.origin.as_ref());
        next.call(request).await
    }

    async fn prepare(&self, request: Request) -> Result<Request> {
        self.note(request.origin.as_ref());
        Ok(request)
    }
}

#[async_trait::async_trait]
impl Tool for Witness {
    fn spec(&self) -> ToolSpec {
        spec("who")
    }

    async fn call(&self, _: &Value) -> Result<Value> {
        Ok(json!("nobody"))
    }

    async fn call_with(&self, _: &Value, context: &ToolContext) -> Result<Value> {
        self.note(context.origin.as_ref());
        Ok(json!(context.turn_data.get::<User>().map_or("nobody", |user| user.0)))
    }
}

/// Refuses the calls of one user.
#[async_trait::async_trait]
impl ToolApproval for Witness {
    async fn approve(&self, _: &ToolCall, _: &ToolSpec, context: &ToolContext) -> ApprovalDecision {
        self.note(context.origin.as_ref());
        if context.turn_data.get::<User>().is_some_and(|user| user.0 == "bob") {
            ApprovalDecision::Refuse("not bob".to_owned())
        } else {
            ApprovalDecision::Allow
        }
    }
}

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

#[derive(Debug)]
struct User(&'static str);

fn asked_by(user: &'static str) -> TurnRequest {
    TurnRequest::from("Who am I?").turn_data(TurnData::default().with(User(user)))
}

#[test]
fn middleware_tools_and_approvals_know_the_conversation() {
    block_on(async {
        let witness = Witness::default();
        let toolbox =
            Toolbox::default().tool(witness.named("tool")).approval(Arc::new(witness.named("approval")));
        let owner: Owner = "ann".parse().unwrap();
        let manager = Manager::builder(ScriptedModel::new(SCRIPT))
            .middleware(witness.named("middleware"))
            .toolbox(toolbox)
            .owner(owner.clone())
            .build()
            .unwrap();
        let conversation = manager.create(Preface::default()).await.unwrap();
        let turn = conversation.send(asked_by("ann")).await.unwrap();
        assert_eq!(turn.text(), "You are Ann.");

        let nodes = conversation.history().await.unwrap();
        let below = |index: usize| {
            let parent = nodes.get(index).map(|node| node.id);
            Some(Origin::new(owner.clone(), conversation.id().clone()).parent(parent))
        };
        let expected =
            [("middleware", below(0)), ("approval", below(1)), ("tool", below(1)), ("middleware", below(2))];
        assert_eq!(witness.take(), expected);

        // A draft is below the head: nothing of it is stored.
        conversation.prompt("And then?").await.unwrap();
        assert_eq!(witness.take(), [("middleware", below(3))]);
    });
}

#[test]
fn an_approval_can_decide_by_user() {
    block_on(async {
        let witness = Witness::default();
        let toolbox = Toolbox::default().tool(witness.clone()).approval(Arc::new(witness));
        let manager = Manager::builder(ScriptedModel::new(SCRIPT)).toolbox(toolbox).build().unwrap();
        let conversation = manager.create(Preface::default()).await.unwrap();
        assert_eq!(conversation.send(asked_by("bob")).await.unwrap().text(), "I may not say.");
        assert_eq!(conversation.send(asked_by("ann")).await.unwrap().text(), "You are Ann.");
    });
}

/// Keeps the names of the tools that the model is offered.
#[derive(Clone, Debug, Default)]
struct Offers(Arc<Mutex<Vec<Vec<String>>>>);

impl Offers {
    fn note(&self, request: &Request) {
        let names = request.preface.tools.iter().map(|tool| tool.name.clone()).collect();
        self.0.lock().unwrap().push(names);
    }

    fn take(&self) -> Vec<Vec<String>> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

#[async_trait::async_trait]
impl Middleware for Offers {
    async fn handle(&self, request: Request, next: Next<'_>) -> Result<ReplyStream> {
        self.note(&request);
        next.call(request).await
    }

    async fn prepare(&self, request: Request) -> Result<Request> {
        self.note(&request);
        Ok(request)
    }
}

#[test]
fn tools_of_a_turn_replace_the_managers_for_that_turn() {
    block_on(async {
        let offers = Offers::default();
        let clock = TypedTool::new("clock", "Tells the time", |_: Nothing| async { Ok("noon") });
        let manager = Manager::builder(ScriptedModel::new(SCRIPT))
            .toolbox(Toolbox::default().tool(clock))
            .middleware(offers.clone())
            .build()
            .unwrap();
        let conversation = manager.create(Preface::default()).await.unwrap();
        let ask = asked_by("ann").tools(Toolbox::default().tool(Witness::default()));
        conversation.prompt(ask.clone()).await.unwrap();
        assert_eq!(conversation.send(ask).await.unwrap().text(), "You are Ann.");
        conversation.prompt("Hi").await.unwrap();
        conversation.prompt(TurnRequest::from("Hi").tools(Toolbox::default())).await.unwrap();
        assert_eq!(offers.take(), [vec!["who"], vec!["who"], vec!["who"], vec!["clock"], vec![]]);
    });
}

#[test]
fn middleware_of_a_turn_is_inside_of_the_managers() {
    block_on(async {
        let witness = Witness::default();
        let manager = Manager::builder(ScriptedModel::new(SCRIPT))
            .middleware(witness.named("manager"))
            .build()
            .unwrap();
        let conversation = manager.create(Preface::default()).await.unwrap();
        let ask =
            || TurnRequest::from("Hi").middleware(witness.named("first")).middleware(witness.named("second"));
        conversation.prompt(ask()).await.unwrap();
        assert_eq!(witness.names(), ["manager", "first", "second"]);
        conversation.send(ask()).await.unwrap();
        assert_eq!(witness.names(), ["manager", "first", "second"]);
        conversation.send("Hi").await.unwrap();
        assert_eq!(witness.names(), ["manager"]);
    });
}

fn models() -> Models {
    let says = |text: &str| ScriptedModel::new([("<assistant>", text)]);
    Models::new("small", says("Hi.")).unwrap().with("large", says("Good day.")).unwrap()
}

#[test]
fn a_turn_sets_its_model_and_its_reply_names_it() {
    block_on(async {
        let conversation = Conversation::new(models());
        assert_eq!(conversation.send("Hello").await.unwrap().text(), "Hi.");
        let large = TurnRequest::from("Hello").model("large");
        assert_eq!(conversation.send(large).await.unwrap().text(), "Good day.");
        assert_eq!(conversation.send("Hello").await.unwrap().text(), "Hi.");
        let nodes = conversation.history().await.unwrap();
        let names: Vec<_> = nodes.iter().filter_map(|node| node.model()).collect();
        assert_eq!(names, ["small", "large", "small"]);
    });
}

#[test]
fn a_dropped_turn_names_its_model() {
    block_on(async {
        let hangs = ScriptedModel::replying([ScriptedReply::Hangs("Good".to_owned())]);
        let models = Models::new("small", ScriptedModel::new(SCRIPT)).unwrap().with("large", hangs).unwrap();
        let conversation = Conversation::new(models);
        let mut turn = conversation.send(TurnRequest::from("Hi").model("large"));
        while !matches!(turn.next().await, Some(Ok(TurnEvent::Delta(_)))) {}
        drop(turn);
        let nodes = conversation.history().await.unwrap();
        assert_eq!(nodes.last().unwrap().message.text(), "Good");
        assert_eq!(nodes.last().unwrap().model(), Some("large"));
    });
}

#[test]
fn an_unknown_model_is_refused_and_nothing_is_stored() {
    block_on(async {
        let store = Arc::new(MemoryStore::default());
        let manager = Manager::builder(models()).store(store).build().unwrap();
        let conversation = manager.create(Preface::default()).await.unwrap();
        let unknown = || TurnRequest::from("Hello").model("huge");
        let error = conversation.send(unknown()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
        assert_eq!(error.to_string(), "there is no model \"huge\", one of: small, large");
        assert_eq!(conversation.prompt(unknown()).await.unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(conversation.warm(unknown()).await.unwrap_err().kind(), ErrorKind::NotFound);
        assert!(conversation.history().await.unwrap().is_empty());

        let one = Conversation::new(ScriptedModel::new(SCRIPT).named("only"));
        assert_eq!(one.send(unknown()).await.unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(one.send(TurnRequest::from("Hi").model("only")).await.unwrap().text(), "Hello!");
    });
}

#[test]
fn models_refuse_names_that_are_empty_or_used_twice() {
    let model = || ScriptedModel::new(SCRIPT);
    assert_eq!(Models::new("", model()).unwrap_err().kind(), ErrorKind::Invalid);
    let taken = models().with("small", model()).unwrap_err();
    assert_eq!(taken.kind(), ErrorKind::Conflict);
    assert_eq!(models().names(), ["small", "large"]);
}
