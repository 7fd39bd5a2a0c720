//! Cuts documents into chunks.

mod count;
mod pack;
mod units;

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use alloquy_core::media::Digest;
use alloquy_core::{Error, ErrorKind, Result};

use self::count::{Count, count_words};
use crate::passage::HEADING;
use crate::{Document, Heading, Passage};

/// Cuts documents into chunks of a limited number of tokens.
///
/// A chunk ends at the best place in its last two thirds: before a heading, else after a paragraph, a line, a sentence, a word; never inside of
/// what a reader sees as one character. A chunk begins with the last tokens of the one before it, if that has the same heading, so that a
/// sentence at the border is found with its surroundings. Without these overlaps the chunks join to the text of the document.
///
/// ```
/// use alloquy_retrieval::{Chunker, Document};
///
/// let document = Document::markdown("tea.md", "# Tea\n\nTea is a drink.\n\n## Green\n\nIt is not fermented.\n");
/// let passages = Chunker::default().passages(&document);
/// assert_eq!(passages.len(), 2);
/// assert_eq!(passages[1].metadata["heading"], "Tea > Green");
/// assert_eq!(passages[1].text, "## Green\n\nIt is not fermented.");
/// ```
#[derive(Clone)]
pub struct Chunker {
    limit: usize,
    overlap: usize,
    counter: String,
    count: Arc<Count>,
}

/// A part of a document's text.
///
/// [`Chunker::chunks`] has an example.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Chunk {
    /// Its bytes in the text of the document.
    pub range: Range<usize>,
    /// How many of its first bytes are also the end of the chunk before it.
    pub overlap: usize,
    /// The headings above it, such as `Storage > Search`.
    pub heading: Option<String>,
}

impl Chunker {
    /// How many tokens a chunk has at most.
    pub const LIMIT: usize = 200;
    /// How many tokens of a chunk are repeated in the next one.
    pub const OVERLAP: usize = 30;

    /// Creates a chunker for chunks of at most `limit` tokens, of which at most `overlap` repeat the chunk before. A single character of
    /// more tokens is a chunk nevertheless.
    ///
    /// Tokens are words and punctuation marks, until [`Chunker::counter`] sets others.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for a limit of 0, or an overlap of more than half of the limit.
    pub fn new(limit: usize, overlap: usize) -> Result<Self> {
        if limit == 0 || overlap > limit / 2 {
            let message = format!(
                "chunks of {limit} tokens with an overlap of {overlap} are not possible: choose a limit from 1 on, and an overlap of at \
                 most half of it"
            );
            return Err(Error::new(ErrorKind::Invalid, message));
        }
        Ok(Self { limit, overlap, counter: "words".to_owned(), count: Arc::new(count_words) })
    }

    /// Sets what counts tokens, such as the tokenizer of an embedder. Indexes with counters of two names are two versions, so a name
    /// includes what changes the count, such as a digest of the tokenizer.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use alloquy_retrieval::Chunker;
    ///
    /// let chunker = Chunker::default().counter("characters", Arc::new(|text: &str| text.chars().count()));
    /// assert_eq!(chunker.settings().1, "characters");
    /// ```
    #[must_use]
    pub fn counter(
        mut self,
        name: impl Into<String>,
        count: Arc<dyn Fn(&str) -> usize + Send + Sync>,
    ) -> Self {
        self.counter = name.into();
        self.count = count;
        self
    }

    /// Returns the limit and the overlap, and the name of the counter.
    pub fn settings(&self) -> ((usize, usize), &str) {
        ((self.limit, self.overlap), &self.counter)
    }

    /// Cuts a document. The time grows with its length alone.
    ///
    /// ```
    /// use alloquy_retrieval::{Chunker, Document};
    ///
    /// let document = Document::text("tea.txt", "Tea is a drink. It has many kinds. One of them is green.");
    /// let chunks = Chunker::new(10, 5)?.chunks(&document);
    /// let mut text = String::new();
    /// for chunk in &chunks {
    ///     text += &document.content()[chunk.range.start + chunk.overlap..chunk.range.end];
    /// }
    /// assert!(chunks.len() > 1);
    /// assert_eq!(text, document.content());
    /// # Ok::<(), alloquy_core::Error>(())
    /// ```
    pub fn chunks(&self, document: &Document) -> Vec<Chunk> {
        let units = units::units(document, self.limit, &*self.count);
        let mut units = units.as_slice();
        let mut chunks = Vec::new();
        for (end, heading) in sections(document) {
            let number = units.partition_point(|unit| unit.end <= end);
            let Some((section, rest)) = units.split_at_checked(number) else { break };
            units = rest;
            let start = chunks.last().map_or(0, |chunk: &Chunk| chunk.range.end);
            let packed =
                pack::pack(document.content(), start, section, self.limit, self.overlap, &*self.count);
            chunks.extend(packed.into_iter().map(|(range, overlap)| Chunk {
                range,
                overlap,
                heading: heading.clone(),
            }));
        }
        chunks
    }

    /// Cuts a document into passages. Chunks without text are left out, and so is the white space around a text.
    ///
    /// The id of a passage is a digest of its source, headings and text, so it stays the same when another part of the document changes.
    pub fn passages(&self, document: &Document) -> Vec<Passage> {
        let mut passages = Vec::new();
        let mut occurrences: HashMap<Digest, usize> = HashMap::new();
        for chunk in self.chunks(document) {
            let text = document.content().get(chunk.range).unwrap_or_default().trim();
            if text.is_empty() {
                continue;
            }
            // Texts always serialize.
            let fields = serde_json::to_vec(&(document.source(), &chunk.heading, text)).unwrap_or_default();
            let digest = Digest::of(&fields);
            let occurrence = occurrences.entry(digest).or_insert(0);
            *occurrence += 1;
            let mut passage = Passage::new(id(digest, *occurrence), text).source(document.source());
            passage.metadata = document.entries().clone();
            if let Some(heading) = chunk.heading {
                passage = passage.metadata(HEADING, heading);
            }
            passages.push(passage);
        }
        passages
    }
}

/// Returns the id of a passage: the first half of the digest, and a number if the same text was there before.
fn id(digest: Digest, occurrence: usize) -> String {
    let digest = digest.to_string();
    let half = digest.get(..32).unwrap_or(&digest);
    if occurrence == 1 { half.to_owned() } else { format!("{half}-{occurrence}") }
}

impl Default for Chunker {
    /// Creates a chunker with [`Chunker::LIMIT`] and [`Chunker::OVERLAP`].
    fn default() -> Self {
        Self {
            limit: Self::LIMIT,
            overlap: Self::OVERLAP,
            counter: "words".to_owned(),
            count: Arc::new(count_words),
        }
    }
}

impl fmt::Debug for Chunker {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = formatter.debug_struct("Chunker");
        debug.field("limit", &self.limit).field("overlap", &self.overlap).field("counter", &self.counter);
        debug.finish()
    }
}

/// Returns the ends of the sections of a document, each with its headings. A section without text, which has only its heading, is a part of
/// the next one.
fn sections(document: &Document) -> Vec<(usize, Option<String>)> {
    let text = document.content();
    let mut sections = Vec::new();
    let mut path: Vec<&Heading> = Vec::new();
    let mut start = 0;
    let mut is_empty = true;
    for heading in document.headings() {
        let before = text.get(start..heading.at).unwrap_or_default();
        let lines = before.lines().filter(|line| !line.trim().is_empty()).count();
        // The first line of a section is its heading, except before the first heading.
        let own = usize::from(!path.is_empty());
        is_empty = is_empty && lines <= own;
        if !is_empty {
            sections.push((heading.at, joined(&path)));
            is_empty = true;
        }
        path.retain(|above| above.level < heading.level);
        path.push(heading);
        start = heading.at;
    }
    sections.push((text.len(), joined(&path)));
    sections
}

fn joined(path: &[&Heading]) -> Option<String> {
    let titles: Vec<&str> = path.iter().map(|heading| heading.title.as_str()).collect();
    if titles.is_empty() { None } else { Some(titles.join(" > ")) }
}
