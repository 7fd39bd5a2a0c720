//! A passage: a part of a document that a retriever finds.

use alloquy_core::media::Digest;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The entry of a passage's metadata with the headings above it, such as `Storage > Search`.
///
/// [`Chunker`](crate::Chunker) sets it. Words and vectors of it find the passage too.
pub const HEADING: &str = "heading";

/// A part of a document that a retriever finds.
///
/// ```
/// use alloquy_retrieval::Passage;
///
/// let passage = Passage::new("tea.md#0", "Tea is grown in Assam.").source("tea.md").metadata("language", "en");
/// assert_eq!(passage.metadata["language"], "en");
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Passage {
    /// Its name. Two retrievers that find the same passage return the same name: their results are joined by it.
    pub id: String,
    /// Its text.
    pub text: String,
    /// The document that it is a part of, such as a path or an address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// How well it matches, on the scale of its retriever: higher is better.
    #[serde(default)]
    pub score: f64,
    /// What is known of it, for filters and for texts that quote it.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
}

impl Passage {
    /// Creates a passage with a score of 0.
    pub fn new(id: impl Into<String>, text: impl Into<String>) -> Self {
        Self { id: id.into(), text: text.into(), source: None, score: 0.0, metadata: Map::new() }
    }

    /// Sets the document that it is a part of.
    #[must_use]
    pub fn source(mut self, source: impl Into<String>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Sets how well it matches.
    #[must_use]
    pub fn score(mut self, score: f64) -> Self {
        self.score = score;
        self
    }

    /// Returns the headings above it: the text at [`HEADING`] of its metadata.
    ///
    /// ```
    /// use alloquy_retrieval::{HEADING, Passage};
    ///
    /// let passage = Passage::new("tea.md#0", "Tea is grown in Assam.").metadata(HEADING, "Tea > Origin");
    /// assert_eq!(passage.heading(), Some("Tea > Origin"));
    /// ```
    pub fn heading(&self) -> Option<&str> {
        self.metadata.get(HEADING).and_then(Value::as_str)
    }

    /// Returns its text with the headings above it, as words, vectors and rerankers read it.
    ///
    /// ```
    /// use alloquy_retrieval::{HEADING, Passage};
    ///
    /// let passage = Passage::new("tea.md#0", "It grows in Assam.").metadata(HEADING, "Tea > Origin");
    /// assert_eq!(passage.text_with_heading(), "Tea > Origin\n\nIt grows in Assam.");
    /// ```
    pub fn text_with_heading(&self) -> String {
        match self.heading() {
            Some(heading) => format!("{heading}\n\n{}", self.text),
            None => self.text.clone(),
        }
    }

    /// Sets an entry of its metadata.
    #[must_use]
    pub fn metadata(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.metadata.insert(name.into(), value.into());
        self
    }
}

/// What a retriever found.
///
/// [`Retriever`](crate::Retriever) has an example.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Found {
    /// The passages, the best first.
    pub passages: Vec<Passage>,
    /// The version of the index that was searched: [`Retriever::version`](crate::Retriever::version).
    pub version: Digest,
    /// The retrievers that failed while others answered, each with its error.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<FailedRetriever>,
}

impl Found {
    /// Creates the result of a search in which nothing failed.
    pub fn new(passages: Vec<Passage>, version: Digest) -> Self {
        Self { passages, version, failed: Vec::new() }
    }
}

/// A retriever that failed while others answered.
///
/// [`Found::failed`] lists them, and [`Retriever`](crate::Retriever) has an example.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedRetriever {
    /// Its name.
    pub name: String,
    /// What failed.
    pub error: String,
}
