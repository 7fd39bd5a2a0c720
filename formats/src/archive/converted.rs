//! What reading and writing a conversation give: the conversation or the text, and what is not in it as it stood.

use alloquy_core::store::Archive;

use super::loss::{Omission, Repair};

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
