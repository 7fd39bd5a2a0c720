//! The bodies of requests for replies.

use alloquy_core::arguments::{ProcessorArguments, ThinkingSwitch};
use alloquy_core::grammar::Grammar;
use alloquy_core::output::OutputConstraints;
use alloquy_core::{Content, Message, Part, Preface, Role, SamplingOptions, TurnRequest};
use alloquy_formats::messages::Transcript;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::messages::{MessageParam, Messages, ToolParam, images};
use super::options::Options;
use crate::error::{ApiError, ApiResult};
use crate::media_policy::MediaPolicy;
use crate::turn_options::must_ask;

/// The fields of `/api/chat`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ChatBody {
    model: String,
    #[serde(default)]
    messages: Vec<MessageParam>,
    #[serde(default)]
    tools: Option<Vec<ToolParam>>,
    #[serde(default)]
    format: Option<Value>,
    #[serde(default)]
    options: Option<Options>,
    #[serde(default)]
    stream: Option<bool>,
    #[serde(default)]
    think: Option<Think>,
    /// Models are unloaded where another needs the memory, not by time.
    #[serde(default, rename = "keep_alive")]
    _keep_alive: Option<KeepAlive>,
}

/// The fields of `/api/generate`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GenerateBody {
    model: String,
    #[serde(default)]
    prompt: Option<String>,
    #[serde(default)]
    system: Option<String>,
    #[serde(default)]
    images: Option<Vec<String>>,
    #[serde(default)]
    format: Option<Value>,
    #[serde(default)]
    options: Option<Options>,
    #[serde(default)]
    stream: Option<bool>,
    #[serde(default)]
    think: Option<Think>,
    #[serde(default, rename = "keep_alive")]
    _keep_alive: Option<KeepAlive>,
    // Clients send these with values that ask for nothing.
    #[serde(default)]
    suffix: Option<String>,
    #[serde(default)]
    template: Option<String>,
    #[serde(default)]
    raw: Option<bool>,
    #[serde(default)]
    context: Option<Vec<u32>>,
}

/// Whether the model thinks, or how much.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected true, false, \"low\", \"medium\", \"high\" or \"max\"")]
enum Think {
    Switch(bool),
    Effort(Effort),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Effort {
    Low,
    Medium,
    High,
    Max,
}

/// How long a model stays loaded.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected a number of seconds, or a text such as \"5m\"")]
pub(super) enum KeepAlive {
    Seconds(#[allow(dead_code, reason = "it changes nothing")] f64),
    Text(#[allow(dead_code, reason = "it changes nothing")] String),
}

/// A request in our words.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) model: String,
    /// `None` where nothing is asked, which loads the model.
    pub(super) question: Option<(Preface, TurnRequest)>,
    pub(super) is_streamed: bool,
    /// The length that the context must have.
    pub(super) context_length: Option<usize>,
}

impl ChatBody {
    /// Reads the request in our words.
    ///
    /// # Errors
    /// 400 with the field for what is not valid, and for what this server does not do.
    pub(super) fn asked(self, media: &MediaPolicy) -> ApiResult<Asked> {
        let settings = Settings::of(self.options, self.format.as_ref(), self.think)?;
        let messages = Messages::read(self.messages, media)?;
        let mut transcript = Transcript::new(messages);
        transcript.tools = self.tools.into_iter().flatten().map(ToolParam::spec).collect();
        let context_length = settings.context_length;
        let question = if transcript.messages.is_empty() { None } else { Some(settings.turn(transcript)?) };
        let is_streamed = self.stream.unwrap_or(true);
        Ok(Asked { model: self.model, question, is_streamed, context_length })
    }
}

impl GenerateBody {
    /// Reads the request in our words: a system prompt and a message of the user.
    ///
    /// # Errors
    /// 400 with the field for what is not valid, and for what this server does not do.
    pub(super) fn asked(self, media: &MediaPolicy) -> ApiResult<Asked> {
        self.check_absent()?;
        let settings = Settings::of(self.options, self.format.as_ref(), self.think)?;
        let mut parts: Vec<Part> = Vec::new();
        if let Some(prompt) = self.prompt.filter(|prompt| !prompt.is_empty()) {
            parts.push(Content::Text(prompt).into());
        }
        parts.extend(images(self.images.as_deref(), "images", media)?);
        let mut messages = Vec::new();
        let is_question = !parts.is_empty();
        messages.extend(self.system.filter(|system| !system.is_empty()).map(Message::system));
        messages.push(Message::new(Role::User, parts));
        let context_length = settings.context_length;
        let question = if is_question { Some(settings.turn(Transcript::new(messages))?) } else { None };
        let is_streamed = self.stream.unwrap_or(true);
        Ok(Asked { model: self.model, question, is_streamed, context_length })
    }

    /// Refuses what is not done here. An empty value asks for nothing.
    fn check_absent(&self) -> ApiResult<()> {
        let asked = [
            ("suffix", self.suffix.as_ref().is_some_and(|suffix| !suffix.is_empty())),
            ("template", self.template.as_ref().is_some_and(|template| !template.is_empty())),
            ("raw", self.raw == Some(true)),
            ("context", self.context.as_ref().is_some_and(|context| !context.is_empty())),
        ];
        match asked.iter().find(|(_, is_asked)| *is_asked) {
            Some((field, _)) => {
                let message = format!(
                    "{field}: prompts are rendered by the model's own template here, from whole messages: use /api/chat"
                );
                Err(ApiError::unsupported(*field, message))
            }
            None => Ok(()),
        }
    }
}

/// The settings that both bodies have.
struct Settings {
    sampling: SamplingOptions,
    output: OutputConstraints,
    arguments: ProcessorArguments,
    context_length: Option<usize>,
}

impl Settings {
    fn of(options: Option<Options>, format: Option<&Value>, think: Option<Think>) -> ApiResult<Self> {
        let options = options.unwrap_or_default();
        let mut output = OutputConstraints::default();
        output.grammar = format.map(grammar).transpose()?.flatten();
        let mut arguments = ProcessorArguments::default();
        match think {
            None => {}
            Some(Think::Switch(true)) => arguments.thinking = Some(ThinkingSwitch::On),
            Some(Think::Switch(false)) => {
                arguments.thinking = Some(ThinkingSwitch::Off);
                output.thinking_budget = Some(0);
            }
            Some(Think::Effort(effort)) => {
                arguments.thinking = Some(ThinkingSwitch::On);
                arguments = arguments.extra("reasoning_effort", effort.as_str());
            }
        }
        let sampling = options.sampling()?;
        Ok(Self { sampling, output, arguments, context_length: options.context_length() })
    }

    fn turn(self, transcript: Transcript) -> ApiResult<(Preface, TurnRequest)> {
        must_ask(&transcript.messages)?;
        let (preface, path) = transcript.into_preface();
        let turn = TurnRequest::from(path).sampling(self.sampling).output(self.output);
        Ok((preface, turn.arguments(self.arguments)))
    }
}

impl Effort {
    fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Max => "max",
        }
    }
}

/// Reads the form of the reply: any JSON, or that of a schema.
fn grammar(format: &Value) -> ApiResult<Option<Grammar>> {
    match format {
        Value::Null => Ok(None),
        Value::String(word) if word.is_empty() => Ok(None),
        Value::String(word) if word == "json" => Ok(Some(Grammar::JsonSchema(json!({"type": "object"})))),
        Value::Object(_) => Ok(Some(Grammar::JsonSchema(format.clone()))),
        other => {
            let message = format!("format is {other}, expected \"json\" or a JSON Schema");
            Err(ApiError::invalid("format", message))
        }
    }
}
