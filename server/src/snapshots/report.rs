//! What a reply reports of the snapshot of its conversation.

use alloquy_engine::decoder::SnapshotError;
use serde::Serialize;
use serde_json::{Value, json};

/// What was done with a snapshot before a turn: `alloquy.facts.snapshot` of its reply.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum SnapshotReport {
    /// This many tokens need no computing.
    Restored(usize),
    /// It was not used, and the prompt is computed.
    Refused {
        /// Why, for programs.
        reason: &'static str,
        /// Why, for people.
        message: String,
    },
}

impl SnapshotReport {
    /// What failed without a fault of the snapshot. Its causes may name files and servers, so the log alone has them.
    pub(super) fn unavailable(message: &str) -> Self {
        Self::Refused { reason: "unavailable", message: message.to_owned() }
    }

    pub(super) fn json(&self) -> Value {
        json!(self)
    }
}

impl From<SnapshotError> for SnapshotReport {
    fn from(refusal: SnapshotError) -> Self {
        let reason = refusal_word(&refusal);
        let message = match &refusal {
            SnapshotError::Engine { message } | SnapshotError::Unreadable { message } => {
                tracing::warn!(reason, error = message, "a snapshot is refused");
                "the snapshot could not be restored: the log of the server has the cause".to_owned()
            }
            refusal => format!("the snapshot is not restored: {refusal}"),
        };
        Self::Refused { reason, message }
    }
}

/// Returns a refusal as a word, of which there is a bounded number.
pub(crate) fn refusal_word(refusal: &SnapshotError) -> &'static str {
    match refusal {
        SnapshotError::Foreign => "foreign",
        SnapshotError::OtherVersion { .. } => "other_version",
        SnapshotError::Cut { .. } => "cut",
        SnapshotError::Damaged => "damaged",
        SnapshotError::Unreadable { .. } => "unreadable",
        SnapshotError::OtherModel => "other_model",
        SnapshotError::OtherTemplate => "other_template",
        SnapshotError::OtherServer { .. } => "other_server",
        SnapshotError::Gone { .. } => "gone",
        SnapshotError::Unsupported => "unsupported",
        SnapshotError::Engine { .. } => "engine",
        _ => "other",
    }
}
