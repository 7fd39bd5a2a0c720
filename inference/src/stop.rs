//! What ends a reply: texts, and sequences of tokens. Whatever might begin one is held back.

mod automaton;
mod strings;
mod tokens;

pub use strings::StopStrings;
pub use tokens::StopTokens;
