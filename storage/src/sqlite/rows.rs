//! What a row holds, and whether it still holds what was written. Knows columns, not questions.

use std::fmt::Display;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use alloquy_core::{ConversationId, ConversationRecord, ConversationSummary, Digest, Node, NodeId};
use rusqlite::Row;

use crate::failure::Failure;
use crate::json::decode;

/// The columns of a conversation, in the order of [`StoredConversation::read`].
pub(super) const CONVERSATION: &str = "c.id, c.record, c.checksum, c.head, c.nodes, c.updated";

/// The columns of a node, in the order of [`StoredNode::read`].
pub(super) const NODE: &str = "n.position, n.id, n.parent, n.body, n.checksum";

pub(super) struct StoredNode {
    pub(super) position: i64,
    id: String,
    parent: Option<i64>,
    body: String,
    checksum: i64,
}

impl StoredNode {
    pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            position: row.get(0)?,
            id: row.get(1)?,
            parent: row.get(2)?,
            body: row.get(3)?,
            checksum: row.get(4)?,
        })
    }

    pub(super) fn node(self) -> Result<Node, Failure> {
        let what = || format!("node {:?}", self.id);
        intact(&self.body, self.checksum, what)?;
        let node: Node = decode(self.body.as_bytes(), what)?;
        match node.id.to_string() == self.id && node.parent.is_some() == self.parent.is_some() {
            true => Ok(node),
            false => Err(Failure::damaged(what(), "its columns and its body disagree")),
        }
    }
}

pub(super) struct StoredConversation {
    pub(super) id: String,
    record: String,
    checksum: i64,
    head: Option<String>,
    nodes: i64,
    updated: i64,
}

impl StoredConversation {
    pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            id: row.get(0)?,
            record: row.get(1)?,
            checksum: row.get(2)?,
            head: row.get(3)?,
            nodes: row.get(4)?,
            updated: row.get(5)?,
        })
    }

    pub(super) fn summary(self) -> Result<ConversationSummary, Failure> {
        let what = || format!("conversation {:?}", self.id);
        intact(&self.record, self.checksum, what)?;
        let mut record: ConversationRecord = decode(self.record.as_bytes(), what)?;
        if record.id.as_str() != self.id {
            return Err(Failure::damaged(what(), "its columns and its record disagree"));
        }
        let head = self.head.map(|head| head.parse::<NodeId>());
        record.head = head.transpose().map_err(|error| Failure::damaged(what(), error))?;
        let updated =
            moment(self.updated).ok_or_else(|| Failure::damaged(what(), "its time is unreadable"))?;
        Ok(ConversationSummary { record, nodes: unsigned(self.nodes)?, updated })
    }
}

/// The beginning of the SHA-256 of a text, as SQLite keeps numbers.
pub(super) fn checksum(text: &str) -> i64 {
    let digest = Digest::of(text.as_bytes());
    digest.as_bytes().iter().take(8).fold(0, |sum, &byte| sum << 8 | i64::from(byte))
}

fn intact(text: &str, sum: i64, what: impl Fn() -> String) -> Result<(), Failure> {
    match checksum(text) == sum {
        true => Ok(()),
        false => Err(Failure::damaged(what(), "its checksum does not match")),
    }
}

pub(super) fn unsigned(count: i64) -> Result<usize, Failure> {
    usize::try_from(count).map_err(|error| Failure::damaged(format!("count {count}"), error))
}

pub(super) fn damaged(id: &ConversationId, reason: impl Display) -> Failure {
    Failure::damaged(format!("conversation {:?}", id.as_str()), reason)
}

/// Times are kept to the millisecond, like those in node ids; times before 1970 are refused with the record.
pub(super) fn milliseconds(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

fn moment(milliseconds: i64) -> Option<SystemTime> {
    UNIX_EPOCH.checked_add(Duration::from_millis(u64::try_from(milliseconds).ok()?))
}
