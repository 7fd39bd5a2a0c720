//! The conversation states of dataknobs: read in every schema version, written in 1.1.0. Knows its documents; no database.
//!
//! A state has one root, dotted ids that are positions, and times without a zone. Fields of a state that a node lacks are
//! kept in the node's metadata under `dataknobs` ([`ORIGIN`](notes::ORIGIN)). Fields of a node that a state lacks are kept
//! in the state's metadata under `alloquy` ([`NOTE`](notes::NOTE)). So a round trip through either side loses nothing.

mod facts;
mod forest;
mod ids;
mod message;
mod notes;
mod rag;
mod read;
mod time;
mod write;

use alloquy_core::Result;
use serde_json::{Map, Value};

use self::ids::invalid;
use super::converted::ReadArchive;
use super::limits::ArchiveLimits;

pub(super) use write::write;

/// Returns whether a document looks like one of dataknobs.
pub(super) fn is_one(document: &Value) -> bool {
    match document {
        Value::Object(fields) if is_state(fields) => true,
        Value::Object(records) => {
            !records.is_empty() && records.values().all(|record| record.get("fields").is_some())
        }
        Value::Array(states) => states.first().and_then(Value::as_object).is_some_and(is_state),
        _ => false,
    }
}

fn is_state(fields: &Map<String, Value>) -> bool {
    fields.contains_key("nodes") && fields.contains_key("edges")
        || fields.get("fields").is_some_and(Value::is_object)
}

/// Reads a document: a state, a record of one, a list of either, or a database of the file backend.
pub(super) fn read(document: Value, limits: &ArchiveLimits) -> Vec<Result<ReadArchive>> {
    let states = match document {
        Value::Array(documents) => documents,
        Value::Object(records) if !is_state(&records) && is_one(&Value::Object(records.clone())) => {
            records.into_iter().map(|(_, record)| record).collect()
        }
        document => vec![document],
    };
    states.into_iter().map(|state| read_one(state, limits)).collect()
}

fn read_one(document: Value, limits: &ArchiveLimits) -> Result<ReadArchive> {
    let state = unwrapped(document)?;
    let name = state.get("conversation_id").and_then(Value::as_str).unwrap_or_default().to_owned();
    read::read(state, limits).map_err(|error| error.context(format_args!("conversation {name:?}")))
}

/// Takes the state out of a record, whose fields are objects with a value.
fn unwrapped(document: Value) -> Result<Map<String, Value>> {
    let Value::Object(mut state) = document else {
        return Err(invalid("a conversation state is an object"));
    };
    let Some(Value::Object(fields)) = state.shift_remove("fields") else {
        return Ok(state);
    };
    let mut state = Map::new();
    for (name, field) in fields {
        state.insert(name, value_of(field));
    }
    Ok(state)
}

/// Returns the value of a record's field: `"tea"` of `{"value": "tea", "type": "str"}`, and a plain field as it is.
fn value_of(field: Value) -> Value {
    match field {
        Value::Object(mut field) if field.contains_key("value") => {
            field.shift_remove("value").unwrap_or_default()
        }
        plain => plain,
    }
}
