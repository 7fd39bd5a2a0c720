//! What is asked of a server and what it answers, whatever its dialect.

use alloquy_core::grammar::Grammar;
use alloquy_core::sampling::TokenLogprobs;
use alloquy_core::tokenizer::TokenId;
use alloquy_core::{Error, ErrorKind, Result, SamplingOptions};
use serde_json::Value;

/// How many characters of what a server sent are quoted.
const QUOTED: usize = 600;

/// How many tokens a server may count.
const MOST_TOKENS: usize = 1 << 30;

/// A request, before a dialect writes it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ask<'a> {
    /// The name by which the server knows the model.
    pub(crate) model: &'a str,
    pub(crate) prompt: &'a [TokenId],
    /// How many tokens at the end of the prompt are of the reply already.
    pub(crate) replied: usize,
    pub(crate) sampling: &'a SamplingOptions,
    /// At least 1: no server computes a prompt without generating.
    pub(crate) max_tokens: usize,
    /// `None` is greedy.
    pub(crate) seed: Option<u64>,
    /// Tokens that end the reply.
    pub(crate) stop: &'a [TokenId],
    /// Tokens that must not be sampled, of the vocabulary.
    pub(crate) banned: &'a [TokenId],
    /// Values that are added to logits, of tokens of the vocabulary.
    pub(crate) biases: &'a [(TokenId, f32)],
    pub(crate) grammar: Option<&'a Grammar>,
    /// What separates the server's cache of one owner from that of others.
    pub(crate) salt: Option<&'a str>,
    pub(crate) adapter: Option<&'a Adapter>,
    pub(crate) priority: Option<i32>,
}

/// How requests name an adapter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Adapter {
    /// As their model.
    Model(String),
    /// In a field of its own.
    Named(String),
    /// By its place in the server's list.
    Number(u64),
}

impl<'a> Ask<'a> {
    /// Asks for the likeliest next token, and for nothing else.
    pub(crate) fn next_token(model: &'a str, prompt: &'a [TokenId], sampling: &'a SamplingOptions) -> Self {
        Self {
            model,
            prompt,
            replied: 0,
            sampling,
            max_tokens: 1,
            seed: None,
            stop: &[],
            banned: &[],
            biases: &[],
            grammar: None,
            salt: None,
            adapter: None,
            priority: None,
        }
    }

    /// Returns the temperature, which is 0 for greedy sampling. Their defaults are not ours, so it is always sent.
    pub(crate) fn temperature(&self) -> f32 {
        if self.seed.is_none() { 0.0 } else { self.sampling.temperature.unwrap_or(0.0) }
    }

    /// Returns the seed for a server whose seeds are 63 bits. Equal seeds stay equal.
    pub(crate) fn seed_63_bits(&self) -> Option<u64> {
        self.seed.map(|seed| seed & (u64::MAX >> 1))
    }
}

/// What one event of a server says.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Chunk {
    pub(crate) tokens: Vec<ChunkToken>,
    /// How many tokens of the prompt were cached.
    pub(crate) cached: Option<usize>,
    /// The slot of the server, where it names one.
    pub(crate) slot: Option<usize>,
    pub(crate) end: Option<ServerEnd>,
}

/// A generated token.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ChunkToken {
    pub(crate) id: TokenId,
    pub(crate) logprobs: Option<TokenLogprobs>,
}

/// Why a server stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ServerEnd {
    /// At a stop token, or where the grammar ends.
    Stop,
    /// At the limit of tokens.
    Length,
    /// For a reason of its own, such as `abort`.
    Other(String),
}

/// Reads a list of token ids.
///
/// # Errors
/// [`ErrorKind::Backend`] for anything else.
pub(crate) fn ids(value: &Value) -> Result<Vec<TokenId>> {
    let Some(values) = value.as_array() else {
        return Err(unreadable("a list of token ids", value));
    };
    let mut ids = Vec::with_capacity(values.len());
    for value in values {
        let id = value.as_u64().and_then(|id| TokenId::try_from(id).ok());
        ids.push(id.ok_or_else(|| unreadable("a token id", value))?);
    }
    Ok(ids)
}

/// Reads a text field, which is empty if it is missing.
pub(crate) fn field<'v>(value: &'v Value, name: &str) -> &'v str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// Returns the beginning of what a server sent, for a message. It may have sent megabytes.
pub(crate) fn quoted(text: &str) -> String {
    text.chars().take(QUOTED).collect()
}

/// Says that a server ended a reply for a reason of its own.
pub(crate) fn ended_because(reason: &str) -> String {
    format!("the server ended the reply for the reason {:?}: look into its log", quoted(reason))
}

/// Reads a number of tokens. A larger one than any context has is none, so that sums of them never overflow.
pub(crate) fn size(value: &Value) -> Option<usize> {
    let size = value.as_u64().and_then(|size| usize::try_from(size).ok())?;
    (size <= MOST_TOKENS).then_some(size)
}

/// Reads a log-probability. JSON has no minus infinity, so servers send `null` or a very low number.
#[allow(clippy::cast_possible_truncation)] // a logarithm needs no more digits
pub(crate) fn logprob(value: &Value) -> f32 {
    value.as_f64().map_or(f32::NEG_INFINITY, |logprob| logprob as f32)
}

/// Returns the error for a value that is not what the dialect has there.
pub(crate) fn unreadable(expected: &str, value: &Value) -> Error {
    let sent = quoted(&value.to_string());
    let message = format!("the server sent {sent} instead of {expected}: choose the server's dialect");
    Error::new(ErrorKind::Backend, message)
}

/// Returns the error for a grammar that the dialect cannot express.
pub(crate) fn no_grammar(dialect: &str, kinds: &str) -> Error {
    let message = format!("a server of dialect {dialect:?} takes no grammar of this kind: it takes {kinds}");
    Error::new(ErrorKind::Unsupported, message)
}
