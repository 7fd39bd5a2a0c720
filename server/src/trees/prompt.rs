//! The prompt of a reply as it was sent: its text and its tokens, each with its origin.

mod alignment;
mod marks;
mod origin;
mod texts;

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use alloquy_core::middleware::{Middleware, Next};
use alloquy_core::processor::PromptPart;
use alloquy_core::prompt::{PlacedReply, PreparedPrompt, PromptUnit};
use alloquy_core::report::{CacheReport, ReplyFacts};
use alloquy_core::{
    ChatModel, Conversation, Message, Node, NodeId, ReplyStream, Request, Result, Role, TurnRequest,
};
use async_trait::async_trait;
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::identity::{node as found, opened, opened_in, shown};
use crate::app::App;
use crate::body::{PathOf, QueryOf};
use crate::caller::Caller;
use crate::error::{ApiError, ApiResult};
use crate::logprobs::text_and_bytes;
use crate::models::{ModelLease, OpenedModel};
use crate::prompt_settings::PromptSettings;
use alignment::MEDIA;
use marks::{FoundText, Marks};
use origin::TokenOrigin;
use texts::SourcedText;

/// Which model's prompt it is.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PromptParameters {
    /// The model; that of the reply unless it is given, and the first one where that is not served.
    #[serde(default)]
    model: Option<String>,
}

/// A prompt: what a model receives.
#[derive(Debug, JsonSchema, Serialize)]
pub(super) struct PromptObject {
    object: &'static str,
    /// The conversation.
    conversation: String,
    /// The node: a reply, to which the prompt was sent, or another message, whose answer would be to it.
    node: String,
    /// The model whose prompt it is.
    model: String,
    /// Whether the reply reports the template and the length of this prompt; `differences` says why it does not. `null` where the reply reports neither, and for other messages.
    agrees: Option<bool>,
    /// What differs from the prompt that the reply reports. It is empty where `agrees` is not `false`.
    differences: Vec<PromptDifference>,
    /// The whole text, with U+FFFC where media are.
    text: String,
    /// The text in pieces by their origins.
    spans: Vec<TextSpan>,
    /// The ids that the model receives.
    tokens: Vec<PromptToken>,
    /// How many positions of the context it takes.
    positions: usize,
    /// How many positions the context has.
    context: usize,
    /// The name of the template, of a model that has several.
    template: Option<String>,
    /// How much of it was cached when the reply was generated, and why the rest was not. `null` where that is not known.
    reuse: Option<ReuseObject>,
    /// The ids of the reply; `null` where they are not stored.
    reply_tokens: Option<Vec<ReplyToken>>,
    /// What the prompt lacks or has elsewhere than asked.
    warnings: Vec<Value>,
}

/// What differs between a prompt that is made again and the one that a reply reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
enum PromptDifference {
    /// It is the prompt of another model than that of the reply.
    Model,
    /// The template of the model has changed, or is another one.
    Template,
    /// The turn had tools of its own, which are not kept with its reply.
    Tools,
    /// The length is another one, although all that is kept is the same: what else shaped the prompt, such as middleware of the host, or
    /// a setting of a reply that an earlier version has stored, is not known.
    Length,
}

/// A piece of the text.
#[derive(Debug, JsonSchema, Serialize)]
struct TextSpan {
    text: String,
    origin: TokenOrigin,
}

/// A unit of a prompt.
#[derive(Debug, JsonSchema, Serialize)]
struct PromptToken {
    /// The id; `null` for media.
    id: Option<u32>,
    /// What the token adds to a text; `null` where the model has no texts of tokens, and for media.
    text: Option<String>,
    /// The bytes, where they are not whole characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<Vec<u8>>,
    /// Whose it is; `null` where that cannot be found out, since the model has no texts of tokens.
    origin: Option<TokenOrigin>,
    /// The digest of an image, an audio clip or a video.
    #[serde(skip_serializing_if = "Option::is_none")]
    media: Option<String>,
}

/// A token of a reply.
#[derive(Debug, JsonSchema, Serialize)]
struct ReplyToken {
    id: u32,
    /// What the token adds to a text; `null` where the model has no texts of tokens.
    text: Option<String>,
    /// The bytes, where they are not whole characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<Vec<u8>>,
}

/// How much of a prompt was cached.
#[derive(Debug, JsonSchema, Serialize)]
struct ReuseObject {
    /// Units of the prompt.
    prompt: usize,
    /// Those that were cached.
    cached: usize,
    /// Those that were computed.
    computed: usize,
    /// Where the prompt first differs from what was cached.
    first_difference: Option<usize>,
    /// Why a part was computed again, as a word; `null` where nothing was.
    miss: Option<Value>,
    /// The same in words.
    why: Option<String>,
}

impl ReuseObject {
    fn of(report: CacheReport) -> Self {
        Self {
            prompt: report.prompt,
            cached: report.cached,
            computed: report.computed,
            first_difference: report.first_difference,
            miss: report.miss.map(|miss| json!(miss)),
            why: report.miss.map(|miss| miss.to_string()),
        }
    }
}

/// Keeps the request as the model would receive it, after all other middleware.
#[derive(Debug, Default)]
struct Seen(Mutex<Option<Request>>);

impl Seen {
    fn take(&self) -> Option<Request> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

#[async_trait]
impl Middleware for Seen {
    async fn handle(&self, request: Request, next: Next<'_>) -> Result<ReplyStream> {
        next.call(request).await
    }

    async fn prepare(&self, request: Request) -> Result<Request> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(request.clone());
        Ok(request)
    }
}

/// `GET /v1/alloquy/conversations/{id}/nodes/{node}/prompt`
pub(super) async fn prompt(
    State(app): State<App>,
    caller: Caller,
    PathOf((id, name)): PathOf<(String, String)>,
    QueryOf(parameters): QueryOf<PromptParameters>,
) -> ApiResult<Json<PromptObject>> {
    let conversation = opened(&app, &caller, &id).await?;
    let at = found(&conversation, &name, "node").await?;
    let node = app.store().load_node(&caller.owner, conversation.id(), at).await?;
    let place = app.admit(&caller).await?;
    let model = model_of(&app, parameters.model, &node).await?;
    let conversation = opened_in(&app.manager(&model, &caller), &id).await?;
    let seen = Arc::new(Seen::default());
    let draft = draft_of(&node).middleware(Arc::clone(&seen));
    let prepared = conversation.prompt(draft).await?;
    let Some((prepared, request)) = prepared.zip(seen.take()) else {
        let message = format!("the model {:?} does not report its prompts", model.name());
        return Err(ApiError::unsupported("model", message));
    };
    let authored = authored(&conversation, &node).await?;
    let is_other_model =
        node.model().and_then(|name| app.models().served_as(name)).as_deref() != Some(model.name());
    let sent =
        Sent { id: shown(conversation.id()), node, model, prepared, request, authored, is_other_model };
    let object = tokio::task::spawn_blocking(move || sent.object()).await;
    drop(place);
    object.map(Json).map_err(|source| {
        tracing::error!(%source, "showing a prompt failed");
        ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "the server failed; its log says why")
    })
}

/// Returns the model that is named, else that of a reply, else the first one.
async fn model_of(app: &App, named: Option<String>, node: &Node) -> ApiResult<ModelLease> {
    let name = match named {
        Some(name) => Some(name),
        None => node.model().and_then(|name| app.models().served_as(name)),
    };
    app.model(name.as_deref()).await
}

/// Returns the request that a reply answers, or that a message would be sent with.
fn draft_of(node: &Node) -> TurnRequest {
    let at: Option<NodeId> = if is_reply(node) { node.parent } else { Some(node.id) };
    let draft = TurnRequest::default().at(at).arguments(PromptSettings::of(node).arguments);
    match node.reply.as_ref().and_then(|facts| facts.system_prompt.clone()) {
        Some(text) => draft.system_prompt(text),
        None => draft,
    }
}

fn is_reply(node: &Node) -> bool {
    node.message.role == Role::Assistant
}

/// Returns the user messages on the path to a node that prompts of the library have made.
async fn authored(conversation: &Conversation, node: &Node) -> ApiResult<Vec<Message>> {
    let mut authored = Vec::new();
    for node in conversation.path(Some(node.id)).await? {
        if node.prompt_name.is_some() && node.message.role == Role::User {
            authored.push(node.message);
        }
    }
    Ok(authored)
}

/// A prompt that was made again, and what it was made of.
struct Sent {
    id: String,
    node: Node,
    model: ModelLease,
    prepared: PreparedPrompt,
    request: Request,
    authored: Vec<Message>,
    /// Whether the model is another one than that of the reply.
    is_other_model: bool,
}

impl Sent {
    fn object(self) -> PromptObject {
        let text = text_of(&self.prepared.parts, self.model.opened());
        let sources = texts::listed(&self.request, &self.authored);
        let places = self.places(&text, &sources);
        let facts = self.node.reply.as_deref();
        let report = facts.and_then(|facts| facts.cache);
        let differences = facts.and_then(|facts| self.differences(facts));
        let reply_tokens = (!self.node.tokens.is_empty()).then(|| self.reply_tokens());
        PromptObject {
            object: "prompt",
            conversation: self.id.clone(),
            node: self.node.id.to_string(),
            model: self.model.name().to_owned(),
            agrees: differences.as_ref().map(Vec::is_empty),
            differences: differences.unwrap_or_default(),
            spans: spans(&text, &sources, &places),
            tokens: self.tokens(&text, &sources, &places),
            positions: self.prepared.positions(),
            context: self.prepared.context,
            template: self.prepared.template_name.clone(),
            reuse: report.map(ReuseObject::of),
            reply_tokens,
            warnings: self.prepared.warnings.iter().map(|warning| json!(warning)).collect(),
            text,
        }
    }

    /// Returns what differs from the prompt that the reply reports; `None` where it reports too little.
    fn differences(&self, facts: &ReplyFacts) -> Option<Vec<PromptDifference>> {
        let usage = facts.usage?;
        let is_same_template = facts.template? == self.prepared.template;
        if is_same_template && usage.prompt == self.prepared.positions() + facts.begun {
            return Some(Vec::new());
        }
        let mut differences = Vec::new();
        if self.is_other_model {
            differences.push(PromptDifference::Model);
        }
        if !is_same_template {
            differences.push(PromptDifference::Template);
        }
        let tools = PromptSettings::of(&self.node).tools;
        let offered = &self.request.preface.tools;
        if tools.iter().any(|name| offered.iter().all(|tool| tool.name != *name)) {
            differences.push(PromptDifference::Tools);
        }
        if differences.is_empty() {
            differences.push(PromptDifference::Length);
        }
        Some(differences)
    }

    /// Finds the texts of the request in the text of the prompt.
    fn places(&self, text: &str, sources: &[SourcedText]) -> Vec<FoundText> {
        let marks = Marks::new(sources);
        marks::find(text, sources, &marks, &|range: Range<usize>| {
            let mut request = self.request.clone();
            texts::each(&mut request, &self.authored, &mut |number, _, text| {
                let marked = range.contains(&number).then(|| marks.put(number - range.start, text)).flatten();
                if let Some(marked) = marked {
                    *text = marked;
                }
            });
            let prepared = self.model.opened().chat.prompt(&request).ok()??;
            Some(text_of(&prepared.parts, self.model.opened()))
        })
    }

    fn tokens(&self, text: &str, sources: &[SourcedText], found: &[FoundText]) -> Vec<PromptToken> {
        let model = self.model.opened();
        let units = &self.prepared.prompt.units;
        let bytes = |token| model.token_bytes(token);
        let places = alignment::places(units, text, &bytes);
        let mut tokens = Vec::with_capacity(units.len());
        for ((index, unit), place) in units.iter().enumerate().zip(&places) {
            tokens.push(match unit {
                PromptUnit::Token(id) => {
                    let (text, bytes) = text_and_bytes(model, *id);
                    let known = text.is_some() || self.reply_at(index).is_some();
                    let origin = known.then(|| self.origin(index, place, sources, found));
                    PromptToken { id: Some(*id), text, bytes, origin, media: None }
                }
                PromptUnit::Media(media) => {
                    let origin = texts::origin_of_media(&self.request, media.digest());
                    let media = Some(media.digest().to_string());
                    PromptToken { id: None, text: None, bytes: None, origin: Some(origin), media }
                }
            });
        }
        tokens
    }

    /// Returns the earlier reply that has a unit.
    fn reply_at(&self, unit: usize) -> Option<&PlacedReply> {
        let replies = &self.prepared.replies;
        let after = replies.partition_point(|reply| reply.units.end <= unit);
        replies.get(after).filter(|reply| reply.units.contains(&unit))
    }

    fn origin(
        &self,
        unit: usize,
        place: &Range<usize>,
        sources: &[SourcedText],
        found: &[FoundText],
    ) -> TokenOrigin {
        match self.reply_at(unit) {
            Some(reply) if reply.is_spliced => TokenOrigin::Spliced,
            Some(_) => TokenOrigin::Sampled,
            None => origin_at(place, sources, found),
        }
    }

    fn reply_tokens(&self) -> Vec<ReplyToken> {
        let mut tokens = Vec::with_capacity(self.node.tokens.len());
        for id in &self.node.tokens {
            let (text, bytes) = text_and_bytes(self.model.opened(), *id);
            tokens.push(ReplyToken { id: *id, text, bytes });
        }
        tokens
    }
}

/// Returns the text of a prompt's parts.
fn text_of(parts: &[PromptPart], model: &OpenedModel) -> String {
    let mut text = String::new();
    for part in parts {
        match part {
            PromptPart::Text(piece) | PromptPart::Literal(piece) => text.push_str(piece),
            PromptPart::Tokens(ids) => {
                let bytes: Vec<u8> = ids.iter().flat_map(|id| model.token_bytes(*id)).collect();
                text.push_str(&String::from_utf8_lossy(&bytes));
            }
            _ => text.push(MEDIA),
        }
    }
    text
}

/// Returns whose the text at a place is: that of most of its bytes, for a token that two of them share.
fn origin_at(place: &Range<usize>, sources: &[SourcedText], found: &[FoundText]) -> TokenOrigin {
    let mut best = (place.len().div_ceil(2), TokenOrigin::Template);
    let first = found.partition_point(|text| text.range.end <= place.start);
    for text in found.iter().skip(first).take_while(|text| text.range.start < place.end) {
        let shared = text.range.end.min(place.end).saturating_sub(text.range.start.max(place.start));
        if let Some(source) = sources.get(text.number)
            && shared >= best.0
        {
            best = (shared, source.origin);
        }
    }
    best.1
}

/// Divides the text at the borders of the texts that were found.
fn spans(text: &str, sources: &[SourcedText], found: &[FoundText]) -> Vec<TextSpan> {
    let mut spans: Vec<TextSpan> = Vec::new();
    let mut add = |range: Range<usize>, origin: TokenOrigin| {
        let piece = text.get(range).unwrap_or_default();
        if piece.is_empty() {
            return;
        }
        match spans.last_mut().filter(|last| last.origin == origin) {
            Some(last) => last.text.push_str(piece),
            None => spans.push(TextSpan { text: piece.to_owned(), origin }),
        }
    };
    let mut done = 0;
    for one in found {
        let Some(source) = sources.get(one.number) else { continue };
        let start = one.range.start.max(done);
        let end = one.range.end.max(start);
        add(done..start, TokenOrigin::Template);
        add(start..end, source.origin);
        done = end;
    }
    add(done..text.len(), TokenOrigin::Template);
    spans
}
