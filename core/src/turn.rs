//! One turn: message, node, model call, node, tools, node, …, head.
//!
//! Nodes are created here, in `adding.rs` for the messages of a request, and in `drop_guard.rs` for a dropped reply.

mod adding;
mod asking;
mod calls;
mod data;
mod drop_guard;
mod facts;
mod media;
mod outcome;
mod parts;
mod prompts;
mod request;
mod results;
mod start;
mod trail;
mod unfinished;
mod warnings;

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use futures::future::BoxFuture;
use futures::{Stream, StreamExt};
use tracing::Instrument;

use crate::chat_model::{Origin, Reply};
use crate::message::{Message, ToolCall, ToolResult};
use crate::middleware::{Middleware, Next};
use crate::report::FinishReason;
use crate::stop::{StopSignal, Task, TaskGroup};
use crate::store::{ConversationRecord, HeadMove};
use crate::stream::{Emitter, EventStream};
use crate::tool::Tools;
use crate::tree::{Node, NodeId, NodeStatus};
use crate::{Error, ErrorKind, Result};

pub(crate) use adding::add;
use adding::nodes_of;
pub(crate) use calls::OpenCalls;
pub use data::TurnData;
use drop_guard::DropGuard;
use facts::facts;
pub use outcome::{AddOutcome, TurnEnd, TurnEvent, TurnReply};
pub(crate) use parts::{Parts, TOOL_ROUNDS};
pub(crate) use prompts::fill;
use prompts::{filled, note_keys};
pub use request::TurnRequest;
use results::{Replaced, too_much_for_the_store};
use start::open_path;
pub(crate) use start::{Place, Start, drafted};
pub(crate) use trail::{Trail, Trails};
pub use unfinished::PartialReplyPolicy;
pub(crate) use unfinished::{Spawner, Unfinished};
use warnings::TurnWarnings;

/// A turn: messages, model calls and tool calls, up to the reply.
///
/// A turn is bound to the node that it answers. If several turns start at one node, each adds a reply of its own as a
/// sibling, and the head moves to the one that is stored first.
///
/// It is a stream of events; the last one is [`TurnEvent::Finished`] or the error. It can also be awaited for the whole
/// reply. It advances only while it is polled, and owns what it needs, so it can be moved into a task or the body of a
/// response. Dropping it ends the reply, and [`PartialReplyPolicy`] decides whether its text so far is kept. [`Turn::cancel`]
/// ends it gracefully instead.
///
/// ```
/// use alloquy_core::{Conversation, Delta, TurnEvent};
/// use alloquy_testing::EchoModel;
/// use futures::StreamExt;
///
/// # pollster::block_on(async {
/// let mut turn = Conversation::new(EchoModel).send("Good morning");
/// let mut text = String::new();
/// while let Some(event) = turn.next().await {
///     match event? {
///         TurnEvent::Delta(Delta::Text(piece)) => text.push_str(&piece),
///         TurnEvent::Finished(reply) => assert_eq!(reply.text(), text),
///         _ => {}
///     }
/// }
/// assert_eq!(text, "Good morning");
/// # Ok::<(), alloquy_core::Error>(())
/// # })?;
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Debug)]
#[must_use = "a turn does nothing unless it is polled"]
pub struct Turn {
    run: EventStream<TurnEvent, TurnReply>,
    stop: StopSignal,
    /// How the turn ended, once the stream has returned it.
    outcome: Option<Result<TurnReply>>,
}

impl Turn {
    pub(crate) fn start(parts: Arc<Parts>, start: Start) -> Self {
        let task = start.ask.group.as_ref().map(TaskGroup::begin);
        let stop = task.as_ref().map_or_else(StopSignal::default, Task::stop_signal);
        let signal = stop.clone();
        let span = tracing::debug_span!("turn", conversation = %start.conversation);
        let run = EventStream::new(|emit| turn(parts, start, signal, emit).instrument(span));
        Self { run: Task::hold_where(task, run), stop, outcome: None }
    }

    /// Ends the reply early and keeps the text so far as a node; `finish` then returns it.
    ///
    /// Before the first word there is no text to keep: `finish` returns [`ErrorKind::Cancelled`], the user message
    /// stays as a branch, and the head does not move.
    pub fn cancel(&self) {
        self.stop.stop();
    }

    /// Returns a signal with the effect of [`Turn::cancel`], for another thread or a key binding.
    pub fn stop_signal(&self) -> StopSignal {
        self.stop.clone()
    }

    /// Runs the turn to its end and returns its result, even if the stream has returned it already.
    ///
    /// A model that fails midway is not an error here, unless partial replies are [discarded](PartialReplyPolicy::Discard).
    /// The reply is kept as an interrupted node with [`FinishReason::Error`].
    ///
    /// # Errors
    /// * Those of the store, the template, the model and the middleware.
    /// * [`ErrorKind::Tool`] for two tools of one name.
    /// * [`ErrorKind::Invalid`] for a request without a message to answer, a tool result without its call, or a call that
    ///   waits for the host's result.
    /// * [`ErrorKind::Store`], [`ErrorKind::Backend`] or [`ErrorKind::Tool`] for a store, a model, a middleware or an
    ///   approval that panics.
    ///
    /// Stored nodes stay stored. A request that the model refuses stores nothing. Once a tool may have run, everything is
    /// stored on the path of the head.
    pub async fn finish(mut self) -> Result<TurnReply> {
        while self.next().await.is_some() {}
        match self.outcome {
            Some(outcome) => outcome,
            None => Err(Error::new(ErrorKind::Cancelled, "the turn ended without a reply")),
        }
    }
}

impl IntoFuture for Turn {
    type Output = Result<TurnReply>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    /// Runs the turn to its end like [`Turn::finish`]: `conversation.send("Hello").await?`.
    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.finish())
    }
}

impl Stream for Turn {
    type Item = Result<TurnEvent>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Some(event) = ready!(self.run.poll_next_unpin(context)) {
            return Poll::Ready(Some(Ok(event)));
        }
        let Some(outcome) = self.run.take_result() else { return Poll::Ready(None) };
        self.outcome = Some(outcome.clone());
        Poll::Ready(Some(outcome.map(|reply| TurnEvent::Finished(Box::new(reply)))))
    }
}

async fn turn(
    parts: Arc<Parts>,
    start: Start,
    stop: StopSignal,
    mut emit: Emitter<TurnEvent>,
) -> Result<TurnReply> {
    let mut running = RunningTurn::open(parts, &start, stop).await?;
    let outcome = running.take(&start.ask, &mut emit).await;
    // The turn has ended, so it can no longer be dropped midway.
    running.guard.disarm();
    running.parts.trails.keep(&running.record, std::mem::take(&mut running.path));
    outcome
}

/// A turn while it runs, which adds nodes to a path.
///
/// The messages of a request are stored once the model has begun to answer them, so a refused request stores nothing.
/// The head moves with each reply and each node after it. So what tools have done is on the path of the head, however
/// the turn ends.
struct RunningTurn {
    parts: Arc<Parts>,
    tools: Tools,
    /// The middleware of the manager, then that of the turn.
    middleware: Vec<Arc<dyn Middleware>>,
    /// The name of the model that answers.
    model: String,
    stop: StopSignal,
    record: ConversationRecord,
    path: Trail,
    /// The messages at the end of the path that are not stored yet.
    unstored: Vec<Node>,
    /// The node that is answered.
    answers: Option<NodeId>,
    /// Where this turn last saw or moved the head.
    from: Option<NodeId>,
    /// The outcome of the last move of the head.
    head: HeadMove,
    warnings: TurnWarnings,
    /// Keeps the reply if the turn is dropped.
    guard: DropGuard,
}

impl RunningTurn {
    async fn open(parts: Arc<Parts>, start: &Start, stop: StopSignal) -> Result<Self> {
        let tools = parts.tools(&start.ask)?;
        let middleware = parts.middleware(&start.ask);
        let model = start.ask.model.as_deref().unwrap_or(parts.model.name()).to_owned();
        let (record, path) = open_path(&parts, &start.conversation, &start.place, &start.ask).await?;
        let warnings = TurnWarnings::new(path.iter().rev().find_map(Node::template));
        let tip = path.last().map(|node| node.id);
        let guard = DropGuard::new(Arc::clone(&parts), &model, &record, tip, &start.ask);
        Ok(Self {
            parts,
            tools,
            middleware,
            model,
            stop,
            from: start.ask.head_to_move(record.head),
            record,
            path,
            unstored: Vec::new(),
            answers: None,
            head: HeadMove::Moved,
            warnings,
            guard,
        })
    }

    /// Returns the conversation of the turn and the parent of its next node.
    fn origin(&self) -> Origin {
        Origin::new(self.parts.owner.clone(), self.record.id.clone()).parent(self.tip())
    }

    /// Returns the stack of middleware over the model.
    fn next(&self) -> Next<'_> {
        self.parts.next(&self.middleware)
    }

    /// Returns the last node, whether it is stored or not.
    fn tip(&self) -> Option<NodeId> {
        self.path.last().map(|node| node.id)
    }

    async fn take(&mut self, ask: &TurnRequest, emit: &mut Emitter<TurnEvent>) -> Result<TurnReply> {
        let ask = &filled(&self.parts, &self.record, &self.path, ask).await?;
        let open = self.add_messages(ask).await?;
        let first = self.unstored.first().map(|node| node.id);
        self.answers = self.answered()?;
        self.resume(open, emit).await?;
        let mut last = None;
        let mut model_calls = 0;
        let mut timings = Vec::new();
        let end = loop {
            let mut reply = self.reply(ask, model_calls, emit).await?;
            self.warnings.add_to(&mut reply, &self.tools, &self.record.preface.tools);
            if model_calls == 0 {
                reply.warnings.extend(ask.warnings.iter().cloned());
            }
            if reply.finish == FinishReason::Cancelled && reply.message.is_empty() {
                break TurnEnd::Cancelled;
            }
            model_calls += 1;
            timings.extend(reply.timing);
            let node = self.append(self.reply_node(&reply, ask), emit).await?;
            if model_calls == 1 {
                note_keys(&self.parts, &self.record.id, ask, first).await;
            }
            let end = self.end(&reply, model_calls, emit).await?;
            last = Some((reply, node));
            if let Some(end) = end {
                break end;
            }
        };
        let Some((reply, node)) = last else {
            return Err(Error::new(ErrorKind::Cancelled, "the reply was stopped before its first word"));
        };
        let last = self.tip().unwrap_or(node);
        let pending = self.open_calls().into_calls();
        let answers = self.answers;
        let head = self.head;
        let nodes = self.added().to_vec();
        Ok(TurnReply { end, reply, node, last, answers, head, pending, nodes, model_calls, timings })
    }

    /// Returns the nodes after the one that is answered.
    fn added(&self) -> &[Node] {
        let answered = self.path.iter().rposition(|node| Some(node.id) == self.answers);
        self.path.get(answered.map_or(0, |index| index + 1)..).unwrap_or_default()
    }

    /// Adds the messages of a request to the path, and returns the calls that they leave open. The bytes of their media
    /// are stored here, so that storing the nodes takes one more call.
    async fn add_messages(&mut self, ask: &TurnRequest) -> Result<OpenCalls> {
        let mut open = self.open_calls();
        let unstored = nodes_of(ask, &mut open, self.tip())?;
        self.parts.store_media(&unstored).await?;
        self.path.extend_from_slice(&unstored);
        self.guard.set_pending(&unstored);
        self.unstored = unstored;
        Ok(open)
    }

    fn open_calls(&self) -> OpenCalls {
        OpenCalls::after(self.path.iter().map(|node| &node.message))
    }

    fn answered(&self) -> Result<Option<NodeId>> {
        if self.path.is_empty() && self.record.preface.messages.is_empty() {
            let message = format!("conversation {:?} has no message to answer", self.record.id.as_str());
            return Err(Error::new(ErrorKind::Invalid, message));
        }
        Ok(self.tip())
    }

    /// Runs all calls that an earlier turn left open, because a model never sees a call without its result.
    async fn resume(&mut self, open: OpenCalls, emit: &mut Emitter<TurnEvent>) -> Result<()> {
        let (calls, hosts) = self.split_calls(open.into_calls());
        if let Some(call) = hosts.first() {
            let message = format!("the call {:?} of {:?} waits for the host's result", call.id, call.name);
            return Err(Error::new(ErrorKind::Invalid, message));
        }
        if !calls.is_empty() {
            self.store_messages(emit).await?;
        }
        self.run(&calls, emit).await
    }

    /// Replaces the tool results at `index` of the path by shorter ones.
    ///
    /// Stored results stay, because a node never changes, and the shorter ones become their sibling. The path A, B, C
    /// with a replaced B becomes A, B', C' with new parents. They are stored with the messages after them.
    async fn replace(&mut self, index: usize, by: Replaced, emit: &mut Emitter<TurnEvent>) {
        let stored = self.path.len() - self.unstored.len();
        let mut after = self.path.split_off(index).into_iter();
        let Some(whole) = after.next() else { return };
        let node = if index < stored {
            Node::new(whole.parent, by.message)
        } else {
            Node { message: by.message, ..whole.clone() }
        };
        if self.answers == Some(whole.id) {
            self.answers = Some(node.id);
        }
        let mut parent = node.id;
        self.path.push(node);
        for next in after {
            self.path.push(Node { parent: Some(parent), ..next });
            parent = self.path.last().map_or(parent, |node| node.id);
        }
        self.unstored = self.path.get(stored.min(index)..).unwrap_or_default().to_vec();
        self.guard.set_pending(&self.unstored);
        for result in by.results {
            emit.send(TurnEvent::ToolResult(result)).await;
        }
    }

    /// Runs the tool calls of a reply. `None` means that the model is called again.
    async fn end(
        &mut self,
        reply: &Reply,
        model_calls: usize,
        emit: &mut Emitter<TurnEvent>,
    ) -> Result<Option<TurnEnd>> {
        let calls: Vec<_> = reply.message.tool_calls().cloned().collect();
        match reply.finish {
            FinishReason::Cancelled => return Ok(Some(TurnEnd::Cancelled)),
            FinishReason::Error => return Ok(Some(TurnEnd::Failed)),
            _ => {}
        }
        if calls.is_empty() {
            return Ok(Some(TurnEnd::Answered));
        }
        if model_calls > self.parts.tool_rounds || self.warnings.is_stuck() {
            return Ok(Some(TurnEnd::ToolLimit));
        }
        let (calls, hosts) = self.split_calls(calls);
        self.run(&calls, emit).await?;
        if self.stop.is_stopped() {
            return Ok(Some(TurnEnd::Cancelled));
        }
        if !hosts.is_empty() {
            return Ok(Some(TurnEnd::HostCalls));
        }
        Ok(None)
    }

    /// Splits calls into those that run here, and those that only the host can run: a tool of the preface that is in no
    /// toolbox.
    fn split_calls(&self, calls: Vec<ToolCall>) -> (Vec<ToolCall>, Vec<ToolCall>) {
        let offered = &self.record.preface.tools;
        calls
            .into_iter()
            .partition(|call| self.tools.has(&call.name) || offered.iter().all(|spec| spec.name != call.name))
    }

    /// Runs calls and stores their results as one node. Every call gets a result; that of a cancelled call is an error.
    async fn run(&mut self, calls: &[ToolCall], emit: &mut Emitter<TurnEvent>) -> Result<()> {
        self.tools.set_origin(self.origin());
        let mut results = Vec::with_capacity(calls.len());
        let mut answers =
            self.stop.cut(Box::pin(self.tools.results(calls.to_vec(), &self.record.preface.tools)));
        while let Some(result) = answers.next().await {
            let result = result?;
            emit.send(TurnEvent::ToolResult(result.clone())).await;
            results.push(result);
        }
        drop(answers);
        for call in calls.iter().skip(results.len()) {
            let result = ToolResult::error(call, "this call was stopped before it was answered");
            emit.send(TurnEvent::ToolResult(result.clone())).await;
            results.push(result);
        }
        if results.is_empty() {
            return Ok(());
        }
        self.append_results(Message::tool(results), emit).await
    }

    /// Stores results. Results that the store cannot keep become errors.
    async fn append_results(&mut self, message: Message, emit: &mut Emitter<TurnEvent>) -> Result<()> {
        let mut refusal = match self.append(Node::new(self.tip(), message.clone()), emit).await {
            Ok(_) => return Ok(()),
            Err(error) if results::is_refusal(&error) => error,
            Err(error) => return Err(error),
        };
        for kept in too_much_for_the_store(&message, &refusal) {
            match self.append(Node::new(self.tip(), kept.message), emit).await {
                Ok(_) => {
                    for result in kept.results {
                        emit.send(TurnEvent::ToolResult(result)).await;
                    }
                    return Ok(());
                }
                Err(error) if results::is_refusal(&error) => refusal = error,
                Err(error) => return Err(error),
            }
        }
        Err(refusal)
    }

    fn reply_node(&self, reply: &Reply, ask: &TurnRequest) -> Node {
        let mut node = Node::new(self.tip(), reply.message.clone());
        if reply.finish.is_interrupted() {
            node.status = NodeStatus::Interrupted;
        }
        node.tokens.clone_from(&reply.tokens);
        ask.mark(&mut node);
        node.reply = Some(Box::new(facts(&self.model, reply, ask)));
        node
    }

    /// Stores the messages of the request. The head does not move before there is a reply.
    async fn store_messages(&mut self, emit: &mut Emitter<TurnEvent>) -> Result<()> {
        if self.unstored.is_empty() {
            return Ok(());
        }
        self.parts.store.append(&self.parts.owner, &self.record.id, &self.unstored).await?;
        self.guard.stored(self.from);
        for node in std::mem::take(&mut self.unstored) {
            emit.send(TurnEvent::Node(node)).await;
        }
        Ok(())
    }

    /// Stores a reply or a node after one, and moves the head there.
    async fn append(&mut self, node: Node, emit: &mut Emitter<TurnEvent>) -> Result<NodeId> {
        let id = node.id;
        self.parts.store_media(std::slice::from_ref(&node)).await?;
        self.guard.storing(&node);
        let store = &self.parts.store;
        let owner = &self.parts.owner;
        let nodes = std::slice::from_ref(&node);
        let stored = store.append_and_move(owner, &self.record.id, nodes, self.from, Some(id)).await;
        self.head = stored.inspect_err(|_| self.guard.refused())?;
        if self.head == HeadMove::Moved {
            self.from = Some(id);
        }
        self.guard.stored(self.from);
        self.path.push(node.clone());
        emit.send(TurnEvent::Node(node)).await;
        Ok(id)
    }
}
