//! From logits to a token: options, and the chain of steps they make.
//!
//! The order and the definitions are Hugging Face's (`transformers`, `GenerationMixin._get_logits_processor` in
//! `generation/utils.py`, the classes named below in `generation/logits_process.py`): logit bias, penalties,
//! n-grams, suppressed tokens, temperature, top-k, top-p, min-p, typical, then one draw.
//!
//! A vocabulary is never sorted as a whole: the early steps touch only the tokens they mean, top-k finds its
//! threshold in one pass, and the others sort no more than what they keep.

mod candidates;
mod chain;
mod draw;
mod filters;
mod logprobs;
mod ngrams;
mod options;
mod penalties;

pub use chain::Sampler;
pub(crate) use logprobs::LogSoftmax;
pub use logprobs::{Logprob, SampledLogprobs};
pub use options::{PenaltyScope, SamplingOptions};
