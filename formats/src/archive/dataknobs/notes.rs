//! What each side keeps of the other in its metadata: the names, and how a value is inserted and taken out.

use serde_json::{Map, Value};

/// The name in metadata here under which fields of a state are kept that a node lacks.
pub(super) const ORIGIN: &str = "dataknobs";

/// The name in metadata of a state under which fields of a node are kept that a state lacks.
pub(super) const NOTE: &str = "alloquy";

/// The name under which either keeps a value that had its own name before.
const SHADOWED: &str = "shadowed";

/// The fields that are kept of a conversation and of a node.
pub(super) const ORIGIN_OF_STATE: [&str; 5] = ["created_at", "updated_at", "further", "orphans", "metadata"];

pub(super) const ORIGIN_OF_NODE: [&str; 6] =
    ["timestamp", "prompt_name", "branch_name", "message", "metadata", "further"];

pub(super) const NOTE_OF_RECORD: [&str; 5] = ["created", "preface", "sampling", "before_first", "blobs"];

pub(super) const NOTE_OF_NODE: [&str; 8] =
    ["id", "message", "status", "tokens", "facts", "unmixed", "preface", "rag_metadata"];

/// Inserts `value` under `key`; a former value of that key moves into it.
pub(super) fn insert_shadowing(metadata: &mut Map<String, Value>, key: &str, mut value: Map<String, Value>) {
    if value.is_empty() {
        return;
    }
    if let Some(own) = metadata.shift_remove(key) {
        value.insert(SHADOWED.to_owned(), own);
    }
    metadata.insert(key.to_owned(), Value::Object(value));
}

/// The inverse: takes the value out and restores the former one. A value with other fields than `names` belongs to
/// another program, and stays.
pub(super) fn take_shadowing(
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
