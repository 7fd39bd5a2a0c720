//! Log-probabilities of tokens, from the raw logits of the model.

use serde::{Deserialize, Serialize};

use crate::tokenizer::TokenId;

/// A token and its log-probability.
///
/// It is the log-softmax of the model's raw logits, before biases, penalties, constraints, temperature and filters.
///
/// [`TokenLogprobs`] contains it for each token, and so does a [`TextScore`](crate::report::TextScore).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TokenLogprob {
    /// The token.
    pub token: TokenId,
    /// The natural logarithm of its probability; minus infinity for a token that the model rules out.
    pub logprob: f32,
}

impl TokenLogprob {
    /// Creates the log-probability of a token.
    pub fn new(token: TokenId, logprob: f32) -> Self {
        Self { token, logprob }
    }
}

/// The log-probability of a sampled token, and of the likeliest tokens at its place.
///
/// ```
/// use alloquy_core::sampling::{TokenLogprob, TokenLogprobs};
///
/// let likeliest = TokenLogprob::new(7, -0.1);
/// let sampled = TokenLogprob::new(9, -2.4);
/// let logprobs = TokenLogprobs::new(sampled, vec![likeliest, sampled]);
/// assert_ne!(logprobs.sampled.token, logprobs.top[0].token);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TokenLogprobs {
    /// The token that was drawn.
    pub sampled: TokenLogprob,
    /// The requested number of likeliest tokens, the likeliest first. The sampled one need not be among them.
    pub top: Vec<TokenLogprob>,
}

impl TokenLogprobs {
    /// Joins the log-probability of the sampled token and those of the likeliest tokens, the likeliest first.
    pub fn new(sampled: TokenLogprob, top: Vec<TokenLogprob>) -> Self {
        Self { sampled, top }
    }
}
