//! What a family makes of messages and tools for its templates.

use alloquy_core::{Ending, Preface, Result};
use serde_json::{Value, json};

use crate::families::{self, Family, source};
use crate::messages;
use crate::outcome::{Outcome, ok_or_error};
use crate::row::Row;

/// A message, alone in its conversation.
pub(crate) fn message(row: &Row) -> Outcome {
    with_family(row, |family| {
        let path = messages::read(&row.input["message"])?;
        let input = family.template_input(source(&Preface::default(), &path, Ending::Closed))?;
        Ok(match input.messages.as_slice() {
            [one] => one.clone(),
            several => several.to_vec().into(),
        })
    })
}

/// The tools of a preface.
pub(crate) fn tools(row: &Row) -> Outcome {
    with_family(row, |family| {
        let preface = Preface { tools: messages::tools(&row.input["tools"])?, ..Preface::default() };
        let input = family.template_input(source(&preface, &[], Ending::Closed))?;
        Ok(json!(input.tools.unwrap_or_default()))
    })
}

fn with_family(row: &Row, make: impl Fn(&Family) -> Result<Value>) -> Outcome {
    match families::named(row.input["processor"]["type"].as_str().unwrap_or_default()) {
        Ok(family) => Outcome::compared(row.expected.clone(), ok_or_error(make(&family))),
        Err(reason) => Outcome::Skipped(reason),
    }
}
