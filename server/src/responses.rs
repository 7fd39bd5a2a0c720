//! `/v1/responses`: OpenAI's Responses, stored or not, whole, streamed, or in the background.
//!
//! A response is a turn. Its id has the conversation and the node that is answered, so `previous_response_id` at an older response is
//! a turn at that place: a branch.

mod approvals;
mod approved_runs;
mod background;
mod compact;
mod events;
mod foreground;
mod host_calls;
mod include;
mod media;
mod object;
mod parameters;
mod place;
mod ready;
mod request;
mod settings;
mod stored;
mod tools;

use std::sync::Arc;
use std::time::SystemTime;

use alloquy_core::{ConversationId, TurnReply};
use axum::extract::State;
use axum::response::IntoResponse;
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::Value;

use crate::app::App;
use crate::body::{JsonBody, PathOf, QueryOf};
use crate::caller::Caller;
use crate::deleted_object::DeletedObject;
use crate::error::{ApiError, ApiResult};
use crate::items::{ApprovedCalls, Item, ResponseId};
use crate::logprobs;
use crate::operation::Operation;
use crate::paging::{ListOf, Order, PageQuery};
use crate::reply_report::complete;
use crate::response_runs::{Run, RunKey, RunState};
use crate::streaming::{self, Frame};
use crate::times::unix_seconds;
use background::Background;
use compact::{CompactRequest, CompactedResponse};
use events::EventWriter;
use foreground::Foreground;
pub(crate) use include::Included;
pub(crate) use media::load_media;
use object::{Ending, HeadPlace, ResponseObject, Sources, Status};
pub(crate) use parameters::{IncludeParameters, ItemListParameters};
use parameters::{InputTokens, ResponseParameters};
use place::Unfinished;
pub(crate) use place::{leading_system, note_system, open_conversation, references};
use ready::Ready;
use request::{ResponseRequest, TokensRequest};
use stored::StoredResponse;

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/v1/responses", post(create))
        .route("/v1/responses/input_tokens", post(input_tokens))
        .route("/v1/responses/compact", post(compact::compact))
        .route("/v1/responses/{id}", get(one).delete(delete))
        .route("/v1/responses/{id}/cancel", post(cancel))
        .route("/v1/responses/{id}/input_items", get(input_items))
}

pub(crate) fn operations() -> Vec<Operation> {
    let one = "/v1/responses/{id}";
    vec![
        Operation::post("/v1/responses", "Answers a request: whole, as a stream, or in the background.")
            .body::<ResponseRequest>()
            .answer::<ResponseObject>()
            .events(),
        Operation::post("/v1/responses/input_tokens", "Counts the tokens of a request's prompt.")
            .body::<TokensRequest>()
            .answer::<InputTokens>(),
        Operation::post(
            "/v1/responses/compact",
            "Makes a conversation shorter: the user's messages and a summary.",
        )
        .body::<CompactRequest>()
        .answer::<CompactedResponse>(),
        Operation::get(one, "Returns a response as it is now, or its events.")
            .query::<ResponseParameters>()
            .answer::<ResponseObject>()
            .events(),
        Operation::delete(one, "Deletes a response.").answer::<DeletedObject>(),
        Operation::post("/v1/responses/{id}/cancel", "Ends a response in the background.")
            .answer::<ResponseObject>(),
        Operation::get("/v1/responses/{id}/input_items", "Lists the items of the request.")
            .query::<ItemListParameters>()
            .answer::<ListOf<Item>>(),
    ]
}

/// Answers a request: whole, as a stream, or later.
async fn create(State(app): State<App>, caller: Caller, body: JsonBody<ResponseRequest>) -> ApiResult {
    let JsonBody(request) = body;
    let asked = request.asked(unix_seconds(SystemTime::now()), app.tools())?;
    if asked.settings.background {
        return Background::begin(asked, app, caller).await;
    }
    let held = app.admit(&caller).await?;
    let model = app.model(asked.model.as_deref()).await?;
    let is_streamed = asked.is_streamed;
    let has_logprobs = asked.logprobs;
    let ready = Ready::new(asked, &app, &model, &caller).await?;
    let (place, mark, writer, work) = ready.begin(&app, &caller);
    if is_streamed {
        let limits = *app.limits();
        let writer = Foreground::new(writer, &app, &caller.owner, mark.settings.store);
        let held = (model, held);
        return streaming::respond_or(work, writer, &limits, held, place.remove_unanswered()).await;
    }
    let conversation = place.conversation.id().clone();
    let unfinished = Unfinished::new(place);
    let answered = work.finish().await.and_then(|(reply, given)| Ok((complete(reply)?, given)));
    let (reply, given) = unfinished.ended(answered).await?;
    let question = reply.answers.unwrap_or(reply.node);
    if mark.settings.store {
        note_last(&app, &caller, &conversation, &reply);
    }
    let head = Some(HeadPlace::after(reply.head, reply.last));
    let approved = ApprovedCalls::of(given.iter());
    let sources =
        Sources::new(&mark.settings, &conversation, question, &reply.nodes, head).approved(&approved);
    let mut response = sources.ended(Ending::of(&mark.settings, &reply.nodes));
    if !mark.settings.store {
        approvals::note_open(response.output(), app.approvals(), &caller.owner);
    }
    if has_logprobs {
        response.add_logprobs(&logprobs::tokens(&reply.reply.logprobs, model.opened()));
    }
    Ok(Json(response).into_response())
}

fn note_last(app: &App, caller: &Caller, conversation: &ConversationId, reply: &TurnReply) {
    if let Some(question) = reply.answers {
        let id = ResponseId { conversation: conversation.clone(), node: question };
        app.responses().note_last(RunKey::new(&caller.owner, id), reply.last);
    }
}

/// What the address of a stored response says.
#[derive(Debug, Default)]
struct OneQuery {
    is_streamed: bool,
    starting_after: Option<u64>,
}

impl OneQuery {
    fn read(pairs: Vec<(String, String)>) -> ApiResult<Self> {
        let mut query = Self::default();
        let mut include = Vec::new();
        for (name, value) in pairs {
            match (name.as_str(), value.as_str()) {
                ("stream", "true") => query.is_streamed = true,
                ("stream" | "include_obfuscation", "false") => {}
                ("starting_after", number) => query.starting_after = Some(event_number(number)?),
                ("include" | "include[]", _) => include.push(value),
                _ => {
                    let message = format!("the address has {name}={value:?}, which is not possible here");
                    return Err(ApiError::unsupported(name, message));
                }
            }
        }
        Included::read(include.iter().map(String::as_str))?;
        if query.starting_after.is_some() && !query.is_streamed {
            let message = "starting_after is given without stream=true";
            return Err(ApiError::invalid("starting_after", message));
        }
        Ok(query)
    }
}

fn event_number(text: &str) -> ApiResult<u64> {
    text.parse().map_err(|_| {
        let message = format!("starting_after is {text:?}, expected the number of an event");
        ApiError::invalid("starting_after", message)
    })
}

/// `GET /v1/responses/{id}`: the response as it is now, or its events, as far as they follow a number.
async fn one(
    State(app): State<App>,
    caller: Caller,
    PathOf(id): PathOf<String>,
    QueryOf(query): QueryOf<Vec<(String, String)>>,
) -> ApiResult {
    let query = OneQuery::read(query)?;
    // How far it is comes first: what has ended by then is in the store.
    let progress = Progress::of(&id, &app, &caller);
    let stored = StoredResponse::open(&app.conversations(&caller), &id).await?;
    let first = query.starting_after.map_or(0, |number| number.saturating_add(1));
    if !query.is_streamed {
        return Ok(match progress.status() {
            Some(status) => Json(stored.running(status)).into_response(),
            None => Json(stored.object()).into_response(),
        });
    }
    match progress {
        Progress::Background(run, _) if run.has(first) => {
            let held = app.hold_stream(&caller)?;
            Ok(streaming::respond_with(run.events(first), app.limits(), held))
        }
        Progress::Background(_, RunState::Ended) | Progress::Ended => Ok(replayed(&stored, first, &app)),
        Progress::Background(..) => {
            let message = format!("the event {first} is no longer kept: fetch the response without a stream");
            Err(ApiError::invalid("starting_after", message))
        }
        Progress::Streamed => {
            let message =
                format!("the response {id:?} is streamed to the client that requested it, and to no other");
            Err(ApiError::invalid("stream", message))
        }
    }
}

/// How far a response is.
enum Progress {
    /// Its events are kept.
    Background(Arc<Run>, RunState),
    Streamed,
    Ended,
}

impl Progress {
    fn of(id: &str, app: &App, caller: &Caller) -> Self {
        let Some(id) = ResponseId::parse(id) else { return Self::Ended };
        let key = RunKey::new(&caller.owner, id);
        match app.responses().find(&key) {
            Some(run) => {
                let state = run.state();
                Self::Background(run, state)
            }
            None if app.responses().is_streamed(&key) => Self::Streamed,
            None => Self::Ended,
        }
    }

    /// Returns the status of a response that has not ended.
    fn status(&self) -> Option<Status> {
        match self {
            Self::Background(_, RunState::Queued) => Some(Status::Queued),
            Self::Background(_, RunState::InProgress) | Self::Streamed => Some(Status::InProgress),
            Self::Background(_, RunState::Ended) | Self::Ended => None,
        }
    }

    /// Cancels a response of the background, and waits for its end.
    async fn cancel(&self) {
        if let Self::Background(run, RunState::Queued | RunState::InProgress) = self {
            run.cancel();
            run.ended().await;
        }
    }
}

/// Answers with the events of a response whose own are gone: its texts come in one piece each.
fn replayed(stored: &StoredResponse, first: u64, app: &App) -> axum::response::Response {
    let settings = stored.mark.settings.clone();
    let mut writer = EventWriter::new(settings, stored.id.conversation.clone(), Vec::new());
    let mut events = writer.begin(stored.id.node);
    events.extend(writer.replay(&stored.given, &stored.nodes, stored.ending(), stored.head()));
    // There were more events than there are now. A client that has read most of them gets at least the last one, which has the whole
    // response.
    let last = events.len().saturating_sub(1);
    let skipped = usize::try_from(first).unwrap_or(usize::MAX).min(last);
    if let Some(event) = events.last_mut() {
        event.number_at_least(first);
    }
    let frames: Vec<Frame> = events.iter().skip(skipped).map(events::Event::frame).collect();
    streaming::respond_with(futures::stream::iter(frames), app.limits(), ())
}

/// `DELETE /v1/responses/{id}`
async fn delete(
    State(app): State<App>,
    caller: Caller,
    PathOf(id): PathOf<String>,
) -> ApiResult<Json<DeletedObject>> {
    let manager = app.conversations(&caller);
    let progress = Progress::of(&id, &app, &caller);
    // Only its owner ends it.
    StoredResponse::open(&manager, &id).await?;
    progress.cancel().await;
    let stored = StoredResponse::open(&manager, &id).await?;
    app.responses().forget(&RunKey::new(&caller.owner, stored.id.clone()));
    if stored.is_lost() {
        approved_runs::forget(&app, &caller.owner, &stored.id.conversation, stored.id.node).await;
    }
    stored.delete(&manager).await?;
    Ok(Json(DeletedObject::new(id, "response")))
}

/// `POST /v1/responses/{id}/cancel`: ends a response in the background, and keeps its text so far.
async fn cancel(State(app): State<App>, caller: Caller, PathOf(id): PathOf<String>) -> ApiResult {
    let manager = app.conversations(&caller);
    let progress = Progress::of(&id, &app, &caller);
    let stored = StoredResponse::open(&manager, &id).await?;
    if !stored.mark.settings.background {
        let message =
            format!("the response {id:?} is not one of the background: it ends when its client hangs up");
        return Err(ApiError::invalid("response_id", message));
    }
    progress.cancel().await;
    let stored = StoredResponse::open(&manager, &id).await?;
    Ok(Json(stored.object()).into_response())
}

/// `GET /v1/responses/{id}/input_items`: the items of the request, the last one first unless the order is `asc`.
async fn input_items(
    State(app): State<App>,
    caller: Caller,
    PathOf(id): PathOf<String>,
    QueryOf(pairs): QueryOf<Vec<(String, String)>>,
) -> ApiResult<Json<Value>> {
    let (page, included) = page_of(pairs)?;
    let mut stored = StoredResponse::open(&app.conversations(&caller), &id).await?;
    load_media(&mut stored.given, included.images, &app, &caller).await?;
    let mut items: Vec<Value> = stored.input(included.images)?.into_iter().map(Value::from).collect();
    if page.order_or(Order::Descending) == Order::Descending {
        items.reverse();
    }
    Ok(Json(page.of(items)?.json()))
}

/// Reads the page of a list of items, and what they include.
pub(crate) fn page_of(pairs: Vec<(String, String)>) -> ApiResult<(PageQuery, Included)> {
    let mut page = PageQuery::default();
    let mut include = Vec::new();
    for (name, value) in pairs {
        match name.as_str() {
            "include" | "include[]" => include.push(value),
            _ => page.set(&name, value)?,
        }
    }
    Ok((page, Included::read(include.iter().map(String::as_str))?))
}

/// `POST /v1/responses/input_tokens`: how many tokens the prompt of a request has. The model writes nothing.
async fn input_tokens(
    State(app): State<App>,
    caller: Caller,
    body: JsonBody<TokensRequest>,
) -> ApiResult<Json<InputTokens>> {
    let JsonBody(request) = body;
    let asked = ResponseRequest::from(request).asked(unix_seconds(SystemTime::now()), app.tools())?;
    if let Some((place, _)) = approvals::given(&asked.items).first() {
        let message = format!(
            "{place}: the result of an approved call is not known before it has run: leave out approvals"
        );
        return Err(ApiError::unsupported(place, message));
    }
    let _held = app.admit(&caller).await?;
    let model = app.model(asked.model.as_deref()).await?;
    let ready = Ready::new(asked, &app, &model, &caller).await?;
    let Some(prompt) = ready.place.conversation.prompt(ready.turn).await? else {
        let message = format!("the model {:?} does not count tokens before it answers", model.name());
        return Err(ApiError::unsupported("model", message));
    };
    Ok(Json(InputTokens { object: "response.input_tokens", input_tokens: prompt.positions() }))
}
