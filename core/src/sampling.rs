//! From logits to a token: options, and the chain of steps they make.
//!
//! The order is Hugging Face's (`transformers`, `generation/utils.py`): temperature, then top-k, then top-p,
//! then one draw. A temperature of 0 is greedy.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use serde::{Deserialize, Serialize};

use crate::tokenizer::TokenId;
use crate::{Error, ErrorKind, Result};

/// How replies are sampled. What is `None` is left to the next in line: call, then manager, then the model's
/// makers, then greedy without a limit of its own.
///
/// ```
/// use alloquy_core::SamplingOptions;
///
/// let call = SamplingOptions { temperature: Some(0.0), ..SamplingOptions::default() };
/// let makers = SamplingOptions { temperature: Some(0.6), top_k: Some(20), ..SamplingOptions::default() };
/// let merged = call.or(&makers);
/// assert_eq!((merged.temperature, merged.top_k), (Some(0.0), Some(20)));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SamplingOptions {
    /// Flattens (above 1) or sharpens (below 1) the distribution; 0 takes the likeliest token. At least 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f32>,
    /// Keeps this many likeliest tokens; 0 keeps all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_k: Option<usize>,
    /// Keeps the likeliest tokens that together reach this probability; in (0, 1], 1 keeps all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f32>,
    /// Makes the draw repeatable; a fresh one is drawn, and reported, when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Ends the reply after this many tokens; otherwise the context's end does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<usize>,
    /// Texts that end the reply and are not part of it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stop: Vec<String>,
}

impl SamplingOptions {
    /// Takes what is absent here from `defaults`. Stop texts add up.
    #[must_use]
    pub fn or(mut self, defaults: &SamplingOptions) -> Self {
        self.temperature = self.temperature.or(defaults.temperature);
        self.top_k = self.top_k.or(defaults.top_k);
        self.top_p = self.top_p.or(defaults.top_p);
        self.seed = self.seed.or(defaults.seed);
        self.max_tokens = self.max_tokens.or(defaults.max_tokens);
        let added = defaults.stop.iter().filter(|text| !self.stop.contains(text)).cloned();
        self.stop = self.stop.iter().cloned().chain(added).collect();
        self
    }

    /// Checks every value.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] naming the value and the valid range.
    pub fn validate(&self) -> Result<()> {
        let invalid = |message: String| Err(Error::new(ErrorKind::Invalid, message));
        match self {
            Self { temperature: Some(value), .. } if !value.is_finite() || *value < 0.0 => {
                invalid(format!("temperature {value} is not a number of at least 0"))
            }
            Self { top_p: Some(value), .. } if !(*value > 0.0 && *value <= 1.0) => {
                invalid(format!("top-p {value} is not above 0 and at most 1"))
            }
            Self { stop, .. } if stop.iter().any(String::is_empty) => {
                invalid("a stop text is empty: it would end every reply at once".to_owned())
            }
            _ => Ok(()),
        }
    }
}

/// A token that may still be drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate {
    /// The token.
    pub token: TokenId,
    /// Its logit, after the steps so far.
    pub logit: f32,
}

/// One step of the chain.
///
/// # Contract
/// A step may change, reorder and drop candidates; it never drops all of them.
pub trait SamplingStep: Send + std::fmt::Debug {
    /// Works on the candidates in place.
    fn apply(&mut self, candidates: &mut Vec<Candidate>);
}

/// Draws tokens: a chain of steps, then one draw.
///
/// ```
/// use alloquy_core::{Sampler, SamplingOptions};
///
/// let mut sampler = Sampler::new(&SamplingOptions { temperature: Some(0.0), ..Default::default() })?;
/// assert_eq!(sampler.sample(&mut [0.1, 2.0, -1.0])?, 1);
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Sampler {
    steps: Vec<Box<dyn SamplingStep>>,
    /// `None` is greedy.
    random: Option<ChaCha8Rng>,
    seed: Option<u64>,
    candidates: Vec<Candidate>,
}

impl Sampler {
    /// Builds the chain that `options` describe.
    ///
    /// # Errors
    /// As [`SamplingOptions::validate`].
    pub fn new(options: &SamplingOptions) -> Result<Self> {
        options.validate()?;
        let temperature = options.temperature.unwrap_or(0.0);
        let greedy = temperature == 0.0 || options.top_k == Some(1);
        if greedy {
            return Ok(Self { steps: Vec::new(), random: None, seed: None, candidates: Vec::new() });
        }
        let mut steps: Vec<Box<dyn SamplingStep>> = vec![Box::new(Temperature(temperature))];
        if let Some(keep) = options.top_k.filter(|&keep| keep > 0) {
            steps.push(Box::new(TopK(keep)));
        }
        if let Some(mass) = options.top_p.filter(|&mass| mass < 1.0) {
            steps.push(Box::new(TopP(mass)));
        }
        let seed = options.seed.unwrap_or_else(fresh_seed);
        let random = Some(ChaCha8Rng::seed_from_u64(seed));
        Ok(Self { steps, random, seed: Some(seed), candidates: Vec::new() })
    }

    /// Returns the seed in use, or `None` when greedy.
    pub fn seed(&self) -> Option<u64> {
        self.seed
    }

    /// Draws the next token. Greedy ties go to the lowest id.
    ///
    /// # Errors
    /// [`ErrorKind::Backend`] when there are no logits, or none is a number above minus infinity: the model,
    /// not the sampler, is broken then.
    pub fn sample(&mut self, logits: &mut [f32]) -> Result<TokenId> {
        let best = likeliest(logits)?;
        let Some(random) = self.random.as_mut() else {
            return Ok(best.token);
        };
        self.candidates.clear();
        self.candidates.extend(candidates(logits));
        for step in &mut self.steps {
            step.apply(&mut self.candidates);
        }
        Ok(draw(&self.candidates, random).unwrap_or(best.token))
    }
}

fn candidates(logits: &[f32]) -> impl Iterator<Item = Candidate> + '_ {
    let finite = |&(_, &logit): &(usize, &f32)| logit.is_finite();
    logits
        .iter()
        .enumerate()
        .filter(finite)
        .map(|(index, &logit)| Candidate { token: index as TokenId, logit })
}

fn likeliest(logits: &[f32]) -> Result<Candidate> {
    let better = |best: Candidate, next: Candidate| if next.logit > best.logit { next } else { best };
    candidates(logits).reduce(better).ok_or_else(|| {
        let message = format!("the model gave {} logits and none of them is a finite number", logits.len());
        Error::new(ErrorKind::Backend, message)
    })
}

/// Draws by inversion, in 53-bit precision, so that the result is the same on every platform.
fn draw(candidates: &[Candidate], random: &mut ChaCha8Rng) -> Option<TokenId> {
    let highest = candidates.iter().map(|candidate| candidate.logit).reduce(f32::max)?;
    let weight = |candidate: &Candidate| f64::from(candidate.logit - highest).exp();
    let total: f64 = candidates.iter().map(weight).sum();
    let mut left = (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64 * total;
    for candidate in candidates {
        left -= weight(candidate);
        if left < 0.0 {
            return Some(candidate.token);
        }
    }
    candidates.last().map(|candidate| candidate.token)
}

/// The low half of a random UUID: the process's own randomness, without another dependency.
fn fresh_seed() -> u64 {
    uuid::Uuid::now_v7().as_u64_pair().1
}

#[derive(Debug)]
struct Temperature(f32);

impl SamplingStep for Temperature {
    fn apply(&mut self, candidates: &mut Vec<Candidate>) {
        for candidate in candidates {
            candidate.logit /= self.0;
        }
    }
}

#[derive(Debug)]
struct TopK(usize);

impl SamplingStep for TopK {
    fn apply(&mut self, candidates: &mut Vec<Candidate>) {
        if self.0 < candidates.len() {
            candidates.select_nth_unstable_by(self.0, likelier);
            candidates.truncate(self.0);
        }
        // The order after a selection is not specified: sort, so that a seed gives one reply everywhere.
        candidates.sort_unstable_by(likelier);
    }
}

#[derive(Debug)]
struct TopP(f32);

impl SamplingStep for TopP {
    fn apply(&mut self, candidates: &mut Vec<Candidate>) {
        candidates.sort_unstable_by(likelier);
        let Some(highest) = candidates.first().map(|candidate| candidate.logit) else {
            return;
        };
        let weight = |candidate: &Candidate| f64::from(candidate.logit - highest).exp();
        let wanted = candidates.iter().map(weight).sum::<f64>() * f64::from(self.0);
        let mut mass = 0.0;
        let below = |candidate: &&Candidate| {
            let short = mass < wanted;
            mass += weight(candidate);
            short
        };
        let keep = candidates.iter().take_while(below).count();
        candidates.truncate(keep.max(1));
    }
}

fn likelier(left: &Candidate, right: &Candidate) -> std::cmp::Ordering {
    right.logit.total_cmp(&left.logit).then(left.token.cmp(&right.token))
}
