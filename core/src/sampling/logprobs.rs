//! Log-probabilities of tokens, from the logits as the model gave them.

use serde::{Deserialize, Serialize};

use crate::tokenizer::TokenId;

/// A token and its log-probability.
///
/// It is the log-softmax of the model's own logits: before biases, penalties, constraints, temperature and filters,
/// which say what the caller wants and not what the model believes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Logprob {
    /// The token.
    pub token: TokenId,
    /// The natural logarithm of its probability; minus infinity for a token that the model rules out.
    pub logprob: f32,
}

impl Logprob {
    /// Creates the log-probability of a token.
    pub fn new(token: TokenId, logprob: f32) -> Self {
        Self { token, logprob }
    }
}

/// The log-probability of a sampled token, and of the likeliest ones in its place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SampledLogprobs {
    /// The token that was drawn.
    pub sampled: Logprob,
    /// The likeliest tokens, likeliest first, as many as were asked for; the sampled one need not be among them.
    pub top: Vec<Logprob>,
}

impl SampledLogprobs {
    /// Joins that of the token that was drawn and those of the likeliest ones, likeliest first.
    pub fn new(sampled: Logprob, top: Vec<Logprob>) -> Self {
        Self { sampled, top }
    }
}
