//! The order of an answer, and the place where its next page begins.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};

use super::filter::MetadataKey;
use crate::store::ConversationId;
use crate::tree::NodeId;
use crate::{Error, ErrorKind, Result};

/// By what an answer is ordered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SortKey {
    /// Conversations by when they were updated last; those of one moment by their names.
    Updated,
    /// Conversations, or in a search nodes, by when they were made.
    Created,
    /// Conversations by their names, byte by byte.
    Id,
    /// Conversations by a value of their metadata; those without one stand below all others.
    Metadata(MetadataKey),
    /// In a search, by how well a node fits.
    Relevance,
}

/// Which end of an order stands first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// The lowest, the oldest.
    Ascending,
    /// The highest, the newest.
    Descending,
}

/// The order of an answer.
///
/// A conversation that is updated while someone walks through pages sorted by that may be missed or seen twice; by
/// creation or by name, every conversation that is there throughout is seen once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sort {
    /// By what.
    pub by: SortKey,
    /// Which end first.
    pub direction: Direction,
}

impl Sort {
    /// The lowest first.
    pub fn ascending(by: SortKey) -> Self {
        Self { by, direction: Direction::Ascending }
    }

    /// The highest first.
    pub fn descending(by: SortKey) -> Self {
        Self { by, direction: Direction::Descending }
    }
}

/// Where the next page of an answer begins; it serves the query that it came from, with any limit.
///
/// As text it can be handed to a browser and back; what it holds is not secret, and says nothing of other owners.
#[derive(Clone, Debug, PartialEq)]
pub struct Cursor {
    pub(super) sort: Sort,
    pub(super) place: Place,
}

/// What the text of a cursor holds.
#[derive(Serialize, Deserialize)]
struct CursorForm<S, P> {
    sort: S,
    place: P,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Place {
    /// Behind a conversation.
    Conversation { key: Vec<u8>, id: ConversationId },
    /// Among the hits of a search that are not newer than `until`, whatever a store counts by; behind one of them.
    Hit { until: String, after: Option<Rank> },
}

/// Where a hit stands by relevance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Rank {
    pub(crate) score: f64,
    pub(crate) node: NodeId,
    pub(crate) conversation: ConversationId,
}

impl fmt::Display for Cursor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let form = CursorForm { sort: &self.sort, place: &self.place };
        let json = serde_json::to_vec(&form).map_err(|_| fmt::Error)?;
        formatter.write_str(&URL_SAFE_NO_PAD.encode(json))
    }
}

impl FromStr for Cursor {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let json = URL_SAFE_NO_PAD.decode(text).ok();
        let form = json.and_then(|json| serde_json::from_slice::<CursorForm<Sort, Place>>(&json).ok());
        let Some(CursorForm { sort, place }) = form else {
            return Err(Error::new(ErrorKind::Invalid, format!("{text:?} is not the cursor of a page")));
        };
        Ok(Self { sort, place })
    }
}
