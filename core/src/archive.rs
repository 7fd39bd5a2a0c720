//! Whole conversations as documents: read, mended where that can be done, and written. Knows JSON and text; no file, no
//! network and no store.
//!
//! | format | name | reads | writes |
//! |---|---|---|---|
//! | [`ArchiveFormat::Alloquy`] | `alloquy` | everything that [`ArchiveFormat::Alloquy`] wrote, of any version | everything |
//! | [`ArchiveFormat::Dataknobs`] | `dataknobs` | states of schema 0.0 to 1.x, lists of them, databases of the file backend | states of schema 1.1.0 |
//! | [`ArchiveFormat::OpenAi`] | `openai` | a request or a list of messages per line, or one document | a request per line |
//! | [`ArchiveFormat::ChatMl`] | `chatml` | marked text | marked text |
//! | [`ArchiveFormat::Markdown`] | `markdown` | what it wrote, and any text with headings that are roles | headings and text |
//!
//! The first two hold trees; the others hold the path to the head, and what they leave out is said ([`Omission`]).
//! `docs/import-export.md` has the details.
//!
//! ```
//! use alloquy_core::archive::{self, ArchiveFormat, ArchiveLimits};
//!
//! let document = r#"{"conversation_id": "tea", "current_node_id": "0", "edges": [["", "0"]], "nodes": [
//!     {"node_id": "", "message": {"role": "user", "content": "Green or black?"}, "timestamp": "2024-05-06T07:08:09Z"},
//!     {"node_id": "0", "message": {"role": "assistant", "content": "Green."}, "timestamp": "2024-05-06T07:08:10Z"}]}"#;
//! let read = archive::read(ArchiveFormat::Dataknobs, document, &ArchiveLimits::default())?;
//! let tea = read.into_iter().next().ok_or("no conversation")??;
//! assert_eq!(tea.archive.nodes.len(), 2);
//! assert_eq!(tea.mended[0].to_string(), "the conversation has no time of creation: it is that of its first message");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod dataknobs;
mod documents;
mod loss;
mod markdown;
mod native;
mod transcripts;

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde_json::Value;

use crate::formats::MediaRules;
use crate::media::Digest;
use crate::store::ConversationRecord;
use crate::tree::{Node, Tree};
use crate::{Error, ErrorKind, Media, Message, Result};

pub use documents::Archives;
pub use loss::{Mending, Omission};

/// A conversation as a whole: what a store keeps of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Archive {
    /// The conversation, its head included. Its revision is 0: that is the store's own count.
    pub record: ConversationRecord,
    /// Every node, parents before children. Pruned ones are not among them.
    pub nodes: Vec<Node>,
    /// The bytes of the media that preface and nodes show.
    pub blobs: BTreeMap<Digest, Arc<[u8]>>,
}

impl Archive {
    /// Joins a conversation and its nodes; the blobs are the media whose bytes are loaded.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] for a missing parent or head, [`ErrorKind::Conflict`] for an id that two nodes share.
    pub fn new(record: ConversationRecord, nodes: Vec<Node>) -> Result<Self> {
        let record = ConversationRecord { revision: 0, ..record };
        let mut archive = Self { record, nodes, blobs: BTreeMap::new() };
        archive.tree()?.path(archive.record.head)?;
        let loaded = archive.media().filter_map(|media| Some((media.digest(), Arc::clone(media.bytes()?))));
        archive.blobs = loaded.collect();
        Ok(archive)
    }

    /// Refuses what would not be whole in a store: a path without a node, media without bytes.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] for a missing parent or head, [`ErrorKind::Conflict`] for an id that two nodes share, and
    /// [`ErrorKind::Invalid`] for media without bytes.
    pub fn must_be_whole(&self) -> Result<()> {
        self.tree()?.path(self.record.head)?;
        match self.media().map(Media::digest).find(|digest| !self.blobs.contains_key(digest)) {
            Some(digest) => {
                Err(Error::new(ErrorKind::Invalid, format!("the archive has no bytes for media {digest}")))
            }
            None => Ok(()),
        }
    }

    /// Returns the record as a store creates it, before it has nodes.
    pub fn new_record(&self) -> ConversationRecord {
        ConversationRecord { head: None, revision: 0, ..self.record.clone() }
    }

    /// Says whether what a store has is the beginning of this very conversation, which an import that was killed left: the
    /// same record without a head, and no other nodes.
    ///
    /// # Errors
    /// As [`Archive::tree`].
    pub fn is_begun(&self, record: &ConversationRecord, tree: &Tree) -> Result<bool> {
        let wanted = self.tree()?;
        let is_one_of_ours = |node: &Node| wanted.node(node.id).is_ok_and(|ours| ours == node);
        Ok(*record == self.new_record()
            && self.record.head.is_some()
            && tree.tombstones().next().is_none()
            && tree.nodes().all(is_one_of_ours))
    }

    /// Builds the tree of the nodes.
    ///
    /// # Errors
    /// As [`Tree::insert`].
    pub fn tree(&self) -> Result<Tree> {
        Tree::from_nodes(self.nodes.iter().cloned())
    }

    /// Returns whatever preface and nodes show, in order.
    pub fn media(&self) -> impl Iterator<Item = &Media> {
        let said = self.nodes.iter().map(|node| &node.message);
        self.record.preface.messages.iter().chain(said).flat_map(Message::media)
    }
}

/// How conversations are written down.
///
/// ```
/// use alloquy_core::archive::ArchiveFormat;
///
/// assert_eq!("dataknobs".parse::<ArchiveFormat>()?, ArchiveFormat::Dataknobs);
/// let error = "word".parse::<ArchiveFormat>().unwrap_err();
/// assert_eq!(error.to_string(), "unknown format \"word\", one of: alloquy, dataknobs, openai, chatml, markdown");
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ArchiveFormat {
    /// JSON that leaves nothing out; `docs/storage-format.md` describes it.
    Alloquy,
    /// The conversation states of dataknobs.
    Dataknobs,
    /// OpenAI's messages, a conversation per line.
    OpenAi,
    /// ChatML.
    ChatMl,
    /// Text to read.
    Markdown,
}

impl ArchiveFormat {
    /// Every format.
    pub const ALL: [Self; 5] = [Self::Alloquy, Self::Dataknobs, Self::OpenAi, Self::ChatMl, Self::Markdown];

    /// Returns the name, as a command line takes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Alloquy => "alloquy",
            Self::Dataknobs => "dataknobs",
            Self::OpenAi => "openai",
            Self::ChatMl => "chatml",
            Self::Markdown => "markdown",
        }
    }

    /// Guesses the format as [`of`](Self::of) does, and says why there is none.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for an empty document, for JSON that cannot be read, and for text that looks like no format.
    ///
    /// ```
    /// use alloquy_core::archive::ArchiveFormat;
    ///
    /// assert_eq!(ArchiveFormat::recognized("<|im_start|>user")?, ArchiveFormat::ChatMl);
    /// let error = ArchiveFormat::recognized(r#"{"messages": [}"#).unwrap_err();
    /// assert_eq!(error.to_string(), "the document begins like JSON and cannot be read as JSON");
    /// # Ok::<(), alloquy_core::Error>(())
    /// ```
    pub fn recognized(text: &str) -> Result<Self> {
        let start = text.trim_start();
        if start.is_empty() {
            return Err(Error::new(ErrorKind::Invalid, "the document is empty"));
        }
        if let Some(format) = Self::of(text) {
            return Ok(format);
        }
        let first = serde_json::Deserializer::from_str(start).into_iter::<Value>().next();
        match first {
            Some(Err(source)) if start.starts_with(['{', '[']) => {
                let message = "the document begins like JSON and cannot be read as JSON";
                Err(Error::new(ErrorKind::Invalid, message).with_source(source))
            }
            _ => {
                let known = Self::ALL.map(Self::as_str).join(", ");
                let message = format!("the document looks like no known format, which are: {known}");
                Err(Error::new(ErrorKind::Invalid, message))
            }
        }
    }

    /// Guesses the format from how a document looks; text without marks or headings is none.
    ///
    /// ```
    /// use alloquy_core::archive::ArchiveFormat;
    ///
    /// assert_eq!(ArchiveFormat::of(r#"{"messages": []}"#), Some(ArchiveFormat::OpenAi));
    /// assert_eq!(ArchiveFormat::of("Dear diary"), None);
    /// ```
    pub fn of(text: &str) -> Option<Self> {
        let start = text.trim_start();
        if start.starts_with("<|im_start|>") {
            return Some(Self::ChatMl);
        }
        if start.starts_with(['{', '[']) {
            let first = serde_json::Deserializer::from_str(start).into_iter::<Value>().next()?.ok()?;
            return Some(Self::of_json(&first));
        }
        markdown::has_heading(text).then_some(Self::Markdown)
    }

    fn of_json(document: &Value) -> Self {
        match document {
            Value::Object(fields) if fields.contains_key(native::MARK) => Self::Alloquy,
            document if dataknobs::is_one(document) => Self::Dataknobs,
            _ => Self::OpenAi,
        }
    }
}

impl fmt::Display for ArchiveFormat {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl FromStr for ArchiveFormat {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|format| format.as_str() == name).ok_or_else(|| {
            let known = Self::ALL.map(Self::as_str).join(", ");
            Error::new(ErrorKind::Invalid, format!("unknown format {name:?}, one of: {known}"))
        })
    }
}

/// How much is read or written at most. How deep a tree is does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArchiveLimits {
    /// The bytes of a document; 1 GiB unless set.
    pub bytes: usize,
    /// The nodes of a conversation; a million unless set.
    pub nodes: usize,
}

impl Default for ArchiveLimits {
    fn default() -> Self {
        Self { bytes: 1 << 30, nodes: 1_000_000 }
    }
}

impl ArchiveLimits {
    fn check_bytes(&self, bytes: usize) -> Result<()> {
        within("bytes", bytes, self.bytes)
    }

    fn check_nodes(&self, nodes: usize) -> Result<()> {
        within("nodes", nodes, self.nodes)
    }
}

fn within(what: &str, count: usize, limit: usize) -> Result<()> {
    match count > limit {
        true => {
            Err(Error::new(ErrorKind::Invalid, format!("{count} {what} are more than the limit of {limit}")))
        }
        false => Ok(()),
    }
}

/// A conversation that was read, and what had to be mended for that.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadArchive {
    /// The conversation.
    pub archive: Archive,
    /// What is not as it stood in the document; empty when all of it is.
    pub mended: Vec<Mending>,
}

/// A conversation as text, and what the format has no place for.
#[derive(Clone, Debug, PartialEq)]
pub struct WrittenArchive {
    /// The document, which ends with a line feed.
    pub text: String,
    /// What does not stand in it; empty when all does.
    pub omitted: Vec<Omission>,
}

/// Reads the conversations of a document. One that cannot be read is an error of its own, which names it.
///
/// Ids that a document lacks are derived from what it holds, so that reading it again gives the same conversation.
///
/// # Errors
/// [`ErrorKind::Invalid`] for what is not a document of the format, or larger than `limits`.
pub fn read(format: ArchiveFormat, text: &str, limits: &ArchiveLimits) -> Result<Vec<Result<ReadArchive>>> {
    read_with(format, text, limits, &MediaRules::default())
}

/// As [`read`], with rules for the media that a document has or names.
///
/// # Errors
/// As [`read`].
pub fn read_with(
    format: ArchiveFormat,
    text: &str,
    limits: &ArchiveLimits,
    rules: &MediaRules<'_>,
) -> Result<Vec<Result<ReadArchive>>> {
    Archives::of(format, text, *limits, rules).map(Iterator::collect)
}

/// Writes a conversation.
///
/// # Errors
/// [`ErrorKind::Unsupported`] for what the format cannot express and cannot leave out either, and
/// [`ErrorKind::Invalid`] for a document larger than `limits`.
pub fn write(format: ArchiveFormat, archive: &Archive, limits: &ArchiveLimits) -> Result<WrittenArchive> {
    let written = match format {
        ArchiveFormat::Alloquy => native::write(archive),
        ArchiveFormat::Dataknobs => dataknobs::write(archive, limits),
        ArchiveFormat::OpenAi => transcripts::write_line(archive),
        ArchiveFormat::ChatMl => transcripts::write_chatml(archive),
        ArchiveFormat::Markdown => markdown::write(archive),
    }?;
    limits.check_bytes(written.text.len())?;
    Ok(written)
}
