//! The order of a result, and the cursor at which its next page begins.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};

use super::filter::MetadataKey;
use crate::store::ConversationId;
use crate::tree::NodeId;
use crate::{Error, ErrorKind, Result};

/// The key by which results are sorted.
///
/// A [`Sort`] contains it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SortKey {
    /// Conversations by their last update; those of one moment by their names.
    Updated,
    /// Conversations, or nodes in a search, by their creation.
    Created,
    /// Conversations by their names, byte by byte.
    Id,
    /// Conversations by a value of their metadata; those without one sort below all others.
    Metadata(MetadataKey),
    /// Nodes in a search by how well they match.
    Relevance,
}

/// Which end of an order comes first.
///
/// A [`Sort`] contains it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SortDirection {
    /// The lowest, the oldest.
    Ascending,
    /// The highest, the newest.
    Descending,
}

/// The order of results.
///
/// In pages sorted by update, a conversation that is updated meanwhile may be missed or appear twice. In pages sorted
/// by creation or by name, every conversation that exists throughout appears once.
///
/// ```
/// use alloquy_core::manager::NewConversation;
/// use alloquy_core::query::{Sort, SortKey};
/// use alloquy_core::{ConversationManager, Manager, Query};
/// use alloquy_testing::EchoModel;
///
/// # pollster::block_on(async {
/// let manager = Manager::new(EchoModel);
/// for title in ["Tea", "Coffee"] {
///     manager.create(NewConversation::default().metadata("title", title)).await?;
/// }
/// let by_title = Sort::ascending(SortKey::Metadata("title".into()));
/// let page = manager.list(&Query::default().sort(by_title)).await?;
/// let mut titles = Vec::new();
/// for summary in page.conversations {
///     titles.push(summary.record.metadata["title"].clone());
/// }
/// assert_eq!(titles, ["Coffee", "Tea"]);
/// # Ok::<(), alloquy_core::Error>(())
/// # })?;
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sort {
    /// The key.
    pub by: SortKey,
    /// Which end comes first.
    pub direction: SortDirection,
}

impl Sort {
    /// The lowest first.
    pub fn ascending(by: SortKey) -> Self {
        Self { by, direction: SortDirection::Ascending }
    }

    /// The highest first.
    pub fn descending(by: SortKey) -> Self {
        Self { by, direction: SortDirection::Descending }
    }
}

/// Where the next page of results begins. It is valid for the query that it came from, with any limit.
///
/// Its text can be sent to a browser and back. It contains nothing secret and nothing about other owners.
///
/// ```
/// use alloquy_core::{ConversationManager, Manager, Preface, Query};
/// use alloquy_testing::EchoModel;
///
/// # pollster::block_on(async {
/// let manager = Manager::new(EchoModel);
/// for _ in 0..3 {
///     manager.create(Preface::default()).await?;
/// }
/// let mut query = Query::default().limit(2);
/// let mut sizes = Vec::new();
/// loop {
///     let page = manager.list(&query).await?;
///     sizes.push(page.conversations.len());
///     let Some(next) = page.next else { break };
///     query = query.after(next.to_string().parse()?);
/// }
/// assert_eq!(sizes, [2, 1]);
/// # Ok::<(), alloquy_core::Error>(())
/// # })?;
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct PageCursor {
    pub(super) sort: Sort,
    pub(super) place: Place,
}

/// The content of a cursor's text.
#[derive(Serialize, Deserialize)]
struct CursorForm<S, P> {
    sort: S,
    place: P,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Place {
    /// After a conversation.
    Conversation { key: Vec<u8>, id: ConversationId },
    /// Among the hits of a search that are not newer than `until`, which is a mark of the store, and after one of them.
    Hit { until: String, after: Option<Rank> },
}

/// The place of a hit in the order by relevance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Rank {
    pub(crate) score: f64,
    pub(crate) node: NodeId,
    pub(crate) conversation: ConversationId,
}

impl fmt::Display for PageCursor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let form = CursorForm { sort: &self.sort, place: &self.place };
        let json = serde_json::to_vec(&form).map_err(|_| fmt::Error)?;
        formatter.write_str(&URL_SAFE_NO_PAD.encode(json))
    }
}

impl FromStr for PageCursor {
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
