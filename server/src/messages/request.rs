//! The body of a request for a message, and of one that counts its tokens.

use alloquy_core::arguments::{ProcessorArguments, ThinkingHistory, ThinkingSwitch};
use alloquy_core::grammar::Grammar;
use alloquy_core::output::OutputConstraints;
use alloquy_core::{Preface, Role, SamplingOptions, TurnRequest};
use alloquy_formats::messages::Transcript;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::blocks::{self, Block, CacheControl, MessageParam, Messages};
use super::tools::{ToolChoiceParam, ToolParam};
use crate::error::{ApiError, ApiResult};
use crate::media_policy::MediaPolicy;
use crate::text_or::TextOr;
use crate::turn_options::validated;

/// The fields of a request. Those that this server cannot follow are absent, so that they are refused by name.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct MessagesRequest {
    max_tokens: usize,
    #[serde(default)]
    stop_sequences: Option<Vec<String>>,
    #[serde(default)]
    stream: Option<bool>,
    #[serde(default)]
    temperature: Option<f32>,
    #[serde(default)]
    top_k: Option<usize>,
    #[serde(default)]
    top_p: Option<f32>,
    /// Names the end user, for the provider's own checks, which this server has none of.
    #[serde(default, rename = "metadata")]
    _metadata: Option<RequestMetadata>,
    // The fields of `CountRequest`. They are written here again, because serde's `flatten` would lose the places of errors.
    messages: Vec<MessageParam>,
    #[serde(default)]
    model: Option<String>,
    #[serde(default)]
    system: Option<TextOr<Block>>,
    #[serde(default)]
    tools: Option<Vec<ToolParam>>,
    #[serde(default)]
    tool_choice: Option<ToolChoiceParam>,
    #[serde(default)]
    thinking: Option<ThinkingParam>,
    #[serde(default)]
    output_config: Option<OutputConfig>,
    #[serde(default)]
    context_management: Option<ContextManagement>,
    #[serde(default, rename = "cache_control")]
    _cache_control: Option<CacheControl>,
    #[serde(default, rename = "service_tier")]
    _service_tier: Option<ServiceTier>,
    #[serde(default, rename = "speed")]
    _speed: Option<Speed>,
    #[serde(default)]
    diagnostics: Option<DiagnosticsParam>,
}

/// The message with whose prompt the prompt of a request is to be compared.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct DiagnosticsParam {
    #[serde(default)]
    previous_message_id: Option<String>,
}

/// The fields of a request that counts tokens: those that decide the prompt.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CountRequest {
    messages: Vec<MessageParam>,
    #[serde(default)]
    model: Option<String>,
    #[serde(default)]
    system: Option<TextOr<Block>>,
    #[serde(default)]
    tools: Option<Vec<ToolParam>>,
    #[serde(default)]
    tool_choice: Option<ToolChoiceParam>,
    #[serde(default)]
    thinking: Option<ThinkingParam>,
    #[serde(default)]
    output_config: Option<OutputConfig>,
    #[serde(default)]
    context_management: Option<ContextManagement>,
    #[serde(default, rename = "cache_control")]
    _cache_control: Option<CacheControl>,
    #[serde(default, rename = "speed")]
    _speed: Option<Speed>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RequestMetadata {
    #[serde(default, rename = "user_id")]
    _user_id: Option<String>,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum ServiceTier {
    Auto,
    StandardOnly,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Speed {
    Standard,
}

/// Whether the model thinks.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
enum ThinkingParam {
    Enabled {
        budget_tokens: usize,
        #[serde(default)]
        display: Option<ThinkingDisplay>,
    },
    Adaptive {
        #[serde(default)]
        display: Option<ThinkingDisplay>,
    },
    Disabled {},
}

/// Whether a reply contains what the model thought. There is no summary of it here: it is sent as it is, or left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum ThinkingDisplay {
    Summarized,
    Omitted,
}

/// The form of the reply.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct OutputConfig {
    #[serde(default)]
    effort: Option<Effort>,
    #[serde(default)]
    format: Option<OutputFormat>,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Effort {
    Low,
    Medium,
    High,
    Xhigh,
    Max,
}

impl Effort {
    fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Xhigh => "xhigh",
            Self::Max => "max",
        }
    }
}

#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
enum OutputFormat {
    JsonSchema { schema: Value },
}

/// What is left out of earlier messages.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ContextManagement {
    #[serde(default)]
    edits: Vec<ContextEdit>,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(tag = "type", deny_unknown_fields)]
enum ContextEdit {
    #[serde(rename = "clear_thinking_20251015")]
    ClearThinking {
        #[serde(default)]
        keep: Option<KeptThinking>,
    },
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "expected \"all\", {\"type\": \"all\"} or {\"type\": \"thinking_turns\", \"value\": 1}"
)]
enum KeptThinking {
    Word(AllTurns),
    Turns(KeptTurns),
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum AllTurns {
    All,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
enum KeptTurns {
    All {},
    ThinkingTurns { value: usize },
}

/// A request in our words.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) model: Option<String>,
    pub(super) preface: Preface,
    pub(super) turn: TurnRequest,
    pub(super) is_streamed: bool,
    /// Whether the reply leaves out what the model thought.
    pub(super) hides_thinking: bool,
    /// Whether the prompt is to be compared with that of an earlier message.
    pub(super) is_compared: bool,
}

impl MessagesRequest {
    /// Reads the request in our words.
    ///
    /// # Errors
    /// 400 with the field for what is not valid, and for what this server does not do.
    pub(super) fn asked(self, media: &MediaPolicy) -> ApiResult<Asked> {
        let sampling = self.sampling()?;
        let hides_thinking = self.thinking.is_some_and(ThinkingParam::is_hidden);
        let prompt = CountRequest {
            messages: self.messages,
            model: self.model,
            system: self.system,
            tools: self.tools,
            tool_choice: self.tool_choice,
            thinking: self.thinking,
            output_config: self.output_config,
            context_management: self.context_management,
            _cache_control: None,
            _speed: None,
        };
        let asked = prompt.asked(media)?;
        Ok(Asked {
            turn: asked.turn.sampling(sampling),
            is_streamed: self.stream.unwrap_or_default(),
            hides_thinking,
            is_compared: self.diagnostics.is_some_and(|given| given.previous_message_id.is_some()),
            ..asked
        })
    }

    fn sampling(&self) -> ApiResult<SamplingOptions> {
        if self.max_tokens == 0 {
            return Err(ApiError::invalid("max_tokens", "max_tokens is 0, expected at least 1"));
        }
        validated(SamplingOptions {
            temperature: self.temperature,
            top_k: self.top_k,
            top_p: self.top_p,
            max_tokens: Some(self.max_tokens),
            stop: self.stop_sequences.clone().unwrap_or_default(),
            ..SamplingOptions::default()
        })
    }
}

impl CountRequest {
    /// Reads the request in our words.
    ///
    /// # Errors
    /// 400 with the field for what is not valid, and for what this server does not do.
    pub(super) fn asked(self, media: &MediaPolicy) -> ApiResult<Asked> {
        let mut messages = Vec::new();
        if let Some(system) = &self.system {
            messages.extend(blocks::system(system)?);
        }
        messages.extend(Messages::read(&self.messages, media)?);
        if messages.last().is_none_or(|last| last.role == Role::Assistant) {
            let message = "messages: the last message is not of the user, so nothing is asked; a reply cannot begin with a given text";
            return Err(ApiError::invalid("messages", message));
        }
        let mut transcript = Transcript::new(messages);
        for (index, tool) in self.tools.iter().flatten().enumerate() {
            transcript.tools.push(tool.spec(&format!("tools[{index}]"))?);
        }
        let arguments = self.arguments()?;
        let output = self.output();
        let (preface, path) = transcript.into_preface();
        Ok(Asked {
            model: self.model,
            preface,
            turn: TurnRequest::from(path).output(output).arguments(arguments),
            is_streamed: false,
            hides_thinking: false,
            is_compared: false,
        })
    }

    fn output(&self) -> OutputConstraints {
        let mut output = OutputConstraints::default();
        if let Some(choice) = &self.tool_choice {
            output = choice.constrain(output);
        }
        if let Some(OutputConfig { format: Some(OutputFormat::JsonSchema { schema }), .. }) =
            &self.output_config
        {
            output = output.grammar(Grammar::JsonSchema(schema.clone()));
        }
        match self.thinking {
            Some(ThinkingParam::Enabled { budget_tokens, .. }) => output.thinking_budget(budget_tokens),
            Some(ThinkingParam::Disabled {}) => output.thinking_budget(0),
            Some(ThinkingParam::Adaptive { .. }) | None => output,
        }
    }

    fn arguments(&self) -> ApiResult<ProcessorArguments> {
        let mut arguments = ProcessorArguments::default();
        arguments.thinking = self.thinking.map(ThinkingParam::switch);
        if let Some(OutputConfig { effort: Some(effort), .. }) = &self.output_config {
            arguments = arguments.extra("reasoning_effort", effort.as_str());
        }
        if let Some(management) = &self.context_management {
            for (index, ContextEdit::ClearThinking { keep }) in management.edits.iter().enumerate() {
                arguments.history = Some(history(*keep, &format!("context_management.edits[{index}]"))?);
            }
        }
        Ok(arguments)
    }
}

impl ThinkingParam {
    fn switch(self) -> ThinkingSwitch {
        match self {
            Self::Enabled { .. } | Self::Adaptive { .. } => ThinkingSwitch::On,
            Self::Disabled {} => ThinkingSwitch::Off,
        }
    }

    fn is_hidden(self) -> bool {
        let display = match self {
            Self::Enabled { display, .. } | Self::Adaptive { display } => display,
            Self::Disabled {} => None,
        };
        display == Some(ThinkingDisplay::Omitted)
    }
}

/// Reads which thinking the model sees again: all, or that of the last turn.
fn history(keep: Option<KeptThinking>, place: &str) -> ApiResult<ThinkingHistory> {
    match keep {
        Some(KeptThinking::Word(AllTurns::All) | KeptThinking::Turns(KeptTurns::All {})) => {
            Ok(ThinkingHistory::Keep)
        }
        None | Some(KeptThinking::Turns(KeptTurns::ThinkingTurns { value: 1 })) => {
            Ok(ThinkingHistory::StripBeforeLastUser)
        }
        Some(KeptThinking::Turns(KeptTurns::ThinkingTurns { value })) => {
            let place = format!("{place}.keep.value");
            let message = format!("{place} is {value}, expected 1, or \"all\" in place of a number");
            Err(ApiError::unsupported(place, message))
        }
    }
}
