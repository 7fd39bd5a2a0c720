//! Events as JSON, one object a line. Its shapes are documented in docs/cli.md.

use std::io::{self, Write};

use alloquy::core::report::ReplyTiming;
use alloquy::core::{Delta, Error, Reply, TurnEvent, TurnReply};
use serde_json::{Value, json};

use super::Printer;
use crate::failure::{advice, one_line};
use crate::notes::Loudness;

/// Writes one JSON object a line.
#[derive(Debug)]
pub(crate) struct Events<O> {
    out: O,
    loudness: Loudness,
}

impl<O: Write> Events<O> {
    /// Events say how long an answer took where they are to be verbose: everything else comes out alike twice.
    pub(crate) fn new(out: O, loudness: Loudness) -> Self {
        Self { out, loudness }
    }

    fn write(&mut self, event: &Value) -> io::Result<()> {
        writeln!(self.out, "{event}")?;
        self.out.flush()
    }
}

impl<O> Events<O> {
    /// How long each call of the model took.
    fn took(&self, timings: &[ReplyTiming]) -> Value {
        match self.loudness >= Loudness::Verbose && !timings.is_empty() {
            true => json!({"timings": timings.iter().map(timing).collect::<Vec<_>>()}),
            false => json!({}),
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
        let took = self.took(reply.timing.as_slice());
        self.write(&named("done", joined(json!(reply), took)))
    }

    fn turn(&mut self, turn: &TurnReply) -> io::Result<()> {
        let took = self.took(&turn.timings);
        self.write(&named("done", joined(json!(turn), took)))
    }

    fn broken(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn error(&mut self, error: &Error) -> io::Result<()> {
        let (kind, message, help) = (error.kind(), one_line(error), advice(error.kind()));
        self.write(&json!({"event": "error", "kind": kind.as_str(), "message": message, "help": help}))
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
    let fields = [first, second].into_iter().filter_map(|value| match value {
        Value::Object(fields) => Some(fields),
        _ => None,
    });
    Value::Object(fields.flatten().collect())
}
