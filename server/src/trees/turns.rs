//! Turns: messages that are sent, edited or answered again, and messages that are added without a reply.

use std::future::ready;

use alloquy_core::{Conversation, Message, Node, Role, SamplingOptions, ToolSpec, Turn, TurnRequest};
use alloquy_formats::messages::OpenAiOptions;
use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::IntoResponse;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::continuing::{beginning, beginning_of};
use super::conversations::PromptCall;
use super::head::Expected;
use super::identity::{HEAD, node as found, opened, opened_in, place, shown};
use super::objects::NodeObject;
use super::reading::notes;
use super::turn_events::{TurnEventWriter, TurnObject, head_after};
use super::turn_tools::{Approving, GivenTurnTool, TurnApproval, TurnTools, path_to};
use crate::app::App;
use crate::body::{JsonBody, PathOf};
use crate::caller::Caller;
use crate::chat_completions::messages;
use crate::error::{ApiError, ApiResult};
use crate::host_tools::Work;
use crate::items::SERVERS;
use crate::logprobs::{check_top, must_have_tokens};
use crate::media_policy::MediaPolicy;
use crate::models::ModelLease;
use crate::prompt_settings::{PROMPT_SETTINGS, PromptSettings};
use crate::reply_report::complete;
use crate::streaming;

/// What a turn does.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum TurnAction {
    /// Sends the messages after a node, and gets a reply. Without messages, the node is answered.
    #[default]
    Send,
    /// Sends the messages instead of a node, which stays as a branch.
    Edit,
    /// Answers the last user message at or before a node again. The present reply stays as a branch.
    Retry,
    /// Continues a reply that was cut, or that ended: the new one begins with the tokens of this one, which stays as a branch.
    Continue,
}

/// A turn: what is sent, where, and how it is answered.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewTurn {
    /// The model; the first one unless it is given.
    #[serde(default)]
    model: Option<String>,
    #[serde(default)]
    action: TurnAction,
    /// The node that the messages follow, replace, or that is answered again or continued: its id or a part of it, its position, a bookmark, or
    /// `head`, which it is unless it is given. An empty text is the place before the first message.
    #[serde(default)]
    node: Option<String>,
    /// The text of one user message.
    #[serde(default)]
    text: Option<String>,
    /// Messages as in Chat Completions.
    #[serde(default)]
    messages: Option<Vec<Map<String, Value>>>,
    /// A prompt of the library, which is the message.
    #[serde(default)]
    prompt: Option<PromptCall>,
    /// A system prompt for this turn alone.
    #[serde(default)]
    system_prompt: Option<String>,
    /// How the reply is sampled.
    #[serde(default)]
    #[schemars(with = "Map<String, Value>")]
    sampling: SamplingOptions,
    /// As in Chat Completions.
    #[serde(default)]
    response_format: Option<Value>,
    /// As in Chat Completions.
    #[serde(default)]
    tool_choice: Option<Value>,
    /// As in Chat Completions.
    #[serde(default)]
    parallel_tool_calls: Option<Value>,
    /// As in Chat Completions.
    #[serde(default)]
    reasoning_effort: Option<Value>,
    /// What the reply begins with: the model continues it, and the reply has all of it.
    #[serde(default)]
    prefix: Option<String>,
    /// The same as token ids, exactly these.
    #[serde(default)]
    prefix_tokens: Option<Vec<u32>>,
    /// Whether the log-probabilities of the last reply's tokens are reported.
    #[serde(default)]
    logprobs: Option<bool>,
    /// How many of the most probable tokens are reported at each place, 0 to 20.
    #[serde(default)]
    top_logprobs: Option<usize>,
    /// The label of the reply.
    #[serde(default)]
    label: Option<String>,
    /// The metadata of the reply.
    #[serde(default)]
    metadata: Map<String, Value>,
    /// Tools of the host that are offered in this turn, beside those of the conversation: `{"type": "mcp", "server_label": …}`.
    #[serde(default)]
    tools: Vec<GivenTurnTool>,
    /// Whether calls that wait for an approval run. All calls of a reply are answered in one turn.
    #[serde(default)]
    approvals: Option<Vec<TurnApproval>>,
    /// Whether the reply is sent as events while it is generated.
    #[serde(default)]
    stream: bool,
}

/// Messages that are added without a reply.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewNodes {
    /// The node that they follow; the head unless it is given.
    #[serde(default)]
    node: Option<String>,
    /// Messages as in Chat Completions, of any role.
    messages: Vec<Map<String, Value>>,
    /// The label of the last one.
    #[serde(default)]
    label: Option<String>,
    /// The metadata of the last one.
    #[serde(default)]
    metadata: Map<String, Value>,
}

/// The nodes that were added.
#[derive(Debug, JsonSchema, Serialize)]
pub(super) struct AddedNodes {
    object: &'static str,
    /// The conversation.
    conversation: String,
    nodes: Vec<NodeObject>,
    /// Where the head is.
    head: Option<String>,
    /// Whether it moved to the last one; another writer may have moved it first.
    head_moved: bool,
}

impl NewTurn {
    /// Reads what is sent and how it is answered, without its place. The messages of a turn that answers approvals are beside it: they are
    /// stored with the results.
    fn asked(&mut self, media: &MediaPolicy, tools: &[ToolSpec]) -> ApiResult<(TurnRequest, Vec<Message>)> {
        self.sampling.validate().map_err(|error| ApiError::from(error).param("sampling"))?;
        let options = self.options()?;
        let mut beside = self.sent(media)?;
        let mut ask = TurnRequest::default();
        if self.approvals.is_none() {
            ask = TurnRequest::from(std::mem::take(&mut beside));
        }
        if let Some(prompt) = self.prompt.take() {
            let (name, values) = prompt.read()?;
            ask = ask.prompt_name(name, values);
        }
        if let Some(text) = self.system_prompt.take() {
            ask = ask.system_prompt(text);
        }
        if let Some(beginning) = beginning(self.prefix.take(), self.prefix_tokens.take())? {
            ask = ask.beginning(beginning);
        }
        for name in [PROMPT_SETTINGS, SERVERS] {
            if self.metadata.contains_key(name) {
                let place = format!("metadata.{name}");
                let message =
                    format!("{place}: the server keeps the settings of the turn there: choose another name");
                return Err(ApiError::invalid(place, message));
            }
        }
        ask = noted(ask, self.label.take(), std::mem::take(&mut self.metadata));
        self.score_tokens()?;
        let sampling = std::mem::take(&mut self.sampling);
        let ask = PromptSettings::new(&options.arguments, tools).keep(ask);
        Ok((ask.sampling(sampling).output(options.output).arguments(options.arguments), beside))
    }

    /// Reads the messages.
    fn sent(&mut self, media: &MediaPolicy) -> ApiResult<Vec<Message>> {
        match (self.text.take(), self.messages.take()) {
            (Some(_), Some(_)) => {
                Err(ApiError::invalid("text", "text and messages are both given: send one of them"))
            }
            (Some(text), None) => Ok(vec![Message::user(text)]),
            (None, Some(list)) => messages_of(list, media),
            (None, None) => Ok(Vec::new()),
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

    /// Sets how many tokens are scored at each place.
    fn score_tokens(&mut self) -> ApiResult<()> {
        check_top(self.top_logprobs)?;
        match self.logprobs {
            Some(true) => self.sampling.logprobs = Some(self.top_logprobs.unwrap_or_default()),
            _ if self.top_logprobs.is_some() => {
                let message = "top_logprobs has no effect without \"logprobs\": true";
                return Err(ApiError::invalid("top_logprobs", message));
            }
            Some(false) => self.sampling.logprobs = None,
            None => {}
        }
        check_top(self.sampling.logprobs)
    }

    fn has_content(&self) -> bool {
        self.text.is_some() || self.messages.is_some() || self.prompt.is_some()
    }

    /// Checks that the action and what is sent fit together.
    fn check(&self) -> ApiResult<()> {
        if self.approvals.is_some() {
            if self.action != TurnAction::Send {
                let message = "approvals have an effect where something is sent: leave out action";
                return Err(ApiError::invalid("action", message));
            }
            if self.prompt.is_some() {
                let message = "prompt and approvals are both given: send the prompt after the reply";
                return Err(ApiError::invalid("prompt", message));
            }
        }
        match self.action {
            TurnAction::Edit if self.node.is_none() => {
                Err(ApiError::invalid("node", "node is missing: an edit names the node that it replaces"))
            }
            TurnAction::Edit if !self.has_content() => {
                Err(ApiError::invalid("text", "text is missing: an edit has a text, messages or a prompt"))
            }
            TurnAction::Retry if self.has_content() => {
                let message = "text, messages and prompt have no effect on a retry: \"action\": \"edit\" replaces a message";
                Err(ApiError::invalid("action", message))
            }
            TurnAction::Continue
                if self.has_content() || self.prefix.is_some() || self.prefix_tokens.is_some() =>
            {
                let message = "text, messages, prompt and prefix have no effect where a reply is continued: it begins with the reply";
                Err(ApiError::invalid("action", message))
            }
            _ => Ok(()),
        }
    }

    /// Reads the approvals, where there are any. `beside` are the messages that are stored with them.
    async fn approving(
        &self,
        tools: &TurnTools,
        conversation: &Conversation,
        beside: Vec<Message>,
    ) -> ApiResult<Option<Approving>> {
        let Some(approvals) = &self.approvals else { return Ok(None) };
        let node = self.node.as_deref();
        Ok(Some(Approving::read(approvals, tools, conversation, node, beside).await?))
    }

    /// Offers the tools of the host, where the turn names any.
    async fn offered(
        &self,
        tools: &mut TurnTools,
        ask: TurnRequest,
        conversation: &Conversation,
    ) -> ApiResult<TurnRequest> {
        if tools.specs().is_empty() {
            return Ok(ask);
        }
        let at = place(conversation, self.node.as_deref().unwrap_or(HEAD), "node").await?;
        let mut path = path_to(conversation, at).await?;
        let kept = match self.action {
            TurnAction::Send => path.len(),
            TurnAction::Edit | TurnAction::Continue => path.len().saturating_sub(1),
            TurnAction::Retry => path.iter().rposition(is_question).map_or(0, |index| index + 1),
        };
        path.truncate(kept);
        tools.offer(ask, conversation, &path).await
    }

    /// Starts the turn at its place.
    async fn start(
        &self,
        conversation: &Conversation,
        ask: TurnRequest,
        asked: &Asked<'_>,
    ) -> ApiResult<Turn> {
        let name = self.node.as_deref();
        match self.action {
            TurnAction::Continue => {
                let node = found(conversation, name.unwrap_or(HEAD), "node").await?;
                let Asked { app, caller, model, .. } = asked;
                let node = app.store().load_node(&caller.owner, conversation.id(), node).await?;
                let mut ask = ask.at(node.parent).beginning(beginning_of(&node, model.opened())?);
                let system_prompt = node.reply.and_then(|facts| facts.system_prompt);
                if let Some(text) = system_prompt.filter(|_| !asked.has_system_prompt) {
                    ask = ask.system_prompt(text);
                }
                Ok(conversation.complete(ask))
            }
            TurnAction::Edit => {
                let node = found(conversation, name.unwrap_or_default(), "node").await?;
                Ok(conversation.edit(node, ask))
            }
            TurnAction::Retry => {
                let ask = at(conversation, name, ask).await?;
                Ok(conversation.regenerate(ask))
            }
            TurnAction::Send => {
                let ask = at(conversation, name, ask).await?;
                Ok(conversation.send(ask))
            }
        }
    }
}

/// What a turn is answered with, and for whom.
struct Asked<'a> {
    app: &'a App,
    caller: &'a Caller,
    model: &'a ModelLease,
    /// Whether the turn has a system prompt of its own.
    has_system_prompt: bool,
}

/// Returns whether a message is one that a reply answers.
fn is_question(node: &Node) -> bool {
    matches!(node.message.role, Role::User | Role::System)
}

/// Sets the place of a request, where one is given.
async fn at(conversation: &Conversation, name: Option<&str>, ask: TurnRequest) -> ApiResult<TurnRequest> {
    match name {
        Some(name) => Ok(ask.at(place(conversation, name, "node").await?)),
        None => Ok(ask),
    }
}

/// Sets the label and the metadata of the last node that a request adds.
fn noted(mut ask: TurnRequest, label: Option<String>, metadata: Map<String, Value>) -> TurnRequest {
    if let Some(label) = label {
        ask = ask.label(label);
    }
    for (name, value) in metadata {
        ask = ask.metadata(name, value);
    }
    ask
}

fn messages_of(list: Vec<Map<String, Value>>, media: &MediaPolicy) -> ApiResult<Vec<Message>> {
    Ok(messages::read(Value::from_iter(list), None, media)?.messages)
}

/// `POST /v1/alloquy/conversations/{id}/turns`
pub(super) async fn create(
    State(app): State<App>,
    caller: Caller,
    PathOf(id): PathOf<String>,
    headers: HeaderMap,
    JsonBody(mut turn): JsonBody<NewTurn>,
) -> ApiResult {
    turn.check()?;
    let expected = Expected::of(&headers)?;
    let has_system_prompt = turn.system_prompt.is_some();
    let has_logprobs = turn.logprobs == Some(true);
    let mut tools = TurnTools::read(&turn.tools, app.tools())?;
    let specs = tools.specs().to_vec();
    let read = app.read(move |media| {
        let (ask, beside) = turn.asked(media, &specs)?;
        Ok((turn, ask, beside))
    });
    let (turn, ask, beside) = read.await?;
    // An unknown conversation loads no model.
    let conversation = opened(&app, &caller, &id).await?;
    let ask = expected.check(&conversation, ask).await?;
    let approving = turn.approving(&tools, &conversation, beside).await?;
    let ask = turn.offered(&mut tools, ask, &conversation).await?;
    let place = app.admit(&caller).await?;
    let model = app.model(turn.model.as_deref()).await?;
    let conversation = opened_in(&app.manager(&model, &caller), &id).await?;
    let ask = app.stored_turn(ask, &model, &caller)?;
    if has_logprobs {
        must_have_tokens("logprobs", &model)?;
    }
    let asked = Asked { app: &app, caller: &caller, model: &model, has_system_prompt };
    let work = match approving {
        Some(approving) => approving.begin(&app, &caller, conversation.clone(), &tools, ask),
        None => Work::Turn(Box::new(turn.start(&conversation, ask, &asked).await?)),
    };
    if turn.stream {
        let writer = TurnEventWriter::new(conversation.id().clone(), &model);
        return streaming::respond_or(work, writer, app.limits(), (model, place), ready(())).await;
    }
    let (reply, _) = work.finish().await?;
    let reply = complete(reply)?;
    Ok(Json(TurnObject::of(conversation.id(), &model, &reply)).into_response())
}

/// `POST /v1/alloquy/conversations/{id}/nodes`
pub(super) async fn add(
    State(app): State<App>,
    caller: Caller,
    PathOf(id): PathOf<String>,
    headers: HeaderMap,
    JsonBody(new): JsonBody<NewNodes>,
) -> ApiResult<(StatusCode, Json<AddedNodes>)> {
    let expected = Expected::of(&headers)?;
    if new.messages.is_empty() {
        return Err(ApiError::invalid("messages", "messages is empty, expected at least one"));
    }
    let conversation = opened(&app, &caller, &id).await?;
    let NewNodes { node, messages, label, metadata } = new;
    let ask = TurnRequest::from(app.read(move |media| messages_of(messages, media)).await?);
    let ask = noted(expected.check(&conversation, ask).await?, label, metadata);
    let ask = at(&conversation, node.as_deref(), ask).await?;
    let added = conversation.add(ask).await?;
    let notes = notes(&conversation).await?;
    let (head, head_moved) = head_after(added.head, added.node);
    let object = AddedNodes {
        object: "nodes",
        conversation: shown(conversation.id()),
        nodes: NodeObject::all(&added.nodes, &notes),
        head,
        head_moved,
    };
    Ok((StatusCode::CREATED, Json(object)))
}
