//! The parts of a prompt.

/// The kind of a part of a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PartKind {
    /// The texts of the prefix tokens and BOS.
    Front,
    /// The system text.
    System,
    /// A message of the user.
    User,
    /// A message of the assistant.
    Assistant,
    /// A message of another role, such as a tool.
    Other,
    /// The header of the reply to generate.
    Header,
}

/// A part of a prompt. The prompt is all of its parts, one after the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The kind of the part.
    pub kind: PartKind,
    /// Its text, with separators.
    pub text: String,
}
