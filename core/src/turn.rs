//! One turn: message, node, model call, node, tools, node, …, head. The only place that makes nodes, but for those of the
//! question (`adding.rs`) and of a reply whose turn is dropped (`abandoned.rs`).

mod abandoned;
mod adding;
mod asking;
mod calls;
mod data;
mod facts;
mod media;
mod outcome;
mod parts;
mod request;
mod results;
mod start;
mod trail;
mod unfinished;

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use futures::future::BoxFuture;
use futures::{Stream, StreamExt};
use tracing::Instrument;

use crate::chat_model::{Origin, Reply, Request};
use crate::media::Digest;
use crate::message::{Message, ToolCall, ToolResult};
use crate::middleware::{Middleware, Next};
use crate::report::{Degradation, FinishReason};
use crate::stop::{StopSignal, Task, TaskGroup};
use crate::store::{ConversationId, ConversationRecord, HeadMove};
use crate::stream::{Emit, Run};
use crate::tool::Tools;
use crate::tree::{Node, NodeId, NodeStatus};
use crate::{Error, ErrorKind, Result};

use abandoned::Abandoned;
pub(crate) use adding::add;
use adding::nodes_of;
pub(crate) use calls::OpenCalls;
pub use data::TurnData;
use facts::facts;
pub use outcome::{Added, TurnEnd, TurnEvent, TurnReply};
pub(crate) use parts::{Parts, TOOL_ROUNDS};
pub use request::TurnRequest;
use results::{Replaced, too_much_for_the_store};
use start::open_path;
pub(crate) use start::{Place, Start};
pub(crate) use trail::{Trail, Trails};
pub use unfinished::PartialReplies;
pub(crate) use unfinished::{Spawner, Unfinished};

/// A turn that is being taken.
///
/// It is bound to the node it answers: of several turns from one node each adds a reply of its own, side by side,
/// and the head follows the first of which a reply is stored.
///
/// It is a stream of events, of which the last is [`TurnEvent::Finished`] or the error. It can be awaited too, for the whole
/// reply. It advances while it is polled, owns what it needs, and so goes into a task or the body of a response. Dropping it
/// ends the reply that was being written, and what was said until then is kept as [`PartialReplies`] says; everything goes on
/// working. [`Turn::stop`] ends it gracefully instead.
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
    run: Run<TurnEvent, TurnReply>,
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
        let run = Run::new(|emit| turn(parts, start, signal, emit).instrument(span));
        Self { run: Task::hold_where(task, run), stop, outcome: None }
    }

    /// Ends the reply early and keeps what was said as a node; `finish` then returns it.
    ///
    /// Before the first word there is nothing to keep: `finish` returns [`ErrorKind::Cancelled`] then, the question
    /// stays as a branch, and the head does not move.
    pub fn stop(&self) {
        self.stop.stop();
    }

    /// Returns a signal that does what [`Turn::stop`] does, for another thread or a key binding.
    pub fn stop_signal(&self) -> StopSignal {
        self.stop.clone()
    }

    /// Takes the turn to its end, and returns how it ended, whether or not its stream has returned that too.
    ///
    /// A model that fails midway is no error here, unless partial replies are [discarded](PartialReplies::Discard): the
    /// reply is kept as an interrupted node, and its `finish` says so ([`FinishReason::Error`]).
    ///
    /// # Errors
    /// Those of the store, the template, the model and the middleware, [`ErrorKind::Tool`] for tools whose names clash,
    /// and [`ErrorKind::Invalid`] where there is nothing to answer, for a result without its call, and for a call that
    /// only the host can answer and has not; [`ErrorKind::Store`], [`ErrorKind::Backend`] or [`ErrorKind::Tool`] for a store, a
    /// model, a middleware or an approval that panics. What was stored before stays stored: nothing of a question that was
    /// refused, and once a tool may have run all of it, on the path of the head.
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

    /// Takes the turn to its end, as [`Turn::finish`] does: `conversation.send("Hello").await?`.
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
    mut emit: Emit<TurnEvent>,
) -> Result<TurnReply> {
    let mut line = Line::open(parts, &start, stop).await?;
    let outcome = line.take(&start.ask, &mut emit).await;
    // Whatever came of it, nobody dropped it.
    line.abandoned.disarm();
    line.parts.trails.keep(&line.record, std::mem::take(&mut line.path));
    outcome
}

/// Returns what the model would be asked for a draft; nothing is stored.
pub(crate) async fn drafted(
    parts: &Parts,
    conversation: &ConversationId,
    draft: &TurnRequest,
) -> Result<Request> {
    let (record, mut path) = open_path(parts, conversation, &Place::Head, draft).await?;
    let mut open = OpenCalls::after(path.iter().map(|node| &node.message));
    let messages = path.followed_by(open.followed_by(&draft.messages)?);
    let origin = Origin::new(parts.owner.clone(), record.id.clone()).parent(path.last().map(|node| node.id));
    let request = parts.request(&parts.tools(draft)?, &record, messages, draft);
    parts.trails.keep(&record, path);
    Ok(request.origin(origin))
}

/// The line of nodes that a turn makes longer.
///
/// A question is stored once the model has begun to answer it, so that one that is refused leaves nothing. The head moves
/// with each reply and with all that follows it: a tool may run then, and what has happened is on the path of the head,
/// however the turn ends.
struct Line {
    parts: Arc<Parts>,
    tools: Tools,
    /// The manager's, then the turn's.
    middleware: Vec<Arc<dyn Middleware>>,
    /// The name of the model that answers.
    model: String,
    stop: StopSignal,
    record: ConversationRecord,
    path: Trail,
    /// What is said, at the end of the path, and is not stored yet.
    unsaid: Vec<Node>,
    /// The node that is answered.
    answers: Option<NodeId>,
    /// Where this turn has seen the head, or put it.
    from: Option<NodeId>,
    /// What came of moving the head last.
    head: HeadMove,
    /// What the last reply before this turn was rendered with, of those of which it is known.
    template: Option<Digest>,
    /// What is left when the turn is dropped.
    abandoned: Abandoned,
}

impl Line {
    async fn open(parts: Arc<Parts>, start: &Start, stop: StopSignal) -> Result<Self> {
        let tools = parts.tools(&start.ask)?;
        let middleware = parts.middleware(&start.ask);
        let model = start.ask.model.as_deref().unwrap_or(parts.model.name()).to_owned();
        let (record, path) = open_path(&parts, &start.conversation, &start.place, &start.ask).await?;
        let template = path.iter().rev().find_map(Node::template);
        let tip = path.last().map(|node| node.id);
        let abandoned = Abandoned::new(Arc::clone(&parts), &model, &record, tip, &start.ask);
        Ok(Self {
            parts,
            tools,
            middleware,
            model,
            stop,
            from: record.head,
            record,
            path,
            unsaid: Vec::new(),
            answers: None,
            head: HeadMove::Moved,
            template,
            abandoned,
        })
    }

    /// Whose turn it is, and below which node its next one will be.
    fn origin(&self) -> Origin {
        Origin::new(self.parts.owner.clone(), self.record.id.clone()).parent(self.tip())
    }

    /// The way to the model.
    fn next(&self) -> Next<'_> {
        self.parts.next(&self.middleware)
    }

    /// The last node, stored or not.
    fn tip(&self) -> Option<NodeId> {
        self.path.last().map(|node| node.id)
    }

    async fn take(&mut self, ask: &TurnRequest, emit: &mut Emit<TurnEvent>) -> Result<TurnReply> {
        let open = self.say(ask).await?;
        self.answers = self.question()?;
        self.resume(open, emit).await?;
        let (mut last, mut model_calls, mut timings) = (None, 0, Vec::new());
        let end = loop {
            let mut reply = self.reply(ask, model_calls, emit).await?;
            reply.degradations.extend(self.template_changed(&reply));
            if reply.finish == FinishReason::Cancelled && reply.message.is_empty() {
                break TurnEnd::Stopped;
            }
            model_calls += 1;
            timings.extend(reply.timing);
            let node = self.append(self.reply_node(&reply, ask), emit).await?;
            let end = self.end(&reply, model_calls, emit).await?;
            last = Some((reply, node));
            if let Some(end) = end {
                break end;
            }
        };
        let nothing = || Error::new(ErrorKind::Cancelled, "the reply was stopped before its first word");
        let (reply, node) = last.ok_or_else(nothing)?;
        let (last, pending) = (self.tip().unwrap_or(node), self.open_calls().into_calls());
        let (answers, head) = (self.answers, self.head);
        let nodes = self.added().to_vec();
        Ok(TurnReply { end, reply, node, last, answers, head, pending, nodes, model_calls, timings })
    }

    /// The nodes below the one that is answered.
    fn added(&self) -> &[Node] {
        let answered = self.path.iter().rposition(|node| Some(node.id) == self.answers);
        self.path.get(answered.map_or(0, |index| index + 1)..).unwrap_or_default()
    }

    /// Puts what is said at the end of the path, and returns the calls that it leaves open. The bytes of what it shows are
    /// stored already, so that the nodes are one call away.
    async fn say(&mut self, ask: &TurnRequest) -> Result<OpenCalls> {
        let mut open = self.open_calls();
        let unsaid = nodes_of(ask, &mut open, self.tip())?;
        self.parts.store_media(&unsaid).await?;
        self.path.extend_from_slice(&unsaid);
        self.abandoned.say(&unsaid);
        self.unsaid = unsaid;
        Ok(open)
    }

    fn open_calls(&self) -> OpenCalls {
        OpenCalls::after(self.path.iter().map(|node| &node.message))
    }

    fn question(&self) -> Result<Option<NodeId>> {
        if self.path.is_empty() && self.record.preface.messages.is_empty() {
            let message = format!("conversation {:?} has no message to answer", self.record.id.as_str());
            return Err(Error::new(ErrorKind::Invalid, message));
        }
        Ok(self.tip())
    }

    /// Answers the calls that an earlier turn left open, all of them: a model never sees a call without its result.
    async fn resume(&mut self, open: OpenCalls, emit: &mut Emit<TurnEvent>) -> Result<()> {
        let (calls, hosts) = self.shared_out(open.into_calls());
        if let Some(call) = hosts.first() {
            let message = format!("the call {:?} of {:?} waits for the host's result", call.id, call.name);
            return Err(Error::new(ErrorKind::Invalid, message));
        }
        if !calls.is_empty() {
            self.store_said(emit).await?;
        }
        self.run(&calls, emit).await
    }

    /// Puts other results in the place of those at `index` of the path: beside them where they are stored, since a node never
    /// changes. They are stored with what is said behind them.
    async fn replace(&mut self, index: usize, by: Replaced, emit: &mut Emit<TurnEvent>) {
        let stored = self.path.len() - self.unsaid.len();
        let behind = self.path.split_off(index);
        let mut behind = behind.into_iter();
        let Some(whole) = behind.next() else { return };
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
        for next in behind {
            self.path.push(Node { parent: Some(parent), ..next });
            parent = self.path.last().map_or(parent, |node| node.id);
        }
        self.unsaid = self.path.get(stored.min(index)..).unwrap_or_default().to_vec();
        self.abandoned.say(&self.unsaid);
        for result in by.results {
            emit.send(TurnEvent::ToolResult(result)).await;
        }
    }

    /// Runs what `reply` calls for; `None` says that the model is to be asked again.
    async fn end(
        &mut self,
        reply: &Reply,
        model_calls: usize,
        emit: &mut Emit<TurnEvent>,
    ) -> Result<Option<TurnEnd>> {
        let calls: Vec<_> = reply.message.tool_calls().cloned().collect();
        match reply.finish {
            FinishReason::Cancelled => return Ok(Some(TurnEnd::Stopped)),
            FinishReason::Error => return Ok(Some(TurnEnd::Failed)),
            _ => {}
        }
        if calls.is_empty() {
            return Ok(Some(TurnEnd::Answered));
        }
        if model_calls > self.parts.tool_rounds {
            return Ok(Some(TurnEnd::ToolRounds));
        }
        let (calls, hosts) = self.shared_out(calls);
        self.run(&calls, emit).await?;
        let end = match (self.stop.is_stopped(), hosts.is_empty()) {
            (true, _) => Some(TurnEnd::Stopped),
            (false, false) => Some(TurnEnd::HostCalls),
            (false, true) => None,
        };
        Ok(end)
    }

    /// Shares calls out: those that are answered here, and those that only the host can answer.
    fn shared_out(&self, calls: Vec<ToolCall>) -> (Vec<ToolCall>, Vec<ToolCall>) {
        let offered = &self.record.preface.tools;
        let is_here =
            |call: &ToolCall| self.tools.has(&call.name) || offered.iter().all(|spec| spec.name != call.name);
        calls.into_iter().partition(is_here)
    }

    /// Runs calls and stores their results as one node. Each gets one: a call that was stopped says so.
    async fn run(&mut self, calls: &[ToolCall], emit: &mut Emit<TurnEvent>) -> Result<()> {
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

    /// Stores results, of which those become errors that the store cannot keep.
    async fn append_results(&mut self, message: Message, emit: &mut Emit<TurnEvent>) -> Result<()> {
        let mut outcome = self.append(Node::new(self.tip(), message.clone()), emit).await.map(drop);
        let Some(refusal) = outcome.as_ref().err().filter(|error| is_refusal(error)) else {
            return outcome;
        };
        for kept in too_much_for_the_store(&message, refusal) {
            outcome = self.append(Node::new(self.tip(), kept.message), emit).await.map(drop);
            match &outcome {
                Err(error) if is_refusal(error) => {}
                Err(_) => return outcome,
                Ok(()) => {
                    for result in kept.results {
                        emit.send(TurnEvent::ToolResult(result)).await;
                    }
                    return outcome;
                }
            }
        }
        outcome
    }

    /// Every reply of the turn says so, for the caller gets the last one.
    fn template_changed(&self, reply: &Reply) -> Option<Degradation> {
        let (before, now) = (self.template?, reply.template?);
        (before != now).then_some(Degradation::TemplateChanged { before, now })
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

    /// Stores what was said, and leaves the head: it moves when there is an answer.
    async fn store_said(&mut self, emit: &mut Emit<TurnEvent>) -> Result<()> {
        if self.unsaid.is_empty() {
            return Ok(());
        }
        self.parts.store.append(&self.parts.owner, &self.record.id, &self.unsaid).await?;
        self.abandoned.stored(self.from);
        for node in std::mem::take(&mut self.unsaid) {
            emit.send(TurnEvent::Node(node)).await;
        }
        Ok(())
    }

    /// Stores a reply, or what follows one, and moves the head there.
    async fn append(&mut self, node: Node, emit: &mut Emit<TurnEvent>) -> Result<NodeId> {
        let id = node.id;
        self.parts.store_media(std::slice::from_ref(&node)).await?;
        self.abandoned.storing(&node);
        let (store, owner) = (&self.parts.store, &self.parts.owner);
        let nodes = std::slice::from_ref(&node);
        let stored = store.append_and_move(owner, &self.record.id, nodes, self.from, Some(id)).await;
        self.head = stored.inspect_err(|_| self.abandoned.refused())?;
        if self.head == HeadMove::Moved {
            self.from = Some(id);
        }
        self.abandoned.stored(self.from);
        self.path.push(node.clone());
        emit.send(TurnEvent::Node(node)).await;
        Ok(id)
    }
}

/// Whether a store says that it will never keep this, other than that it cannot keep it now.
fn is_refusal(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Invalid | ErrorKind::Unsupported)
}
