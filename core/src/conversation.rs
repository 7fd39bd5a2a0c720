//! The small face: one model, a history in memory, no store.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures::{Stream, StreamExt};

use crate::Result;
use crate::arguments::ProcessorArguments;
use crate::chat_model::{ChatModel, Reply, ReplyStream, Request};
use crate::guidance::Guidance;
use crate::message::{Content, Message, Part};
use crate::middleware::{Middleware, Next};
use crate::path::MessagePath;
use crate::preface::Preface;
use crate::processor::Delta;
use crate::report::{CacheReport, FinishReason, Score};
use crate::sampling::SamplingOptions;
use crate::stop::StopSignal;
use crate::task_group::{Task, TaskGroup};
use crate::template::Ending;

mod checkpoints;
mod prompt;

pub use prompt::NextPrompt;

/// A conversation in memory with one model.
///
/// It keeps a list of messages and sends all of it each time; what the model computed before is reused by prefix,
/// so this costs only what is new. A failed or dropped reply leaves the history as it was. A clone goes its own
/// way. For branches and storage there is [`Manager`](crate::Manager).
///
/// ```
/// use std::sync::Arc;
/// use alloquy_core::{Conversation, Preface};
/// use alloquy_testing::EchoModel;
///
/// let mut conversation = Conversation::new(Arc::new(EchoModel), Preface::default());
/// assert_eq!(conversation.send_message("Hello")?.text(), "Hello");
/// assert_eq!(conversation.history().len(), 2);
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Conversation {
    model: Arc<dyn ChatModel>,
    middleware: Vec<Arc<dyn Middleware>>,
    preface: Preface,
    sampling: SamplingOptions,
    guidance: Guidance,
    arguments: ProcessorArguments,
    history: MessagePath,
    pending: Vec<Message>,
    /// How many messages there were at each place that was given a name.
    checkpoints: BTreeMap<String, usize>,
    /// What its answers are cancelled with.
    group: Option<TaskGroup>,
}

/// One message or several, said together.
#[derive(Clone, Debug)]
pub struct Messages(Vec<Message>);

impl<M: Into<Message>> From<M> for Messages {
    fn from(message: M) -> Self {
        Self(vec![message.into()])
    }
}

impl From<Vec<Message>> for Messages {
    fn from(messages: Vec<Message>) -> Self {
        Self(messages)
    }
}

impl Conversation {
    /// Starts a conversation.
    pub fn new(model: Arc<dyn ChatModel>, preface: Preface) -> Self {
        let (middleware, sampling, arguments, guidance) = Default::default();
        let (history, pending, checkpoints) = Default::default();
        Self {
            model,
            middleware,
            preface,
            sampling,
            arguments,
            guidance,
            history,
            pending,
            checkpoints,
            group: None,
        }
    }

    /// Puts a middleware around every model call, inside those added before.
    #[must_use]
    pub fn with_middleware(mut self, middleware: impl Middleware + 'static) -> Self {
        self.middleware.push(Arc::new(middleware));
        self
    }

    /// Sets how replies are sampled; what is absent the model decides.
    #[must_use]
    pub fn with_sampling(mut self, sampling: SamplingOptions) -> Self {
        self.sampling = sampling;
        self
    }

    /// Sets what the processor is told; what is absent the preface decides.
    #[must_use]
    pub fn with_arguments(mut self, arguments: ProcessorArguments) -> Self {
        self.arguments = arguments;
        self
    }

    /// Writes every answer in a group, which can end it together with others.
    #[must_use]
    pub fn with_group(mut self, group: &TaskGroup) -> Self {
        self.group = Some(group.clone());
        self
    }

    /// Goes on from messages that were said before.
    #[must_use]
    pub fn with_history(mut self, history: Vec<Message>) -> Self {
        self.history = history.into();
        self
    }

    /// Sets the form that the next answer must have, and only that one.
    pub fn guide_next(&mut self, guidance: Guidance) -> &mut Self {
        self.guidance = guidance;
        self
    }

    /// Returns what was said, replies included; pending messages are not.
    pub fn history(&self) -> &[Message] {
        &self.history
    }

    /// Forgets all but the first `messages` messages, what is pending, and the checkpoints behind.
    pub fn truncate(&mut self, messages: usize) {
        self.history.truncate(messages);
        self.checkpoints.retain(|_, place| *place <= messages);
        self.pending.clear();
    }

    /// Says something and waits for the whole answer.
    ///
    /// It blocks the thread: in asynchronous code use [`Conversation::send_message_stream`].
    ///
    /// # Errors
    /// Those of the model and the middleware; the history is unchanged then, and pending messages stay pending.
    pub fn send_message(&mut self, messages: impl Into<Messages>) -> Result<Reply> {
        pollster::block_on(async { self.send_message_stream(messages).await?.finish().await?.complete() })
    }

    /// Says something and returns the answer as it is written.
    ///
    /// The history grows when the stream is finished; a dropped stream leaves it as it was.
    ///
    /// # Errors
    /// Those of the middleware, and those of the model that come before its first word.
    pub async fn send_message_stream(&mut self, messages: impl Into<Messages>) -> Result<MessageStream<'_>> {
        let said = joined(&self.pending, messages.into().0);
        let task = self.group.as_ref().map(TaskGroup::begin);
        let stop = task.as_ref().map_or_else(StopSignal::default, Task::stop_signal);
        let path = self.taken_up(said);
        let request = self.request_of(path.clone(), Ending::Answer).guidance(self.guidance.clone());
        let stream = self.next().call(request.stop(stop.clone())).await?;
        let stream = Task::hold_where(task, stream);
        self.guidance = Guidance::default();
        Ok(MessageStream { conversation: self, stream, path, stop })
    }

    /// Takes a message, or a piece of one, without asking for an answer yet, and computes it ahead.
    ///
    /// Consecutive pieces of one role become one message, which the next `send_message` of that role completes.
    /// It blocks the thread, like `send_message`.
    ///
    /// # Errors
    /// Those of the middleware and the model; nothing is taken then.
    pub fn append_message(&mut self, messages: impl Into<Messages>) -> Result<Option<CacheReport>> {
        let pending = joined(&self.pending, messages.into().0);
        let request = self.request(&pending, Ending::Closed);
        let report = pollster::block_on(self.next().warm(request))?;
        self.pending = pending;
        Ok(report)
    }

    /// Says how likely each of `targets` is as the answer to `messages`; the conversation stays as it is.
    ///
    /// It blocks the thread, like `send_message`.
    ///
    /// # Errors
    /// As [`ChatModel::score`].
    pub fn score(&self, messages: impl Into<Messages>, targets: &[String]) -> Result<Vec<Score>> {
        let said = joined(&self.pending, messages.into().0);
        pollster::block_on(self.next().score(self.request(&said, Ending::Answer), targets))
    }

    /// Says whether a message was taken that nothing answered yet.
    pub fn has_pending(&self) -> bool {
        !self.pending.is_empty()
    }

    fn next(&self) -> Next<'_> {
        Next::new(&self.middleware, &*self.model)
    }

    /// The history with what is said behind it. The history stays as it is and shares its messages.
    fn taken_up(&mut self, said: Vec<Message>) -> MessagePath {
        let mut path = std::mem::take(&mut self.history);
        let length = path.len();
        path.extend(said);
        self.history = path.clone();
        self.history.truncate(length);
        path
    }

    fn request(&self, said: &[Message], ending: Ending) -> Request {
        let mut path = self.history.clone();
        path.extend(said.iter().cloned());
        self.request_of(path, ending)
    }

    fn request_of(&self, path: MessagePath, ending: Ending) -> Request {
        let request = Request::of(self.preface.clone(), path).sampling(self.sampling.clone());
        request.arguments(self.arguments.clone()).ending(ending)
    }
}

/// Appends messages; one that goes on in the role of the last pending one becomes part of it.
fn joined(pending: &[Message], messages: Vec<Message>) -> Vec<Message> {
    let mut all = pending.to_vec();
    let mut messages = messages.into_iter();
    match (all.last_mut(), messages.next()) {
        (Some(last), Some(first)) if last.role == first.role && last.name == first.name => {
            first.parts.into_iter().for_each(|part| push_part(&mut last.parts, part));
            last.extra.extend(first.extra);
        }
        (_, first) => all.extend(first),
    }
    all.extend(messages);
    all
}

/// Joins texts; one that has fields of its own stays a part of its own.
fn push_part(parts: &mut Vec<Part>, part: Part) {
    let is_bare = part.extra.is_empty();
    let last = parts.last_mut().filter(|last| is_bare && last.extra.is_empty() && last.source == part.source);
    let last = last.map(|last| &mut last.content);
    match (last, part.content) {
        (Some(Content::Text(text)), Content::Text(more)) => text.push_str(&more),
        (_, content) => parts.push(Part { content, ..part }),
    }
}

/// An answer of a [`Conversation`] that is being written. While it is alive the conversation is borrowed.
#[derive(Debug)]
#[must_use = "an answer is not written unless it is polled"]
pub struct MessageStream<'a> {
    conversation: &'a mut Conversation,
    stream: ReplyStream,
    /// The history with what was said behind it.
    path: MessagePath,
    stop: StopSignal,
}

impl MessageStream<'_> {
    /// Returns a signal that ends the answer early and keeps what was said.
    pub fn stop_signal(&self) -> StopSignal {
        self.stop.clone()
    }

    /// Takes the answer to its end and adds question and answer to the history. Of an answer that failed midway the
    /// reply has what there is, and the history is unchanged; so it is when the answer was stopped before its first
    /// word.
    ///
    /// # Errors
    /// Those of the model; the history is unchanged then.
    pub async fn finish(self) -> Result<Reply> {
        let reply = self.stream.finish().await?;
        let stopped = reply.finish == FinishReason::Cancelled && reply.message.is_empty();
        if stopped || reply.finish == FinishReason::Error {
            return Ok(reply);
        }
        self.conversation.pending.clear();
        self.conversation.history = self.path;
        self.conversation.history.push_sampled(reply.message.clone(), reply.tokens.clone());
        Ok(reply)
    }
}

impl Stream for MessageStream<'_> {
    type Item = Delta;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Delta>> {
        self.stream.poll_next_unpin(context)
    }
}
