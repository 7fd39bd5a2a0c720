//! Whether blocks of thinking are one text.

/// Whether a match may continue in the next block of thinking, or of a channel.
///
/// [`RedactReplies::blocks`](super::RedactReplies::blocks) sets it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Blocks {
    /// It may. The text after a block of thinking waits if the block ends with what may be the beginning of a match, such as a word
    /// that may begin an e-mail address.
    #[default]
    Joined,
    /// Each block is a text of its own. The text after it never waits, and a match that two blocks share is not found.
    Separate,
}
