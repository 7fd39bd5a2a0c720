//! What reading and writing a conversation return: the conversation or the text, and what was changed or left out.

use alloquy_core::store::Archive;

use super::loss::{Omission, Repair};

/// A conversation that was read, and what had to be repaired for that.
///
/// [`read_with`](super::read_with) has an example.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadArchive {
    /// The conversation.
    pub archive: Archive,
    /// What is not as in the document; empty when all of it is.
    pub repairs: Vec<Repair>,
}

/// A conversation as text, and what the format has no place for.
///
/// [`write`](super::write()) has an example.
#[derive(Clone, Debug, PartialEq)]
pub struct WrittenArchive {
    /// The document, which ends with a line feed.
    pub text: String,
    /// What is not in it; empty when everything is.
    pub omitted: Vec<Omission>,
}
