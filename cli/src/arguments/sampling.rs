//! The arguments of sampling.

use std::str::FromStr;

use alloquy::core::SamplingOptions;
use alloquy::core::sampling::PenaltyScope;
use alloquy::core::tokenizer::TokenId;
use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};

use crate::limits::{count, number, read_count, read_number};

/// How answers are sampled.
#[derive(Args, Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, rename_all = "kebab-case")]
#[command(next_help_heading = "Sampling")]
pub(crate) struct SamplingArguments {
    /// Randomness: 0 always takes the likeliest token, 1 is the model's own
    #[arg(long, value_name = "X", env = "ALLOQUY_TEMPERATURE", value_parser = number("temperature"))]
    pub(crate) temperature: Option<f64>,

    /// Draw among the N likeliest tokens; 0 is all
    #[arg(long, value_name = "N", env = "ALLOQUY_TOP_K", value_parser = count::<usize>("top-k"))]
    pub(crate) top_k: Option<usize>,

    /// Draw among the likeliest tokens that together reach this probability
    #[arg(long, value_name = "P", env = "ALLOQUY_TOP_P", value_parser = number("top-p"))]
    pub(crate) top_p: Option<f64>,

    /// Draw among the tokens at least this often as likely as the likeliest
    #[arg(long, value_name = "P", env = "ALLOQUY_MIN_P", value_parser = number("min-p"))]
    pub(crate) min_p: Option<f64>,

    /// Draw among the tokens of the most typical probability that together reach this probability
    #[arg(long, value_name = "P", env = "ALLOQUY_TYPICAL_P", value_parser = number("typical-p"))]
    pub(crate) typical_p: Option<f64>,

    /// Make tokens that occurred, in the prompt too, less likely by this factor; 1 is off
    #[arg(long, value_name = "X", env = "ALLOQUY_REPETITION_PENALTY", value_parser = number("repetition-penalty"))]
    pub(crate) repetition_penalty: Option<f64>,

    /// Make tokens that occurred in the answer less likely by this much
    #[arg(long, value_name = "X", env = "ALLOQUY_PRESENCE_PENALTY", value_parser = number("presence-penalty"))]
    pub(crate) presence_penalty: Option<f64>,

    /// Make tokens less likely by this much for each time they occurred in the answer
    #[arg(long, value_name = "X", env = "ALLOQUY_FREQUENCY_PENALTY", value_parser = number("frequency-penalty"))]
    pub(crate) frequency_penalty: Option<f64>,

    /// Let penalties look at the last N tokens only; 0 is all
    #[arg(long, value_name = "N", env = "ALLOQUY_PENALTY_WINDOW", value_parser = count::<usize>("penalty-window"))]
    pub(crate) penalty_window: Option<usize>,

    /// Which tokens count for penalties: reply or prompt-and-reply; unless set, as each penalty's description says
    #[arg(
        long,
        value_enum,
        value_name = "SCOPE",
        env = "ALLOQUY_PENALTY_SCOPE",
        hide_possible_values = true
    )]
    pub(crate) penalty_scope: Option<Scope>,

    /// Never let N tokens follow each other twice; 0 is off
    #[arg(long, value_name = "N", env = "ALLOQUY_NO_REPEAT_NGRAM", value_parser = count::<usize>("no-repeat-ngram"))]
    pub(crate) no_repeat_ngram: Option<usize>,

    /// End an answer that repeats the same tokens N times in a row; 0 lets it repeat them, 16 unless set
    #[arg(long, value_name = "N", env = "ALLOQUY_REPETITION_DETECTION", value_parser = count::<usize>("repetition-detection"))]
    pub(crate) repetition_detection: Option<usize>,

    /// Add X to the logit of the token with this id; may be repeated
    #[arg(long, value_name = "ID=X", env = "ALLOQUY_LOGIT_BIAS", value_delimiter = ',')]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) logit_bias: Vec<TokenBias>,

    /// Make the draw repeatable
    #[arg(long, value_name = "N", env = "ALLOQUY_SEED", value_parser = count::<u64>("seed"))]
    pub(crate) seed: Option<u64>,

    /// End an answer after N tokens
    #[arg(long, value_name = "N", env = "ALLOQUY_MAX_TOKENS", value_parser = count::<usize>("max-tokens"))]
    pub(crate) max_tokens: Option<usize>,

    /// End an answer at this text, which is left out; may be repeated
    #[arg(long, value_name = "TEXT", env = "ALLOQUY_STOP")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) stop: Vec<String>,

    /// Print how likely each token of the answer was, and the N likeliest in its place
    #[arg(long, value_name = "N", env = "ALLOQUY_LOGPROBS", value_parser = count::<usize>("logprobs"))]
    pub(crate) logprobs: Option<usize>,
}

/// Which tokens count for penalties.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Scope {
    Reply,
    PromptAndReply,
}

impl Scope {
    fn option(self) -> PenaltyScope {
        match self {
            Self::Reply => PenaltyScope::Reply,
            Self::PromptAndReply => PenaltyScope::PromptAndReply,
        }
    }

    fn of(scope: PenaltyScope) -> Option<Self> {
        match scope {
            PenaltyScope::Reply => Some(Self::Reply),
            PenaltyScope::PromptAndReply => Some(Self::PromptAndReply),
            _ => None,
        }
    }
}

/// A token's id and what is added to its logit, as `ID=X`.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct TokenBias(TokenId, f32);

impl FromStr for TokenBias {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (id, bias) = text
            .split_once('=')
            .ok_or_else(|| format!("{text:?} is not a token's id and a number, as in 15=-2.5"))?;
        let id = read_count("logit-bias-id", id).map_err(|expected| format!("token {id:?}, {expected}"))?;
        let bias =
            read_number("logit-bias", bias).map_err(|expected| format!("bias {bias:?}, {expected}"))?;
        Ok(Self(id, bias as f32))
    }
}

impl TryFrom<String> for TokenBias {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<TokenBias> for String {
    fn from(TokenBias(id, bias): TokenBias) -> Self {
        format!("{id}={bias}")
    }
}

fn narrowed(value: Option<f64>) -> Option<f32> {
    value.map(|value| value as f32)
}

/// Converts through text: a 0.6 of 32 bits would become 0.6000000238.
fn widened(value: f32) -> f64 {
    value.to_string().parse().unwrap_or(f64::from(value))
}

impl SamplingArguments {
    /// Returns the options for the library.
    pub(crate) fn options(&self) -> SamplingOptions {
        SamplingOptions {
            temperature: narrowed(self.temperature),
            top_k: self.top_k,
            top_p: narrowed(self.top_p),
            min_p: narrowed(self.min_p),
            typical_p: narrowed(self.typical_p),
            repetition_penalty: narrowed(self.repetition_penalty),
            presence_penalty: narrowed(self.presence_penalty),
            frequency_penalty: narrowed(self.frequency_penalty),
            penalty_window: self.penalty_window,
            penalty_scope: self.penalty_scope.map(Scope::option),
            no_repeat_ngram: self.no_repeat_ngram,
            repetition_detection: self.repetition_detection,
            logit_bias: self.logit_bias.iter().map(|&TokenBias(id, bias)| (id, bias)).collect(),
            logprobs: self.logprobs,
            seed: self.seed,
            max_tokens: self.max_tokens,
            stop: self.stop.clone(),
            ..SamplingOptions::default()
        }
    }
}

impl From<SamplingOptions> for SamplingArguments {
    fn from(options: SamplingOptions) -> Self {
        Self {
            temperature: options.temperature.map(widened),
            top_k: options.top_k,
            top_p: options.top_p.map(widened),
            min_p: options.min_p.map(widened),
            typical_p: options.typical_p.map(widened),
            repetition_penalty: options.repetition_penalty.map(widened),
            presence_penalty: options.presence_penalty.map(widened),
            frequency_penalty: options.frequency_penalty.map(widened),
            penalty_window: options.penalty_window,
            penalty_scope: options.penalty_scope.and_then(Scope::of),
            no_repeat_ngram: options.no_repeat_ngram,
            repetition_detection: options.repetition_detection,
            logit_bias: options.logit_bias.into_iter().map(|(id, bias)| TokenBias(id, bias)).collect(),
            logprobs: options.logprobs,
            seed: options.seed,
            max_tokens: options.max_tokens,
            stop: options.stop,
        }
    }
}
