//! Iterates over the conversations of a document, so that a large document is not held as trees. Finds where one JSON
//! document ends and the next begins; the formats read each.

use std::fmt;
use std::ops::Range;

use alloquy_core::{Error, ErrorKind, Result};
use serde::de::IgnoredAny;
use serde_json::Value;

use super::converted::ReadArchive;
use super::format::ArchiveFormat;
use super::limits::ArchiveLimits;
use super::{dataknobs, markdown, native, transcripts};
use crate::messages::MediaRules;

/// The conversations of a document, each read on demand. One that cannot be read is an error of its own.
///
/// ```
/// use alloquy_formats::archive::{ArchiveFormat, ArchiveLimits, Archives};
/// use alloquy_formats::messages::MediaRules;
///
/// let lines = "{\"messages\": [{\"role\": \"user\", \"content\": \"Hi\"}]}\n{\"messages\": 7}\n";
/// let rules = MediaRules::default();
/// let mut archives = Archives::of(ArchiveFormat::OpenAi, lines, ArchiveLimits::default(), &rules)?;
/// assert_eq!(archives.next().ok_or("no conversation")??.archive.nodes.len(), 1);
/// assert!(archives.next().is_some_and(|second| second.is_err()));
/// assert_eq!(archives.bytes_read(), lines.trim_end().len());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Archives<'a> {
    format: ArchiveFormat,
    text: &'a str,
    limits: ArchiveLimits,
    rules: &'a MediaRules<'a>,
    /// The bytes of each document.
    places: std::vec::IntoIter<Range<usize>>,
    /// How many documents were read, and up to which byte.
    read: usize,
    bytes_read: usize,
    /// The conversations of the document that was read last, which the caller has not taken yet.
    waiting: std::vec::IntoIter<Result<ReadArchive>>,
}

impl<'a> Archives<'a> {
    /// Starts to read a document. JSON is checked to its end before the first conversation is read.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for what is not a document of the format, or larger than `limits`.
    pub fn of(
        format: ArchiveFormat,
        text: &'a str,
        limits: ArchiveLimits,
        rules: &'a MediaRules<'a>,
    ) -> Result<Self> {
        limits.check_bytes(text.len())?;
        let places = match format {
            ArchiveFormat::Alloquy | ArchiveFormat::Dataknobs | ArchiveFormat::OpenAi => json_places(text)?,
            ArchiveFormat::ChatMl | ArchiveFormat::Markdown => {
                let whole = 0..text.len();
                vec![whole]
            }
        };
        Ok(Self {
            format,
            text,
            limits,
            rules,
            places: places.into_iter(),
            read: 0,
            bytes_read: 0,
            waiting: Vec::new().into_iter(),
        })
    }

    /// Returns how many bytes the document has.
    pub fn bytes(&self) -> usize {
        self.text.len()
    }

    /// Returns up to which byte the document was read.
    pub fn bytes_read(&self) -> usize {
        self.bytes_read
    }

    /// Reads the conversations of one document.
    fn document(&mut self, place: Range<usize>) -> Vec<Result<ReadArchive>> {
        self.bytes_read = place.end;
        let index = self.read;
        let text = self.text.get(place).unwrap_or_default();
        self.read += 1;
        match self.format {
            ArchiveFormat::ChatMl => vec![transcripts::read_chatml(text, &self.limits, self.rules)],
            ArchiveFormat::Markdown => vec![markdown::read(text, &self.limits)],
            ArchiveFormat::Alloquy => {
                vec![json(index, text).and_then(|document| native::read(document, &self.limits))]
            }
            ArchiveFormat::OpenAi => {
                vec![json(index, text).and_then(|document| {
                    transcripts::read_document(index, &document, &self.limits, self.rules)
                })]
            }
            ArchiveFormat::Dataknobs => match json(index, text) {
                Ok(document) => dataknobs::read(document, &self.limits),
                Err(error) => vec![Err(error)],
            },
        }
    }
}

impl Iterator for Archives<'_> {
    type Item = Result<ReadArchive>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(archive) = self.waiting.next() {
                return Some(archive);
            }
            let place = self.places.next()?;
            self.waiting = self.document(place).into_iter();
        }
    }
}

impl fmt::Debug for Archives<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { format, text, bytes_read, .. } = self;
        write!(formatter, "Archives({format}, {bytes_read} of {} bytes)", text.len())
    }
}

/// Finds the JSON documents of a text, one after the other, with or without line feeds between them.
fn json_places(text: &str) -> Result<Vec<Range<usize>>> {
    let mut places = Vec::new();
    let mut documents = serde_json::Deserializer::from_str(text).into_iter::<IgnoredAny>();
    loop {
        let start = documents.byte_offset();
        match documents.next() {
            None => return Ok(places),
            Some(Ok(_)) => places.push(start..documents.byte_offset()),
            Some(Err(source)) => {
                return Err(Error::new(ErrorKind::Invalid, "the document is not JSON").with_source(source));
            }
        }
    }
}

/// Parses one document. It is known to be JSON, but it may be nested too deep.
fn json(index: usize, text: &str) -> Result<Value> {
    serde_json::from_str(text).map_err(|source| {
        let message = format!("document {} cannot be read", index + 1);
        Error::new(ErrorKind::Invalid, message).with_source(source)
    })
}
