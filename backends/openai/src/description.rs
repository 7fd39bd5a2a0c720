//! What is known of a server.

use crate::dialect::Dialect;

/// What a server says of itself, and what was checked.
///
/// [`RemoteDecoder::description`](crate::RemoteDecoder::description) returns it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RemoteDescription {
    /// The address.
    pub url: String,
    /// The protocol that is spoken.
    pub dialect: Dialect,
    /// The name by which the server knows the model.
    pub model: String,
    /// How many positions a request may have, if the server says so.
    pub context_length: Option<usize>,
    /// The version of the server, if it says so.
    pub version: Option<String>,
    /// How many prompts a llama.cpp server holds and continues at once, if it says so.
    pub slots: Option<usize>,
    /// Whether the server has the same tokenizer.
    pub tokenizer: TokenizerCheck,
}

/// Whether a server has the tokenizer of the folder.
///
/// ```
/// use alloquy_openai::{RemoteDecoder, TokenizerCheck};
///
/// fn print(decoder: &RemoteDecoder) {
///     match &decoder.description().tokenizer {
///         TokenizerCheck::Equal { texts } => println!("{texts} texts have the same ids"),
///         TokenizerCheck::Unchecked { reason } => println!("not compared: {reason}"),
///         _ => {}
///     }
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TokenizerCheck {
    /// Both give the same ids for this many texts.
    Equal {
        /// The number of texts.
        texts: usize,
    },
    /// The server encodes no texts, so nothing was compared.
    Unchecked {
        /// What it answered instead.
        reason: String,
    },
}
