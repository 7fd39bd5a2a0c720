//! Log-probabilities of tokens, from the logits as the model gave them.

use serde::{Deserialize, Serialize};

use crate::tokenizer::TokenId;

/// A token and its log-probability.
///
/// It is the log-softmax of the model's own logits: before biases, penalties, constraints, temperature and filters,
/// which say what the caller wants and not what the model believes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Logprob {
    /// The token.
    pub token: TokenId,
    /// The natural logarithm of its probability; minus infinity for a token that the model rules out.
    pub logprob: f32,
}

/// The log-probability of a sampled token, and of the likeliest ones in its place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SampledLogprobs {
    /// The token that was drawn.
    pub sampled: Logprob,
    /// The likeliest tokens, likeliest first, as many as were asked for; the sampled one need not be among them.
    pub top: Vec<Logprob>,
}
