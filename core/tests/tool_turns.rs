//! Tools in turns: what is stored of them, and that no result is without its call and no call without its result.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod support;

use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use alloquy_core::manager::ManagerBuilder;
use alloquy_core::message::{ToolCall, ToolResult};
use alloquy_core::report::{FinishReason, Warning};
use alloquy_core::tool::{ApprovalDecision, ToolApproval, ToolContext, Toolbox};
use alloquy_core::turn::TurnEnd;
use alloquy_core::{
    Content, Conversation, Error, ErrorKind, Manager, Message, Node, Preface, Result, Role, Tool, ToolSpec,
    TurnEvent, TurnRequest,
};
use alloquy_testing::ScriptedModel;
use futures::{FutureExt, StreamExt};
use pollster::block_on;
use proptest::prelude::*;
use serde_json::{Value, json};

use support::{first_result, spec};

const SCRIPT: [(&str, &str); 6] = [
    (
        "<user>Compare<end><assistant>",
        "call:weather {\"city\":\"Oslo\"}\ncall:weather {\"city\":\"Atlantis\"}\ncall:delete {\"path\":\"/\"}",
    ),
    ("did refuse<end><assistant>", "Oslo is cold, Atlantis is not there, and nothing was deleted."),
    ("<user>Mixed<end><assistant>", "call:weather {\"city\":\"Oslo\"}\ncall:host {}"),
    ("on again<end><assistant>", "On we go."),
    ("result of the host<end><assistant>", "The host has spoken."),
    ("<user>Wait<end><assistant>", "call:weather {\"city\":\"Oslo\"}\ncall:wait {}\ncall:wait {}"),
];

/// Knows one city.
#[derive(Debug)]
struct Weather;

#[async_trait::async_trait]
impl Tool for Weather {
    fn spec(&self) -> ToolSpec {
        spec("weather")
    }
    async fn call(&self, arguments: &Value) -> Result<Value> {
        match arguments["city"].as_str() {
            Some("Oslo") => Ok(json!({"celsius": -3})),
            _ => {
                Err(Error::new(ErrorKind::Tool, format!("unknown city {}, one of: Oslo", arguments["city"])))
            }
        }
    }
}

/// Must never run.
#[derive(Debug)]
struct Delete;

#[async_trait::async_trait]
impl Tool for Delete {
    fn spec(&self) -> ToolSpec {
        spec("delete")
    }
    async fn call(&self, _arguments: &Value) -> Result<Value> {
        panic!("a refused call runs")
    }
}

/// Never answers, and counts how many calls are alive.
#[derive(Clone, Debug, Default)]
struct Wait(Arc<AtomicUsize>);

struct Alive<'a>(&'a AtomicUsize);

impl Drop for Alive<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[async_trait::async_trait]
impl Tool for Wait {
    fn spec(&self) -> ToolSpec {
        spec("wait")
    }
    async fn call(&self, _arguments: &Value) -> Result<Value> {
        self.0.fetch_add(1, Ordering::SeqCst);
        let _alive = Alive(&self.0);
        futures::future::pending().await
    }
}

#[derive(Debug)]
struct NothingIsDeleted;

#[async_trait::async_trait]
impl ToolApproval for NothingIsDeleted {
    async fn approve(&self, call: &ToolCall, _tool: &ToolSpec, _: &ToolContext) -> ApprovalDecision {
        match call.name.as_str() {
            "delete" => ApprovalDecision::Refuse("the person who was asked did refuse".to_owned()),
            _ => ApprovalDecision::Allow,
        }
    }
}

fn builder() -> ManagerBuilder {
    let toolbox = Toolbox::default().tool(Weather).tool(Delete).approval(NothingIsDeleted);
    Manager::builder(ScriptedModel::new(SCRIPT)).toolbox(toolbox)
}

fn preface() -> Preface {
    Preface::default().tool(spec("host"))
}

async fn conversation(builder: ManagerBuilder) -> Conversation {
    builder.build().unwrap().create(preface()).await.unwrap()
}

/// Nodes, a part a line.
fn drawn(nodes: &[Node]) -> String {
    let mut text = String::new();
    for (depth, node) in nodes.iter().enumerate() {
        for part in &node.message.parts {
            let said = match &part.content {
                Content::ToolCall(call) => format!("{} {}({})", call.id, call.name, call.arguments),
                Content::ToolResult(result) if result.is_error => {
                    format!("{} failed: {}", result.id, result.text())
                }
                Content::ToolResult(result) => format!("{} gave {}", result.id, result.text()),
                part => part.as_text().unwrap_or_default().to_owned(),
            };
            writeln!(text, "{depth} {}: {said}", node.message.role).unwrap();
        }
    }
    text
}

#[test]
fn of_three_calls_one_answers_one_fails_and_one_is_refused() {
    block_on(async {
        let conversation = conversation(builder()).await;
        let mut turn = conversation.send("Compare");
        let mut results = Vec::new();
        while let Some(event) = turn.next().await {
            if let Ok(TurnEvent::ToolResult(result)) = event {
                results.push(result);
            }
        }
        let reply = turn.finish().await.unwrap();
        assert_eq!((reply.end, reply.model_calls, reply.pending.len()), (TurnEnd::Answered, 2, 0));
        let history = conversation.history().await.unwrap();
        assert_eq!(history[2].message, Message::tool(results), "one node holds every result");
        insta::assert_snapshot!(drawn(&history));
        insta::assert_json_snapshot!(history[2].message);
    });
}

#[test]
fn calls_beyond_the_last_round_are_pending_and_completing_runs_them() {
    block_on(async {
        let model = ScriptedModel::new([("<assistant>", "call:weather {\"city\":\"Oslo\"}")]);
        let manager = Manager::builder(model);
        let conversation = conversation(manager.tool(Weather).tool_rounds(2)).await;
        let reply = conversation.send("go").finish().await.unwrap();
        assert_eq!((reply.end, reply.model_calls), (TurnEnd::ToolLimit, 3));
        assert_eq!(reply.pending, reply.message().tool_calls().cloned().collect::<Vec<_>>());
        assert_eq!(conversation.head().await.unwrap(), Some(reply.node));
        let history = conversation.history().await.unwrap();
        assert_eq!(reply.nodes, history[1..], "the question was there, the rest is the turn's");
        let more = conversation.complete(TurnRequest::default()).finish().await.unwrap();
        assert_eq!((more.end, more.model_calls, more.answers()), (TurnEnd::ToolLimit, 3, Some(reply.node)));
        assert_eq!(more.nodes, conversation.history().await.unwrap()[history.len()..]);
        let roles: Vec<_> =
            conversation.history().await.unwrap().iter().map(|node| node.message.role).collect();
        assert_eq!(roles.iter().filter(|role| **role == Role::Tool).count(), 5);
        assert_well_formed(&conversation.history().await.unwrap());
    });
}

#[test]
fn a_model_that_calls_only_unknown_tools_is_not_asked_without_end() {
    block_on(async {
        let model = ScriptedModel::new([("<assistant>", "call:oven {}")]);
        let conversation = conversation(Manager::builder(model).tool(Weather)).await;
        let reply = conversation.send("go").finish().await.unwrap();
        assert_eq!((reply.end, reply.model_calls), (TurnEnd::ToolLimit, 3));
        let called = Warning::UnknownToolCalled { name: "oven".to_owned(), times: 3 };
        assert_eq!(reply.reply.warnings, [called]);
        let facts = reply.nodes.last().unwrap().reply.as_ref().unwrap();
        assert_eq!(facts.warnings, reply.reply.warnings);
        assert_well_formed(&conversation.history().await.unwrap());
    });
}

#[test]
fn a_call_for_the_host_waits_for_its_result() {
    block_on(async {
        let conversation = conversation(builder()).await;
        let reply = conversation.send("Mixed").finish().await.unwrap();
        assert_eq!((reply.end, reply.pending.len()), (TurnEnd::HostCalls, 1));
        assert_eq!(conversation.head().await.unwrap(), Some(reply.last), "at the result of the other call");
        assert_ne!(reply.last, reply.node);
        let error = conversation.complete(TurnRequest::default()).finish().await.unwrap_err();
        assert_eq!(error.to_string(), "the call \"call_1\" of \"host\" waits for the host's result");
        let result = ToolResult::ok(&reply.pending[0], "result of the host");
        let reply = conversation.send(Message::tool(vec![result.clone()])).finish().await.unwrap();
        assert_eq!(reply.text(), "The host has spoken.");
        let error = conversation.send(Message::tool(vec![result])).finish().await.unwrap_err();
        assert_eq!(error.to_string(), "the result \"call_1\" answers no open call; open are: []");
        assert_eq!(conversation.history().await.unwrap().len(), 5);
        assert_well_formed(&conversation.history().await.unwrap());
    });
}

#[test]
fn a_call_without_a_result_gets_an_error_when_the_conversation_continues() {
    block_on(async {
        let conversation = conversation(builder()).await;
        conversation.send("Mixed").finish().await.unwrap();
        conversation.send("Never mind, on again").finish().await.unwrap();
        insta::assert_snapshot!(drawn(&conversation.history().await.unwrap()));
    });
}

#[test]
fn stopping_while_tools_run_gives_every_call_a_result() {
    block_on(async {
        let wait = Wait::default();
        let conversation = conversation(builder().tool(wait.clone())).await;
        let mut turn = conversation.send("Wait");
        first_result(&mut turn).await;
        turn.cancel();
        let reply = turn.finish().await.unwrap();
        assert_eq!((reply.end, reply.reply.finish), (TurnEnd::Cancelled, FinishReason::ToolCalls));
        assert!(reply.pending.is_empty());
        assert_eq!(wait.0.load(Ordering::SeqCst), 0, "no call is alive");
        let history = conversation.history().await.unwrap();
        insta::assert_snapshot!(drawn(&history));
        assert_well_formed(&history);
        assert_eq!(conversation.send("on again").finish().await.unwrap().text(), "On we go.");
    });
}

#[test]
fn dropping_a_turn_drops_its_calls() {
    block_on(async {
        let wait = Wait::default();
        let conversation = conversation(builder().tool(wait.clone())).await;
        let mut turn = conversation.send("Wait");
        first_result(&mut turn).await;
        assert!(turn.next().now_or_never().is_none(), "nothing more happens");
        assert_eq!(wait.0.load(Ordering::SeqCst), 2, "both run at once");
        drop(turn);
        assert_eq!(wait.0.load(Ordering::SeqCst), 0);
        let kept = conversation.history().await.unwrap();
        assert!(kept.last().unwrap().message.tool_calls().next().is_some(), "the reply that called is kept");
        assert_eq!(conversation.send("on again").finish().await.unwrap().text(), "On we go.");
    });
}

/// Every result follows its call, and every call has its result before anybody else speaks.
fn assert_well_formed(nodes: &[Node]) {
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

/// Messages such as people, imports and broken programs bring.
fn message() -> impl Strategy<Value = Message> {
    let id = (0..3_u8).prop_map(|id| format!("call_{id}"));
    let result = id.clone().prop_map(|id| ToolResult::ok(&ToolCall::new(id, "tool", json!({})), "done"));
    let call = id.prop_map(|id| Content::ToolCall(ToolCall::new(id, "tool", json!({}))));
    prop_oneof![
        Just(Message::user("on")),
        Just(Message::system("on")),
        prop::collection::vec(call, 0..3).prop_map(|calls| Message::new(Role::Assistant, calls)),
        prop::collection::vec(result, 0..3).prop_map(Message::tool),
    ]
}

proptest! {
    #[test]
    fn added_messages_leave_no_result_without_its_call(batches in prop::collection::vec(prop::collection::vec(message(), 1..4), 1..8)) {
        block_on(async {
            let conversation = conversation(builder()).await;
            for batch in batches {
                let before = conversation.history().await.unwrap().len();
                if let Err(error) = conversation.add(batch).await {
                    assert_eq!(error.kind(), ErrorKind::Invalid);
                    assert_eq!(conversation.history().await.unwrap().len(), before);
                }
                assert_well_formed(&conversation.history().await.unwrap());
            }
        });
    }
}
