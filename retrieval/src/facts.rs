//! What a node remembers of the passages in its message.

use std::collections::BTreeMap;

use alloquy_core::media::Digest;
use alloquy_core::{Error, ErrorKind, NodeId, Result};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::Passage;

/// The entry of a node's metadata that says which passages its message shows: an object of [`RetrievalFacts`] by placeholder.
///
/// [`RetrievalFacts`] has an example.
pub const RETRIEVAL_KEY: &str = "retrieval";

/// How the passages at a placeholder of a message were found.
///
/// ```
/// use alloquy_core::{Message, Node};
/// use alloquy_retrieval::{RETRIEVAL_KEY, RetrievalFacts, RetrievalOutcome};
/// use serde_json::json;
///
/// let mut node = Node::new(None, Message::user("…"));
/// node.metadata.insert(
///     RETRIEVAL_KEY.into(),
///     json!({"DOCS": {
///         "retriever": "docs", "query": "tea", "limit": 2, "at": 1_700_000_000_000_u64,
///         "key": "00".repeat(32), "outcome": {"found": [{"id": "tea.md#0", "text": "Tea grows in Assam."}]},
///     }}),
/// );
/// let facts = RetrievalFacts::of(&node.metadata)?;
/// assert_eq!(facts["DOCS"].passages().unwrap()[0].id, "tea.md#0");
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RetrievalFacts {
    /// The retriever.
    pub retriever: String,
    /// The query, filled in.
    pub query: String,
    /// The variables of the query that have no value. The query has `{{name}}` instead.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// The largest number of passages.
    pub limit: usize,
    /// The values that entries of the metadata had to have.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub filters: Map<String, Value>,
    /// The template of the text before the passages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header: Option<String>,
    /// The template of a passage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<String>,
    /// The [key](crate::lookup_key) of the lookup; absent if the version of the index is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<Digest>,
    /// When the passages were found, in milliseconds since 1970.
    pub at: u64,
    /// What was found.
    pub outcome: RetrievalOutcome,
    /// The retrievers that failed while others answered, by name, each with its error.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub failed: BTreeMap<String, String>,
}

/// What a retrieval found.
///
/// [`RetrievalFacts`] has an example.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RetrievalOutcome {
    /// These passages.
    Found(Vec<Passage>),
    /// These passages, whose texts are too long to be stored twice: the message has them.
    Names(Vec<PassageName>),
    /// The passages of another node of this conversation, which had the same key.
    As(NodeId),
    /// It failed, and the message has no passages.
    Failed(String),
}

/// The longest headings that are stored with a reply or a message.
const HEADING_BYTES: usize = 1000;

/// A passage without its text.
///
/// [`RetrievalOutcome::Names`] has them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PassageName {
    /// Its name.
    pub id: String,
    /// The document that it is a part of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The [headings](Passage::heading) above it, unless they are longer than 1000 bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heading: Option<String>,
    /// The digest of its text.
    pub digest: Digest,
}

impl PassageName {
    /// Returns what names a passage, and the digest of its text.
    ///
    /// ```
    /// use alloquy_core::media::Digest;
    /// use alloquy_retrieval::{Passage, PassageName};
    ///
    /// let name = PassageName::of(&Passage::new("tea.md#0", "Tea."));
    /// assert_eq!((name.id.as_str(), name.digest), ("tea.md#0", Digest::of(b"Tea.")));
    /// ```
    pub fn of(passage: &Passage) -> Self {
        Self {
            id: passage.id.clone(),
            source: passage.source.clone(),
            heading: passage.heading().filter(|heading| heading.len() <= HEADING_BYTES).map(str::to_owned),
            digest: Digest::of(passage.text.as_bytes()),
        }
    }
}

impl RetrievalFacts {
    /// Reads the facts of a node's metadata, by placeholder.
    ///
    /// # Errors
    /// [`ErrorKind::Corrupt`] for an entry that is not made of facts.
    pub fn of(metadata: &Map<String, Value>) -> Result<BTreeMap<String, Self>> {
        match metadata.get(RETRIEVAL_KEY) {
            None => Ok(BTreeMap::new()),
            Some(facts) => BTreeMap::deserialize(facts).map_err(|source| {
                let message = format!("metadata {RETRIEVAL_KEY:?} are no facts of retrievals: {source}");
                Error::new(ErrorKind::Corrupt, message).with_source(source)
            }),
        }
    }

    /// Returns the passages, if this node stores them.
    pub fn passages(&self) -> Option<&[Passage]> {
        match &self.outcome {
            RetrievalOutcome::Found(passages) => Some(passages),
            _ => None,
        }
    }
}
