//! The sampling options, and how the options of a call, a conversation and a model are joined.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::tokenizer::TokenId;
use crate::{Error, ErrorKind, Result};

/// How replies are sampled. The first of these that sets an option decides it: the call, the conversation, the manager,
/// the model's authors. An option that none of them sets has no effect, and sampling is greedy.
///
/// ```
/// use alloquy_core::SamplingOptions;
///
/// let call = SamplingOptions { temperature: Some(0.0), ..SamplingOptions::default() };
/// let authors = SamplingOptions { temperature: Some(0.6), top_k: Some(20), ..SamplingOptions::default() };
/// let merged = call.or(&authors);
/// assert_eq!((merged.temperature, merged.top_k), (Some(0.0), Some(20)));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SamplingOptions {
    /// Flattens (above 1) or sharpens (below 1) the distribution; 0 takes the likeliest token. At least 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f32>,
    /// Keeps this many likeliest tokens, and those as likely as the last of them; 0 keeps all, 1 is greedy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_k: Option<usize>,
    /// Keeps the likeliest tokens that together reach this probability; in (0, 1], 1 keeps all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f32>,
    /// Keeps tokens at least this often as likely as the likeliest one; in [0, 1], 0 keeps all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_p: Option<f32>,
    /// Keeps the tokens whose information is nearest to the expected one (Meister et al. 2022, "Locally Typical
    /// Sampling") until they reach this probability; in (0, 1], 1 keeps all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub typical_p: Option<f32>,
    /// Divides the positive logits of tokens that occurred, and multiplies their negative ones (Keskar et al. 2019,
    /// "CTRL"); above 0, 1 changes nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repetition_penalty: Option<f32>,
    /// Is subtracted from the logits of tokens that occurred, as in OpenAI's API; 0 changes nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub presence_penalty: Option<f32>,
    /// Is subtracted from the logits of tokens once for each occurrence, as in OpenAI's API.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frequency_penalty: Option<f32>,
    /// How many of the last tokens the penalties and `no_repeat_ngram` look at; 0 and `None` mean all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub penalty_window: Option<usize>,
    /// Whether the prompt's tokens count for them. `None` follows the original definitions: they count for
    /// `repetition_penalty` and `no_repeat_ngram`, but not for the other two penalties.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub penalty_scope: Option<PenaltyScope>,
    /// Forbids repeated sequences of this many tokens; 0 forbids none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_repeat_ngram: Option<usize>,
    /// Ends a reply that loops: one that ends with the same 1 to 128 tokens this many times in a row, where fewer than 8
    /// count as 8, more than 32 need fewer times, and numbers four times as many. 0 lets it loop. Local models end a reply after
    /// 16 times unless this is set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repetition_detection: Option<usize>,
    /// Tokens that are never sampled. Ids outside the vocabulary have no effect.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub suppress: Vec<TokenId>,
    /// Values that are added to the logits of single tokens.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub logit_bias: BTreeMap<TokenId, f32>,
    /// Makes sampling repeatable; without a seed, a random one is used and reported.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Ends the reply after this many tokens; otherwise the end of the context does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<usize>,
    /// Texts that end the reply and are not part of it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stop: Vec<String>,
    /// Sequences of tokens that end the reply and are not part of it, in addition to the model's own stop tokens.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stop_tokens: Vec<Vec<TokenId>>,
    /// Reports the log-probability of each token of the reply, and of this many likeliest tokens at its place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub logprobs: Option<usize>,
}

/// Which tokens count for penalties.
///
/// ```
/// use alloquy_core::SamplingOptions;
/// use alloquy_core::sampling::PenaltyScope;
///
/// let options = SamplingOptions {
///     presence_penalty: Some(0.5),
///     penalty_scope: Some(PenaltyScope::PromptAndReply),
///     ..SamplingOptions::default()
/// };
/// options.validate()?;
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum PenaltyScope {
    /// Those of the reply.
    Reply,
    /// Those of the prompt and the reply.
    PromptAndReply,
}

impl SamplingOptions {
    /// Takes the options that are absent here from `defaults`. Stops, suppressed tokens and biases of different tokens
    /// are joined.
    #[must_use]
    pub fn or(self, defaults: &SamplingOptions) -> Self {
        let mut logit_bias = defaults.logit_bias.clone();
        logit_bias.extend(self.logit_bias);
        Self {
            temperature: self.temperature.or(defaults.temperature),
            top_k: self.top_k.or(defaults.top_k),
            top_p: self.top_p.or(defaults.top_p),
            min_p: self.min_p.or(defaults.min_p),
            typical_p: self.typical_p.or(defaults.typical_p),
            repetition_penalty: self.repetition_penalty.or(defaults.repetition_penalty),
            presence_penalty: self.presence_penalty.or(defaults.presence_penalty),
            frequency_penalty: self.frequency_penalty.or(defaults.frequency_penalty),
            penalty_window: self.penalty_window.or(defaults.penalty_window),
            penalty_scope: self.penalty_scope.or(defaults.penalty_scope),
            no_repeat_ngram: self.no_repeat_ngram.or(defaults.no_repeat_ngram),
            repetition_detection: self.repetition_detection.or(defaults.repetition_detection),
            suppress: both(self.suppress, &defaults.suppress),
            logit_bias,
            seed: self.seed.or(defaults.seed),
            max_tokens: self.max_tokens.or(defaults.max_tokens),
            stop: both(self.stop, &defaults.stop),
            stop_tokens: both(self.stop_tokens, &defaults.stop_tokens),
            logprobs: self.logprobs.or(defaults.logprobs),
        }
    }

    /// Returns the JSON names of the options that are set, for models that report which of them they ignore.
    ///
    /// ```
    /// use alloquy_core::SamplingOptions;
    ///
    /// let options = SamplingOptions { top_k: Some(40), seed: Some(7), ..SamplingOptions::default() };
    /// assert_eq!(options.names(), ["top_k", "seed"]);
    /// ```
    #[must_use]
    pub fn names(&self) -> Vec<&'static str> {
        let all = [
            ("temperature", self.temperature.is_some()),
            ("top_k", self.top_k.is_some()),
            ("top_p", self.top_p.is_some()),
            ("min_p", self.min_p.is_some()),
            ("typical_p", self.typical_p.is_some()),
            ("repetition_penalty", self.repetition_penalty.is_some()),
            ("presence_penalty", self.presence_penalty.is_some()),
            ("frequency_penalty", self.frequency_penalty.is_some()),
            ("penalty_window", self.penalty_window.is_some()),
            ("penalty_scope", self.penalty_scope.is_some()),
            ("no_repeat_ngram", self.no_repeat_ngram.is_some()),
            ("repetition_detection", self.repetition_detection.is_some()),
            ("suppress", !self.suppress.is_empty()),
            ("logit_bias", !self.logit_bias.is_empty()),
            ("seed", self.seed.is_some()),
            ("max_tokens", self.max_tokens.is_some()),
            ("stop", !self.stop.is_empty()),
            ("stop_tokens", !self.stop_tokens.is_empty()),
            ("logprobs", self.logprobs.is_some()),
        ];
        all.into_iter().filter(|(_, is_set)| *is_set).map(|(name, _)| name).collect()
    }

    /// Returns whether no option is set.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Checks every value.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] naming the value and the valid range.
    pub fn validate(&self) -> Result<()> {
        self.validate_numbers()?;
        self.validate_penalties()?;
        if self.stop.iter().any(String::is_empty) {
            return Err(invalid("a stop text is empty: it would end every reply at once"));
        }
        if self.stop_tokens.iter().any(Vec::is_empty) {
            return Err(invalid("a stop sequence has no tokens: it would end every reply at once"));
        }
        Ok(())
    }

    fn validate_numbers(&self) -> Result<()> {
        check(
            "temperature",
            self.temperature,
            |value| (0.0..=f32::MAX).contains(&value),
            "a number of at least 0",
        )?;
        check("top-p", self.top_p, is_share, "above 0 and at most 1")?;
        check("min-p", self.min_p, |value| (0.0..=1.0).contains(&value), "at least 0 and at most 1")?;
        check("typical-p", self.typical_p, is_share, "above 0 and at most 1")
    }

    fn validate_penalties(&self) -> Result<()> {
        check("repetition penalty", self.repetition_penalty, is_factor, "a number above 0")?;
        check("presence penalty", self.presence_penalty, f32::is_finite, "a finite number")?;
        check("frequency penalty", self.frequency_penalty, f32::is_finite, "a finite number")?;
        if let Some((token, bias)) = self.logit_bias.iter().find(|(_, bias)| !bias.is_finite()) {
            return Err(invalid(format!("logit bias {bias} of token {token} is not a finite number")));
        }
        if self.repetition_detection == Some(1) {
            return Err(invalid("repetition detection 1 would end every reply: at least 2, or 0 for none"));
        }
        match (self.no_repeat_ngram, self.penalty_window) {
            (Some(size), Some(window)) if window > 0 && window < size => {
                Err(invalid(format!("no {size} tokens can repeat in a penalty window of {window}")))
            }
            _ => Ok(()),
        }
    }
}

fn both<T: Clone + PartialEq>(mut own: Vec<T>, defaults: &[T]) -> Vec<T> {
    for value in defaults {
        if !own.contains(value) {
            own.push(value.clone());
        }
    }
    own
}

fn is_share(value: f32) -> bool {
    value > 0.0 && value <= 1.0
}

fn is_factor(value: f32) -> bool {
    value > 0.0 && value.is_finite()
}

fn check(name: &str, value: Option<f32>, valid: impl Fn(f32) -> bool, range: &str) -> Result<()> {
    match value.filter(|&value| !valid(value)) {
        Some(value) => Err(invalid(format!("{name} {value} is not {range}"))),
        None => Ok(()),
    }
}

fn invalid(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Invalid, message)
}
