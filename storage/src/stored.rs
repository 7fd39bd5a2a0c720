//! Rows of any database: their columns, and the check that they still hold what was written.

use std::fmt::Display;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use alloquy_core::media::Digest;
use alloquy_core::store::{ConversationRecord, ConversationSummary};
use alloquy_core::{ConversationId, Node, NodeId};

use crate::failure::Failure;
use crate::json::decode;

/// How a database refers to the parent of a node.
pub(crate) enum ParentColumn {
    /// By its id.
    #[cfg(feature = "postgres")]
    Name(Option<String>),
    /// By the position of its row.
    #[cfg(feature = "sqlite")]
    Position(Option<i64>),
}

impl ParentColumn {
    fn agrees(&self, node: &Node) -> bool {
        match self {
            #[cfg(feature = "postgres")]
            Self::Name(parent) => *parent == node.parent.map(|parent| parent.to_string()),
            #[cfg(feature = "sqlite")]
            Self::Position(parent) => parent.is_some() == node.parent.is_some(),
        }
    }
}

pub(crate) struct StoredNode {
    pub(crate) position: i64,
    pub(crate) id: String,
    pub(crate) parent: ParentColumn,
    pub(crate) body: String,
    pub(crate) checksum: i64,
}

impl StoredNode {
    pub(crate) fn node(self) -> Result<Node, Failure> {
        let what = format!("node {:?}", self.id);
        must_be_intact(&self.body, self.checksum, &what)?;
        let node: Node = decode(self.body.as_bytes(), &what)?;
        if node.id.to_string() != self.id || !self.parent.agrees(&node) {
            return Err(Failure::damaged(what, "its columns and its body disagree"));
        }
        Ok(node)
    }
}

pub(crate) struct StoredConversation {
    pub(crate) id: String,
    pub(crate) record: String,
    pub(crate) checksum: i64,
    pub(crate) head: Option<String>,
    pub(crate) nodes: i64,
    pub(crate) updated: i64,
}

impl StoredConversation {
    pub(crate) fn summary(self) -> Result<ConversationSummary, Failure> {
        let what = format!("conversation {:?}", self.id);
        must_be_intact(&self.record, self.checksum, &what)?;
        let mut record: ConversationRecord = decode(self.record.as_bytes(), &what)?;
        if record.id.as_str() != self.id {
            return Err(Failure::damaged(what, "its columns and its record disagree"));
        }
        let head = self.head.map(|head| head.parse::<NodeId>()).transpose();
        record.head = head.map_err(|error| Failure::damaged(&what, error))?;
        let Some(updated) = moment(self.updated) else {
            return Err(Failure::damaged(what, "its time is unreadable"));
        };
        Ok(ConversationSummary::new(record, unsigned(self.nodes)?, updated))
    }
}

/// Returns the first eight bytes of the SHA-256 of a text, as a signed number for SQL.
pub(crate) fn checksum(text: &str) -> i64 {
    let digest = Digest::of(text.as_bytes());
    digest.as_bytes().iter().take(8).fold(0, |sum, &byte| sum << 8 | i64::from(byte))
}

pub(crate) fn must_be_intact(text: &str, sum: i64, what: &str) -> Result<(), Failure> {
    if checksum(text) != sum {
        return Err(Failure::damaged(what, "its checksum does not match"));
    }
    Ok(())
}

pub(crate) fn unsigned(count: i64) -> Result<usize, Failure> {
    usize::try_from(count).map_err(|error| Failure::damaged(format!("count {count}"), error))
}

pub(crate) fn damaged(id: &ConversationId, reason: impl Display) -> Failure {
    Failure::damaged(format!("conversation {:?}", id.as_str()), reason)
}

/// Returns a time in milliseconds since 1970, the precision of node ids. Records with earlier times are refused elsewhere.
pub(crate) fn milliseconds(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

fn moment(milliseconds: i64) -> Option<SystemTime> {
    UNIX_EPOCH.checked_add(Duration::from_millis(u64::try_from(milliseconds).ok()?))
}
