//! A stored conversation without its nodes, and a line of a list of them.

use std::collections::BTreeSet;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::name::{ConversationId, Owner};
use crate::clock;
use crate::media::Digest;
use crate::message::Message;
use crate::preface::Preface;
use crate::query::Cursor;
use crate::sampling::SamplingOptions;
use crate::tree::NodeId;
use crate::{Error, ErrorKind, Result};

/// A stored conversation without its nodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ConversationRecord {
    /// Its name.
    pub id: ConversationId,
    /// When it was created, to the millisecond.
    #[serde(with = "milliseconds")]
    pub created: SystemTime,
    /// What stands before the first message.
    #[serde(default)]
    pub preface: Preface,
    /// How its replies are sampled unless a call says otherwise.
    #[serde(default, skip_serializing_if = "SamplingOptions::is_empty")]
    pub sampling: SamplingOptions,
    /// Where the conversation stands; `None` is before the first message.
    #[serde(default)]
    pub head: Option<NodeId>,
    /// Whatever the host wants to remember, such as a title. Queries filter by it.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
    /// How often the metadata was replaced: whoever replaces it says which one was read.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub revision: u64,
}

impl ConversationRecord {
    /// Describes a new conversation, created now.
    pub fn new(id: ConversationId, preface: Preface) -> Self {
        let created = milliseconds::whole(clock::now());
        let sampling = SamplingOptions::default();
        Self { id, created, preface, sampling, head: None, metadata: Map::new(), revision: 0 }
    }

    /// Makes sure that a store may create this conversation for an owner.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for one that has a head, or whose metadata was replaced: it is not new. For a name of it or of its
    /// owner that is not [visible](ConversationId::must_be_visible), too.
    pub fn must_be_new(&self, owner: &Owner) -> Result<()> {
        owner.must_be_visible()?;
        self.id.must_be_visible()?;
        let reason = match (self.head, self.revision) {
            (Some(_), _) => "has a head but no nodes",
            (None, 1..) => "has a revision",
            (None, 0) => return Ok(()),
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

/// A line of a list of conversations.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ConversationSummary {
    /// The conversation.
    pub record: ConversationRecord,
    /// How many nodes it has; pruned ones do not count.
    pub nodes: usize,
    /// When the last node was made, or the conversation itself. Pruning, the head and metadata do not count.
    pub updated: SystemTime,
}

impl ConversationSummary {
    /// Describes a conversation in a line.
    pub fn new(record: ConversationRecord, nodes: usize, updated: SystemTime) -> Self {
        Self { record, nodes, updated }
    }
}

/// One page of a list of conversations.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ConversationPage {
    /// The conversations in the order that was asked for.
    pub conversations: Vec<ConversationSummary>,
    /// Where the next page begins; `None` after the last one.
    pub next: Option<Cursor>,
    /// Conversations that could not be read and so could not be compared with the query.
    pub damaged: Vec<DamagedConversation>,
}

/// A conversation whose data is damaged; it can still be deleted by its name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct DamagedConversation {
    /// Its name, or where that cannot be read the place where it is stored.
    pub name: String,
    /// What is wrong with it.
    pub reason: String,
}

impl DamagedConversation {
    /// Names a conversation whose data is damaged.
    pub fn new(name: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { name: name.into(), reason: reason.into() }
    }
}

/// A time is stored as milliseconds since 1970, like those in node ids.
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
        time.ok_or_else(|| serde::de::Error::custom("a time beyond what this system can hold"))
    }
}
