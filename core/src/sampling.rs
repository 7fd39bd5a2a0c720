//! From logits to a token: options, and the chain of steps they make.
//!
//! The order and the definitions are Hugging Face's (`transformers`, `GenerationMixin._get_logits_processor` in
//! `generation/utils.py`, the classes named below in `generation/logits_process.py`): logit bias, penalties,
//! n-grams, suppressed tokens, temperature, top-k, top-p, min-p, typical, then one draw.
//!
//! Nothing is ever sorted: the early steps touch only the tokens they mean, and the filters find the last token they
//! keep by selection. Candidates stay in the order of their ids, which is the order of the draw.

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
