//! What a row of a database holds, and whether it still holds what was written. Knows columns, not which database.

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
        let what = || format!("node {:?}", self.id);
        intact(&self.body, self.checksum, what)?;
        let node: Node = decode(self.body.as_bytes(), what)?;
        match node.id.to_string() == self.id && self.parent.agrees(&node) {
            true => Ok(node),
            false => Err(Failure::damaged(what(), "its columns and its body disagree")),
        }
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
        Ok(ConversationSummary::new(record, unsigned(self.nodes)?, updated))
    }
}

/// The beginning of the SHA-256 of a text, as SQLite keeps numbers.
pub(crate) fn checksum(text: &str) -> i64 {
    let digest = Digest::of(text.as_bytes());
    digest.as_bytes().iter().take(8).fold(0, |sum, &byte| sum << 8 | i64::from(byte))
}

fn intact(text: &str, sum: i64, what: impl Fn() -> String) -> Result<(), Failure> {
    match checksum(text) == sum {
        true => Ok(()),
        false => Err(Failure::damaged(what(), "its checksum does not match")),
    }
}

pub(crate) fn unsigned(count: i64) -> Result<usize, Failure> {
    usize::try_from(count).map_err(|error| Failure::damaged(format!("count {count}"), error))
}

pub(crate) fn damaged(id: &ConversationId, reason: impl Display) -> Failure {
    Failure::damaged(format!("conversation {:?}", id.as_str()), reason)
}

/// Times are kept to the millisecond, like those in node ids; times before 1970 are refused with the record.
pub(crate) fn milliseconds(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

fn moment(milliseconds: i64) -> Option<SystemTime> {
    UNIX_EPOCH.checked_add(Duration::from_millis(u64::try_from(milliseconds).ok()?))
}
