//! Turns through a manager: nodes, heads, branches, tools, stops, drops, two writers.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod support;

use std::sync::{Arc, Mutex};

use alloquy_core::manager::{ManagerBuilder, NewConversation};
use alloquy_core::middleware::{Middleware, Next};
use alloquy_core::report::FinishReason;
use alloquy_core::store::{ConversationStore, ConversationStoreExt, HeadMove, MemoryStore};
use alloquy_core::tree::NodeStatus;
use alloquy_core::{
    Content, Conversation, ConversationManager, ErrorKind, Manager, Media, Message, Owner, Preface, Query,
    ReplyStream, Request, Result, Role, TurnEvent, TurnRequest,
};
use alloquy_testing::{EchoModel, ScriptedModel};
use futures::StreamExt;
use pollster::block_on;

use support::{Clock, spec};

const SCRIPT: [(&str, &str); 7] = [
    ("<user>Hi<end><assistant>", "Hello!"),
    ("<user>Hello there<end><assistant>", "General!"),
    ("<user>And now?<end><assistant>", "Now we talk."),
    ("<user>What time is it?<end><assistant>", "call:clock {\"zone\":\"UTC\"}"),
    ("<tool>noon<end><assistant>", "It is noon."),
    ("<user>Ask the host<end><assistant>", "call:host {}"),
    ("one of: clock<end><assistant>", ""),
];

fn builder() -> ManagerBuilder {
    Manager::builder(ScriptedModel::new(SCRIPT))
}

async fn conversation() -> Conversation {
    builder().build().unwrap().create(Preface::default()).await.unwrap()
}

/// The tree as lines of `address role text`, with a star at the head.
async fn drawn(conversation: &Conversation) -> String {
    let tree = conversation.tree().await.unwrap();
    let head = conversation.head().await.unwrap();
    let line = |(depth, node): (usize, &alloquy_core::Node)| {
        let mark = if head == Some(node.id) { " *" } else { "" };
        let address = tree.position(Some(node.id)).unwrap();
        let what = match node.message.tool_calls().next() {
            Some(call) => format!("{}({})", call.name, call.arguments),
            None => {
                node.message.tool_results().map(alloquy_core::message::ToolResult::text).collect::<String>()
                    + &node.message.text()
            }
        };
        format!("{}{address} {}: {what}{mark}\n", "  ".repeat(depth), node.message.role)
    };
    tree.walk().map(line).collect()
}

#[test]
fn editing_regenerating_switching_and_undoing_make_a_tree() {
    block_on(async {
        let conversation = conversation().await;
        let first = conversation.send("Hi").finish().await.unwrap();
        conversation.send("And now?").finish().await.unwrap();
        conversation.edit(first.answers().unwrap(), "Hello there").finish().await.unwrap();
        conversation.goto(first.node).await.unwrap();
        conversation.regenerate(TurnRequest::default()).finish().await.unwrap();
        conversation.send("And now?").finish().await.unwrap();
        conversation.undo().await.unwrap();
        insta::assert_snapshot!(drawn(&conversation).await);
        assert_eq!(conversation.resolve("0.1").await.unwrap(), conversation.head().await.unwrap());
        assert_eq!(conversation.resolve(&first.node.to_string()).await.unwrap(), Some(first.node));
        assert_eq!(conversation.resolve("").await.unwrap(), None);
        let unknown = conversation.resolve("0.7").await.unwrap_err();
        assert_eq!(unknown.to_string(), "nothing at 0.7 (0.0 … 0.1 exist)");
        assert_eq!(conversation.resolve("nowhere").await.unwrap_err().kind(), ErrorKind::Invalid);
        let id = first.node.to_string();
        assert_eq!(conversation.resolve(&id[28..]).await.unwrap(), Some(first.node));
        assert_eq!(conversation.resolve(&id[..35]).await.unwrap(), Some(first.node));
        // All nodes of this moment begin alike.
        let ambiguous = conversation.resolve(&id[..8]).await.unwrap_err();
        assert_eq!(ambiguous.kind(), ErrorKind::Invalid);
        assert!(ambiguous.to_string().contains("assistant: "), "{ambiguous}");
        assert_eq!(conversation.resolve(&"f".repeat(20)).await.unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(conversation.children(first.answers()).await.unwrap().len(), 2);
    });
}

#[test]
fn going_back_to_the_question_makes_the_next_answer_a_sibling() {
    block_on(async {
        let conversation = conversation().await;
        let first = conversation.send("Hi").finish().await.unwrap();
        conversation.goto(first.answers()).await.unwrap();
        let second = conversation.complete(TurnRequest::default()).finish().await.unwrap();
        assert_eq!(conversation.children(first.answers()).await.unwrap().len(), 2);
        assert_ne!(first.node, second.node);
    });
}

#[test]
fn a_tool_call_its_result_and_the_answer_are_nodes() {
    block_on(async {
        let manager = builder().tool(Clock).build().unwrap();
        let conversation = manager.create(Preface::default()).await.unwrap();
        let mut turn = conversation.send("What time is it?");
        let mut kinds = Vec::new();
        while let Some(event) = turn.next().await {
            kinds.push(match event {
                Ok(TurnEvent::Delta(_)) => "delta".to_owned(),
                Ok(TurnEvent::ToolResult(result)) => format!("result {}", result.text()),
                Ok(TurnEvent::Node(node)) => format!("node {}", node.message.role),
                Ok(TurnEvent::Finished(reply)) => format!("finished after {} model calls", reply.model_calls),
                _ => "other".to_owned(),
            });
        }
        kinds.dedup();
        let reply = turn.finish().await.unwrap();
        assert_eq!((reply.text().as_str(), reply.model_calls), ("It is noon.", 2));
        insta::assert_snapshot!(format!("{}\n\n{}", kinds.join("\n"), drawn(&conversation).await));
    });
}

#[test]
fn a_call_of_the_hosts_own_tool_ends_the_turn_and_an_unknown_one_is_answered() {
    block_on(async {
        let manager = builder().tool(Clock).build().unwrap();
        let conversation = manager.create(Preface::default().tool(spec("host"))).await.unwrap();
        let reply = conversation.send("Ask the host").finish().await.unwrap();
        assert_eq!(reply.reply.finish, FinishReason::ToolCalls);
        assert_eq!(reply.pending.first().unwrap().name, "host");

        let conversation = manager.create(Preface::default()).await.unwrap();
        conversation.send("Ask the host").finish().await.unwrap();
        insta::assert_snapshot!(drawn(&conversation).await);
    });
}

#[test]
fn a_stopped_turn_keeps_its_text_so_far() {
    block_on(async {
        let manager = Manager::new(EchoModel);
        let conversation = manager.create(Preface::default()).await.unwrap();
        let mut turn = conversation.send("one two three four");
        let mut deltas = 0;
        while let Some(event) = turn.next().await {
            deltas += usize::from(matches!(event, Ok(TurnEvent::Delta(_))));
            if deltas == 1 {
                turn.cancel();
            }
        }
        let reply = turn.finish().await.unwrap();
        assert_eq!(reply.reply.finish, FinishReason::Cancelled);
        let node = conversation.history().await.unwrap().pop().unwrap();
        assert_eq!(node.status, NodeStatus::Interrupted);
        assert!("one two three four".starts_with(&node.message.text()) && !node.message.text().is_empty());
    });
}

#[test]
fn a_turn_stopped_before_its_first_word_keeps_the_user_message() {
    block_on(async {
        let conversation = conversation().await;
        let turn = conversation.send("Hi");
        turn.cancel();
        assert!(turn.finish().await.unwrap_err().is_cancelled());
        assert_eq!((conversation.tree().await.unwrap().len(), conversation.head().await.unwrap()), (1, None));
        assert_eq!(conversation.send("Hi").finish().await.unwrap().text(), "Hello!");
    });
}

#[test]
fn one_of_two_turns_from_one_node_moves_the_head_and_the_other_is_a_branch() {
    block_on(async {
        let conversation = conversation().await;
        conversation.send("Hi").finish().await.unwrap();
        let mut left = conversation.send("And now?");
        let mut right = conversation.send("Hello there");
        // Both have read the head and stored their question when the first event arrives.
        assert!(left.next().await.is_some() && right.next().await.is_some());
        let heads = [left.finish().await.unwrap().head, right.finish().await.unwrap().head];
        assert_eq!(heads.iter().filter(|head| **head == HeadMove::Moved).count(), 1);
        assert!(heads.contains(&HeadMove::Branched { head: conversation.head().await.unwrap() }));
        assert_eq!(conversation.tree().await.unwrap().len(), 6);
    });
}

#[test]
fn a_thousand_dropped_turns_never_break_the_next_one() {
    block_on(async {
        let conversation = conversation().await;
        let mut seed = 1_u64;
        let mut kept = 0;
        for _ in 0..1000 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let question = if seed >> 63 == 0 { "Hi" } else { "And now?" };
            let mut turn = conversation.send(question);
            for _ in 0..(seed >> 40) % 16 {
                if turn.next().await.is_none() {
                    break;
                }
            }
            drop(turn);
            if seed.is_multiple_of(10) {
                let reply = conversation.send("Hi").finish().await.unwrap();
                assert_eq!(reply.text(), "Hello!");
                assert_eq!(conversation.history().await.unwrap().last().unwrap().id, reply.node);
                conversation.goto(None).await.unwrap();
                kept += 1;
            }
        }
        assert!(kept > 50, "{kept} whole turns");
    });
}

#[derive(Debug)]
struct Shout;

#[async_trait::async_trait]
impl Middleware for Shout {
    async fn handle(&self, mut request: Request, next: Next<'_>) -> Result<ReplyStream> {
        let last = request.path.pop().map(|message| message.text().to_uppercase()).unwrap_or_default();
        request.path.push(Message::user(last));
        next.call(request).await
    }
}

#[test]
fn middleware_changes_what_the_model_sees_and_not_what_is_stored() {
    block_on(async {
        let manager = Manager::builder(EchoModel).middleware(Shout).build().unwrap();
        let conversation = manager.create(Preface::default()).await.unwrap();
        assert_eq!(conversation.send("quiet").finish().await.unwrap().text(), "QUIET");
        assert_eq!(conversation.history().await.unwrap().first().unwrap().message.text(), "quiet");
    });
}

#[test]
fn creating_never_overwrites_and_opening_never_creates() {
    block_on(async {
        let manager = builder().build().unwrap();
        let id = "tea".parse().unwrap();
        assert!(manager.open(&id).await.unwrap_err().is_not_found());
        let new = || NewConversation::from(Preface::system("first")).id("tea".parse().unwrap());
        manager.create(new()).await.unwrap();
        assert!(manager.create(new()).await.unwrap_err().is_conflict());
        let opened = manager.open_or_create(&id, Preface::system("second")).await.unwrap();
        assert_eq!(opened.record().await.unwrap().preface, Preface::system("first"));
        let other = manager.open_or_create(&"other".parse().unwrap(), Preface::default()).await.unwrap();
        other.send("Hi").finish().await.unwrap();
        let listed = manager.list(&Query::default()).await.unwrap().conversations;
        let mut names: Vec<_> = listed.iter().map(|line| (line.record.id.as_str(), line.nodes)).collect();
        names.sort();
        assert_eq!(names, [("other", 2), ("tea", 0)]);
        manager.delete(&id).await.unwrap();
        assert!(manager.delete(&id).await.unwrap_err().is_not_found());
    });
}

#[test]
fn a_fork_has_the_path_and_is_independent() {
    block_on(async {
        let conversation = conversation().await;
        conversation.send("Hi").finish().await.unwrap();
        let copy = conversation.fork().await.unwrap();
        copy.send("And now?").finish().await.unwrap();
        assert_eq!(conversation.history().await.unwrap().len(), 2);
        assert_eq!(copy.history().await.unwrap().len(), 4);
    });
}

#[test]
fn a_turn_without_a_message_to_answer_is_refused() {
    block_on(async {
        let conversation = conversation().await;
        let error = conversation.complete(TurnRequest::default()).finish().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert_eq!(conversation.undo().await.unwrap_err().to_string(), "there is no user message to undo");
    });
}

#[test]
fn the_bytes_of_added_media_are_stored() {
    block_on(async {
        let store: Arc<dyn ConversationStore> = Arc::new(MemoryStore::default());
        let manager = builder().store(Arc::clone(&store)).build().unwrap();
        let conversation = manager.create(Preface::default()).await.unwrap();
        let dot = Media::new("image/png", *b"dot");
        conversation.add(Message::new(Role::User, vec![Content::Image(dot.clone())])).await.unwrap();
        assert_eq!(store.get_media(&Owner::local(), &dot).await.unwrap().bytes().unwrap().as_ref(), b"dot");
    });
}

/// Keeps how many bytes of media the model was shown.
#[derive(Clone, Debug, Default)]
struct Shown(Arc<Mutex<Vec<usize>>>);

#[async_trait::async_trait]
impl Middleware for Shown {
    async fn handle(&self, request: Request, next: Next<'_>) -> Result<ReplyStream> {
        let bytes =
            request.path.iter().flat_map(Message::media).map(|media| media.bytes().map_or(0, |b| b.len()));
        *self.0.lock().unwrap() = bytes.collect();
        next.call(request).await
    }
}

#[test]
fn a_model_is_given_the_stored_bytes_of_media() {
    block_on(async {
        let (store, shown): (Arc<dyn ConversationStore>, _) =
            (Arc::new(MemoryStore::default()), Shown::default());
        let manager = Manager::builder(EchoModel).middleware(shown.clone()).store(Arc::clone(&store));
        let conversation = manager.build().unwrap().create(Preface::default()).await.unwrap();
        let [dot, lost] = [*b"dot", *b"los"].map(|bytes| Media::new("image/png", bytes));
        store.put_media(&Owner::local(), &dot).await.unwrap();
        // As a store that outlives the process gives them back.
        let stored = serde_json::to_value(vec![Content::Image(dot), Content::Image(lost)]).unwrap();
        let parts: Vec<Content> = serde_json::from_value(stored).unwrap();
        conversation.add(Message::new(Role::User, parts)).await.unwrap();
        conversation.send("What is it?").finish().await.unwrap();
        assert_eq!(*shown.0.lock().unwrap(), [3, 0]);
        let request = conversation.request().await.unwrap();
        assert!(request.path[0].media().next().unwrap().bytes().is_some());
    });
}

#[test]
fn two_tools_of_one_name_are_refused() {
    let error = Manager::builder(EchoModel).tool(Clock).tool(Clock).build().unwrap_err();
    assert_eq!(error.to_string(), r#"tool name "clock" is empty or taken"#);
}
