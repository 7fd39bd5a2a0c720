//! The body of a request for a completion.

use std::collections::BTreeMap;

use alloquy_core::tokenizer::TokenId;
use alloquy_core::{Preface, SamplingOptions, TurnRequest};
use alloquy_formats::messages::OpenAiOptions;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::messages;
use crate::error::{ApiError, ApiResult};
use crate::logprobs::check_top;
use crate::media_policy::MediaPolicy;
use crate::prompt_settings::PromptSettings;
use crate::turn_options::{Stops, check_metadata, must_ask, only, validated};

/// The fields of a request. Those that this server cannot follow are absent, so that they are refused by name.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ChatRequest {
    messages: Value,
    #[serde(default)]
    model: Option<String>,
    #[serde(default)]
    frequency_penalty: Option<f32>,
    #[serde(default)]
    logit_bias: Option<BTreeMap<String, f32>>,
    #[serde(default)]
    logprobs: Option<bool>,
    #[serde(default)]
    top_logprobs: Option<usize>,
    #[serde(default)]
    max_completion_tokens: Option<usize>,
    #[serde(default)]
    max_tokens: Option<usize>,
    #[serde(default)]
    metadata: Option<BTreeMap<String, String>>,
    #[serde(default)]
    modalities: Option<Vec<String>>,
    #[serde(default)]
    n: Option<u64>,
    #[serde(default)]
    parallel_tool_calls: Option<Value>,
    #[serde(default)]
    presence_penalty: Option<f32>,
    /// Names those who share a prompt. Prompts are found by their tokens here, so it changes nothing.
    #[serde(default, rename = "prompt_cache_key")]
    _prompt_cache_key: Option<String>,
    #[serde(default)]
    reasoning_effort: Option<Value>,
    #[serde(default)]
    response_format: Option<Value>,
    /// Names the end user for the provider's own checks, which this server has none of.
    #[serde(default, rename = "safety_identifier")]
    _safety_identifier: Option<String>,
    #[serde(default)]
    seed: Option<i64>,
    #[serde(default)]
    service_tier: Option<String>,
    #[serde(default)]
    stop: Option<Stops>,
    #[serde(default)]
    store: Option<bool>,
    #[serde(default)]
    stream: Option<bool>,
    #[serde(default)]
    stream_options: Option<StreamOptions>,
    #[serde(default)]
    temperature: Option<f32>,
    #[serde(default)]
    tool_choice: Option<Value>,
    #[serde(default)]
    tools: Option<Value>,
    #[serde(default)]
    top_p: Option<f32>,
    /// The former name of `safety_identifier`.
    #[serde(default, rename = "user")]
    _user: Option<String>,
    #[serde(default)]
    verbosity: Option<String>,
    // What other servers with open models accept beside OpenAI's fields.
    #[serde(default)]
    top_k: Option<usize>,
    #[serde(default)]
    min_p: Option<f32>,
    #[serde(default)]
    repetition_penalty: Option<f32>,
}

/// What a stream contains beside the reply.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct StreamOptions {
    #[serde(default)]
    include_usage: Option<bool>,
    /// Random characters that hide the lengths of chunks, which this server does not add.
    #[serde(default)]
    include_obfuscation: Option<bool>,
}

impl StreamOptions {
    /// Returns whether the usage follows the reply.
    pub(super) fn includes_usage(self) -> bool {
        self.include_usage.unwrap_or_default()
    }
}

/// Whether the conversation of a request is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Storing {
    Stored,
    /// It ends with the request.
    Temporary,
}

/// A request in our words.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) model: Option<String>,
    pub(super) preface: Preface,
    pub(super) turn: TurnRequest,
    pub(super) storing: Storing,
    pub(super) metadata: BTreeMap<String, String>,
    /// The options of a stream; `None` for a whole reply.
    pub(super) stream: Option<StreamOptions>,
    pub(super) logprobs: bool,
}

impl ChatRequest {
    /// Reads the request in our words.
    ///
    /// # Errors
    /// 400 with the field for what is not valid, and for what this server does not do.
    pub(super) fn asked(self, media: &MediaPolicy) -> ApiResult<Asked> {
        self.check_fixed()?;
        let stream = self.stream_options()?;
        let sampling = self.sampling()?;
        let options = self.options()?;
        let metadata = self.metadata.unwrap_or_default();
        check_metadata(&metadata)?;
        let transcript = messages::read(self.messages, self.tools, media)?;
        must_ask(&transcript.messages)?;
        let (preface, path) = transcript.into_preface();
        let turn = TurnRequest::from(path).sampling(sampling);
        let turn = PromptSettings::new(&options.arguments, &[]).keep(turn);
        let turn = turn.output(options.output).arguments(options.arguments);
        let storing = if self.store == Some(true) { Storing::Stored } else { Storing::Temporary };
        let logprobs = self.logprobs.unwrap_or_default();
        Ok(Asked { model: self.model, preface, turn, storing, metadata, stream, logprobs })
    }

    /// Checks the fields of which only one value is possible here.
    fn check_fixed(&self) -> ApiResult<()> {
        if let Some(number) = self.n.filter(|number| *number != 1) {
            let message = format!(
                "n is {number}, and a request has 1 choice here: send it {number} times, the prompt is computed once"
            );
            return Err(ApiError::unsupported("n", message));
        }
        if let Some(other) = self.modalities.iter().flatten().find(|name| *name != "text") {
            let message = format!("modalities has {other:?}: replies are \"text\" here");
            return Err(ApiError::unsupported("modalities", message));
        }
        only("service_tier", self.service_tier.as_deref(), &["auto", "default"])?;
        only("verbosity", self.verbosity.as_deref(), &["medium"])
    }

    fn stream_options(&self) -> ApiResult<Option<StreamOptions>> {
        let is_streamed = self.stream.unwrap_or_default();
        match self.stream_options {
            Some(_) if !is_streamed => {
                let message = "stream_options is given without \"stream\": true";
                Err(ApiError::invalid("stream_options", message))
            }
            Some(options) if options.include_obfuscation == Some(true) => {
                let message = "stream_options.include_obfuscation is true, and this server adds none: false";
                Err(ApiError::unsupported("stream_options.include_obfuscation", message))
            }
            options => Ok(is_streamed.then(|| options.unwrap_or_default())),
        }
    }

    fn sampling(&self) -> ApiResult<SamplingOptions> {
        let sampling = SamplingOptions {
            temperature: self.temperature,
            top_p: self.top_p,
            top_k: self.top_k,
            min_p: self.min_p,
            repetition_penalty: self.repetition_penalty,
            presence_penalty: self.presence_penalty,
            frequency_penalty: self.frequency_penalty,
            // A negative seed is as good as any other, and has the same bits each time.
            seed: self.seed.map(i64::cast_unsigned),
            max_tokens: self.max_tokens()?,
            stop: self.stop.as_ref().map(Stops::texts).unwrap_or_default(),
            logit_bias: self.logit_bias()?,
            logprobs: self.logprobs_of_each()?,
            ..SamplingOptions::default()
        };
        validated(sampling)
    }

    fn max_tokens(&self) -> ApiResult<Option<usize>> {
        match (self.max_completion_tokens, self.max_tokens) {
            (Some(new), Some(former)) if new != former => {
                let message = format!(
                    "max_completion_tokens is {new} and max_tokens, its former name, is {former}: send one of them"
                );
                Err(ApiError::invalid("max_tokens", message))
            }
            (new, former) => match new.or(former) {
                Some(0) => {
                    let message = "max_completion_tokens is 0, expected at least 1";
                    Err(ApiError::invalid("max_completion_tokens", message))
                }
                most => Ok(most),
            },
        }
    }

    fn logit_bias(&self) -> ApiResult<BTreeMap<TokenId, f32>> {
        let mut biases = BTreeMap::new();
        for (token, bias) in self.logit_bias.iter().flatten() {
            let Ok(id) = token.parse() else {
                let message = format!("logit_bias has the name {token:?}, expected the number of a token");
                return Err(ApiError::invalid("logit_bias", message));
            };
            biases.insert(id, *bias);
        }
        Ok(biases)
    }

    fn logprobs_of_each(&self) -> ApiResult<Option<usize>> {
        check_top(self.top_logprobs)?;
        match (self.logprobs.unwrap_or_default(), self.top_logprobs) {
            (false, Some(_)) => {
                Err(ApiError::invalid("top_logprobs", "top_logprobs is given without \"logprobs\": true"))
            }
            (false, None) => Ok(None),
            (true, top) => Ok(Some(top.unwrap_or_default())),
        }
    }

    fn options(&self) -> ApiResult<OpenAiOptions> {
        let mut fields = Map::new();
        let given = [
            ("response_format", &self.response_format),
            ("tool_choice", &self.tool_choice),
            ("parallel_tool_calls", &self.parallel_tool_calls),
            ("reasoning_effort", &self.reasoning_effort),
        ];
        for (name, value) in given {
            if let Some(value) = value {
                fields.insert(name.to_owned(), value.clone());
            }
        }
        Ok(OpenAiOptions::of(&fields)?)
    }
}
