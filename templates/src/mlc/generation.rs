//! The two generations of conversation templates.

use std::fmt;

/// The kind of object that a conversation template is.
///
/// A [`ConversationTemplate`](super::ConversationTemplate) has one. [`named_in`](super::ConversationTemplate::named_in)
/// has an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Generation {
    /// Today's `conv_template`, since March 2024.
    Current,
    /// `conv_config`, up to May 2024.
    Legacy,
}

impl fmt::Display for Generation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Current => "current",
            Self::Legacy => "legacy",
        })
    }
}
