//! Finds the texts and the sequences of tokens that end a reply. Text that may begin one is held back.

mod automaton;
mod strings;
mod tokens;

pub(crate) use automaton::Automaton;
pub use strings::StopStrings;
pub use tokens::StopTokens;
