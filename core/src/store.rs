//! Where conversations are kept: append-only nodes, a head moved by compare-and-set.

mod memory;

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::SystemTime;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::media::{Digest, Media};
use crate::preface::Preface;
use crate::sampling::SamplingOptions;
use crate::tree::{Node, NodeId, Tree};
use crate::{Error, ErrorKind, Result};

pub use memory::MemoryStore;

/// The name of a conversation: 1 to 255 bytes, no control characters.
///
/// ```
/// use alloquy_core::ConversationId;
///
/// let id: ConversationId = "support/42".parse()?;
/// assert_eq!(id.as_str(), "support/42");
/// assert!("".parse::<ConversationId>().is_err());
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ConversationId(String);

impl ConversationId {
    /// Makes a new id, which sorts by the time it was made.
    #[allow(clippy::new_without_default)] // every call gives another value
    pub fn new() -> Self {
        Self(NodeId::new().to_string())
    }

    /// Returns the name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ConversationId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl FromStr for ConversationId {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        if name.is_empty() || name.len() > 255 || name.chars().any(char::is_control) {
            let message =
                format!("conversation id {name:?} is not 1 to 255 bytes without control characters");
            return Err(Error::new(ErrorKind::Invalid, message));
        }
        Ok(Self(name.to_owned()))
    }
}

impl TryFrom<String> for ConversationId {
    type Error = Error;

    fn try_from(name: String) -> Result<Self> {
        name.parse()
    }
}

impl From<ConversationId> for String {
    fn from(id: ConversationId) -> Self {
        id.0
    }
}

/// A stored conversation without its nodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
    /// Whatever the host wants to remember, such as a title.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
}

impl ConversationRecord {
    /// Describes a new conversation, created now.
    pub fn new(id: ConversationId, preface: Preface) -> Self {
        let created = milliseconds::whole(SystemTime::now());
        let sampling = SamplingOptions::default();
        Self { id, created, preface, sampling, head: None, metadata: Map::new() }
    }
}

/// A time is stored as milliseconds since 1970, like those in node ids.
mod milliseconds {
    use std::time::{Duration, SystemTime};

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    fn since_epoch(time: SystemTime) -> u64 {
        let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    }

    pub(super) fn whole(time: SystemTime) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_millis(since_epoch(time))
    }

    pub(super) fn serialize<S: Serializer>(time: &SystemTime, serializer: S) -> Result<S::Ok, S::Error> {
        since_epoch(*time).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SystemTime, D::Error> {
        let since = Duration::from_millis(u64::deserialize(deserializer)?);
        let time = SystemTime::UNIX_EPOCH.checked_add(since);
        time.ok_or_else(|| serde::de::Error::custom("a time beyond what this system can hold"))
    }
}

/// Which conversations to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query {
    /// At most this many; `None` is all.
    pub limit: Option<usize>,
    /// Leaves out this many first.
    pub offset: usize,
}

/// A line of a list of conversations.
#[derive(Clone, Debug, PartialEq)]
pub struct ConversationSummary {
    /// The conversation.
    pub record: ConversationRecord,
    /// How many nodes it has.
    pub nodes: usize,
    /// When the last node was made, or the conversation itself.
    pub updated: SystemTime,
}

/// Keeps conversations.
///
/// # Contract
/// This is the minimum that an implementation gives; conveniences are in [`ConversationStoreExt`].
///
/// * **Nothing acknowledged is lost**: once a call returned `Ok`, a new process sees what it wrote.
/// * **All or nothing**: a call that returns an error changed nothing, and so does one whose future is dropped
///   before it is done, or it changed everything.
/// * **Append-only**: a node never changes. Appending the same node again is `Ok` and changes nothing; the same id
///   with other content is [`ErrorKind::Conflict`].
/// * **Compare and set**: of several writers that move the head from the same place, one succeeds and the others
///   get [`ErrorKind::Conflict`].
/// * **Bytes written** for a turn do not grow with the tree.
/// * Media bytes are stored once, by digest, apart from messages: put the blobs before the node that needs them.
///
/// A conversation that is not there is [`ErrorKind::NotFound`]; failing disks and servers are
/// [`ErrorKind::Store`], and damaged data is [`ErrorKind::Corrupt`]. [`laws::store`](crate::laws::store) checks
/// all of it.
#[async_trait]
pub trait ConversationStore: Send + Sync + fmt::Debug + 'static {
    /// Creates a conversation without nodes.
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`] when the id is taken; [`ErrorKind::Invalid`] for a record whose head is set.
    async fn create(&self, record: &ConversationRecord) -> Result<()>;

    /// Appends nodes, parents before children, all or none.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] for a missing conversation or parent.
    async fn append(&self, id: &ConversationId, nodes: &[Node]) -> Result<()>;

    /// Moves the head from `from` to `to`.
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`] when the head is not at `from`; [`ErrorKind::NotFound`] for a node that is not there.
    async fn set_head(&self, id: &ConversationId, from: Option<NodeId>, to: Option<NodeId>) -> Result<()>;

    /// Reads a conversation without its nodes.
    async fn record(&self, id: &ConversationId) -> Result<ConversationRecord>;

    /// Reads a conversation and its whole tree.
    async fn load(&self, id: &ConversationId) -> Result<(ConversationRecord, Tree)>;

    /// Reads the nodes from the first message to `node`.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] for a missing conversation or node.
    async fn load_path(&self, id: &ConversationId, node: NodeId) -> Result<Vec<Node>>;

    /// Lists conversations, the last updated first.
    async fn list(&self, query: &Query) -> Result<Vec<ConversationSummary>>;

    /// Returns how many conversations there are.
    async fn count(&self) -> Result<usize>;

    /// Deletes a conversation with its nodes. Blobs stay: other conversations may share them.
    async fn delete(&self, id: &ConversationId) -> Result<()>;

    /// Stores media bytes and returns their digest; storing them again changes nothing.
    async fn put_blob(&self, bytes: &Arc<[u8]>) -> Result<Digest>;

    /// Reads media bytes, or `None` when there are none under this digest.
    ///
    /// # Errors
    /// [`ErrorKind::Corrupt`] when the bytes do not have the digest.
    async fn get_blob(&self, digest: Digest) -> Result<Option<Arc<[u8]>>>;
}

/// Conveniences over any [`ConversationStore`], also behind `dyn`.
#[async_trait]
pub trait ConversationStoreExt: ConversationStore {
    /// Says whether a conversation exists.
    ///
    /// # Errors
    /// Those of reading.
    async fn exists(&self, id: &ConversationId) -> Result<bool> {
        match self.record(id).await {
            Ok(_) => Ok(true),
            Err(error) if error.is_not_found() => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Stores the bytes of `media`.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] when its bytes are not loaded, and those of writing.
    async fn put_media(&self, media: &Media) -> Result<()> {
        let missing = || Error::new(ErrorKind::Invalid, format!("the bytes of {media:?} are not loaded"));
        self.put_blob(media.bytes().ok_or_else(missing)?).await.map(drop)
    }

    /// Returns `media` with its bytes.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] when the store has none, and those of reading.
    async fn get_media(&self, media: &Media) -> Result<Media> {
        let missing = || Error::new(ErrorKind::NotFound, format!("no bytes are stored for {media:?}"));
        let bytes = self.get_blob(media.digest()).await?.ok_or_else(missing)?;
        media.clone().with_bytes(bytes)
    }
}

impl<S: ConversationStore + ?Sized> ConversationStoreExt for S {}
