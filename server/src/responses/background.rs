//! Responses in the background: they continue without their client, and their events can be read again.

use std::sync::Arc;
use std::time::Duration;

use alloquy_core::stop::Task;
use alloquy_core::tool::Toolbox;
use alloquy_core::{
    Conversation, ConversationManager as _, Message, NodeId, TurnEvent, TurnReply, TurnRequest,
};
use axum::Json;
use axum::response::IntoResponse;
use futures::StreamExt;
use futures::stream;
use tokio::time::timeout;

use super::approved_runs;
use super::events::{Event, EventWriter};
use super::object::{Ending, Sources, Status};
use super::place::Place;
use super::request::Asked;
use super::settings::ResponseMark;
use super::stored::note_ending;
use crate::admission::Admission;
use crate::app::App;
use crate::caller::Caller;
use crate::error::{ApiError, ApiResult, broken_reply};
use crate::host_tools::{ApprovedTurn, Decisions, Work};
use crate::items::{MARK, ResponseId};
use crate::logprobs::must_have_tokens;
use crate::models::ModelLease;
use crate::response_runs::{Run, RunKey};
use crate::streaming::{self, Running as _};

/// How long a cancelled response may take to end by itself.
const CANCELLING: Duration = Duration::from_secs(5);

/// A response in the background.
pub(super) struct Background {
    app: App,
    caller: Caller,
    asked: Asked,
    conversation: Conversation,
    mark: ResponseMark,
    /// The options of the turn.
    turn: TurnRequest,
    /// The last message, which is stored and waits for its reply, or will be stored with the results of approved calls.
    question: NodeId,
    approving: Option<Approving>,
    id: ResponseId,
    task: Task,
    run: Arc<Run>,
}

/// The approved calls of a request, which are claimed, and what is stored with their results.
struct Approving {
    decisions: Decisions,
    toolbox: Toolbox,
    messages: Vec<Message>,
    /// The node that the messages follow.
    at: Option<NodeId>,
    /// Where the head was.
    head: Option<NodeId>,
}

/// A request that has its id.
struct Begun {
    question: NodeId,
    turn: TurnRequest,
    approving: Option<Approving>,
}

/// Ends a run when it is dropped, also by a panic.
struct RunGuard(Arc<Run>);

impl Drop for RunGuard {
    fn drop(&mut self) {
        self.0.end();
    }
}

impl Background {
    /// Stores the messages of a request, and begins its reply in a task of its own.
    ///
    /// # Errors
    /// Those of a request that is not valid. What is refused later, such as a prompt that is too long, is a failed response.
    pub(super) async fn begin(mut asked: Asked, app: App, caller: Caller) -> ApiResult {
        let held = if asked.is_streamed { Some(app.hold_stream(&caller)?) } else { None };
        asked.settings.model = model_name(&app, asked.model.as_deref())?;
        let manager = app.conversations(&caller);
        let place = Place::open(&asked, &app, &caller, manager, None).await?;
        let mark = ResponseMark::new(asked.settings.clone());
        place.note_lists(&mut asked).await?;
        let Begun { question, turn, approving } = match begun(&place, &asked, &app, &caller, &mark).await {
            Ok(begun) => begun,
            Err(error) => {
                place.remove_unanswered().await;
                return Err(error);
            }
        };
        let conversation = place.conversation;
        let id = ResponseId { conversation: conversation.id().clone(), node: question };
        let task = app.turns().begin();
        let run = app.responses().begin(RunKey::new(&caller.owner, id.clone()), task.stop_signal());
        let sources = Sources::new(&mark.settings, conversation.id(), question, &[], None);
        let queued = sources.running(Status::Queued);
        let limits = *app.limits();
        let shared = Arc::clone(&run);
        let background =
            Self { app, caller, asked, conversation, mark, turn, question, approving, id, task, run: shared };
        tokio::spawn(background.work());
        if let Some(held) = held {
            return Ok(streaming::respond_with(run.events(0), &limits, held));
        }
        Ok(Json(queued).into_response())
    }

    async fn work(self) {
        let _guard = RunGuard(Arc::clone(&self.run));
        let mut writer = self.asked.writer(&self.id.conversation);
        if let Some(approving) = &self.approving {
            writer.set_decisions(self.question, &approving.decisions.all);
        }
        self.push(&writer.create(self.question));
        // The reply is stored, and its place and its model are free, before a client reads the last event.
        let last = match self.generate(&mut writer).await {
            Ok(reply) => {
                let key = RunKey::new(&self.caller.owner, self.id.clone());
                self.app.responses().note_last(key, reply.last);
                writer.event(TurnEvent::Finished(reply))
            }
            Err(ending) => {
                note_ending(&self.conversation, self.question, &ending).await;
                writer.end(self.question, &[], ending, None)
            }
        };
        self.run.end_with(last.iter().map(Event::frame).collect());
    }

    /// Waits for a place and the model, and generates the reply.
    async fn generate(&self, writer: &mut EventWriter) -> Result<Box<TurnReply>, Ending> {
        let stop = self.task.stop_signal();
        let mut stopped = stop.cut(stream::pending::<()>());
        // A response that is cancelled gives up its place in the queue.
        let ready = tokio::select! {
            _ = stopped.next() => Err(Ending::of_status(Status::Cancelled)),
            ready = self.ready() => ready.map_err(|error| Ending::failed(&error)),
        };
        let (_held, model, mut work) = match ready {
            Ok(ready) => ready,
            Err(ending) => {
                self.store_without_calls(writer).await;
                return Err(ending);
            }
        };
        if self.asked.logprobs {
            writer.set_logprobs(model.opened().clone());
        }
        self.run.start();
        self.push(&writer.start());
        tokio::select! {
            outcome = self.read(&mut work, writer) => return outcome,
            _ = stopped.next() => work.cancel(),
        }
        // The text so far is stored by the turn, which is dropped where the model does not end.
        match timeout(CANCELLING, self.read(&mut work, writer)).await {
            Ok(outcome) => outcome,
            Err(_) => Err(Ending::of_status(Status::Cancelled)),
        }
    }

    /// Reads the work to its end, and returns the reply, whose events are not written yet.
    async fn read(&self, work: &mut Work, writer: &mut EventWriter) -> Result<Box<TurnReply>, Ending> {
        while let Some(event) = work.next().await {
            match event {
                Ok(TurnEvent::Finished(reply)) => return Ok(reply),
                Ok(event) => {
                    self.note_stored(&event).await;
                    self.push(&writer.event(event));
                }
                Err(error) if error.is_cancelled() => return Err(Ending::of_status(Status::Cancelled)),
                Err(error) => return Err(Ending::failed(&error)),
            }
        }
        Err(Ending::failed(&broken_reply("the turn of a response has ended without a reply")))
    }

    /// Stores the messages of approved calls that do not run: their results say so, and the conversation continues after them.
    async fn store_without_calls(&self, writer: &mut EventWriter) {
        let Some(approving) = &self.approving else { return };
        let mut work = self.approved(approving, self.conversation.clone(), self.turn.clone());
        work.cancel();
        while let Some(Ok(event)) = work.next().await {
            self.note_stored(&event).await;
            if let TurnEvent::Node(_) = event {
                // It has no events, but the response shows its calls.
                self.push(&writer.event(event));
            }
        }
    }

    /// Notes that the last message of approved calls is stored, by which the response is found from now on.
    async fn note_stored(&self, event: &TurnEvent) {
        let TurnEvent::Node(node) = event else { return };
        if self.approving.is_some() && node.id == self.question {
            approved_runs::forget(&self.app, &self.caller.owner, &self.id.conversation, self.question).await;
        }
    }

    /// Returns the approved calls and the turn after them.
    fn approved(&self, approving: &Approving, conversation: Conversation, turn: TurnRequest) -> Work {
        Work::approved(ApprovedTurn {
            app: self.app.clone(),
            owner: self.caller.owner.clone(),
            conversation,
            decisions: approving.decisions.clone(),
            is_claimed: true,
            toolbox: approving.toolbox.clone(),
            messages: approving.messages.clone(),
            at: approving.at,
            head: approving.head,
            mark: self.mark.of_message(),
            turn,
            task: self.app.turns().begin(),
        })
    }

    /// Waits for a place and the model, and returns the work.
    async fn ready(&self) -> ApiResult<(Admission, ModelLease, Work)> {
        let held = self.app.admit(&self.caller).await?;
        let model = self.app.model(Some(&self.mark.settings.model)).await?;
        if self.asked.logprobs {
            must_have_tokens("include", &model)?;
        }
        let manager = self.app.manager(&model, &self.caller);
        let conversation = manager.open(&self.id.conversation).await?;
        let turn = self.app.stored_turn(self.turn.clone(), &model, &self.caller)?;
        let work = match &self.approving {
            Some(approving) => self.approved(approving, conversation, turn),
            None => Work::Turn(Box::new(conversation.complete(turn))),
        };
        Ok((held, model, work))
    }

    fn push(&self, events: &[Event]) {
        self.run.push(events.iter().map(Event::frame).collect());
    }
}

/// Returns the name under which a model is served.
fn model_name(app: &App, name: Option<&str>) -> ApiResult<String> {
    let Some(name) = name else {
        let first = app.models().list().first().map(|status| status.model.name().to_owned());
        return first.ok_or_else(|| ApiError::not_found("no model is served").param("model"));
    };
    match app.models().status(name) {
        Ok(status) => Ok(status.model.name().to_owned()),
        Err(error) => Err(ApiError::from(error).param("model").code("model_not_found")),
    }
}

/// Gives a request its id: its messages are stored, or its approved calls are claimed.
async fn begun(
    place: &Place,
    asked: &Asked,
    app: &App,
    caller: &Caller,
    mark: &ResponseMark,
) -> ApiResult<Begun> {
    match place.decisions(asked, app, caller).await? {
        Some(decisions) => claimed(place, asked, app, caller, mark, decisions).await,
        None => stored(place, asked, app, caller, mark).await,
    }
}

/// Claims the approved calls of a request, and notes the response in the record of the conversation: its messages are stored with the
/// results.
async fn claimed(
    place: &Place,
    asked: &Asked,
    app: &App,
    caller: &Caller,
    mark: &ResponseMark,
    decisions: Decisions,
) -> ApiResult<Begun> {
    let messages = place.messages(asked, Some(&decisions), app, caller).await?;
    place.note_system(&messages).await?;
    let turn = place.instructed(asked.turn(Vec::new()), asked, &messages).metadata(MARK, mark.of_reply());
    let conversation = place.conversation.id();
    let question = decisions.question;
    approved_runs::note(app, &caller.owner, conversation, question, mark).await?;
    if let Err(error) = decisions.claim(app, &caller.owner, conversation).await {
        approved_runs::forget(app, &caller.owner, conversation, question).await;
        return Err(error);
    }
    let (toolbox, _) = asked.tools.toolboxes();
    let approving = Approving { decisions, toolbox, messages, at: place.at, head: place.record.head };
    Ok(Begun { question, turn, approving: Some(approving) })
}

/// Stores the messages of a request, and returns the last one and the turn that answers it.
///
/// They are stored at once, so that the response has an id and survives a crash. The head stays until there is a reply, so another
/// request to the conversation becomes a sibling, as it does without the background.
async fn stored(
    place: &Place,
    asked: &Asked,
    app: &App,
    caller: &Caller,
    mark: &ResponseMark,
) -> ApiResult<Begun> {
    let messages = place.messages(asked, None, app, caller).await?;
    place.note_system(&messages).await?;
    let turn = place.instructed(asked.turn(Vec::new()), asked, &messages);
    // No node has this id, so the head does not move.
    let elsewhere = Some(NodeId::new());
    let adding = TurnRequest::from(messages).at(place.at).expected_head(elsewhere);
    let added = place.conversation.add(adding.message_metadata(MARK, mark.of_message())).await?;
    let Some(question) = added.node else {
        return Err(ApiError::invalid("input", "input has no messages, so nothing is asked"));
    };
    let turn = turn.metadata(MARK, mark.of_reply()).at(question).expected_head(place.record.head);
    Ok(Begun { question, turn, approving: None })
}
