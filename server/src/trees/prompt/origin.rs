//! Whose a piece of a prompt is.

use alloquy_core::{Part, Role, Source};
use schemars::JsonSchema;
use serde::Serialize;

/// Whose a piece of a prompt is.
#[derive(Clone, Copy, Debug, JsonSchema, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(in crate::trees) enum TokenOrigin {
    /// The model's chat template printed it.
    Template,
    /// Instructions, descriptions of tools, and prompts of the library.
    Author,
    /// The user, also as a value within a prompt of the library.
    User,
    /// A document that was retrieved.
    Retrieved,
    /// A note from memory.
    Memory,
    /// The result of a tool.
    Tool,
    /// An earlier reply, in the ids that were sampled, which are also those of its text.
    Sampled,
    /// An earlier reply, in the ids that were sampled. Its text alone has others.
    Spliced,
    /// An earlier reply, in the ids of its text: those that were sampled are unknown, or the template has rewritten it.
    Reply,
}

impl TokenOrigin {
    /// Returns whose a part of a message is. `is_authored` is that of a user message which a prompt of the library has made.
    pub(super) fn of(part: &Part, role: Role, is_authored: bool) -> Self {
        match &part.source {
            Some(Source::Value(_)) => Self::User,
            Some(Source::Retrieved { .. }) => Self::Retrieved,
            Some(Source::Memory { .. }) => Self::Memory,
            Some(Source::Tool { .. }) => Self::Tool,
            Some(Source::Output { .. }) => Self::Reply,
            _ => match role {
                Role::System => Self::Author,
                Role::User if is_authored => Self::Author,
                Role::User => Self::User,
                Role::Assistant => Self::Reply,
                Role::Tool => Self::Tool,
            },
        }
    }
}
