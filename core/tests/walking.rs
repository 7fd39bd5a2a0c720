//! Navigation in a conversation: addresses, branches, notes, differences, and the data of a turn.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

use std::sync::{Arc, Mutex};

use alloquy_core::manager::NewConversation;
use alloquy_core::message::ToolCall;
use alloquy_core::middleware::{Middleware, Next};
use alloquy_core::store::HeadMove;
use alloquy_core::tool::{ToolContext, Toolbox};
use alloquy_core::tree::Address;
use alloquy_core::turn::TurnData;
use alloquy_core::{
    Conversation, ErrorKind, Manager, Message, Preface, ReplyStream, Request, Result, Role, Tool, ToolSpec,
    TurnRequest,
};
use alloquy_testing::EchoModel;
use futures::{StreamExt, future::join_all};
use pollster::block_on;
use serde_json::{Value, json};

async fn conversation() -> Conversation {
    let manager = Manager::new(EchoModel);
    manager.create(Preface::default()).await.unwrap()
}

fn at(text: &str) -> Address {
    text.parse().unwrap()
}

#[test]
fn ids_and_positions_lead_to_the_same_nodes() {
    block_on(async {
        let conversation = conversation().await;
        let first = conversation.send("One").finish().await.unwrap();
        conversation.edit(at("0"), "Uno").finish().await.unwrap();
        conversation.send(TurnRequest::from("Two").at(at("0.0"))).finish().await.unwrap();
        assert_eq!(conversation.path(first.node).await.unwrap(), conversation.path(at("0.0")).await.unwrap());
        assert_eq!(
            conversation.parent(first.node).await.unwrap(),
            conversation.parent(at("0.0")).await.unwrap()
        );
        assert_eq!(conversation.parent(at("0")).await.unwrap(), None);
        assert_eq!(
            conversation.children(first.node).await.unwrap(),
            conversation.children(at("0.0")).await.unwrap()
        );
        assert_eq!(conversation.children(None).await.unwrap(), conversation.children(at("")).await.unwrap());
        assert_eq!(conversation.leaves().await.unwrap().len(), 2);
        conversation.goto(at("1")).await.unwrap();
        assert_eq!(conversation.history().await.unwrap().last().unwrap().message.text(), "Uno");
        assert_eq!(conversation.branch_from(at("0.0.0")).await.unwrap(), Some(first.node));
        assert_eq!(conversation.branch_from(at("1")).await.unwrap(), None);
        assert_eq!(conversation.branch_from(at("")).await.unwrap_err().kind(), ErrorKind::Invalid);
        assert_eq!(conversation.edit(at(""), "x").finish().await.unwrap_err().kind(), ErrorKind::Invalid);
        assert_eq!(conversation.goto(at("7")).await.unwrap_err().kind(), ErrorKind::NotFound);
        let message = "x".parse::<Address>().unwrap_err().to_string();
        assert_eq!(message, "address \"x\" is neither a node's id nor a list of places such as \"0.1.2\"");
    });
}

#[test]
fn concurrent_replies_to_one_node_are_siblings() {
    block_on(async {
        let conversation = conversation().await;
        let question = conversation.add("One").await.unwrap();
        let asked = || TurnRequest::default().at(question.node);
        let mut turns: Vec<_> = (0..4).map(|_| conversation.complete(asked())).collect();
        for turn in &mut turns {
            assert!(turn.next().await.is_some(), "each has begun");
        }
        let replies = join_all(turns.into_iter().map(alloquy_core::Turn::finish)).await;
        let late = conversation.complete(asked()).finish().await.unwrap();
        let heads: Vec<_> = replies.into_iter().map(|reply| reply.unwrap().head).collect();
        assert_eq!(heads.iter().filter(|head| **head == HeadMove::Moved).count(), 1, "{heads:?}");
        assert_eq!(late.head, HeadMove::Moved, "a turn that begins later moves it from where it is by then");
        assert_eq!(conversation.children(question.node).await.unwrap().len(), 5);
        let regenerated = conversation.regenerate(asked()).finish().await.unwrap();
        assert_eq!(regenerated.answers(), question.node);
    });
}

#[test]
fn adding_after_a_move_of_the_head_keeps_the_message_as_a_branch() {
    block_on(async {
        let conversation = conversation().await;
        let results = join_all(["a", "b"].map(|text| conversation.add(text))).await;
        let heads: Vec<_> = results.into_iter().map(|added| added.unwrap().head).collect();
        assert_eq!(heads[0], HeadMove::Moved);
        assert_eq!(conversation.tree().await.unwrap().len(), 2);
        let tool = Message::tool(vec![alloquy_core::message::ToolResult::ok(
            &ToolCall::new("1", "t", json!({})),
            "x",
        )]);
        assert_eq!(conversation.add(tool).await.unwrap_err().kind(), ErrorKind::Invalid);
        assert_eq!(conversation.tree().await.unwrap().len(), 2);
    });
}

#[test]
fn notes_are_kept_apart_from_nodes_and_from_the_hosts_metadata() {
    block_on(async {
        let manager = Manager::new(EchoModel);
        let conversation = manager.create(NewConversation::default().metadata("title", "Tea")).await.unwrap();
        let reply = conversation
            .send(TurnRequest::from("One").label("first").metadata("mood", "calm"))
            .finish()
            .await
            .unwrap();
        let before = conversation.tree().await.unwrap();
        let node = before.node(reply.node).unwrap();
        assert_eq!(conversation.annotations().await.unwrap().label(node), Some("first"));
        conversation.label(reply.node, Some("renamed")).await.unwrap();
        conversation.bookmark("best", at("0.0")).await.unwrap();
        conversation.set_node_metadata(reply.node, "stars", 5).await.unwrap();
        conversation.set_node_metadata(reply.node, "mood", Value::Null).await.unwrap();
        conversation.set_metadata("title", "Coffee").await.unwrap();
        conversation.set_metadata("done", true).await.unwrap();
        conversation.remove_metadata("done").await.unwrap();
        assert_eq!(conversation.tree().await.unwrap(), before, "no node changes");
        assert_eq!(Value::Object(conversation.metadata().await.unwrap()), json!({"title": "Coffee"}));
        let notes = conversation.annotations().await.unwrap();
        assert_eq!(notes.label(node), Some("renamed"));
        assert_eq!(conversation.resolve("best").await.unwrap(), Some(reply.node));
        let facts = notes.metadata(node);
        assert_eq!((facts.get("stars"), facts.get("mood")), (Some(&json!(5)), None));
        assert!(!facts.contains_key("finish"), "what the model reports is no metadata");
        conversation.label(reply.node, None).await.unwrap();
        conversation.remove_bookmark("best").await.unwrap();
        assert_eq!(conversation.annotations().await.unwrap().label(node), None);
        assert_eq!(conversation.resolve("best").await.unwrap_err().kind(), ErrorKind::Invalid);
        for refused in [
            conversation.set_metadata("alloquy", 1).await,
            conversation.bookmark("0.1", reply.node).await,
            conversation.label(reply.node, Some("")).await,
            manager.create(NewConversation::default().metadata("alloquy", 1)).await.map(drop),
        ] {
            assert_eq!(refused.unwrap_err().kind(), ErrorKind::Invalid);
        }
    });
}

#[test]
fn messages_of_a_prompt_have_its_name() {
    block_on(async {
        let conversation = conversation().await;
        let made = TurnRequest::from(vec![Message::system("Be kind."), Message::user("I am Ann.")])
            .prompt("greeting");
        conversation.send(made.clone()).finish().await.unwrap();
        conversation.add(made.label("again")).await.unwrap();
        let history = conversation.history().await.unwrap();
        let reported: Vec<_> = history
            .iter()
            .map(|node| (node.message.role, node.prompt_name.as_deref(), node.label.as_deref()))
            .collect();
        assert_eq!(
            reported,
            [
                (Role::System, Some("greeting"), None),
                (Role::User, Some("greeting"), None),
                (Role::Assistant, None, None),
                (Role::System, Some("greeting"), None),
                (Role::User, Some("greeting"), Some("again")),
            ]
        );
    });
}

#[test]
fn nodes_are_listed_in_the_order_of_creation() {
    block_on(async {
        let conversation = conversation().await;
        let first = conversation.send("One").finish().await.unwrap();
        conversation.edit(at("0"), "Uno").finish().await.unwrap();
        conversation.send(TurnRequest::from("Two").at(first.node)).finish().await.unwrap();
        let texts: Vec<_> =
            conversation.nodes().await.unwrap().iter().map(|node| node.message.text()).collect();
        assert_eq!(texts, ["One", "One", "Uno", "Uno", "Two", "Two"]);
    });
}

#[test]
fn concurrent_writers_of_notes_keep_each_others_notes() {
    block_on(async {
        let conversation = conversation().await;
        let node = conversation.add("One").await.unwrap().node;
        let threads: Vec<_> = (0..4)
            .map(|writer| {
                let conversation = conversation.clone();
                std::thread::spawn(move || {
                    for note in 0..25 {
                        block_on(conversation.bookmark(&format!("{writer}/{note}"), node)).unwrap();
                        block_on(conversation.set_metadata(&format!("{writer}/{note}"), note)).unwrap();
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(conversation.annotations().await.unwrap().bookmarks().count(), 100);
        assert_eq!(conversation.metadata().await.unwrap().len(), 100);
    });
}

#[test]
fn branches_have_a_beginning_and_a_label() {
    block_on(async {
        let conversation = conversation().await;
        let first = conversation.send("One").finish().await.unwrap();
        conversation.label(first.node, Some("trunk")).await.unwrap();
        conversation.send("Two").finish().await.unwrap();
        let third =
            conversation.edit(at("0.0.0"), TurnRequest::from("Three").label("twig")).finish().await.unwrap();
        let branches = conversation.branches().await.unwrap();
        let labels: Vec<_> = branches.iter().map(|branch| branch.label.as_deref()).collect();
        assert_eq!(labels, [Some("trunk"), Some("twig")]);
        assert_eq!(branches.iter().map(|branch| branch.has_head).collect::<Vec<_>>(), [false, true]);
        assert_eq!((branches[1].begins, branches[1].nodes), (third.answers().unwrap(), 4));
        let diff = conversation.diff(at("0.0.0.0"), third.node).await.unwrap();
        let texts =
            |nodes: &[alloquy_core::Node]| nodes.iter().map(|node| node.message.text()).collect::<Vec<_>>();
        assert_eq!(texts(&diff.common), ["One", "One"]);
        assert_eq!((texts(&diff.left), texts(&diff.right)), (vec!["Two".into(); 2], vec!["Three".into(); 2]));
    });
}

/// Says who asks, and what the model would have seen.
#[derive(Clone, Debug, Default)]
struct Witness(Arc<Mutex<Vec<String>>>);

#[derive(Debug)]
struct User(&'static str);

#[async_trait::async_trait]
impl Middleware for Witness {
    async fn handle(&self, request: Request, next: Next<'_>) -> Result<ReplyStream> {
        let user = request.turn_data.get::<User>().map_or("nobody", |user| user.0);
        let system = request.preface.messages.iter().chain(&request.path);
        let system: Vec<_> =
            system.filter(|message| message.role == Role::System).map(Message::text).collect();
        self.0.lock().unwrap().push(format!("{user}: {}", system.join("|")));
        next.call(request).await
    }
}

#[derive(Debug)]
struct Whoami;

#[async_trait::async_trait]
impl Tool for Whoami {
    fn spec(&self) -> ToolSpec {
        ToolSpec::new("whoami", "Says who asks", json!({"type": "object"}))
    }
    async fn call(&self, _: &Value) -> Result<Value> {
        Ok(json!("nobody"))
    }
    async fn call_with(&self, arguments: &Value, context: &ToolContext) -> Result<Value> {
        match context.turn_data.get::<User>() {
            Some(user) => Ok(json!(user.0)),
            None => self.call(arguments).await,
        }
    }
}

#[test]
fn turn_data_reaches_middleware_and_tools_and_is_not_stored() {
    block_on(async {
        let witness = Witness::default();
        let tools = Toolbox::default().tool(Whoami);
        let manager =
            Manager::builder(EchoModel).middleware(witness.clone()).toolbox(tools.clone()).build().unwrap();
        let conversation = manager.create(Preface::default()).await.unwrap();
        let call = ToolCall::new("1", "whoami", json!({}));
        let asks = Message::new(Role::Assistant, vec![alloquy_core::Content::ToolCall(call.clone())]);
        conversation.add(asks).await.unwrap();
        let data = TurnData::default().with(User("ann"));
        conversation.complete(TurnRequest::default().turn_data(data)).finish().await.unwrap();
        conversation.send("again").finish().await.unwrap();
        assert_eq!(*witness.0.lock().unwrap(), ["ann: ", "nobody: "]);
        let results: Vec<_> = conversation.history().await.unwrap();
        assert_eq!(results[1].message.tool_results().next().unwrap().text(), "ann");
        let plain: Vec<_> = block_on(tools.now().unwrap().answer(&[call], &[]).collect());
        assert_eq!(plain[0].text(), "nobody");
    });
}

#[test]
fn a_system_prompt_is_for_one_turn_and_stored_with_the_reply() {
    block_on(async {
        let witness = Witness::default();
        let manager = Manager::builder(EchoModel).middleware(witness.clone()).build().unwrap();
        let conversation = manager.create(Preface::system("Be brief.")).await.unwrap();
        let reply =
            conversation.send(TurnRequest::from("One").system_prompt("Rhyme.")).finish().await.unwrap();
        conversation.send("Two").finish().await.unwrap();
        let bare = manager.create(Preface::default()).await.unwrap();
        bare.add(vec![Message::system("Old."), Message::user("Hi")]).await.unwrap();
        bare.complete(TurnRequest::default().system_prompt("New.")).finish().await.unwrap();
        let other = manager.create(Preface::default()).await.unwrap();
        other.send(TurnRequest::from("Hi").system_prompt("Alone.")).finish().await.unwrap();
        assert_eq!(
            *witness.0.lock().unwrap(),
            ["nobody: Rhyme.", "nobody: Be brief.", "nobody: New.", "nobody: Alone."]
        );
        let node = conversation.tree().await.unwrap().node(reply.node).unwrap().clone();
        assert_eq!(node.reply.unwrap().system_prompt.as_deref(), Some("Rhyme."));
        assert_eq!(conversation.record().await.unwrap().preface, Preface::system("Be brief."));
    });
}

#[test]
fn a_conversation_a_hundred_thousand_deep_works_like_others() {
    block_on(async {
        let conversation = conversation().await;
        let deep = 100_000;
        let last = conversation.add(vec![Message::user("x"); deep]).await.unwrap().node;
        let reply = conversation.send("on").finish().await.unwrap();
        assert_eq!(conversation.history().await.unwrap().len(), deep + 2);
        conversation.regenerate(TurnRequest::default()).finish().await.unwrap();
        let branches = conversation.branches().await.unwrap();
        assert_eq!(branches.iter().map(|branch| branch.nodes).collect::<Vec<_>>(), [deep + 2; 2]);
        assert_eq!(conversation.draw().await.unwrap().lines().count(), deep + 3);
        let position = conversation.tree().await.unwrap().position(last).unwrap();
        assert_eq!(position.places().len(), deep);
        assert_eq!(conversation.children(position).await.unwrap().len(), 1);
        let copy = conversation.fork().await.unwrap();
        copy.send("more").finish().await.unwrap();
        assert_eq!(conversation.merge(&copy).await.unwrap().added.len(), 2);
        assert_eq!(
            conversation.diff(reply.node, copy.head().await.unwrap()).await.unwrap().common.len(),
            deep + 1
        );
        conversation.goto(None).await.unwrap();
        assert_eq!(conversation.prune(at("0")).await.unwrap(), deep + 5);
    });
}
