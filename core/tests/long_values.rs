//! Whatever a value of 100,000 bytes is refused with is a sentence to be read: it quotes the start and the end of the value.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

use std::fmt::Debug;

use alloquy_core::media::Digest;
use alloquy_core::message::{ToolCall, ToolResult};
use alloquy_core::query::PageCursor;
use alloquy_core::tool::{Toolbox, TypedTool};
use alloquy_core::tree::{Address, NodePath};
use alloquy_core::{
    ConversationId, Error, ErrorKind, Manager, Message, NodeId, Owner, Preface, Query, Result, Role, Tool,
    ToolSpec,
};
use alloquy_testing::EchoModel;
use pollster::block_on;
use proptest::prelude::*;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

/// What long values are refused with, each with what it was given to.
#[derive(Default)]
struct Refused(Vec<(String, Error)>);

impl Refused {
    fn note<T: Debug>(&mut self, what: impl Into<String>, outcome: Result<T>) {
        let what = what.into();
        match outcome {
            Ok(value) => panic!("{what} takes it: {:.200}", format!("{value:?}")),
            Err(error) => self.0.push((what, error)),
        }
    }

    /// Notes an error where there is one.
    fn note_if<T>(&mut self, what: impl Into<String>, outcome: Result<T>) {
        if let Err(error) = outcome {
            self.0.push((what.into(), error));
        }
    }
}

fn names(long: &str, refused: &mut Refused) {
    refused.note("a conversation", long.parse::<ConversationId>());
    refused.note("an owner", long.parse::<Owner>());
    refused.note("a node", long.parse::<NodeId>());
    refused.note("a position", long.parse::<NodePath>());
    refused.note("an address", long.parse::<Address>());
    refused.note("a digest", long.parse::<Digest>());
    refused.note("a role", long.parse::<Role>());
    refused.note("a cursor", long.parse::<PageCursor>());
    refused.note_if("a query", Query::default().text(long));
    let wrong = serde_json::from_value::<ConversationId>(long.into()).unwrap_err();
    refused.note::<()>("JSON", Err(Error::new(ErrorKind::Invalid, "it is not so").with_source(wrong)));
}

#[derive(Debug, Deserialize, JsonSchema)]
#[allow(dead_code)] // it is never made
struct City {
    name: u8,
}

fn tools(long: &str, refused: &mut Refused) {
    let tool = || TypedTool::new(long, "", |_: City| async { Ok(()) });
    refused.note("arguments", block_on(tool().call(&json!({"name": long}))));
    refused.note("two tools", Toolbox::default().tool(tool()).tool(tool()).now());
    block_on(async {
        let manager = Manager::new(EchoModel);
        let conversation =
            manager.create(Preface::default().tool(ToolSpec::new(long, "", json!({})))).await.unwrap();
        refused.note("a place", conversation.resolve(long).await);
        let node = conversation.send("Hi").finish().await.unwrap().node;
        refused.note("a bookmark", conversation.bookmark(long, node).await);
        let orphan = ToolResult::ok(&ToolCall::new(long, long, json!({})), long);
        refused.note("a result", conversation.add(Message::tool(vec![orphan])).await);
    });
}

fn is_short(what: &str, sentence: &str) {
    assert!(sentence.len() < 2000, "{what}: {} bytes: {:.300}", sentence.len(), sentence);
}

#[test]
fn every_refusal_of_a_long_value_is_short() {
    // Letters, what Rust's quotes write six characters for, and what takes four bytes.
    for long in ["x".repeat(100_000), "\u{202e}".repeat(33_334), "𝄞".repeat(25_000), "\\\"".repeat(50_000)]
    {
        let mut refused = Refused::default();
        names(&long, &mut refused);
        tools(&long, &mut refused);
        for (what, error) in &refused.0 {
            is_short(what, &error.to_string());
            is_short(what, &format!("{error:#}"));
        }
        let cut = refused.0.iter().filter(|(_, error)| error.to_string().contains(" characters more…] "));
        assert!(cut.count() > 12, "the table meets sentences that quote");
    }
}

proptest! {
    /// What is in front of a sentence and what caused it are bounded with it, wherever the length comes from.
    #[test]
    fn contexts_and_causes_are_bounded_too(parts in prop::collection::vec((0_usize..4, 0_usize..20_000), 1..8)) {
        let mut error = Error::new(ErrorKind::Invalid, "it is wrong");
        for (kind, length) in parts {
            let text = "é".repeat(length);
            error = match kind {
                0 => error.context(text),
                1 => Error::new(ErrorKind::Store, text).with_source(error),
                2 => Error::new(ErrorKind::Store, "in between").with_source(error),
                _ => Error::new(ErrorKind::Store, "in between").with_source(text),
            };
        }
        is_short("plain", &error.to_string());
        is_short("with causes", &format!("{error:#}"));
    }
}

#[test]
fn the_error_of_a_tool_is_not_shortened() {
    let tool = TypedTool::new("log", "", |_: Value| async {
        Err::<(), _>(Error::new(ErrorKind::Tool, "line\n".repeat(2000)))
    });
    let error = block_on(tool.call(&json!({}))).unwrap_err();
    assert_eq!(error.whole(), "line\n".repeat(2000));
    assert!(error.to_string().len() < 2000);
}
