//! From logits to a token: the chain of steps that the options describe, each with its memory of the tokens so far.
//!
//! The order and the definitions are those of Hugging Face `transformers`: logit bias, penalties, n-grams, suppressed tokens,
//! temperature, top-k, top-p, min-p, typical, then one draw. See `GenerationMixin._get_logits_processor` in
//! `generation/utils.py`, and for the classes named below `generation/logits_process.py`.
//!
//! Nothing is sorted. The early steps change single logits, and the filters find the last token that they keep by selection.
//! Candidates stay in the order of their ids, which is the order of the draw.

use std::collections::BTreeMap;

use alloquy_core::tokenizer::TokenId;
use alloquy_core::{Error, ErrorKind, Result, SamplingOptions};

mod candidates;
mod draw;
mod filter;
mod filtering;
mod log_softmax;
mod ngrams;
mod penalties;

use candidates::{Candidates, Range, likeliest, threshold};
use draw::Draws;
use filter::Filter;
use ngrams::NGrams;
use penalties::Penalty;

pub(crate) use log_softmax::LogSoftmax;

/// Draws the tokens of one reply.
///
/// It receives each token once: those of the prompt by [`Sampler::read`], and those of the reply by [`Sampler::accept`], also
/// when the sampler has not drawn them. A clone continues with the same draws.
///
/// ```
/// use alloquy_core::SamplingOptions;
/// use alloquy_inference::Sampler;
///
/// let mut sampler = Sampler::new(&SamplingOptions { repetition_penalty: Some(4.0), ..Default::default() })?;
/// assert_eq!(sampler.sample(&mut [0.1, 2.0, 1.0])?, 1);
/// sampler.accept(1);
/// assert_eq!(sampler.sample(&mut [0.1, 2.0, 1.0])?, 2);
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Sampler {
    edits: Edits,
    temperature: f32,
    /// How many likeliest tokens stay; 0 is all.
    top_k: usize,
    filters: Vec<Filter>,
    /// `None` is greedy.
    draws: Option<Draws>,
    logprobs: Option<usize>,
    candidates: Candidates,
    scratch: Vec<f32>,
}

impl Sampler {
    /// Builds the chain that `options` describe.
    ///
    /// # Errors
    /// As [`SamplingOptions::validate`].
    pub fn new(options: &SamplingOptions) -> Result<Self> {
        options.validate()?;
        let temperature = options.temperature.unwrap_or(0.0);
        let top_k = options.top_k.unwrap_or(0);
        let greedy = temperature == 0.0 || top_k == 1;
        Ok(Self {
            edits: Edits::new(options),
            temperature,
            top_k,
            filters: filters(options),
            draws: (!greedy).then(|| Draws::new(options.seed)),
            logprobs: options.logprobs,
            candidates: Candidates::default(),
            scratch: Vec::new(),
        })
    }

    /// Returns the seed in use, or `None` when greedy.
    pub fn seed(&self) -> Option<u64> {
        self.draws.as_ref().map(|draws| draws.seed)
    }

    /// Returns how many likeliest tokens to report with each token, or `None` when nothing is to be reported.
    pub fn logprobs(&self) -> Option<usize> {
        self.logprobs
    }

    /// Takes the tokens of the prompt.
    pub fn read(&mut self, prompt: impl IntoIterator<Item = TokenId>) {
        if self.edits.remember() {
            for token in prompt {
                self.edits.read(token);
            }
        }
    }

    /// Takes a token of the reply.
    pub fn accept(&mut self, token: TokenId) {
        self.edits.accept(token);
    }

    /// Draws the next token. Greedy ties go to the lowest id. The logits are changed on the way.
    ///
    /// # Errors
    /// [`ErrorKind::Backend`] when no logit is a finite number: then the model is broken, not the sampler. [`ErrorKind::Invalid`] when the options forbid every token.
    pub fn sample(&mut self, logits: &mut [f32]) -> Result<TokenId> {
        self.edits.apply(logits);
        let (best, highest) = likeliest(logits).ok_or_else(|| self.nothing_left(logits.len()))?;
        // Greedy: no probabilities are needed.
        let Some(draws) = self.draws.as_mut() else {
            return Ok(best);
        };
        let least = match self.top_k {
            0 => f32::NEG_INFINITY,
            keep => threshold(logits, keep, &mut self.scratch),
        };
        let range = Range { least, highest };
        self.candidates.gather(logits, range, self.temperature, self.filters.first());
        for filter in &self.filters {
            filter.apply(&mut self.candidates);
        }
        Ok(draws.draw(&self.candidates).unwrap_or(best))
    }

    fn nothing_left(&self, logits: usize) -> Error {
        if self.edits.forbid() {
            let message =
                "suppressed tokens and n-grams that must not repeat leave no token that could be drawn";
            return Error::new(ErrorKind::Invalid, message);
        }
        let message = format!("the model gave {logits} logits and none of them is a finite number");
        Error::new(ErrorKind::Backend, message)
    }
}

fn filters(options: &SamplingOptions) -> Vec<Filter> {
    let top_p = options.top_p.filter(|&mass| mass < 1.0).map(Filter::TopP);
    let min_p = options.min_p.filter(|&share| share > 0.0).map(Filter::MinP);
    let typical = options.typical_p.filter(|&mass| mass < 1.0).map(Filter::Typical);
    top_p.into_iter().chain(min_p).chain(typical).collect()
}

/// The steps that change single logits.
#[derive(Clone, Debug)]
struct Edits {
    /// `SequenceBiasLogitsProcessor`, for sequences of one token.
    bias: BTreeMap<TokenId, f32>,
    penalties: Vec<Penalty>,
    ngrams: Option<NGrams>,
    /// `SuppressTokensLogitsProcessor`.
    suppress: Vec<TokenId>,
}

impl Edits {
    fn new(options: &SamplingOptions) -> Self {
        Self {
            bias: options.logit_bias.clone(),
            penalties: Penalty::all(options),
            ngrams: NGrams::new(options),
            suppress: options.suppress.clone(),
        }
    }

    /// Returns whether any step remembers tokens.
    fn remember(&self) -> bool {
        !self.penalties.is_empty() || self.ngrams.is_some()
    }

    /// Returns whether any step forbids tokens.
    fn forbid(&self) -> bool {
        !self.suppress.is_empty() || self.ngrams.is_some()
    }

    fn read(&mut self, token: TokenId) {
        for penalty in &mut self.penalties {
            penalty.read(token);
        }
        if let Some(ngrams) = &mut self.ngrams {
            ngrams.read(token);
        }
    }

    fn accept(&mut self, token: TokenId) {
        for penalty in &mut self.penalties {
            penalty.accept(token);
        }
        if let Some(ngrams) = &mut self.ngrams {
            ngrams.accept(token);
        }
    }

    fn apply(&self, logits: &mut [f32]) {
        for (&token, bias) in &self.bias {
            if let Some(logit) = logits.get_mut(token as usize) {
                *logit += bias;
            }
        }
        for penalty in &self.penalties {
            penalty.apply(logits);
        }
        if let Some(ngrams) = &self.ngrams {
            ngrams.apply(logits);
        }
        for &token in &self.suppress {
            if let Some(logit) = logits.get_mut(token as usize) {
                *logit = f32::NEG_INFINITY;
            }
        }
    }
}
