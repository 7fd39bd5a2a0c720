//! The JSON of events, replies and lists, as `docs/json.md` describes it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

use std::time::{Duration, SystemTime};

use alloquy_core::manager::NewConversation;
use alloquy_core::message::{ChannelText, Malformed, ToolCall, ToolResult};
use alloquy_core::processor::ToolCallDelta;
use alloquy_core::store::HeadMove;
use alloquy_core::tree::{Address, NodePath};
use alloquy_core::{
    Content, Conversation, ConversationManager, Delta, Manager, Message, Query, Reply, Role, TurnEvent,
    TurnRequest,
};
use alloquy_testing::EchoModel;
use futures::StreamExt;
use pollster::block_on;
use serde_json::{Value, json};

fn written(value: impl serde::Serialize) -> Value {
    serde_json::to_value(value).unwrap()
}

#[test]
fn an_event_is_an_object_with_its_kind() {
    let call = ToolCall::new("call_0", "add", json!({"a": 1}));
    let piece = ToolCallDelta { id: "call_0".into(), name: "add".into(), text: "{\"a".into() };
    let malformed = Malformed { raw: "call:".into(), reason: "no name".into() };
    let cases = [
        (Delta::Text("a".into()), json!({"event": "text", "text": "a"})),
        (Delta::Thinking("b".into()), json!({"event": "thinking", "text": "b"})),
        (
            Delta::Channel(ChannelText::new("joke", "c")),
            json!({"event": "channel", "name": "joke", "text": "c"}),
        ),
        (
            Delta::Arguments(piece),
            json!({"event": "arguments", "id": "call_0", "name": "add", "text": "{\"a"}),
        ),
        (
            Delta::ToolCall(call.clone()),
            json!({"event": "tool_call", "call": {"id": "call_0", "name": "add", "arguments": {"a": 1}}}),
        ),
        (
            Delta::Malformed(malformed),
            json!({"event": "malformed", "malformed": {"raw": "call:", "reason": "no name"}}),
        ),
    ];
    for (delta, expected) in cases {
        assert_eq!(written(&delta), expected);
        assert_eq!(written(TurnEvent::Delta(delta)), expected);
    }
    let result = written(TurnEvent::ToolResult(ToolResult::ok(&call, "1")));
    assert_eq!((&result["event"], &result["result"]["id"]), (&json!("tool_result"), &json!("call_0")));
}

#[test]
fn a_turn_ends_with_its_result() {
    block_on(async {
        let conversation = Conversation::new(EchoModel);
        let mut turn = conversation.send("Hello");
        let mut events = Vec::new();
        while let Some(event) = turn.next().await {
            events.push(event.unwrap());
        }
        // How a turn ended is known however it was taken.
        let reply = turn.finish().await.unwrap();
        assert_eq!(events.pop(), Some(TurnEvent::Finished(Box::new(reply.clone()))));
        let nodes = conversation.history().await.unwrap();
        assert_eq!(written(&events).as_array().unwrap().last().unwrap()["node"], written(&nodes[1]));

        let done = written(TurnEvent::Finished(Box::new(reply)));
        let names: Vec<_> = done.as_object().unwrap().keys().map(String::as_str).collect();
        let expected = "event text finish stop_string error usage cache seed warnings node answers head end pending \
                        model_calls";
        assert_eq!(names, expected.split_whitespace().collect::<Vec<_>>());
        assert_eq!(done["head"], json!({"moved": true, "at": nodes[1].id}));
        assert_eq!((&done["answers"], &done["end"]), (&json!(nodes[0].id), &json!("answered")));
    });
}

#[test]
fn a_turn_that_fails_ends_with_its_error() {
    block_on(async {
        let conversation = Conversation::new(EchoModel);
        let mut turn = conversation.complete(TurnRequest::default());
        let error = turn.next().await.unwrap().unwrap_err();
        assert!(turn.next().await.is_none());
        assert_eq!(turn.finish().await.unwrap_err().to_string(), error.to_string());
    });
}

#[test]
fn a_reply_has_its_message_and_no_times() {
    let mut reply = Reply::new(Message::new(Role::Assistant, vec![Content::Text("Tea.".into())]));
    reply.facts.insert("redacted".into(), json!(2));
    let form = written(&reply);
    assert_eq!(form["message"], json!({"role": "assistant", "parts": [{"text": "Tea."}]}));
    assert_eq!((&form["text"], &form["facts"]), (&json!("Tea."), &json!({"redacted": 2})));
    assert!(form.get("logprobs").is_none() && form.get("timing").is_none());
}

#[test]
fn lists_have_the_documented_fields() {
    block_on(async {
        let manager = Manager::new(EchoModel);
        let mut new = NewConversation::default().id("tea".parse().unwrap());
        new = new.metadata("title", "Green");
        let conversation = manager.create(new).await.unwrap();
        conversation.send("A cup of green tea").await.unwrap();
        conversation.regenerate(TurnRequest::default()).finish().await.unwrap();

        let page = manager.list(&Query::default().limit(1)).await.unwrap();
        let form = written(&page);
        let summary = &form["conversations"][0];
        let names: Vec<_> = summary.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(names, ["id", "nodes", "created", "updated", "head", "metadata"]);
        let updated = SystemTime::UNIX_EPOCH + Duration::from_millis(summary["updated"].as_u64().unwrap());
        assert_eq!(updated, page.conversations[0].updated);
        assert_eq!((&form["next"], &form["damaged"]), (&json!(null), &json!([])));

        let query = Query::default().text("green").unwrap().limit(1);
        let found = manager.store().search(manager.owner(), &query).await.unwrap();
        let form = written(&found);
        assert_eq!(form["ranked"], "all");
        assert_eq!(form["hits"][0]["snippet"]["highlights"], json!([[9, 14]]));
        // A page's cursor is a text that the next query takes.
        let next: alloquy_core::query::PageCursor = serde_json::from_value(form["next"].clone()).unwrap();
        assert_eq!(Some(next), found.next);

        let branches = written(conversation.branches().await.unwrap());
        assert_eq!((branches.as_array().unwrap().len(), &branches[1]["has_head"]), (2, &json!(true)));
    });
}

#[test]
fn addresses_and_heads_are_small() {
    let address: Address = "0.1".parse().unwrap();
    assert_eq!(written(&address), "0.1");
    assert_eq!(serde_json::from_value::<Address>(json!("0.1")).unwrap(), address);
    assert_eq!(written(NodePath::from_iter([0, 2])), "0.2");
    assert!(serde_json::from_value::<NodePath>(json!("x")).is_err());
    assert_eq!(written(HeadMove::Moved), json!({"moved": true}));
    assert_eq!(written(HeadMove::Branched { head: None }), json!({"moved": false, "at": null}));
}
