//! A note: a short text that is remembered, and where it was said.

use alloquy_core::{ConversationId, Error, ErrorKind, NodeId, Result};
use serde::{Deserialize, Serialize};

/// A short text that is remembered, such as "Ann is allergic to nuts.", and where it was said.
///
/// ```
/// use alloquy_core::NodeId;
/// use alloquy_memory::{Note, NoteSource};
///
/// let source = NoteSource::new("letters".parse()?, NodeId::new());
/// let note = Note::new("Ann lives in Oslo.").source(source.clone());
/// assert_eq!((note.text.as_str(), note.source), ("Ann lives in Oslo.", Some(source)));
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Note {
    /// The text.
    pub text: String,
    /// Where it was said, so that a reader can check it; `None` for a note that no conversation led to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<NoteSource>,
    /// The note that this one replaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaces: Option<NodeId>,
}

/// The message that a note comes from.
///
/// [`Note::source`] has an example.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct NoteSource {
    /// The conversation.
    pub conversation: ConversationId,
    /// The node of the message.
    pub node: NodeId,
}

/// A note with its id.
///
/// [`Notes::list`](crate::Notes::list) returns them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredNote {
    /// Its id. Ids sort by the time at which their notes were stored.
    pub id: NodeId,
    /// The note.
    #[serde(flatten)]
    pub note: Note,
}

impl Note {
    /// The largest number of characters of a note. A longer text is a document.
    pub const LONGEST: usize = 4000;

    /// Creates a note without a source.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), source: None, replaces: None }
    }

    /// Sets where it was said.
    ///
    /// ```
    /// use alloquy_core::NodeId;
    /// use alloquy_memory::{Note, NoteSource};
    ///
    /// let node = NodeId::new();
    /// let note = Note::new("Ann drinks tea.").source(NoteSource::new("letters".parse()?, node));
    /// assert_eq!(note.source.map(|source| source.node), Some(node));
    /// # Ok::<(), alloquy_core::Error>(())
    /// ```
    #[must_use]
    pub fn source(mut self, source: NoteSource) -> Self {
        self.source = Some(source);
        self
    }

    /// Sets the note that this one replaces.
    #[must_use]
    pub fn replacing(mut self, note: NodeId) -> Self {
        self.replaces = Some(note);
        self
    }

    /// Checks that it can be stored.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for a text without a visible character, and for one of more than [`Note::LONGEST`] characters.
    ///
    /// ```
    /// use alloquy_memory::Note;
    ///
    /// assert!(Note::new(" \n").must_be_valid().is_err());
    /// assert!(Note::new("a".repeat(5000)).must_be_valid().is_err());
    /// ```
    pub fn must_be_valid(&self) -> Result<()> {
        if self.text.trim().is_empty() {
            let message = format!("note {:?} is empty: write a sentence, or forget the note", self.text);
            return Err(Error::new(ErrorKind::Invalid, message));
        }
        let length = self.text.chars().count();
        if length > Self::LONGEST {
            let message = format!(
                "note {:?} has {length} characters, and at most {} are allowed: split it into several notes",
                self.text,
                Self::LONGEST
            );
            return Err(Error::new(ErrorKind::Invalid, message));
        }
        Ok(())
    }
}

impl NoteSource {
    /// Creates the source of a note.
    pub fn new(conversation: ConversationId, node: NodeId) -> Self {
        Self { conversation, node }
    }
}

impl StoredNote {
    /// Creates a note with its id.
    pub fn new(id: NodeId, note: Note) -> Self {
        Self { id, note }
    }
}
