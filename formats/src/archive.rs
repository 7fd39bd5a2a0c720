//! Whole conversations as documents: read, repaired where possible, written, and imported into a store. Knows JSON and
//! text; no file and no network.
//!
//! | format | name | reads | writes |
//! |---|---|---|---|
//! | [`ArchiveFormat::Alloquy`] | `alloquy` | everything that [`ArchiveFormat::Alloquy`] wrote, of any version | everything |
//! | [`ArchiveFormat::Dataknobs`] | `dataknobs` | states of schema 0.0 to 1.x, lists of them, databases of the file backend | states of schema 1.1.0 |
//! | [`ArchiveFormat::OpenAi`] | `openai` | a request or a list of messages per line, or one document | a request per line |
//! | [`ArchiveFormat::ChatMl`] | `chatml` | marked text | marked text |
//! | [`ArchiveFormat::Markdown`] | `markdown` | what it wrote, and any text with headings that are roles | headings and text |
//!
//! The first two hold trees. The others hold the path to the head and report what they leave out ([`Omission`]).
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

mod converted;
mod dataknobs;
mod derived;
mod documents;
mod format;
mod import;
mod limits;
mod loss;
mod markdown;
mod native;
mod transcripts;

use alloquy_core::Result;
use alloquy_core::store::Archive;

use crate::messages::MediaRules;

pub use converted::{ReadArchive, WrittenArchive};
pub use documents::Archives;
pub use format::ArchiveFormat;
pub use import::{ArchiveSource, Imported, import_all, import_some};
pub use limits::ArchiveLimits;
pub use loss::{Omission, Repair};

/// Reads the conversations of a document. One that cannot be read is an error of its own, which names it.
///
/// Missing ids are derived from the document, so that reading it again gives the same conversation.
///
/// # Errors
/// [`ErrorKind::Invalid`](alloquy_core::ErrorKind) for what is not a document of the format, or larger than `limits`.
pub fn read(format: ArchiveFormat, text: &str, limits: &ArchiveLimits) -> Result<Vec<Result<ReadArchive>>> {
    read_with(format, text, limits, &MediaRules::default())
}

/// As [`read`], with rules for the media in a document and the media that it names.
///
/// ```
/// use alloquy_core::media::MediaKind;
/// use alloquy_core::{Media, Result};
/// use alloquy_formats::archive::{self, ArchiveFormat, ArchiveLimits};
/// use alloquy_formats::messages::{MediaReference, MediaRules};
///
/// let document = r#"{"messages": [{"role": "user", "content": [
///     {"type": "image_url", "image_url": {"url": "cat.png"}}]}]}"#;
/// let fetch = |_: MediaKind, _: MediaReference<'_>| -> Result<Media> {
///     Ok(Media::new("image/png", b"what the host read".to_vec()))
/// };
/// let rules = MediaRules { source: &fetch, ..MediaRules::default() };
/// let read = archive::read_with(ArchiveFormat::OpenAi, document, &ArchiveLimits::default(), &rules)?;
/// let cat = read.into_iter().next().ok_or("no conversation")??;
/// assert!(cat.repairs.is_empty());
/// assert_eq!(cat.archive.blobs.len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
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

/// Writes a conversation; [`WrittenArchive::omitted`] is what the format has no place for.
///
/// ```
/// use alloquy_core::store::{Archive, ConversationRecord};
/// use alloquy_core::{Message, Node, Preface};
/// use alloquy_formats::archive::{self, ArchiveFormat, ArchiveLimits};
///
/// let question = Node::new(None, Message::user("Green or black?"));
/// let mut record = ConversationRecord::new("tea".parse()?, Preface::default());
/// record.head = Some(question.id);
/// let tea = Archive::new(record, vec![question])?;
/// let written = archive::write(ArchiveFormat::Markdown, &tea, &ArchiveLimits::default())?;
/// assert_eq!(written.text, "## User\n\nGreen or black?\n\n");
/// assert!(written.omitted.is_empty());
/// # Ok::<(), alloquy_core::Error>(())
/// ```
///
/// # Errors
/// [`ErrorKind::Unsupported`](alloquy_core::ErrorKind) for what the format cannot express and cannot leave out either, and
/// [`ErrorKind::Invalid`](alloquy_core::ErrorKind) for a document larger than `limits`.
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
