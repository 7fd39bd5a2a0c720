//! The protocols by which servers take token ids and return token ids.

mod completions;
mod dynamo;
mod features;
mod grammars;
pub(crate) mod ignored;
mod llamacpp;
mod sglang;
mod trtllm;
mod vllm;

use std::str::FromStr;

use alloquy_core::sampling::TokenLogprob;
use alloquy_core::tokenizer::TokenId;
use alloquy_core::{Error, ErrorKind, Result, SamplingOptions};
use serde_json::Value;

use crate::wire::{Ask, Chunk};

/// The protocol of a server. [`RemoteBuilder::connect`](crate::RemoteBuilder::connect) finds it out unless it is set.
///
/// ```
/// use alloquy_openai::Dialect;
///
/// assert_eq!("llamacpp".parse::<Dialect>()?, Dialect::LlamaCpp);
/// assert!("smtp".parse::<Dialect>().is_err());
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Dialect {
    /// `/v1/completions` with `prompt: [ids]` and `return_token_ids`, as far as servers have it in common.
    Completions,
    /// `/v1/completions` of vLLM, with its salts of caches, its priorities and its grammars.
    Vllm,
    /// `/completion` of llama.cpp's server.
    LlamaCpp,
    /// `/generate` of SGLang.
    Sglang,
    /// `/v1/completions` of TensorRT-LLM.
    TensorRtLlm,
    /// `/v1/completions` of Dynamo, with its `nvext`.
    Dynamo,
}

impl Dialect {
    /// Every dialect, the most general one first.
    pub const ALL: [Self; 6] =
        [Self::Completions, Self::Vllm, Self::LlamaCpp, Self::Sglang, Self::TensorRtLlm, Self::Dynamo];

    /// Returns the name, from which a dialect can be parsed.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Completions => "completions",
            Self::Vllm => "vllm",
            Self::LlamaCpp => "llamacpp",
            Self::Sglang => "sglang",
            Self::TensorRtLlm => "trtllm",
            Self::Dynamo => "dynamo",
        }
    }

    /// Returns whether the cache of an owner can be separated from those of others.
    #[must_use]
    pub fn has_salts(self) -> bool {
        matches!(self, Self::Vllm | Self::Sglang | Self::Dynamo)
    }

    /// Returns whether requests have priorities.
    #[must_use]
    pub fn has_priorities(self) -> bool {
        matches!(self, Self::Vllm | Self::Sglang | Self::Dynamo)
    }

    /// Returns whether the number of cached tokens comes before the first token. Otherwise it comes after the last one, or never.
    #[must_use]
    pub fn reports_cache_first(self) -> bool {
        matches!(self, Self::LlamaCpp | Self::Sglang | Self::TensorRtLlm)
    }

    /// Returns how many tokens of a cached prefix may be missing because the cache keeps blocks.
    pub(crate) fn block(self) -> usize {
        if self == Self::LlamaCpp { 1 } else { 64 }
    }

    /// Returns the path of requests.
    pub(crate) fn path(self) -> &'static str {
        match self {
            Self::Completions | Self::Vllm | Self::TensorRtLlm | Self::Dynamo => "/v1/completions",
            Self::LlamaCpp => "/completion",
            Self::Sglang => "/generate",
        }
    }

    /// Writes a request.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] for a grammar that the dialect cannot express.
    pub(crate) fn body(self, ask: &Ask<'_>) -> Result<Value> {
        match self {
            Self::Completions => completions::body(ask),
            Self::Vllm => vllm::body(ask),
            Self::LlamaCpp => llamacpp::body(ask),
            Self::Sglang => sglang::body(ask),
            Self::TensorRtLlm => trtllm::body(ask),
            Self::Dynamo => dynamo::body(ask),
        }
    }

    /// Returns a request for one slot of the server, as [`Dialect::body`] has written it.
    pub(crate) fn in_slot(self, body: &str, slot: usize) -> String {
        if self == Self::LlamaCpp { llamacpp::in_slot(body, slot) } else { body.to_owned() }
    }

    /// Reads an event, after `seen` tokens.
    ///
    /// # Errors
    /// [`ErrorKind::Backend`] for an event that the dialect does not have.
    pub(crate) fn chunk(self, event: &Value, seen: usize) -> Result<Chunk> {
        match self {
            Self::Completions | Self::TensorRtLlm => completions::chunk(event, false),
            Self::Vllm => completions::chunk(event, true),
            Self::LlamaCpp => llamacpp::chunk(event),
            Self::Sglang => sglang::chunk(event, seen),
            Self::Dynamo => dynamo::chunk(event),
        }
    }

    /// Writes a request for the log-probabilities of the tokens of a prompt; `None` where the server has none.
    pub(crate) fn score_body(self, model: &str, ids: &[TokenId], salt: Option<&str>) -> Option<Value> {
        (self == Self::Vllm).then(|| vllm::score_body(model, ids, salt))
    }

    /// Reads the log-probabilities of a prompt's tokens after the first `known` ones.
    ///
    /// # Errors
    /// [`ErrorKind::Backend`] for an answer without them.
    pub(crate) fn scores(self, answer: &Value, ids: &[TokenId], known: usize) -> Result<Vec<TokenLogprob>> {
        vllm::scores(answer, ids, known)
    }

    /// Names the options that have no effect.
    pub(crate) fn ignored(self, sampling: &SamplingOptions) -> Vec<&'static str> {
        let effects = match self {
            Self::Completions => &ignored::OF_OPENAI,
            Self::Vllm => &vllm::EFFECTS,
            Self::LlamaCpp => &llamacpp::EFFECTS,
            Self::Sglang => &sglang::EFFECTS,
            Self::TensorRtLlm => &trtllm::EFFECTS,
            Self::Dynamo => &dynamo::EFFECTS,
        };
        ignored::ignored(sampling, effects)
    }
}

impl FromStr for Dialect {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        if let Some(dialect) = Self::ALL.into_iter().find(|dialect| dialect.as_str() == name) {
            return Ok(dialect);
        }
        let names = Self::ALL.map(Self::as_str).join(", ");
        Err(Error::new(ErrorKind::Invalid, format!("dialect {name:?} is not one of: {names}")))
    }
}
