//! One line of a log: an entry and a checksum that also covers every line before it.

use alloquy_core::media::Digest;
use alloquy_core::store::ConversationRecord;
use alloquy_core::{Node, NodeId};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The format that this version writes, and the newest that it reads.
pub(super) const FORMAT: u64 = 3;

/// The content of a line.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Entry {
    /// The conversation begins; always the first line, and only there.
    Created {
        format: u64,
        record: Box<ConversationRecord>,
        /// When the conversation was last updated before the log was compacted, in milliseconds since 1970.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        updated: Option<u64>,
    },
    /// The lines that follow have this format, in a log that began with an older one; since format 3. An older program does
    /// not know this entry and stops here, before a line that it would misread.
    Format(u64),
    /// Nodes are appended, parents before children.
    Nodes(Vec<Node>),
    /// The head moves.
    Head(Option<NodeId>),
    /// The metadata is replaced; since format 2.
    Metadata { revision: u64, metadata: Map<String, Value> },
    /// A node is hidden with everything below it; since format 2.
    Pruned(NodeId),
}

/// How far a log has been read. Offset and checksum together identify a prefix of a log, because each checksum covers the one
/// before it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Position {
    /// Bytes.
    pub(super) offset: u64,
    /// Lines.
    pub(super) line: usize,
    checksum: String,
}

/// What follows the entry in a line: `,"0123456789abcdef"]` and a line feed.
pub(super) const TRAILER: usize = 21;

/// How many hexadecimal digits of the SHA-256 are kept.
const CHECKSUM: usize = 16;

impl Position {
    /// Returns the line for `entry` (JSON) at this position, and the position after it.
    pub(super) fn seal(&self, entry: &str) -> (String, Position) {
        let checksum = checksum(&self.checksum, entry);
        let line = format!("[{entry},\"{checksum}\"]\n");
        let next = self.after(&line, checksum);
        (line, next)
    }

    /// Returns the entry of the line at this position and the position after it, or why the line is invalid.
    pub(super) fn unseal<'a>(&self, line: &'a [u8]) -> Result<(&'a str, Position), &'static str> {
        let line = str::from_utf8(line).map_err(|_| "it is not UTF-8")?;
        let entry = line.len().checked_sub(TRAILER).and_then(|end| line.get(1..end));
        let entry = entry.ok_or("it is too short")?;
        let (sealed, next) = self.seal(entry);
        if sealed == line { Ok((entry, next)) } else { Err("its checksum does not match") }
    }

    /// Returns whether an unreadable last line was being written when its writer or the machine stopped: its end is missing,
    /// or it contains zeros. Blocks that a file was given but that were not written read as zeros. No entry contains one.
    pub(super) fn is_torn(&self, line: &[u8]) -> bool {
        match line.split_last() {
            Some((b'\n', _)) | None => line.contains(&0),
            // A whole line whose line feed alone is wrong was acknowledged: that is damage.
            Some((_, whole)) => self.unseal(&[whole, b"\n"].concat()).is_err(),
        }
    }

    /// Returns the last bytes before this position.
    pub(super) fn trailer(&self) -> String {
        format!(",\"{}\"]\n", self.checksum)
    }

    fn after(&self, line: &str, checksum: String) -> Position {
        Position { offset: self.offset + line.len() as u64, line: self.line + 1, checksum }
    }
}

fn checksum(previous: &str, entry: &str) -> String {
    let digest = Digest::of(format!("{previous}{entry}").as_bytes());
    format!("{:.CHECKSUM$}", digest.to_string())
}

/// Reads the name of the conversation from the first line of a log, whatever else is wrong with it.
pub(super) fn name(first_line: &[u8]) -> Option<String> {
    let line: Value = serde_json::from_slice(first_line).ok()?;
    Some(line.pointer("/0/created/record/id")?.as_str()?.to_owned())
}

/// Reads the format from the first line of a log, whatever else a newer version may have changed there.
pub(super) fn format(first_line: &[u8]) -> Option<u64> {
    let line: Value = serde_json::from_slice(first_line).ok()?;
    line.pointer("/0/created/format")?.as_u64()
}
