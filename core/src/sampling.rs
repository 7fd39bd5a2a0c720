//! Sampling as data: its options, and the log-probabilities of sampled tokens.

mod logprobs;
mod options;

pub use logprobs::{TokenLogprob, TokenLogprobs};
pub use options::{PenaltyScope, SamplingOptions};
