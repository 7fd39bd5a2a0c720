//! A stored conversation without its nodes, and lists of conversations.

use std::collections::BTreeSet;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::name::{ConversationId, Owner};
use crate::clock;
use crate::media::Digest;
use crate::message::Message;
use crate::preface::Preface;
use crate::query::PageCursor;
use crate::sampling::SamplingOptions;
use crate::tree::NodeId;
use crate::{Error, ErrorKind, Result};

/// A stored conversation without its nodes.
///
/// A store, such as [`MemoryStore`](crate::store::MemoryStore), creates a conversation from it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ConversationRecord {
    /// Its name.
    pub id: ConversationId,
    /// When it was created, to the millisecond.
    #[serde(with = "milliseconds")]
    pub created: SystemTime,
    /// What precedes the first message.
    #[serde(default)]
    pub preface: Preface,
    /// How its replies are sampled; a call may override it.
    #[serde(default, skip_serializing_if = "SamplingOptions::is_empty")]
    pub sampling: SamplingOptions,
    /// The node that the next message follows; `None` is before the first message.
    #[serde(default)]
    pub head: Option<NodeId>,
    /// The host's metadata, such as a title. Queries filter by it.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
    /// How often the metadata was replaced. A writer passes the revision that it has read.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub revision: u64,
}

impl ConversationRecord {
    /// Creates the record of a new conversation.
    pub fn new(id: ConversationId, preface: Preface) -> Self {
        let created = milliseconds::whole(clock::now());
        let sampling = SamplingOptions::default();
        Self { id, created, preface, sampling, head: None, metadata: Map::new(), revision: 0 }
    }

    /// Checks that a store may create this conversation for an owner.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for a record with a head or a revision, which is not new, and for a name of it or of its
    /// owner that is not [visible](ConversationId::must_be_visible).
    pub fn must_be_new(&self, owner: &Owner) -> Result<()> {
        owner.must_be_visible()?;
        self.id.must_be_visible()?;
        let reason = if self.head.is_some() {
            "has a head but no nodes"
        } else if self.revision > 0 {
            "has a revision"
        } else {
            return Ok(());
        };
        let message = format!("new conversation {:?} {reason}", self.id.as_str());
        Err(Error::new(ErrorKind::Invalid, message))
    }

    /// Returns the digests of the media in the preface.
    pub fn media(&self) -> BTreeSet<Digest> {
        self.preface.messages.iter().flat_map(Message::media).map(crate::Media::digest).collect()
    }
}

fn is_zero(revision: &u64) -> bool {
    *revision == 0
}

/// A conversation in a list.
///
/// [`Conversation::summary`](crate::Conversation::summary) returns that of one [conversation](crate::Conversation).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ConversationSummary {
    /// The conversation.
    pub record: ConversationRecord,
    /// How many nodes it has, without pruned ones.
    pub nodes: usize,
    /// When the last node, or else the conversation, was created. Pruning and changes of the head or the metadata do
    /// not count.
    pub updated: SystemTime,
}

impl ConversationSummary {
    /// Creates the summary of a conversation.
    pub fn new(record: ConversationRecord, nodes: usize, updated: SystemTime) -> Self {
        Self { record, nodes, updated }
    }
}

/// One page of a list of conversations.
///
/// Its [`PageCursor`] continues the list.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ConversationPage {
    /// The conversations in the requested order.
    pub conversations: Vec<ConversationSummary>,
    /// Where the next page begins; `None` after the last one.
    pub next: Option<PageCursor>,
    /// Conversations that could not be read, and so could not be compared with the query.
    pub damaged: Vec<DamagedConversation>,
}

/// A conversation whose data is damaged; it can still be deleted by its name.
///
/// ```
/// use alloquy_core::store::{ConversationPage, DamagedConversation};
///
/// // A store reports it beside the conversations that it can read.
/// let mut page = ConversationPage::default();
/// page.damaged.push(DamagedConversation::new("tea", "line 7 is not JSON"));
/// assert_eq!(serde_json::to_value(&page)?["damaged"][0]["name"], "tea");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct DamagedConversation {
    /// Its name, or the place where it is stored if the name cannot be read.
    pub name: String,
    /// What is wrong with it.
    pub reason: String,
}

impl DamagedConversation {
    /// Creates the report of a damaged conversation.
    pub fn new(name: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { name: name.into(), reason: reason.into() }
    }
}

/// Stores times as milliseconds since 1970, like those in node ids.
pub(crate) mod milliseconds {
    use std::time::{Duration, SystemTime};

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(crate) fn since_epoch(time: SystemTime) -> u64 {
        let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    }

    pub(crate) fn whole(time: SystemTime) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_millis(since_epoch(time))
    }

    pub(crate) fn serialize<S: Serializer>(time: &SystemTime, serializer: S) -> Result<S::Ok, S::Error> {
        since_epoch(*time).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SystemTime, D::Error> {
        let since = Duration::from_millis(u64::deserialize(deserializer)?);
        let time = SystemTime::UNIX_EPOCH.checked_add(since);
        time.ok_or_else(|| serde::de::Error::custom("a time beyond the range of this system"))
    }
}
