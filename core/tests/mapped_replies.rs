//! Replies whose text a middleware changes while it is written.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

use alloquy_core::chat_model::TextMap;
use alloquy_core::message::ToolCall;
use alloquy_core::middleware::{Middleware, Next};
use alloquy_core::stream::EventStream;
use alloquy_core::{
    ChatModel, Content, Delta, ErrorKind, Manager, Message, Preface, Reply, ReplyStream, Request, Result,
    Role,
};
use alloquy_testing::{ScriptedModel, ScriptedReply};
use futures::StreamExt;
use pollster::block_on;
use proptest::prelude::*;

/// Hides numbers, which may come in pieces.
#[derive(Debug, Default)]
struct Hidden {
    held: String,
}

impl TextMap for Hidden {
    fn push(&mut self, text: &str) -> String {
        self.held.push_str(text);
        let end = self.held.trim_end_matches(|character: char| character.is_ascii_digit()).len();
        let tail = self.held.split_off(end);
        hidden(&std::mem::replace(&mut self.held, tail))
    }

    fn finish(&mut self) -> String {
        hidden(&std::mem::take(&mut self.held))
    }
}

fn hidden(text: &str) -> String {
    let mut shown = String::new();
    let mut is_number = false;
    for character in text.chars() {
        if !character.is_ascii_digit() {
            shown.push(character);
        } else if !is_number {
            shown.push('#');
        }
        is_number = character.is_ascii_digit();
    }
    shown
}

#[async_trait::async_trait]
impl Middleware for Hidden {
    async fn handle(&self, request: Request, next: Next<'_>) -> Result<ReplyStream> {
        Ok(next.call(request).await?.map_text(Hidden::default()))
    }
}

fn stream(deltas: Vec<Delta>, reply: Reply) -> ReplyStream {
    EventStream::new(|mut emit| async move {
        emit.send_all(deltas).await;
        Ok(reply)
    })
}

fn joined(deltas: &[Delta]) -> Vec<Content> {
    let mut parts = Vec::new();
    for delta in deltas {
        delta.join_to(&mut parts);
    }
    parts
}

async fn all(mut stream: ReplyStream) -> (Vec<Delta>, Result<Reply>) {
    let mut deltas = Vec::new();
    while let Some(delta) = stream.next().await {
        deltas.push(delta);
    }
    (deltas, stream.finish().await)
}

#[test]
fn the_node_and_the_deltas_have_the_same_text() {
    let mut reply = Reply::new(Message::assistant("card 1234 is yours"));
    reply.tokens = vec![1, 2, 3];
    let model = ScriptedModel::replying([ScriptedReply::from(reply)]);
    block_on(async {
        let manager = Manager::builder(model).middleware(Hidden::default()).build().unwrap();
        let conversation = manager.create(Preface::default()).await.unwrap();
        let turn = conversation.send("Which card?").finish().await.unwrap();
        assert_eq!(turn.text(), "card # is yours");
        assert!(turn.reply.tokens.is_empty(), "they say what the card is");
        let said = conversation.history().await.unwrap();
        assert_eq!(said.last().unwrap().message.text(), "card # is yours");
        assert!(!serde_json::to_string(&said).unwrap().contains("1234"));
    });
}

#[test]
fn calls_end_a_text_and_stay_as_they_are() {
    let call = ToolCall::new("1", "pay", serde_json::json!({"amount": 12}));
    let deltas = vec![
        Delta::Text("I pay 1".into()),
        Delta::Text("2".into()),
        Delta::ToolCall(call.clone()),
        Delta::Text("3".into()),
    ];
    let reply = Reply::new(Message::new(Role::Assistant, joined(&deltas)));
    let (shown, reply) = block_on(all(stream(deltas, reply).map_text(Hidden::default())));
    let parts = vec![Content::Text("I pay #".into()), Content::ToolCall(call), Content::Text("#".into())];
    assert_eq!(joined(&shown), parts);
    assert_eq!(reply.unwrap().message, Message::new(Role::Assistant, parts));
}

#[test]
fn a_reply_with_more_text_than_it_streamed_is_refused() {
    let reply = Reply::new(Message::assistant("never shown: 1234"));
    let (shown, reply) = block_on(all(stream(Vec::new(), reply).map_text(Hidden::default())));
    assert!(shown.is_empty());
    assert_eq!(reply.unwrap_err().kind(), ErrorKind::Backend);
}

#[test]
fn a_failure_of_the_model_is_passed_on() {
    let model = ScriptedModel::replying([ScriptedReply::Fails("12".into())]);
    let request = Request::new(Preface::default(), vec![Message::user("Hi")]);
    let stream = block_on(model.reply(request)).unwrap().map_text(Hidden::default());
    let (deltas, reply) = block_on(all(stream));
    assert_eq!(joined(&deltas), [Content::Text("#".into())]);
    assert!(reply.is_err() || reply.unwrap().error.is_some());
}

proptest! {
    /// However a text is cut into pieces, what is shown is the text changed as a whole.
    #[test]
    fn pieces_do_not_matter(pieces in prop::collection::vec("[a-c0-9 ]{0,4}", 0..12)) {
        let text = pieces.concat();
        let deltas: Vec<_> = pieces.into_iter().map(Delta::Text).collect();
        let reply = Reply::new(Message::new(Role::Assistant, joined(&deltas)));
        let (shown, reply) = block_on(all(stream(deltas, reply).map_text(Hidden::default())));
        let message = reply.unwrap().message;
        prop_assert_eq!(message.text(), hidden(&text));
        prop_assert_eq!(Message::new(Role::Assistant, joined(&shown)), message);
    }
}
