//! How tokens are drawn, as data: the options, and how likely what was drawn was.

mod logprobs;
mod options;

pub use logprobs::{Logprob, SampledLogprobs};
pub use options::{PenaltyScope, SamplingOptions};
