//! The parts a prompt is made of. Knows what a part is for; not how it is written.

/// What a part of a prompt is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PartKind {
    /// The texts of the tokens in front, BOS among them.
    Front,
    /// The system text.
    System,
    /// A message of the user.
    User,
    /// A message of the assistant.
    Assistant,
    /// A message of another role, a tool's for instance.
    Other,
    /// The header of the reply that is asked for.
    Header,
}

/// A part of a prompt. All of them, one after the other, are the prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// What it is.
    pub kind: PartKind,
    /// What it says, separators included.
    pub text: String,
}
