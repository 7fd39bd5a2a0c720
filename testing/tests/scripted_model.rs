//! The model that follows a script: it keeps the laws of models, and its replies end as the script says.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)] // a test may panic

use alloquy_core::message::ToolCall;
use alloquy_core::report::FinishReason;
use alloquy_core::stop::StopSignal;
use alloquy_core::{ChatModel, Content, Delta, ErrorKind, Message, Preface, Reply, Request, Role};
use alloquy_testing::{ScriptedModel, ScriptedReply, laws};
use futures::StreamExt;
use pollster::block_on;
use serde_json::json;

fn asking(text: &str) -> Request {
    Request::new(Preface::default(), vec![Message::user(text)])
}

#[test]
fn it_keeps_the_laws_of_chat_models() {
    let model = ScriptedModel::new([("<user>Hi<end><assistant>", "Hello there!")]);
    block_on(laws::chat_model::all(&model, &asking("Hi")));
}

#[test]
fn the_last_cue_decides() {
    let model = ScriptedModel::new([
        ("<assistant>", "anything"),
        ("<user>Hi<end><assistant>", "Hello!"),
        ("<user>Bye<end><assistant>", "call:wave {\"hand\":\"left\"}"),
    ]);
    block_on(async {
        let path = vec![Message::user("Hi"), Message::assistant("Hello!"), Message::user("Bye")];
        let reply =
            model.reply(Request::new(Preface::default(), path)).await.unwrap().finish().await.unwrap();
        let calls: Vec<_> = reply.message.tool_calls().cloned().collect();
        assert_eq!(calls, [ToolCall::new("call_0", "wave", json!({"hand": "left"}))]);
        assert_eq!(reply.finish, FinishReason::ToolCalls);
        let error = ScriptedModel::new([("no such cue", "")]).reply(asking("Hi")).await.unwrap_err();
        assert_eq!(error.to_string(), "the script has no cue in \"<user>Hi<end><assistant>\"");
    });
}

#[test]
fn replies_are_played_in_their_order_and_end_as_they_say() {
    let mut first = Reply::new(Message::new(
        Role::Assistant,
        vec![Content::Thinking("Hm.".to_owned()), Content::Text("One.".to_owned())],
    ));
    first.finish = FinishReason::Length;
    let model = ScriptedModel::replying([
        ScriptedReply::from(first.clone()),
        ScriptedReply::Fails("Tw".to_owned()),
        ScriptedReply::Hangs("Thr".to_owned()),
    ])
    .named("mine");
    assert_eq!(model.name(), "mine");
    block_on(async {
        assert_eq!(model.reply(asking("1")).await.unwrap().finish().await.unwrap(), first);
        let mut failing = model.reply(asking("2")).await.unwrap();
        assert_eq!(failing.next().await, Some(Delta::Text("Tw".to_owned())));
        assert_eq!(failing.finish().await.unwrap_err().kind(), ErrorKind::Backend);
        let stop = StopSignal::default();
        let mut hanging = model.reply(asking("3").stop(stop.clone())).await.unwrap();
        assert_eq!(hanging.next().await, Some(Delta::Text("Thr".to_owned())));
        stop.stop();
        let stopped = hanging.finish().await.unwrap();
        assert_eq!((stopped.text().as_str(), stopped.finish), ("Thr", FinishReason::Cancelled));
        let error = model.reply(asking("4")).await.unwrap_err();
        assert_eq!(error.to_string(), "the script has no more replies");
    });
}
