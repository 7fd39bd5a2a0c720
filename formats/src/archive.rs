//! Whole conversations as documents: read, repaired where that can be done, and written. Knows JSON and text; no file, no
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
//! use alloquy_formats::archive::{self, ArchiveFormat, ArchiveLimits};
//!
//! let document = r#"{"conversation_id": "tea", "current_node_id": "0", "edges": [["", "0"]], "nodes": [
//!     {"node_id": "", "message": {"role": "user", "content": "Green or black?"}, "timestamp": "2024-05-06T07:08:09Z"},
//!     {"node_id": "0", "message": {"role": "assistant", "content": "Green."}, "timestamp": "2024-05-06T07:08:10Z"}]}"#;
//! let read = archive::read(ArchiveFormat::Dataknobs, document, &ArchiveLimits::default())?;
//! let tea = read.into_iter().next().ok_or("no conversation")??;
//! assert_eq!(tea.archive.nodes.len(), 2);
//! assert_eq!(tea.repairs[0].to_string(), "the conversation has no time of creation: it is that of its first message");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod dataknobs;
mod documents;
mod loss;
mod markdown;
mod native;
mod transcripts;

use std::fmt;
use std::str::FromStr;
use std::time::{SystemTime, UNIX_EPOCH};

use alloquy_core::{Archive, ConversationId, Digest, Error, ErrorKind, Result};
use serde_json::Value;

use crate::messages::MediaRules;

pub use documents::Archives;
pub use loss::{Omission, Repair};

/// How conversations are written down.
///
/// ```
/// use alloquy_formats::archive::ArchiveFormat;
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
    /// use alloquy_formats::archive::ArchiveFormat;
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
    /// use alloquy_formats::archive::ArchiveFormat;
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

/// A conversation that was read, and what had to be repaired for that.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadArchive {
    /// The conversation.
    pub archive: Archive,
    /// What is not as it stood in the document; empty when all of it is.
    pub repairs: Vec<Repair>,
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

/// What a conversation is called whose document has no name that it could have: the same text gives the same name.
fn name_of(text: &[u8]) -> Result<ConversationId> {
    let digest = Digest::of(text).to_string();
    format!("import-{}", digest.get(..16).unwrap_or(&digest)).parse()
}

/// A time as stores and documents have it: milliseconds since 1970, 0 before.
fn milliseconds(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
