//! Log-probabilities of tokens, from the logits of the model.

use alloquy_core::sampling::{TokenLogprob, TokenLogprobs};
use alloquy_core::tokenizer::TokenId;

use super::candidates::threshold;

/// Logits with the logarithm that normalizes them to probabilities.
#[derive(Debug)]
pub(crate) struct LogSoftmax<'a> {
    logits: &'a [f32],
    /// The logarithm of the sum of all exponentials.
    total: f64,
}

impl<'a> LogSoftmax<'a> {
    pub(crate) fn new(logits: &'a [f32]) -> Self {
        let finite = logits.iter().copied().filter(|logit| logit.is_finite());
        let highest = f64::from(finite.clone().fold(f32::NEG_INFINITY, f32::max));
        let sum: f64 = finite.map(|logit| (f64::from(logit) - highest).exp()).sum();
        Self { logits, total: highest + sum.ln() }
    }

    /// Returns the log-probability of a token; minus infinity outside the vocabulary.
    pub(crate) fn of(&self, token: TokenId) -> TokenLogprob {
        let logit = self.logits.get(token as usize).copied().filter(|logit| logit.is_finite());
        let logprob = logit.map_or(f32::NEG_INFINITY, |logit| (f64::from(logit) - self.total) as f32);
        TokenLogprob::new(token, logprob)
    }

    /// Returns the log-probability of a token and of the `count` likeliest ones.
    pub(crate) fn sampled(&self, token: TokenId, count: usize) -> TokenLogprobs {
        TokenLogprobs::new(self.of(token), self.top(count))
    }

    fn top(&self, count: usize) -> Vec<TokenLogprob> {
        if count == 0 {
            return Vec::new();
        }
        let least = threshold(self.logits, count, &mut Vec::new());
        let likely =
            self.logits.iter().enumerate().filter(|(_, logit)| logit.is_finite() && **logit >= least);
        let mut top: Vec<_> = likely.map(|(token, _)| self.of(token as TokenId)).collect();
        top.sort_by(|left, right| right.logprob.total_cmp(&left.logprob).then(left.token.cmp(&right.token)));
        top.truncate(count);
        top
    }
}
