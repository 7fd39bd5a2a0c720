//! Events as JSON, one object a line. Its shapes are documented in docs/cli.md.

use std::io::{self, Write};

use alloquy::core::report::ReplyTiming;
use alloquy::core::{Delta, Error, Reply, TurnEvent, TurnReply};
use serde_json::{Map, Value, json};

use super::Printer;
use super::tokens::TokenTexts;
use crate::failure::{advice_for, one_line};
use crate::notes::Loudness;

/// Writes one JSON object a line.
#[derive(Debug)]
pub(crate) struct Events<O> {
    out: O,
    loudness: Loudness,
    tokens: TokenTexts,
}

impl<O: Write> Events<O> {
    /// Creates a printer of events. Only verbose events have the time that an answer took: everything else is reproducible.
    pub(crate) fn new(out: O, loudness: Loudness) -> Self {
        Self { out, loudness, tokens: TokenTexts::default() }
    }

    /// Sets the model whose tokens are shown as texts.
    pub(crate) fn tokens(self, tokens: TokenTexts) -> Self {
        Self { tokens, ..self }
    }

    fn write(&mut self, event: &Value) -> io::Result<()> {
        writeln!(self.out, "{event}")?;
        self.out.flush()
    }
}

impl<O> Events<O> {
    /// Returns the time that each model call took, where events are verbose.
    fn timings(&self, timings: &[ReplyTiming]) -> Value {
        if self.loudness < Loudness::Verbose || timings.is_empty() {
            return json!({});
        }
        json!({"timings": timings.iter().map(timing).collect::<Vec<_>>()})
    }

    /// Returns how many draft tokens a reply had and how many were accepted, where events are verbose. They depend on times.
    fn drafts(&self, reply: &Reply) -> Value {
        match reply.speculation {
            Some(drafts) if self.loudness >= Loudness::Verbose => json!({"drafts": drafts}),
            _ => json!({}),
        }
    }
}

impl<O: Write> Printer for Events<O> {
    fn delta(&mut self, delta: &Delta) -> io::Result<()> {
        self.write(&json!(delta))
    }

    fn event(&mut self, event: &TurnEvent) -> io::Result<()> {
        self.write(&json!(event))
    }

    fn reply(&mut self, reply: &Reply) -> io::Result<()> {
        let figures = joined(self.timings(reply.timing.as_slice()), self.drafts(reply));
        self.write(&named("done", joined(self.tokens.added_to(json!(reply)), figures)))
    }

    fn turn(&mut self, turn: &TurnReply) -> io::Result<()> {
        let figures = joined(self.timings(&turn.timings), self.drafts(&turn.reply));
        self.write(&named("done", joined(self.tokens.added_to(json!(turn)), figures)))
    }

    fn broken(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn error(&mut self, error: &Error) -> io::Result<()> {
        let kind = error.kind();
        let message = one_line(error);
        self.write(
            &json!({"event": "error", "kind": kind.as_str(), "message": message, "help": advice_for(error)}),
        )
    }

    fn show(&mut self, name: &str, _text: &str, value: Value) -> io::Result<()> {
        self.write(&named(name, value))
    }
}

fn timing(timing: &ReplyTiming) -> Value {
    json!({
        "waiting_seconds": timing.waiting.as_secs_f64(),
        "first_token_seconds": timing.first_token.map(|first| first.as_secs_f64()),
        "prefill_tokens": timing.prefill_tokens,
        "prefill_seconds": timing.prefill.as_secs_f64(),
        "prefill_rate": timing.prefill_rate(),
        "decode_tokens": timing.decode_tokens,
        "decode_seconds": timing.decode.as_secs_f64(),
        "decode_rate": timing.decode_rate(),
    })
}

/// Puts the name of an event in front of its fields.
fn named(name: &str, fields: Value) -> Value {
    joined(json!({"event": name}), fields)
}

/// Joins the fields of two objects, in order.
fn joined(first: Value, second: Value) -> Value {
    let mut joined = Map::new();
    for value in [first, second] {
        if let Value::Object(fields) = value {
            joined.extend(fields);
        }
    }
    Value::Object(joined)
}
