//! Whatever a document with values of 100,000 bytes is refused with is a sentence to be read: it quotes the start and the end
//! of the value.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

use std::fmt::Debug;

use alloquy_core::{Error, Result};
use alloquy_formats::archive::{self, ArchiveFormat, ArchiveLimits};
use alloquy_formats::messages::{self, Dialect, MediaRules};
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
    refused.note("an archive's format", long.parse::<ArchiveFormat>());
    refused.note("a dialect", long.parse::<Dialect>());
}

fn documents(long: &str, refused: &mut Refused) {
    let message = json!({"role": long, "content": long, long: long});
    let node = json!({"node_id": long, "message": message, "timestamp": long, long: long});
    let all = [
        json!({long: long}),
        json!([{long: long}]),
        json!({"messages": [message]}),
        json!({"messages": [{"role": "user", "content": [{"type": long, long: long}]}], long: long}),
        json!({"conversation_id": long, "nodes": [node], "edges": [[long, long]], "current_node_id": long}),
        json!({"conversation_id": long, "nodes": [node], "schema_version": long}),
        json!({"alloquy_conversation": 1, "record": {"id": long, "created": 0}, "nodes": []}),
        json!({"alloquy_conversation": 1, "record": {"id": "a", "created": 0, long: long}, "nodes": []}),
        json!({"alloquy_conversation": 1, "record": {"id": "a", "created": 0}, "nodes": [{"id": long}]}),
        json!({"alloquy_conversation": 1, "record": {"id": "a", "created": 0}, "nodes": [], "blobs": {long: long}}),
        json!({"contents": [{"role": long, "parts": [{long: long}]}]}),
        Value::String(long.to_owned()),
    ];
    let limits = ArchiveLimits::default();
    for document in &all {
        let text = document.to_string();
        for format in ArchiveFormat::ALL {
            let read = match archive::read(format, &text, &limits) {
                Err(error) => {
                    refused.note_if::<()>(format.as_str(), Err(error));
                    continue;
                }
                Ok(read) => read,
            };
            for read in read {
                let repairs = read.as_ref().map_or(&[][..], |read| &read.repairs);
                for repair in repairs {
                    is_short("repair", &repair.to_string());
                }
                refused.note_if(format.as_str(), read);
            }
        }
        for dialect in Dialect::ALL {
            let rules = MediaRules::default();
            refused.note_if(dialect.as_str(), messages::read(dialect, document, &rules));
            refused.note_if(dialect.as_str(), messages::read_text(dialect, &text, &rules));
            refused.note_if(dialect.as_str(), messages::read_text(dialect, long, &rules));
        }
    }
}

fn is_short(what: &str, sentence: &str) {
    assert!(sentence.len() < 2000, "{what}: {} bytes: {:.300}", sentence.len(), sentence);
}

#[test]
fn whatever_refuses_a_long_value_of_a_document_says_so_in_a_sentence() {
    // Letters, what Rust's quotes write six characters for, and what takes four bytes.
    for long in ["x".repeat(100_000), "\u{202e}".repeat(33_334), "𝄞".repeat(25_000), "\\\"".repeat(50_000)]
    {
        let mut refused = Refused::default();
        names(&long, &mut refused);
        documents(&long, &mut refused);
        for (what, error) in &refused.0 {
            is_short(what, &error.to_string());
            is_short(what, &format!("{error:#}"));
        }
        let cut = refused.0.iter().filter(|(_, error)| error.to_string().contains(" characters more…] "));
        assert!(cut.count() > 15, "the table meets sentences that quote");
    }
}
