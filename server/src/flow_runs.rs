//! `/v1/alloquy/flows`: the flows of the host, which run in conversations. A flow that waits is resumed by a request, on any server.

mod objects;

use std::sync::Arc;
use std::time::SystemTime;

use alloquy_core::manager::NewConversation;
use alloquy_core::{Conversation, Manager, Preface};
use alloquy_flows::{Answer, Flow, FlowRunner, Position, Progress, TracedStep};
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::{get, post};
use axum::{Json, Router};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::admission::Admission;
use crate::app::App;
use crate::body::{JsonBody, PathOf};
use crate::caller::Caller;
use crate::error::{ApiError, ApiResult};
use crate::models::ModelLease;
use crate::operation::Operation;
use crate::paging::ListOf;
use crate::trees::identity::{node as found, opened, opened_in};
use objects::{FlowObject, FlowRunObject};

/// The metadata with the name of the flow that a conversation was created for.
const FLOW: &str = "flow_name";

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/v1/alloquy/flows", get(list))
        .route("/v1/alloquy/flows/{name}", get(one))
        .route("/v1/alloquy/flows/{name}/runs", post(run))
        .route("/v1/alloquy/flows/{name}/runs/{id}", get(status).post(resume))
}

pub(crate) fn operations() -> Vec<Operation> {
    let runs = "/v1/alloquy/flows/{name}/runs/{id}";
    vec![
        Operation::get("/v1/alloquy/flows", "Lists the flows.").answer::<ListOf<FlowObject>>(),
        Operation::get("/v1/alloquy/flows/{name}", "Returns a flow.").answer::<FlowObject>(),
        Operation::post("/v1/alloquy/flows/{name}/runs", "Runs a flow until it waits or ends.")
            .body::<NewRun>()
            .answer_with::<FlowRunObject>(201),
        Operation::get(runs, "Returns where a flow is in a conversation.").answer::<FlowRunObject>(),
        Operation::post(runs, "Answers a flow that waits, and runs it until it waits again or ends.")
            .body::<FlowAnswer>()
            .answer::<FlowRunObject>(),
    ]
}

/// A flow that begins.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NewRun {
    /// The conversation in which it runs; a new one unless it is given. Where it has run there, it continues.
    #[serde(default)]
    conversation: Option<String>,
    /// Whether it begins again, even if it has run there.
    #[serde(default)]
    again: bool,
    /// The model; the first one unless it is given.
    #[serde(default)]
    model: Option<String>,
    /// The values that variables begin with.
    #[serde(default)]
    variables: Map<String, Value>,
    /// The metadata of a new conversation.
    #[serde(default)]
    metadata: Map<String, Value>,
}

/// An answer to a flow that waits. Without an answer, a flow that was interrupted continues.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct FlowAnswer {
    /// A text, or what the state expects; `true` or `false` for an approval.
    #[serde(default)]
    answer: Option<Value>,
    /// Who answers; a decision needs it.
    #[serde(default)]
    by: Option<String>,
    /// The state that is answered, where several wait.
    #[serde(default)]
    state: Option<String>,
    /// The branch of a fork that is answered, where several wait.
    #[serde(default)]
    branch: Option<String>,
    /// The node of an earlier question or of its answer, which is answered again. What followed stays as a branch.
    #[serde(default)]
    correct: Option<String>,
    /// Whether the flow continues where an answer is late.
    #[serde(default)]
    late: bool,
    /// The model; the first one unless it is given.
    #[serde(default)]
    model: Option<String>,
}

/// Where a flow runs.
enum Place {
    /// In the conversation of this id.
    Existing(String),
    /// In a new one with this metadata.
    New(Map<String, Value>),
}

/// A flow in a conversation, with what it needs until it waits or ends.
struct Running {
    runner: FlowRunner,
    conversation: Conversation,
    _place: Admission,
    _model: Option<ModelLease>,
}

fn flow(app: &App, name: &str) -> ApiResult<Arc<Flow>> {
    let flows = app.flows().now();
    flows
        .get(name)
        .cloned()
        .ok_or_else(|| ApiError::not_found(format!("there is no flow {name:?}")).param("flow"))
}

async fn list(State(app): State<App>) -> Json<ListOf<FlowObject>> {
    let objects: Vec<_> = app.flows().now().iter().map(|(name, flow)| FlowObject::of(name, flow)).collect();
    Json(ListOf::of(objects, FlowObject::id, false))
}

async fn one(State(app): State<App>, PathOf(name): PathOf<String>) -> ApiResult<Json<FlowObject>> {
    let found = flow(&app, &name)?;
    Ok(Json(FlowObject::of(&name, &found)))
}

async fn run(
    State(app): State<App>,
    caller: Caller,
    PathOf(name): PathOf<String>,
    JsonBody(new): JsonBody<NewRun>,
) -> ApiResult<(StatusCode, Json<FlowRunObject>)> {
    let found = flow(&app, &name)?;
    check_variables(&found, &new.variables)?;
    let place = match new.conversation {
        Some(_) if !new.metadata.is_empty() => {
            let message = "metadata is of a new conversation, and conversation names one that exists";
            return Err(ApiError::invalid("metadata", message));
        }
        Some(id) => Place::Existing(id),
        None => Place::New(new.metadata),
    };
    let mut running = open(&app, &caller, &name, place, new.model.as_deref()).await?;
    for (name, value) in new.variables {
        running.runner = running.runner.variable(name, value);
    }
    let before = running.conversation.history().await?.len();
    let progress = if new.again { running.runner.begin().await? } else { running.runner.run().await? };
    Ok((StatusCode::CREATED, Json(ended(&name, &running, progress, before).await?)))
}

/// Opens or creates the conversation of a flow, with what the flow needs: a model only if it asks one.
async fn open(
    app: &App,
    caller: &Caller,
    name: &str,
    place: Place,
    model: Option<&str>,
) -> ApiResult<Running> {
    let flow = flow(app, name)?;
    if let Place::Existing(id) = &place {
        // An unknown conversation loads no model.
        opened(app, caller, id).await?;
    }
    if model.is_some() && !flow.asks_model() {
        let message = format!("model has no effect: the flow {name:?} asks none");
        return Err(ApiError::unsupported("model", message));
    }
    let admission = app.admit(caller).await?;
    let mut leased = None;
    let mut manager = app.conversations(caller);
    if flow.asks_model() {
        let model = app.model(model).await?;
        manager = app.manager(&model, caller);
        leased = Some(model);
    }
    let mut conversation = match place {
        Place::Existing(id) => opened_in(&manager, &id).await?,
        Place::New(metadata) => created(&manager, name, metadata).await?,
    };
    let mut runner_model = None;
    if let Some(model) = &leased {
        conversation = app.limited(conversation, model, caller)?;
        runner_model = Some(app.limited_model(conversation.id(), model, caller)?);
    }
    let mut runner = app.flows().runner(&flow, conversation.clone());
    if let Some(model) = runner_model {
        runner = runner.model(model);
    }
    Ok(Running { runner, conversation, _place: admission, _model: leased })
}

async fn created(manager: &Manager, name: &str, metadata: Map<String, Value>) -> ApiResult<Conversation> {
    let mut new = NewConversation::from(Preface::default()).metadata(FLOW, name);
    for (name, value) in metadata {
        new = new.metadata(name, value);
    }
    Ok(manager.create(new).await?)
}

/// Checks that the flow has the variables that are given, with their types.
fn check_variables(flow: &Flow, given: &Map<String, Value>) -> ApiResult<()> {
    for (name, value) in given {
        let message = match flow.variables.get(name) {
            Some(variable) if variable.kind.allows(value) => continue,
            Some(variable) => {
                format!("variables.{name} is {value}, expected type {}", variable.kind.as_str())
            }
            None => {
                let known: Vec<_> = flow.variables.keys().map(String::as_str).collect();
                format!("variables.{name}: unknown variable, expected one of {}", known.join(", "))
            }
        };
        return Err(ApiError::invalid(format!("variables.{name}"), message));
    }
    Ok(())
}

async fn resume(
    State(app): State<App>,
    caller: Caller,
    PathOf((name, id)): PathOf<(String, String)>,
    JsonBody(answer): JsonBody<FlowAnswer>,
) -> ApiResult<Json<FlowRunObject>> {
    answer.check()?;
    let running = open(&app, &caller, &name, Place::Existing(id), answer.model.as_deref()).await?;
    must_have_begun(&running, &name).await?;
    let before = running.conversation.history().await?.len();
    let progress = answer.give(&running).await?;
    // A correction begins at an earlier node, so that all of its path is new.
    let before = if answer.correct.is_some() { 0 } else { before };
    Ok(Json(ended(&name, &running, progress, before).await?))
}

async fn must_have_begun(running: &Running, name: &str) -> ApiResult<()> {
    match running.runner.position().await? {
        Some(_) => Ok(()),
        // A flow whose first state waits without a text has no step yet.
        None if !running.runner.waits().await?.is_empty() => Ok(()),
        None => {
            let message = format!("the flow {name:?} does not run in this conversation: begin it first");
            Err(ApiError::new(StatusCode::CONFLICT, message).code("conflict"))
        }
    }
}

impl FlowAnswer {
    fn check(&self) -> ApiResult<()> {
        let is_answered = self.answer.is_some();
        if self.late && (is_answered || self.correct.is_some()) {
            let message = "late has no effect with an answer: send one of them";
            return Err(ApiError::invalid("late", message));
        }
        if is_answered {
            return Ok(());
        }
        let without_effect = [
            ("correct", self.correct.is_some()),
            ("by", self.by.is_some()),
            ("state", self.state.is_some()),
            ("branch", self.branch.is_some()),
        ];
        match without_effect.iter().find(|(_, is_given)| *is_given) {
            Some((name, _)) => {
                Err(ApiError::invalid(*name, format!("{name} has no effect without an answer")))
            }
            None => Ok(()),
        }
    }

    /// Answers, and runs the flow.
    async fn give(&self, running: &Running) -> ApiResult<Progress> {
        let runner = &running.runner;
        let Some(value) = &self.answer else {
            let progress =
                if self.late { runner.run_late(SystemTime::now()).await } else { runner.run().await };
            return Ok(progress?);
        };
        let mut answer = Answer::value(value.clone());
        if let Some(by) = &self.by {
            answer = answer.by(by);
        }
        if let Some(state) = &self.state {
            answer = answer.state(state);
        }
        if let Some(branch) = &self.branch {
            answer = answer.branch(branch);
        }
        if let Some(name) = &self.correct {
            let node = found(&running.conversation, name, "correct").await?;
            return Ok(runner.correct(node, answer).await?);
        }
        // What a crash left to do comes before the answer.
        match runner.run().await? {
            Progress::Waiting { .. } => Ok(runner.resume(answer).await?),
            Progress::Ended { state } => {
                let message = format!("the flow ended at {state:?} and waits for no answer");
                Err(ApiError::new(StatusCode::CONFLICT, message).code("conflict"))
            }
            progress => Ok(progress),
        }
    }
}

/// Returns the object of a flow that stopped. `before` is how many nodes the path had.
async fn ended(name: &str, running: &Running, progress: Progress, before: usize) -> ApiResult<FlowRunObject> {
    let path = running.conversation.history().await?;
    let mut steps = TracedStep::all(&path)?;
    let new: Vec<_> = path.iter().skip(before).map(|node| node.id).collect();
    steps.retain(|step| new.contains(&step.node));
    let position = running.runner.position().await?;
    Ok(FlowRunObject::of(name, running.conversation.id(), position.as_ref(), Some(&progress), &[], &steps))
}

async fn status(
    State(app): State<App>,
    caller: Caller,
    PathOf((name, id)): PathOf<(String, String)>,
) -> ApiResult<Json<FlowRunObject>> {
    let flow = flow(&app, &name)?;
    let conversation = opened(&app, &caller, &id).await?;
    let runner = app.flows().runner(&flow, conversation.clone());
    let path = conversation.history().await?;
    let position = Position::of(&path)?.filter(|position| position.name == flow.name);
    // Where a model has to be asked first, nothing is known of what comes next.
    let waits = runner.waits().await.unwrap_or_default();
    let steps = TracedStep::all(&path)?;
    Ok(Json(FlowRunObject::of(&name, conversation.id(), position.as_ref(), None, &waits, &steps)))
}
