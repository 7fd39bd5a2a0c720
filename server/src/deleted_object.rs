//! The answer to a deletion, which several protocols have.

use schemars::JsonSchema;
use serde::Serialize;

/// An object that was deleted.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct DeletedObject {
    id: String,
    object: &'static str,
    /// Always `true`.
    deleted: bool,
}

impl DeletedObject {
    /// The answer to a deletion; `object` is its kind, such as `conversation.deleted`.
    pub(crate) fn new(id: String, object: &'static str) -> Self {
        Self { id, object, deleted: true }
    }
}
