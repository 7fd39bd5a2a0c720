//! Why a snapshot is refused. The consequence is always the same: the prompt is computed.

use serde::{Deserialize, Serialize};

use alloquy_core::{Error, ErrorKind};

/// Why a snapshot is refused. The next prompt is computed as if there were none.
///
/// ```
/// use alloquy_engine::decoder::SnapshotError;
///
/// let refusal = SnapshotError::Cut { expected: 5000, found: 4096 };
/// assert_eq!(refusal.to_string(), "it has 4096 bytes and should have 5000");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SnapshotError {
    /// It is no snapshot at all.
    Foreign,
    /// It has a layout that this version does not read.
    OtherVersion {
        /// The layout's version.
        found: u32,
    },
    /// It is shorter or longer than its header says.
    Cut {
        /// How many bytes it should have.
        expected: u64,
        /// How many it has.
        found: u64,
    },
    /// Its bytes are not those that were written.
    Damaged,
    /// Its bytes could not be read.
    Unreadable {
        /// The error of the system.
        message: String,
    },
    /// It was computed by another model, by this one run in another way, or with another adapter.
    OtherModel,
    /// Its prompt was rendered by another template.
    OtherTemplate,
    /// What was computed is on another server.
    OtherServer {
        /// The address of that server.
        server: String,
    },
    /// The server that has computed it has it no longer.
    Gone {
        /// The name of its file there.
        file: String,
    },
    /// This engine cannot restore a state, or its model has no identity.
    Unsupported,
    /// The engine failed to restore it, or all its sessions are in use.
    Engine {
        /// The error of the engine.
        message: String,
    },
}

impl std::fmt::Display for SnapshotError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Foreign => formatter.write_str("it is no snapshot"),
            Self::OtherVersion { found } => write!(formatter, "it has the layout of version {found}"),
            Self::Cut { expected, found } => {
                write!(formatter, "it has {found} bytes and should have {expected}")
            }
            Self::Damaged => formatter.write_str("its bytes are not those that were written"),
            Self::Unreadable { message } => write!(formatter, "it could not be read: {message}"),
            Self::OtherModel => {
                formatter.write_str("it is of another model, or of this one run in another way")
            }
            Self::OtherTemplate => formatter.write_str("its prompt was rendered by another template"),
            Self::OtherServer { server } => write!(formatter, "it was computed by the server {server:?}"),
            Self::Gone { file } => write!(formatter, "the server does not restore its file {file:?}"),
            Self::Unsupported => formatter.write_str("this model's state cannot be put back"),
            Self::Engine { message } => formatter.write_str(message),
        }
    }
}

impl std::error::Error for SnapshotError {}

impl From<Error> for SnapshotError {
    fn from(error: Error) -> Self {
        match error.kind() {
            ErrorKind::Unsupported => Self::Unsupported,
            _ => Self::Engine { message: format!("{error:#}") },
        }
    }
}
