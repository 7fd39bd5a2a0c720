//! Going about in a conversation: addresses, branches, notes, what differs, what a turn is told.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

use std::sync::{Arc, Mutex};

use alloquy_core::{
    Address, Chat, ErrorKind, HeadMove, Manager, Message, Middleware, NewConversation, Next, Preface,
    ReplyStream, Request, Result, Role, Tool, ToolCall, ToolSpec, Toolbox, TurnData, TurnRequest,
};
use alloquy_testing::EchoModel;
use futures::{StreamExt, future::join_all};
use pollster::block_on;
use serde_json::{Value, json};

async fn chat() -> Chat {
    let manager = Manager::new(EchoModel);
    manager.create(Preface::default()).await.unwrap()
}

fn at(text: &str) -> Address {
    text.parse().unwrap()
}

#[test]
fn ids_and_positions_lead_to_the_same_nodes() {
    block_on(async {
        let chat = chat().await;
        let first = chat.send("One").finish().await.unwrap();
        chat.edit(at("0"), "Uno").finish().await.unwrap();
        chat.send(TurnRequest::from("Two").at(at("0.0"))).finish().await.unwrap();
        assert_eq!(chat.path(first.node).await.unwrap(), chat.path(at("0.0")).await.unwrap());
        assert_eq!(chat.parent(first.node).await.unwrap(), chat.parent(at("0.0")).await.unwrap());
        assert_eq!(chat.parent(at("0")).await.unwrap(), None);
        assert_eq!(chat.children(first.node).await.unwrap(), chat.children(at("0.0")).await.unwrap());
        assert_eq!(chat.children(None).await.unwrap(), chat.children(at("")).await.unwrap());
        assert_eq!(chat.leaves().await.unwrap().len(), 2);
        chat.goto(at("1")).await.unwrap();
        assert_eq!(chat.history().await.unwrap().last().unwrap().message.text(), "Uno");
        assert_eq!(chat.branch_from(at("0.0.0")).await.unwrap(), Some(first.node));
        assert_eq!(chat.branch_from(at("1")).await.unwrap(), None);
        assert_eq!(chat.branch_from(at("")).await.unwrap_err().kind(), ErrorKind::Invalid);
        assert_eq!(chat.edit(at(""), "x").finish().await.unwrap_err().kind(), ErrorKind::Invalid);
        assert_eq!(chat.goto(at("7")).await.unwrap_err().kind(), ErrorKind::NotFound);
        let message = "x".parse::<Address>().unwrap_err().to_string();
        assert_eq!(message, "address \"x\" is neither a node's id nor a list of places such as \"0.1.2\"");
    });
}

#[test]
fn answers_to_one_node_stand_side_by_side_however_many_are_asked_for_at_once() {
    block_on(async {
        let chat = chat().await;
        let question = chat.add("One").await.unwrap();
        let asked = || TurnRequest::default().at(question.node);
        let mut turns: Vec<_> = (0..4).map(|_| chat.complete(asked())).collect();
        for turn in &mut turns {
            assert!(turn.next().await.is_some(), "each has begun");
        }
        let replies = join_all(turns.into_iter().map(alloquy_core::Turn::finish)).await;
        let late = chat.complete(asked()).finish().await.unwrap();
        let heads: Vec<_> = replies.into_iter().map(|reply| reply.unwrap().head).collect();
        assert_eq!(heads.iter().filter(|head| **head == HeadMove::Moved).count(), 1, "{heads:?}");
        assert_eq!(late.head, HeadMove::Moved, "a turn that begins later moves it from where it is by then");
        assert_eq!(chat.children(question.node).await.unwrap().len(), 5);
        let regenerated = chat.regenerate(asked()).finish().await.unwrap();
        assert_eq!(regenerated.answers(), question.node);
    });
}

#[test]
fn adding_beside_a_moved_head_keeps_the_message_and_says_so() {
    block_on(async {
        let chat = chat().await;
        let results = join_all(["a", "b"].map(|text| chat.add(text))).await;
        let heads: Vec<_> = results.into_iter().map(|added| added.unwrap().head).collect();
        assert_eq!(heads[0], HeadMove::Moved);
        assert_eq!(chat.tree().await.unwrap().len(), 2);
        let tool =
            Message::tool(vec![alloquy_core::ToolResult::ok(&ToolCall::new("1", "t", json!({})), "x")]);
        assert_eq!(chat.add(tool).await.unwrap_err().kind(), ErrorKind::Invalid);
        assert_eq!(chat.tree().await.unwrap().len(), 2);
    });
}

#[test]
fn notes_are_kept_apart_from_nodes_and_from_the_hosts_metadata() {
    block_on(async {
        let manager = Manager::new(EchoModel);
        let chat = manager.create(NewConversation::default().metadata("title", "Tea")).await.unwrap();
        let reply = chat
            .send(TurnRequest::from("One").label("first").metadata("mood", "calm"))
            .finish()
            .await
            .unwrap();
        let before = chat.tree().await.unwrap();
        let node = before.node(reply.node).unwrap();
        assert_eq!(chat.annotations().await.unwrap().label(node), Some("first"));
        chat.label(reply.node, Some("renamed")).await.unwrap();
        chat.bookmark("best", at("0.0")).await.unwrap();
        chat.set_node_metadata(reply.node, "stars", 5).await.unwrap();
        chat.set_node_metadata(reply.node, "mood", Value::Null).await.unwrap();
        chat.set_metadata("title", "Coffee").await.unwrap();
        chat.set_metadata("done", true).await.unwrap();
        chat.remove_metadata("done").await.unwrap();
        assert_eq!(chat.tree().await.unwrap(), before, "no node changes");
        assert_eq!(Value::Object(chat.metadata().await.unwrap()), json!({"title": "Coffee"}));
        let notes = chat.annotations().await.unwrap();
        assert_eq!(notes.label(node), Some("renamed"));
        assert_eq!(chat.resolve("best").await.unwrap(), Some(reply.node));
        let facts = notes.metadata(node);
        assert_eq!((facts.get("stars"), facts.get("mood")), (Some(&json!(5)), None));
        assert!(facts.contains_key("finish"));
        chat.label(reply.node, None).await.unwrap();
        chat.remove_bookmark("best").await.unwrap();
        assert_eq!(chat.annotations().await.unwrap().label(node), None);
        assert_eq!(chat.resolve("best").await.unwrap_err().kind(), ErrorKind::Invalid);
        for refused in [
            chat.set_metadata("alloquy", 1).await,
            chat.bookmark("0.1", reply.node).await,
            chat.label(reply.node, Some("")).await,
            manager.create(NewConversation::default().metadata("alloquy", 1)).await.map(drop),
        ] {
            assert_eq!(refused.unwrap_err().kind(), ErrorKind::Invalid);
        }
    });
}

#[test]
fn what_a_prompt_has_made_says_so() {
    block_on(async {
        let chat = chat().await;
        let made = TurnRequest::from(vec![Message::system("Be kind."), Message::user("I am Ann.")])
            .prompt("greeting");
        chat.send(made.clone()).finish().await.unwrap();
        chat.add(made.label("again")).await.unwrap();
        let history = chat.history().await.unwrap();
        let told: Vec<_> =
            history.iter().map(|node| (node.message.role, node.prompt(), node.label())).collect();
        assert_eq!(
            told,
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
fn every_node_is_listed_in_the_order_it_was_made() {
    block_on(async {
        let chat = chat().await;
        let first = chat.send("One").finish().await.unwrap();
        chat.edit(at("0"), "Uno").finish().await.unwrap();
        chat.send(TurnRequest::from("Two").at(first.node)).finish().await.unwrap();
        let texts: Vec<_> = chat.nodes().await.unwrap().iter().map(|node| node.message.text()).collect();
        assert_eq!(texts, ["One", "One", "Uno", "Uno", "Two", "Two"]);
    });
}

#[test]
fn writers_of_notes_do_not_undo_each_other() {
    block_on(async {
        let chat = chat().await;
        let node = chat.add("One").await.unwrap().node;
        let threads: Vec<_> = (0..4)
            .map(|writer| {
                let chat = chat.clone();
                std::thread::spawn(move || {
                    for note in 0..25 {
                        block_on(chat.bookmark(&format!("{writer}/{note}"), node)).unwrap();
                        block_on(chat.set_metadata(&format!("{writer}/{note}"), note)).unwrap();
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(chat.annotations().await.unwrap().bookmarks().count(), 100);
        assert_eq!(chat.metadata().await.unwrap().len(), 100);
    });
}

#[test]
fn branches_know_where_they_begin_and_what_they_are_called() {
    block_on(async {
        let chat = chat().await;
        let first = chat.send("One").finish().await.unwrap();
        chat.label(first.node, Some("trunk")).await.unwrap();
        chat.send("Two").finish().await.unwrap();
        let third = chat.edit(at("0.0.0"), TurnRequest::from("Three").label("twig")).finish().await.unwrap();
        let branches = chat.branches().await.unwrap();
        let labels: Vec<_> = branches.iter().map(|branch| branch.label.as_deref()).collect();
        assert_eq!(labels, [Some("trunk"), Some("twig")]);
        assert_eq!(branches.iter().map(|branch| branch.has_head).collect::<Vec<_>>(), [false, true]);
        assert_eq!((branches[1].begins, branches[1].nodes), (third.answers().unwrap(), 4));
        let diff = chat.diff(at("0.0.0.0"), third.node).await.unwrap();
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
    async fn call_with(&self, arguments: &Value, data: &TurnData) -> Result<Value> {
        match data.get::<User>() {
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
        let chat = manager.create(Preface::default()).await.unwrap();
        let call = ToolCall::new("1", "whoami", json!({}));
        let asks = Message::new(Role::Assistant, vec![alloquy_core::Content::ToolCall(call.clone())]);
        chat.add(asks).await.unwrap();
        let data = TurnData::default().with(User("ann"));
        chat.complete(TurnRequest::default().turn_data(data)).finish().await.unwrap();
        chat.send("again").finish().await.unwrap();
        assert_eq!(*witness.0.lock().unwrap(), ["ann: ", "nobody: "]);
        let results: Vec<_> = chat.history().await.unwrap();
        assert_eq!(results[1].message.tool_results().next().unwrap().text(), "ann");
        let plain: Vec<_> = block_on(tools.now().unwrap().answer(&[call], &[]).collect());
        assert_eq!(plain[0].text(), "nobody");
    });
}

#[test]
fn a_system_prompt_holds_for_one_turn_and_the_reply_remembers_it() {
    block_on(async {
        let witness = Witness::default();
        let manager = Manager::builder(EchoModel).middleware(witness.clone()).build().unwrap();
        let chat = manager.create(Preface::system("Be brief.")).await.unwrap();
        let reply = chat.send(TurnRequest::from("One").system_prompt("Rhyme.")).finish().await.unwrap();
        chat.send("Two").finish().await.unwrap();
        let bare = manager.create(Preface::default()).await.unwrap();
        bare.add(vec![Message::system("Old."), Message::user("Hi")]).await.unwrap();
        bare.complete(TurnRequest::default().system_prompt("New.")).finish().await.unwrap();
        let other = manager.create(Preface::default()).await.unwrap();
        other.send(TurnRequest::from("Hi").system_prompt("Alone.")).finish().await.unwrap();
        assert_eq!(
            *witness.0.lock().unwrap(),
            ["nobody: Rhyme.", "nobody: Be brief.", "nobody: New.", "nobody: Alone."]
        );
        let node = chat.tree().await.unwrap().node(reply.node).unwrap().clone();
        assert_eq!(node.metadata.get("system_prompt"), Some(&json!("Rhyme.")));
        assert_eq!(chat.record().await.unwrap().preface, Preface::system("Be brief."));
    });
}

#[test]
fn a_conversation_a_hundred_thousand_deep_is_one_like_others() {
    block_on(async {
        let chat = chat().await;
        let deep = 100_000;
        let last = chat.add(vec![Message::user("x"); deep]).await.unwrap().node;
        let reply = chat.send("on").finish().await.unwrap();
        assert_eq!(chat.history().await.unwrap().len(), deep + 2);
        chat.regenerate(TurnRequest::default()).finish().await.unwrap();
        let branches = chat.branches().await.unwrap();
        assert_eq!(branches.iter().map(|branch| branch.nodes).collect::<Vec<_>>(), [deep + 2; 2]);
        assert_eq!(chat.draw().await.unwrap().lines().count(), deep + 3);
        let position = chat.tree().await.unwrap().position(last).unwrap();
        assert_eq!(position.places().len(), deep);
        assert_eq!(chat.children(position).await.unwrap().len(), 1);
        let copy = chat.fork().await.unwrap();
        copy.send("more").finish().await.unwrap();
        assert_eq!(chat.merge(&copy).await.unwrap().added.len(), 2);
        assert_eq!(chat.diff(reply.node, copy.head().await.unwrap()).await.unwrap().common.len(), deep + 1);
        chat.goto(None).await.unwrap();
        assert_eq!(chat.prune(at("0")).await.unwrap(), deep + 5);
    });
}
