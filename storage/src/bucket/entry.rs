//! The object of one change of a conversation, with the state of the conversation after it.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use alloquy_core::media::Digest;
use alloquy_core::store::{ConversationRecord, ConversationSummary};
use alloquy_core::{Node, NodeId};
use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::json::{decode, encode};

/// The format that this version writes, and the newest that it reads. Since format 2, nodes have the facts of a reply in
/// `reply`.
const FORMAT: u64 = 2;

/// An entry of a conversation's log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Entry {
    format: u64,
    /// Identifies the entry: a writer whose put got no answer recognizes its own entry by it.
    pub(super) id: NodeId,
    /// The entry before it.
    pub(super) previous: Option<NodeId>,
    /// The number of the last entry that needs none before it.
    pub(super) base: u64,
    pub(super) state: State,
    pub(super) change: Change,
}

/// A conversation without its nodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct State {
    /// `None` when it is deleted.
    pub(super) record: Option<ConversationRecord>,
    pub(super) nodes: usize,
    /// When it was updated last, in milliseconds since 1970.
    pub(super) updated: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Change {
    Created,
    Nodes(Vec<Node>),
    Head,
    Metadata,
    Pruned(NodeId),
    /// The whole conversation, so that earlier entries are no longer needed.
    Whole {
        nodes: Vec<Node>,
        tombstones: Vec<NodeId>,
    },
    Deleted,
}

impl Change {
    /// Returns whether a conversation can be read from this entry on, without the earlier ones.
    pub(super) fn is_base(&self) -> bool {
        matches!(self, Self::Created | Self::Whole { .. } | Self::Deleted)
    }
}

impl State {
    pub(super) fn gone() -> Self {
        Self { record: None, nodes: 0, updated: 0 }
    }

    pub(super) fn summary(&self) -> Option<ConversationSummary> {
        let updated = UNIX_EPOCH.checked_add(Duration::from_millis(self.updated))?;
        Some(ConversationSummary::new(self.record.clone()?, self.nodes, updated))
    }
}

pub(super) fn milliseconds(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

impl Entry {
    pub(super) fn new(previous: Option<NodeId>, base: u64, state: State, change: Change) -> Self {
        Self { format: FORMAT, id: NodeId::new(), previous, base, state, change }
    }

    /// Returns the bytes of the object: a line of JSON, and a line with its SHA-256.
    pub(super) fn bytes(&self) -> Result<Vec<u8>, Failure> {
        let json = encode(self)?;
        Ok(format!("{json}\n{}\n", Digest::of(json.as_bytes())).into_bytes())
    }

    pub(super) fn read(bytes: &[u8], what: &str) -> Result<Self, Failure> {
        let Some(text) = bytes.strip_suffix(b"\n") else {
            return Err(Failure::damaged(what, "its end is missing"));
        };
        let Some(line) = text.iter().rposition(|&byte| byte == b'\n') else {
            return Err(Failure::damaged(what, "it has one line"));
        };
        let (json, sum) = text.split_at(line);
        if sum.get(1..) != Some(Digest::of(json).to_string().as_bytes()) {
            return Err(Failure::damaged(what, "its checksum does not match"));
        }
        let format: Format = decode(json, what)?;
        match format.format {
            1..=FORMAT => decode(json, what),
            found => Err(Failure::Newer { what: what.to_owned(), found, known: FORMAT }),
        }
    }
}

#[derive(Deserialize)]
struct Format {
    format: u64,
}
