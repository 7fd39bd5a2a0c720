//! Redaction: removes what patterns match, from replies while they stream and from the history that a model sees.
//!
//! A [`Redactor`] has [`Pattern`]s, those of the [`recognizers`] and your own. [`RedactReplies`] redacts what the model says, and
//! [`RedactHistory`] what the model sees. [`ScanReplies`] redacts by a service instead of patterns.
//!
//! # What holds
//!
//! * A streamed reply is redacted as the whole reply is, however it is cut into pieces. No delta shows the beginning of a match.
//! * A stream holds back only the end of a text that may become a match, and never more than the
//!   longest match, if that is short, or an eighth more.
//! * A match may be split by a part of another kind, such as thinking between two texts.
//! * Time is linear in the length of the text.
//!
//! # What does not
//!
//! * Patterns recognize forms. A secret that the model spells with spaces, or in another alphabet, has another form.
//! * Media are not read.
//! * A middleware inside of [`RedactReplies`] sees the reply, and so do the engine and its logs.

mod blocks;
mod candidates;
mod history;
mod message;
mod ordered;
mod pattern;
mod prefixes;
pub mod recognizers;
mod redactor;
mod replies;
mod scanner;

pub use blocks::Blocks;
pub use history::{HISTORY_REDACTION_FACT, RedactHistory};
pub(crate) use ordered::delta_of;
pub use pattern::{HashKey, MatchCheck, Pattern, Strategy};
pub use redactor::{Redaction, Redactor};
pub use replies::{REDACTION_FACT, RedactReplies};
pub use scanner::{ScanFinding, ScanReplies, Scanner};
