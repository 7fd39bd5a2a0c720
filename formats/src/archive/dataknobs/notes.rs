//! What either side keeps of the other: the names in metadata, and how a value is put there and taken out.

use serde_json::{Map, Value};

/// Where metadata here keeps what a state said and a node cannot.
pub(super) const ORIGIN: &str = "dataknobs";

/// Where metadata of a state keeps what a node said and the state cannot.
pub(super) const NOTE: &str = "alloquy";

/// Where either keeps a value that stood under its own name before.
const SHADOWED: &str = "shadowed";

/// What either keeps of a conversation, and of a node.
pub(super) const ORIGIN_OF_STATE: [&str; 5] = ["created_at", "updated_at", "further", "orphans", "metadata"];

pub(super) const ORIGIN_OF_NODE: [&str; 6] =
    ["timestamp", "prompt_name", "branch_name", "message", "metadata", "further"];

pub(super) const NOTE_OF_RECORD: [&str; 5] = ["created", "preface", "sampling", "before_first", "blobs"];

pub(super) const NOTE_OF_NODE: [&str; 7] =
    ["id", "message", "status", "tokens", "facts", "unmixed", "preface"];

/// Puts `value` under `key`, and what stood there into it.
pub(super) fn insert_shadowing(metadata: &mut Map<String, Value>, key: &str, mut value: Map<String, Value>) {
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
