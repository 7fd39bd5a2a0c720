//! The conversation states of dataknobs: read in every schema version, written in 1.1.0. Knows its documents; no database.
//!
//! A state has one root, dotted ids that are positions, and times without a zone. What of it has no place in a node stands
//! in the node's metadata under `dataknobs` ([`ORIGIN`]), and what of a node has no place in a state stands in the state's
//! metadata under `alloquy` ([`NOTE`]): so either side gets back what it gave.

mod facts;
mod forest;
mod message;
mod read;
mod time;
mod write;

use alloquy_core::{Error, ErrorKind, Result};
use serde_json::{Map, Value};

use super::{ArchiveLimits, ReadArchive};

pub(super) use write::write;

/// Where metadata here keeps what a state said and a node cannot.
const ORIGIN: &str = "dataknobs";

/// Where metadata of a state keeps what a node said and the state cannot.
const NOTE: &str = "alloquy";

/// Where either keeps a value that stood under its own name before.
const SHADOWED: &str = "shadowed";

/// What either keeps of a conversation, and of a node.
const ORIGIN_OF_STATE: [&str; 5] = ["created_at", "updated_at", "further", "orphans", "metadata"];
const ORIGIN_OF_NODE: [&str; 6] =
    ["timestamp", "prompt_name", "branch_name", "message", "metadata", "further"];
const NOTE_OF_RECORD: [&str; 5] = ["created", "preface", "sampling", "before_first", "blobs"];
const NOTE_OF_NODE: [&str; 6] = ["id", "message", "status", "tokens", "facts", "preface"];

const SCHEMA: &str = "1.1.0";

/// Says whether a document looks like one of dataknobs.
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
    let value = |(name, field): (String, Value)| match field {
        Value::Object(mut field) if field.contains_key("value") => {
            (name, field.shift_remove("value").unwrap_or_default())
        }
        plain => (name, plain),
    };
    Ok(fields.into_iter().map(value).collect())
}

fn invalid(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Invalid, message)
}

/// Joins two ids: a root's is empty.
fn below(parent: &str, place: usize) -> String {
    match parent {
        "" => place.to_string(),
        parent => format!("{parent}.{place}"),
    }
}

/// Puts `value` under `key`, and what stood there into it.
fn insert_shadowing(metadata: &mut Map<String, Value>, key: &str, mut value: Map<String, Value>) {
    if value.is_empty() {
        return;
    }
    if let Some(own) = metadata.shift_remove(key) {
        value.insert(SHADOWED.to_owned(), own);
    }
    metadata.insert(key.to_owned(), Value::Object(value));
}

/// The inverse: takes the value out and puts back what stood there. What has other fields than `names` is somebody
/// else's, and stays.
fn take_shadowing(
    metadata: &mut Map<String, Value>,
    key: &str,
    names: &[&str],
) -> Option<Map<String, Value>> {
    let value = metadata.get(key)?.as_object()?;
    if value.is_empty() || !value.keys().all(|name| name == SHADOWED || names.contains(&name.as_str())) {
        return None;
    }
    let Some(Value::Object(mut value)) = metadata.shift_remove(key) else { return None };
    if let Some(own) = value.shift_remove(SHADOWED) {
        metadata.insert(key.to_owned(), own);
    }
    Some(value)
}
