//! The body of a request for a response.

use std::collections::BTreeMap;
use std::sync::Arc;

use alloquy_core::arguments::ProcessorArguments;
use alloquy_core::output::{OutputConstraints, ToolChoice};
use alloquy_core::{ConversationId, Message, SamplingOptions, ToolSpec, TurnRequest};
use alloquy_formats::messages::OpenAiOptions;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::events::EventWriter;
use super::include::Included;
use super::settings::{ConversationOf, Settings};
use super::tools::{AllowedTools, GivenTool, chat_choice, offered};
use crate::error::{ApiError, ApiResult};
use crate::host_tools::HostTools;
use crate::items::{GivenItem, Input, Namespaces, SERVERS, parsed_items};
use crate::logprobs::check_top;
use crate::prompt_settings::PromptSettings;
use crate::served_tools::ToolServers;
use crate::turn_options::{Metadata, Stops, check_metadata, only, renamed, validated};

/// The fields of a request. Those that this server cannot follow are absent, so that they are refused by name.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ResponseRequest {
    /// Whether the response is generated after the request has ended.
    pub(super) background: Option<bool>,
    /// Names the session of a client, for its own logs.
    #[serde(rename = "client_metadata")]
    _client_metadata: Option<BTreeMap<String, String>>,
    pub(super) conversation: Option<GivenConversation>,
    /// Of Open Responses, as is `presence_penalty`.
    frequency_penalty: Option<f64>,
    include: Option<Vec<String>>,
    #[schemars(with = "Option<Input>")]
    pub(super) input: Option<Value>,
    pub(super) instructions: Option<String>,
    max_output_tokens: Option<usize>,
    max_tool_calls: Option<u64>,
    metadata: Option<Metadata>,
    pub(super) model: Option<String>,
    pub(super) parallel_tool_calls: Option<bool>,
    presence_penalty: Option<f64>,
    pub(super) previous_response_id: Option<String>,
    /// Names those who share a prompt. Prompts are found by their tokens here, so it changes nothing.
    prompt_cache_key: Option<String>,
    pub(super) reasoning: Option<Reasoning>,
    /// Names the end user for the provider's own checks, which this server has none of.
    safety_identifier: Option<String>,
    pub(super) service_tier: Option<String>,
    pub(super) store: Option<bool>,
    pub(super) stream: Option<bool>,
    stream_options: Option<StreamOptions>,
    temperature: Option<f64>,
    pub(super) text: Option<TextOptions>,
    pub(super) tool_choice: Option<Value>,
    pub(super) tools: Option<Vec<GivenTool>>,
    top_logprobs: Option<usize>,
    top_p: Option<f64>,
    pub(super) truncation: Option<String>,
    /// The former name of `safety_identifier`.
    user: Option<String>,
    // What Chat Completions accepts here as well.
    top_k: Option<usize>,
    min_p: Option<f32>,
    repetition_penalty: Option<f32>,
    seed: Option<i64>,
    stop: Option<Stops>,
}

/// The fields of a request for the number of its tokens.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct TokensRequest {
    conversation: Option<GivenConversation>,
    #[schemars(with = "Option<Input>")]
    input: Option<Value>,
    instructions: Option<String>,
    model: Option<String>,
    parallel_tool_calls: Option<bool>,
    previous_response_id: Option<String>,
    reasoning: Option<Reasoning>,
    text: Option<TextOptions>,
    tool_choice: Option<Value>,
    tools: Option<Vec<GivenTool>>,
    truncation: Option<String>,
}

impl From<TokensRequest> for ResponseRequest {
    fn from(request: TokensRequest) -> Self {
        // Nothing is stored, unless the input follows a stored conversation, which stays as it is.
        let store = request.conversation.is_some();
        Self {
            conversation: request.conversation,
            input: request.input,
            instructions: request.instructions,
            model: request.model,
            parallel_tool_calls: request.parallel_tool_calls,
            previous_response_id: request.previous_response_id,
            reasoning: request.reasoning,
            store: Some(store),
            text: request.text,
            tool_choice: request.tool_choice,
            tools: request.tools,
            truncation: request.truncation,
            ..Self::default()
        }
    }
}

/// A conversation by its id.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected the id of a conversation, or an object with it")]
pub(crate) enum GivenConversation {
    Id(String),
    Object(ConversationOf),
}

impl GivenConversation {
    pub(super) fn id(&self) -> &str {
        match self {
            Self::Id(id) | Self::Object(ConversationOf { id }) => id,
        }
    }
}

/// How much the model thinks.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Reasoning {
    effort: Option<String>,
    /// `auto` is the best one that there is; here, items have what was thought, and no summary.
    summary: Option<String>,
}

/// The form of the text.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct TextOptions {
    format: Option<TextFormat>,
    verbosity: Option<String>,
}

#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
enum TextFormat {
    Text,
    JsonObject,
    JsonSchema {
        name: String,
        schema: Value,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        description: Option<String>,
        #[serde(default)]
        strict: Option<bool>,
    },
    /// As Chat Completions accepts it here.
    Regex {
        pattern: String,
    },
}

/// What a stream contains beside the response.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct StreamOptions {
    /// Random characters that hide the lengths of events, which this server does not add.
    #[serde(default)]
    include_obfuscation: Option<bool>,
}

/// A request in our words.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) model: Option<String>,
    pub(super) items: Arc<Vec<GivenItem>>,
    pub(super) context: Context,
    pub(super) options: TurnOptions,
    /// The tools of the host.
    pub(super) tools: HostTools,
    /// The fields of the response that repeat those of the request. Its model is not known yet.
    pub(super) settings: Settings,
    pub(super) is_streamed: bool,
    pub(super) logprobs: bool,
}

/// The options of a turn.
#[derive(Clone, Debug)]
pub(super) struct TurnOptions {
    sampling: SamplingOptions,
    output: OutputConstraints,
    arguments: ProcessorArguments,
    tools: Vec<ToolSpec>,
}

impl TurnOptions {
    /// Returns the request of a turn with these messages.
    fn turn(&self, messages: Vec<Message>) -> TurnRequest {
        let turn = TurnRequest::from(messages);
        PromptSettings::new(&self.arguments, &self.tools)
            .keep(turn)
            .sampling(self.sampling.clone())
            .output(self.output.clone())
            .arguments(self.arguments.clone())
            .host_tools(self.tools.clone())
    }
}

/// What precedes the input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Context {
    /// Nothing.
    New,
    /// The conversation with this id, to its head.
    Conversation(String),
    /// The response with this id.
    Response(String),
}

impl Asked {
    /// Returns the writer of the events of the response.
    pub(super) fn writer(&self, conversation: &ConversationId) -> EventWriter {
        let functions = self.settings.tools.iter().filter_map(|tool| tool.get("name")?.as_str());
        let namespaces = Namespaces::of_tools(&self.settings.tools);
        let tools = functions.chain(namespaces.names()).map(str::to_owned).collect();
        let writer = EventWriter::new(self.settings.clone(), conversation.clone(), tools);
        writer.servers(self.tools.servers.clone())
    }

    /// Returns the request of a turn with these messages and the tools of the host.
    pub(super) fn turn(&self, messages: Vec<Message>) -> TurnRequest {
        let turn = self.options.turn(messages);
        if self.tools.is_empty() {
            return turn;
        }
        let (_, free) = self.tools.toolboxes();
        turn.tools(free).metadata(SERVERS, json!(self.tools.servers))
    }
}

impl ResponseRequest {
    /// Reads the request in our words.
    ///
    /// # Errors
    /// 400 with the field for what is not valid, and for what this server does not do.
    pub(super) fn asked(self, now: u64, servers: &ToolServers) -> ApiResult<Asked> {
        let items = self.items()?;
        self.asked_with(items, now, servers)
    }

    /// Reads the request in our words, with these items in the place of its input.
    ///
    /// # Errors
    /// As [`ResponseRequest::asked`], but for those of the input.
    pub(super) fn asked_with(
        self,
        items: Vec<GivenItem>,
        now: u64,
        servers: &ToolServers,
    ) -> ApiResult<Asked> {
        self.check_fixed()?;
        let context = self.context()?;
        let included = Included::read(self.include.iter().flatten().map(String::as_str))?;
        let sampling = self.sampling(&included)?;
        let tools = self.tools.as_deref().unwrap_or_default();
        let offered = offered(tools, servers)?;
        let choice = AllowedTools::read(self.tool_choice.as_ref(), &offered)?;
        let options = self.options(&choice)?;
        check_metadata(self.metadata.as_ref().unwrap_or(&Metadata::new()))?;
        let allowed = offered.iter().filter(|tool| choice.allows(tool.name()));
        let specs: Vec<ToolSpec> = allowed.clone().map(|tool| tool.spec.clone()).collect();
        check_choice(options.output.tool_choice.as_ref(), &specs)?;
        // What waits for an approval is offered as what the client runs is: the turn ends at its calls.
        let client = allowed.filter(|tool| tool.server.as_ref().is_none_or(|server| server.waits));
        let client: Vec<ToolSpec> = client.map(|tool| tool.spec.clone()).collect();
        let OpenAiOptions { output, arguments, .. } = options;
        let options = TurnOptions { sampling, output, arguments, tools: client };
        Ok(Asked {
            model: self.model.clone(),
            items: Arc::new(items),
            context,
            options,
            tools: HostTools::new(&offered, &specs, self.max_tool_calls),
            is_streamed: self.stream.unwrap_or_default(),
            logprobs: included.logprobs,
            settings: self.settings(now),
        })
    }

    /// Checks the fields of which only some values are possible here.
    fn check_fixed(&self) -> ApiResult<()> {
        only("service_tier", self.service_tier.as_deref(), &["auto", "default"])?;
        only("truncation", self.truncation.as_deref(), &["disabled"])?;
        let text = self.text.clone().unwrap_or_default();
        only("text.verbosity", text.verbosity.as_deref(), &["medium"])?;
        let reasoning = self.reasoning.clone().unwrap_or_default();
        only("reasoning.summary", reasoning.summary.as_deref(), &["auto"])?;
        let is_background = self.background.unwrap_or_default();
        if is_background && self.store == Some(false) {
            let message = "background is true and store is false: a response in the background is fetched from the store";
            return Err(ApiError::invalid("background", message));
        }
        match self.stream_options {
            Some(_) if !self.stream.unwrap_or_default() => {
                let message = "stream_options is given without \"stream\": true";
                Err(ApiError::invalid("stream_options", message))
            }
            Some(options) if options.include_obfuscation == Some(true) => {
                let message = "stream_options.include_obfuscation is true, and this server adds none: false";
                Err(ApiError::unsupported("stream_options.include_obfuscation", message))
            }
            _ => Ok(()),
        }
    }

    fn context(&self) -> ApiResult<Context> {
        match (&self.conversation, &self.previous_response_id) {
            (Some(_), Some(_)) => {
                let message = "conversation and previous_response_id are both given: send the one that the input follows";
                Err(ApiError::invalid("previous_response_id", message).code("mutually_exclusive_parameters"))
            }
            (Some(_), None) if self.store == Some(false) => {
                let message = "conversation is given and store is false: a conversation stores its responses";
                Err(ApiError::invalid("conversation", message))
            }
            (Some(conversation), None) => Ok(Context::Conversation(conversation.id().to_owned())),
            (None, Some(id)) => Ok(Context::Response(id.clone())),
            (None, None) => Ok(Context::New),
        }
    }

    pub(super) fn items(&self) -> ApiResult<Vec<GivenItem>> {
        let Some(input) = &self.input else {
            return Err(ApiError::invalid("input", "input is missing, so nothing is asked"));
        };
        let items = parsed_items(input, "input")?;
        if items.is_empty() {
            return Err(ApiError::invalid("input", "input has no items, so nothing is asked"));
        }
        Ok(items)
    }

    #[allow(clippy::cast_possible_truncation, reason = "samplers compute with these precisions")]
    fn sampling(&self, included: &Included) -> ApiResult<SamplingOptions> {
        check_top(self.top_logprobs)?;
        let top = self.top_logprobs.unwrap_or_default();
        if top > 0 && !included.logprobs {
            let message = format!(
                "top_logprobs is {top}, and include has no {:?}: add it, or leave out both",
                Included::LOGPROBS
            );
            return Err(ApiError::invalid("top_logprobs", message));
        }
        if self.max_output_tokens == Some(0) {
            let message = "max_output_tokens is 0, expected at least 1";
            return Err(ApiError::invalid("max_output_tokens", message));
        }
        validated(SamplingOptions {
            temperature: self.temperature.map(|temperature| temperature as f32),
            top_p: self.top_p.map(|top_p| top_p as f32),
            top_k: self.top_k,
            min_p: self.min_p,
            repetition_penalty: self.repetition_penalty,
            presence_penalty: self.presence_penalty.map(|penalty| penalty as f32),
            frequency_penalty: self.frequency_penalty.map(|penalty| penalty as f32),
            // A negative seed is as good as any other, and has the same bits each time.
            seed: self.seed.map(i64::cast_unsigned),
            max_tokens: self.max_output_tokens,
            stop: self.stop.as_ref().map(Stops::texts).unwrap_or_default(),
            logprobs: included.logprobs.then_some(top),
            ..SamplingOptions::default()
        })
    }

    /// Reads the options that Chat Completions has too, under the names that they have there.
    fn options(&self, choice: &AllowedTools) -> ApiResult<OpenAiOptions> {
        let mut fields = Map::new();
        if let Some(format) = self.text.as_ref().and_then(|text| text.format.as_ref()) {
            fields.insert("response_format".to_owned(), format.chat());
        }
        if let Some(choice) = chat_choice(choice) {
            fields.insert("tool_choice".to_owned(), choice);
        }
        if let Some(parallel) = self.parallel_tool_calls {
            fields.insert("parallel_tool_calls".to_owned(), parallel.into());
        }
        if let Some(effort) = self.reasoning.as_ref().and_then(|reasoning| reasoning.effort.clone()) {
            fields.insert("reasoning_effort".to_owned(), effort.into());
        }
        OpenAiOptions::of(&fields).map_err(|error| {
            let message = format!("{error:#}");
            let names = [
                ("response_format.json_schema", "text.format"),
                ("response_format", "text.format"),
                ("reasoning_effort", "reasoning.effort"),
            ];
            match names.iter().find(|(former, _)| message.starts_with(former)) {
                Some((former, place)) => renamed(&error, former, place),
                None => error.into(),
            }
        })
    }

    fn settings(self, now: u64) -> Settings {
        let conversation = self.conversation.map(|given| ConversationOf { id: given.id().to_owned() });
        let text = self.text.unwrap_or_default();
        Settings {
            created_at: now,
            model: String::new(),
            background: self.background.unwrap_or_default(),
            conversation,
            previous_response_id: self.previous_response_id,
            instructions: self.instructions,
            max_output_tokens: self.max_output_tokens,
            max_tool_calls: self.max_tool_calls,
            metadata: self.metadata.unwrap_or_default(),
            parallel_tool_calls: self.parallel_tool_calls.unwrap_or(true),
            prompt_cache_key: self.prompt_cache_key,
            reasoning: Some(json!(self.reasoning.unwrap_or_default())),
            safety_identifier: self.safety_identifier,
            service_tier: "default".to_owned(),
            store: self.store.unwrap_or(true),
            // Clients of Open Responses require numbers, so what the model decides is 1 or 0 here.
            temperature: self.temperature.unwrap_or(1.0),
            presence_penalty: self.presence_penalty.unwrap_or_default(),
            frequency_penalty: self.frequency_penalty.unwrap_or_default(),
            text: json!({"format": text.format.unwrap_or(TextFormat::Text), "verbosity": "medium"}),
            tool_choice: self.tool_choice.unwrap_or_else(|| "auto".into()),
            tools: self.tools.iter().flatten().map(|tool| json!(tool)).collect(),
            top_logprobs: self.top_logprobs.unwrap_or_default(),
            top_p: self.top_p.unwrap_or(1.0),
            truncation: "disabled".to_owned(),
            user: self.user,
        }
    }
}

impl TextFormat {
    /// Returns the `response_format` of Chat Completions.
    fn chat(&self) -> Value {
        match self {
            Self::JsonSchema { name, schema, .. } => {
                json!({"type": "json_schema", "json_schema": {"name": name, "schema": schema}})
            }
            other => json!(other),
        }
    }
}

/// Checks that calls are demanded of a tool that is offered.
fn check_choice(choice: Option<&ToolChoice>, tools: &[ToolSpec]) -> ApiResult<()> {
    match choice {
        Some(ToolChoice::Named(name)) if tools.iter().all(|tool| tool.name != *name) => {
            let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
            let message = format!("tool_choice names {name:?}, and tools has {}", json!(names));
            Err(ApiError::invalid("tool_choice", message))
        }
        Some(ToolChoice::Required) if tools.is_empty() => {
            Err(ApiError::invalid("tool_choice", "tool_choice is \"required\", and there are no tools"))
        }
        _ => Ok(()),
    }
}
