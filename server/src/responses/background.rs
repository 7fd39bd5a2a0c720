//! Responses in the background: they continue without their client, and their events can be read again.

use std::sync::Arc;
use std::time::Duration;

use alloquy_core::stop::Task;
use alloquy_core::{Conversation, ConversationManager as _, NodeId, Turn, TurnEvent, TurnReply, TurnRequest};
use axum::Json;
use axum::response::IntoResponse;
use futures::StreamExt;
use futures::stream;
use tokio::time::timeout;

use super::approvals;
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
use crate::items::{MARK, ResponseId};
use crate::logprobs::must_have_tokens;
use crate::models::ModelLease;
use crate::response_runs::{Run, RunKey};
use crate::streaming;

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
    /// The last message, which is stored and waits for its reply.
    question: NodeId,
    id: ResponseId,
    task: Task,
    run: Arc<Run>,
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
        if let Some((place, _)) = approvals::given(&asked.items).first() {
            let message = format!(
                "{place}: background is true, and an approved call runs while its client waits: false"
            );
            return Err(ApiError::unsupported("background", message));
        }
        let place = Place::open(&asked, &app, &caller, manager, None).await?;
        let mark = ResponseMark::new(asked.settings.clone());
        place.note_lists(&mut asked).await?;
        let (question, turn) = match stored(&place, &asked, &app, &caller, &mark).await {
            Ok(stored) => stored,
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
        let background =
            Self { app, caller, asked, conversation, mark, turn, question, id, task, run: Arc::clone(&run) };
        tokio::spawn(background.work());
        if let Some(held) = held {
            return Ok(streaming::respond_with(run.events(0), &limits, held));
        }
        Ok(Json(queued).into_response())
    }

    async fn work(self) {
        let _guard = RunGuard(Arc::clone(&self.run));
        let mut writer = self.asked.writer(&self.id.conversation);
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
            _ = stopped.next() => return Err(Ending::of_status(Status::Cancelled)),
            ready = self.ready() => ready.map_err(|error| Ending::failed(&error))?,
        };
        let (_held, model, mut turn) = ready;
        if self.asked.logprobs {
            writer.set_logprobs(model.opened().clone());
        }
        self.run.start();
        self.push(&writer.start());
        tokio::select! {
            outcome = self.read(&mut turn, writer) => return outcome,
            _ = stopped.next() => turn.cancel(),
        }
        // The text so far is stored by the turn, which is dropped where the model does not end.
        match timeout(CANCELLING, self.read(&mut turn, writer)).await {
            Ok(outcome) => outcome,
            Err(_) => Err(Ending::of_status(Status::Cancelled)),
        }
    }

    /// Reads a turn to its end, and returns the reply, whose events are not written yet.
    async fn read(&self, turn: &mut Turn, writer: &mut EventWriter) -> Result<Box<TurnReply>, Ending> {
        while let Some(event) = turn.next().await {
            match event {
                Ok(TurnEvent::Finished(reply)) => return Ok(reply),
                Ok(event) => self.push(&writer.event(event)),
                Err(error) if error.is_cancelled() => return Err(Ending::of_status(Status::Cancelled)),
                Err(error) => return Err(Ending::failed(&error.into())),
            }
        }
        Err(Ending::failed(&broken_reply("the turn of a response has ended without a reply")))
    }

    /// Waits for a place and the model, and returns the turn.
    async fn ready(&self) -> ApiResult<(Admission, ModelLease, Turn)> {
        let held = self.app.admit(&self.caller).await?;
        let model = self.app.model(Some(&self.mark.settings.model)).await?;
        if self.asked.logprobs {
            must_have_tokens("include", &model)?;
        }
        let manager = self.app.manager(&model, &self.caller);
        let conversation = manager.open(&self.id.conversation).await?;
        let turn = self.app.stored_turn(self.turn.clone(), &model, &self.caller)?;
        Ok((held, model, conversation.complete(turn)))
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
) -> ApiResult<(NodeId, TurnRequest)> {
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
    Ok((question, turn))
}
