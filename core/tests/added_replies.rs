//! Replies that were generated elsewhere and are added with their facts.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

use alloquy_core::message::ToolCall;
use alloquy_core::report::{FinishReason, ReplyFacts, Usage};
use alloquy_core::tree::NodeStatus;
use alloquy_core::{Conversation, ErrorKind, Message, Role, TurnRequest};
use alloquy_testing::EchoModel;
use pollster::block_on;
use serde_json::json;

fn facts() -> ReplyFacts {
    let mut facts = ReplyFacts::new("gpt-4o");
    facts.usage = Some(Usage::new(1000, 100));
    facts.finish = Some(FinishReason::Stop);
    facts.system_prompt = Some("Rhyme.".to_owned());
    facts
}

#[test]
fn an_added_reply_keeps_its_facts_and_counts() {
    block_on(async {
        let conversation = Conversation::new(EchoModel);
        conversation.add("Hi!").await.unwrap();
        let reply = TurnRequest::from(Message::assistant("Hello!")).reply_facts(facts());
        conversation.add(reply.label("first").metadata("model", "of a car")).await.unwrap();
        let node = conversation.history().await.unwrap().pop().unwrap();
        assert_eq!(node.reply.as_deref(), Some(&facts()));
        assert_eq!((node.model(), node.status), (Some("gpt-4o"), NodeStatus::Complete));
        assert_eq!((node.label.as_deref(), &node.metadata["model"]), (Some("first"), &json!("of a car")));
        assert_eq!(node.usage(), Some(Usage::new(1000, 100)));
    });
}

#[test]
fn the_last_of_several_messages_has_the_facts() {
    block_on(async {
        let conversation = Conversation::new(EchoModel);
        let messages = vec![Message::user("Hi!"), Message::assistant("Hello!")];
        conversation.add(TurnRequest::from(messages).reply_facts(facts())).await.unwrap();
        let models: Vec<_> =
            conversation.history().await.unwrap().iter().map(|node| node.reply.clone()).collect();
        assert_eq!(models, [None, Some(Box::new(facts()))]);
    });
}

/// A call that is open is answered by an error first, which is not the reply.
#[test]
fn a_reply_that_follows_an_open_call_has_the_facts() {
    block_on(async {
        let conversation = Conversation::new(EchoModel);
        let mut called = Message::assistant("");
        let call = ToolCall { id: "1".into(), name: "clock".into(), arguments: json!({}) };
        called.parts = vec![alloquy_core::Content::ToolCall(call).into()];
        conversation.add(called).await.unwrap();
        let reply = TurnRequest::from(Message::assistant("Noon.")).reply_facts(facts());
        conversation.add(reply).await.unwrap();
        let history = conversation.history().await.unwrap();
        let found: Vec<_> = history.iter().map(|node| (node.message.role, node.reply.is_some())).collect();
        assert_eq!(found, [(Role::Assistant, false), (Role::Tool, false), (Role::Assistant, true)]);
    });
}

#[test]
fn a_reply_that_was_cancelled_elsewhere_is_interrupted() {
    block_on(async {
        let conversation = Conversation::new(EchoModel);
        let mut cancelled = facts();
        cancelled.finish = Some(FinishReason::Cancelled);
        conversation.add(TurnRequest::from(Message::assistant("He")).reply_facts(cancelled)).await.unwrap();
        assert_eq!(conversation.history().await.unwrap()[0].status, NodeStatus::Interrupted);
    });
}

#[test]
fn the_reply_of_a_turn_has_its_own_facts() {
    block_on(async {
        let conversation = Conversation::new(EchoModel);
        let messages = vec![Message::user("Hi!"), Message::assistant("Hello!")];
        conversation.send(TurnRequest::from(messages).reply_facts(facts())).finish().await.unwrap();
        let history = conversation.history().await.unwrap();
        let models: Vec<_> = history.iter().map(|node| node.model()).collect();
        assert_eq!(models, [None, Some("gpt-4o"), Some("echo")]);
    });
}

#[test]
fn facts_of_a_message_that_is_not_a_reply_are_refused() {
    block_on(async {
        let conversation = Conversation::new(EchoModel);
        for messages in [vec![Message::user("Hi!")], Vec::new()] {
            let request = TurnRequest::from(messages).reply_facts(facts());
            let error = conversation.add(request.clone()).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid, "{error:#}");
            conversation.send(request).finish().await.unwrap_err();
        }
        assert!(conversation.tree().await.unwrap().is_empty());
    });
}
