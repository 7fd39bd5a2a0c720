//! One turn: message, node, round, node, tools, node, …, head. The only place that makes nodes.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures::{Stream, StreamExt};
use serde_json::{Map, Value};
use tracing::Instrument;

use crate::address::Address;
use crate::calls::OpenCalls;
use crate::chat::{Added, Ask};
use crate::chat_model::{ChatModel, Degradation, FinishReason, Reply, Request, Usage};
use crate::media::Digest;
use crate::message::{Message, Role, ToolCall, ToolResult};
use crate::middleware::{Middleware, Next};
use crate::preface::Preface;
use crate::sampling::SamplingOptions;
use crate::stop::StopSignal;
use crate::store::{ConversationId, ConversationRecord, ConversationStore, Owner};
use crate::stream::{Emit, Run};
use crate::task_group::{Task, TaskGroup};
use crate::tool::{Toolbox, Tools};
use crate::tree::{FINISH, MODEL, Node, NodeId, NodeStatus, TEMPLATE, USAGE};
use crate::{Error, ErrorKind, Result};

mod media;
mod outcome;
mod unfinished;

pub use outcome::{HeadMove, TurnEnd, TurnEvent, TurnReply};
use unfinished::Abandoned;
pub use unfinished::PartialReplies;
pub(crate) use unfinished::Unfinished;

/// Everything that turns of one manager share.
#[derive(Debug)]
pub(crate) struct Parts {
    pub(crate) model: Arc<dyn ChatModel>,
    pub(crate) middleware: Vec<Arc<dyn Middleware>>,
    pub(crate) toolbox: Toolbox,
    pub(crate) store: Arc<dyn ConversationStore>,
    pub(crate) owner: Owner,
    pub(crate) sampling: SamplingOptions,
    pub(crate) tool_rounds: usize,
    pub(crate) partial_replies: PartialReplies,
    pub(crate) unfinished: Unfinished,
}

impl Parts {
    /// Asks for an answer to `path`, offering `tools` beside those of the preface.
    pub(crate) fn request(&self, tools: &Tools, preface: &Preface, path: &[Node]) -> Request {
        let mut preface = preface.clone();
        let offered = preface.tools.len();
        for spec in tools.specs() {
            if preface.tools.iter().take(offered).all(|known| known.name != spec.name) {
                preface.tools.push(spec.clone());
            }
        }
        let replies = path.iter().filter(|node| !node.tokens.is_empty()).map(|node| node.tokens.clone());
        let replies = replies.collect();
        let path = path.iter().map(|node| node.message.clone()).collect();
        Request::new(preface, path).replies(replies).sampling(self.sampling.clone())
    }

    /// The store, once what dropped turns have left is in it.
    pub(crate) async fn settled(&self) -> &dyn ConversationStore {
        self.unfinished.settle().await;
        &*self.store
    }

    /// Looks an address up; only a position takes reading the tree.
    pub(crate) async fn node_at(
        &self,
        conversation: &ConversationId,
        address: &Address,
    ) -> Result<Option<NodeId>> {
        match address {
            Address::Node(id) => Ok(Some(*id)),
            Address::Position(position) if position.places().is_empty() => Ok(None),
            Address::Position(_) => self.settled().await.load(&self.owner, conversation).await?.1.at(address),
        }
    }

    /// Moves the head from where it was when `record` was read.
    pub(crate) async fn move_head(
        &self,
        record: &ConversationRecord,
        to: Option<NodeId>,
    ) -> Result<HeadMove> {
        match self.store.set_head(&self.owner, &record.id, record.head, to).await {
            Ok(()) => Ok(HeadMove::Moved),
            Err(error) if error.is_conflict() => {
                tracing::debug!("another writer moved the head first: what was added is a branch");
                let head = self.store.record(&self.owner, &record.id).await?.head;
                Ok(HeadMove::Branched { head })
            }
            Err(error) => Err(error),
        }
    }

    /// The way to the model.
    pub(crate) fn next(&self) -> Next<'_> {
        Next::new(&self.middleware, &*self.model)
    }
}

/// Where a turn starts and what is said there.
#[derive(Clone, Debug)]
pub(crate) struct Start {
    pub(crate) conversation: ConversationId,
    pub(crate) place: Place,
    pub(crate) ask: Ask,
}

/// Below which node a turn goes on.
#[derive(Clone, Debug)]
pub(crate) enum Place {
    /// Where the question says, else the head, wherever it is when the turn starts.
    Head,
    /// The message that is answered there: its next answer is a sibling.
    Question,
    /// Beside a node, as its sibling.
    Beside(Address),
}

/// A turn that is being taken.
///
/// It is bound to the node it answers: of several turns from one node each adds a reply of its own, side by side,
/// and the head follows the first that is done.
///
/// It advances while it is polled. Dropping it ends the reply that was being written, and what was said until then is
/// kept as [`PartialReplies`] says; everything goes on working. [`Turn::stop`] ends it gracefully instead.
#[derive(Debug)]
#[must_use = "a turn does nothing unless it is polled"]
pub struct Turn {
    run: Run<TurnEvent, TurnReply>,
    stop: StopSignal,
}

impl Turn {
    pub(crate) fn start(parts: Arc<Parts>, start: Start) -> Self {
        let task = start.ask.group.as_ref().map(TaskGroup::begin);
        let stop = task.as_ref().map_or_else(StopSignal::default, Task::stop_signal);
        let signal = stop.clone();
        let span = tracing::debug_span!("turn", conversation = %start.conversation);
        let run = Run::new(|emit| turn(parts, start, signal, emit).instrument(span));
        Self { run: Task::hold_where(task, run), stop }
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

    /// Takes the turn to its end.
    ///
    /// A model that fails midway is no error here, unless partial replies are [discarded](PartialReplies::Discard): the
    /// reply is kept as an interrupted node, and its `finish` says so ([`FinishReason::Error`]).
    ///
    /// # Errors
    /// Those of the store, the template, the model and the middleware, [`ErrorKind::Tool`] for tools whose names clash,
    /// and [`ErrorKind::Invalid`] where there is nothing to answer, for a result without its call, and for a call that
    /// only the host can answer and has not. What was stored before stays stored.
    pub async fn finish(self) -> Result<TurnReply> {
        self.run.finish().await
    }
}

impl Stream for Turn {
    type Item = TurnEvent;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<TurnEvent>> {
        self.run.poll_next_unpin(context)
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
    outcome
}

/// Adds messages, one below the other, and moves the head to the last one.
pub(crate) async fn add(parts: &Arc<Parts>, conversation: &ConversationId, ask: &Ask) -> Result<Added> {
    let place = Place::Head;
    let (record, path) = open_path(parts, conversation, &place, ask).await?;
    let from = path.last().map(|node| node.id);
    let mut open = OpenCalls::after(path.iter().map(|node| &node.message));
    let mut nodes: Vec<Node> = Vec::new();
    for message in open.followed_by(&ask.messages)? {
        let tip = nodes.last().map_or(from, |node| Some(node.id));
        let metadata = ask.facts_of(&message);
        nodes.push(Node { metadata, ..Node::new(tip, message) });
    }
    if let Some(last) = nodes.last_mut() {
        last.metadata.extend(ask.facts());
    }
    let to = nodes.last().map_or(from, |node| Some(node.id));
    parts.store(conversation, &nodes).await?;
    Ok(Added { node: to, head: parts.move_head(&record, to).await? })
}

/// Reads a conversation, and the path to the node below which a turn goes on.
async fn open_path(
    parts: &Parts,
    conversation: &ConversationId,
    place: &Place,
    ask: &Ask,
) -> Result<(ConversationRecord, Vec<Node>)> {
    let record = parts.settled().await.record(&parts.owner, conversation).await?;
    let from = match (place, &ask.at) {
        (Place::Beside(node), _) | (_, Some(node)) => parts.node_at(conversation, node).await?,
        (Place::Head | Place::Question, None) => record.head,
    };
    let mut path = match from {
        Some(node) => parts.path(conversation, node).await?,
        None => Vec::new(),
    };
    match place {
        Place::Head => {}
        Place::Question => path.truncate(question_length(&path)),
        Place::Beside(_) => drop(path.pop().ok_or_else(nothing_beside)?),
    }
    Ok((record, path))
}

fn nothing_beside() -> Error {
    Error::new(ErrorKind::Invalid, "nothing stands before the first message that could be edited")
}

/// The line of nodes that a turn makes longer.
struct Line {
    parts: Arc<Parts>,
    tools: Tools,
    stop: StopSignal,
    record: ConversationRecord,
    path: Vec<Node>,
    tip: Option<NodeId>,
    /// What the last reply before this turn was rendered with, of those of which it is known.
    template: Option<Digest>,
    /// What is left when the turn is dropped.
    abandoned: Abandoned,
}

impl Line {
    async fn open(parts: Arc<Parts>, start: &Start, stop: StopSignal) -> Result<Self> {
        let tools = parts.toolbox.now()?.with_data(start.ask.turn_data.clone());
        let (record, path) = open_path(&parts, &start.conversation, &start.place, &start.ask).await?;
        let tip = path.last().map(|node| node.id);
        let template = path.iter().rev().find_map(Node::template);
        let abandoned = Abandoned::new(Arc::clone(&parts), &record, start.ask.facts());
        Ok(Self { parts, tools, stop, record, path, tip, template, abandoned })
    }

    async fn take(&mut self, ask: &Ask, emit: &mut Emit<TurnEvent>) -> Result<TurnReply> {
        let open = self.say(ask, emit).await?;
        let answers = self.question()?;
        self.resume(open, emit).await?;
        let (mut last, mut rounds, mut timings) = (None, 0, Vec::new());
        let end = loop {
            let mut reply = self.reply(ask, rounds, emit).await?;
            reply.degradations.extend(self.template_changed(&reply));
            if reply.finish == FinishReason::Cancelled && reply.message.is_empty() {
                break TurnEnd::Stopped;
            }
            rounds += 1;
            timings.extend(reply.timing);
            let node = self.append(self.reply_node(&reply, ask), emit).await?;
            let end = self.end(&reply, rounds, emit).await?;
            last = Some((reply, node));
            if let Some(end) = end {
                break end;
            }
        };
        let nothing = || Error::new(ErrorKind::Cancelled, "the reply was stopped before its first word");
        let (reply, node) = last.ok_or_else(nothing)?;
        let head = self.parts.move_head(&self.record, self.tip).await?;
        let (last, pending) = (self.tip.unwrap_or(node), self.open_calls().into_calls());
        Ok(TurnReply { end, reply, node, last, answers, head, pending, rounds, timings })
    }

    /// Adds what is said, and returns the calls that it leaves open.
    async fn say(&mut self, ask: &Ask, emit: &mut Emit<TurnEvent>) -> Result<OpenCalls> {
        let mut open = self.open_calls();
        for message in open.followed_by(&ask.messages)? {
            let metadata = ask.facts_of(&message);
            self.append(Node { metadata, ..Node::new(self.tip, message) }, emit).await?;
        }
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
        Ok(self.tip)
    }

    /// Answers the calls that an earlier turn left open, all of them: a model never sees a call without its result.
    async fn resume(&mut self, open: OpenCalls, emit: &mut Emit<TurnEvent>) -> Result<()> {
        let (calls, hosts) = self.shared_out(open.into_calls());
        if let Some(call) = hosts.first() {
            let message = format!("the call {:?} of {:?} waits for the host's result", call.id, call.name);
            return Err(Error::new(ErrorKind::Invalid, message));
        }
        self.run(&calls, emit).await
    }

    async fn reply(&mut self, ask: &Ask, rounds: usize, emit: &mut Emit<TurnEvent>) -> Result<Reply> {
        let mut request = self.request(ask);
        if rounds > 0 {
            request.guidance.after_calls();
        }
        self.abandoned.begin(self.tip);
        let mut stream = self.parts.next().call(request).await?;
        while let Some(delta) = stream.next().await {
            self.abandoned.said(&delta);
            emit.send(TurnEvent::Delta(delta)).await;
        }
        let outcome = stream.finish().await;
        match (self.parts.partial_replies, outcome) {
            (PartialReplies::Keep, Err(error)) => failed(self.abandoned.message(), error),
            (PartialReplies::Discard, Ok(reply)) => reply.complete(),
            (_, outcome) => outcome,
        }
    }

    fn request(&self, ask: &Ask) -> Request {
        let mut request = self.parts.request(&self.tools, &self.record.preface, &self.path);
        request.sampling = ask.sampling.clone().or(&self.record.sampling).or(&request.sampling);
        request.arguments = ask.arguments.clone();
        request.turn_data = ask.turn_data.clone();
        if let Some(text) = &ask.system_prompt {
            request.replace_system_prompt(text);
        }
        request.guidance(ask.guidance.clone()).stop(self.stop.clone())
    }

    /// Runs what `reply` calls for; `None` says that the model is to be asked again.
    async fn end(
        &mut self,
        reply: &Reply,
        rounds: usize,
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
        if rounds > self.parts.tool_rounds {
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
        let mut results = Vec::with_capacity(calls.len());
        let mut answers = self.stop.cut(Box::pin(self.tools.answer(calls, &self.record.preface.tools)));
        while let Some(result) = answers.next().await {
            emit.send(TurnEvent::ToolResult(result.clone())).await;
            results.push(result);
        }
        drop(answers);
        for call in calls.iter().skip(results.len()) {
            let result = ToolResult::error(call, "this call was stopped before it was answered");
            emit.send(TurnEvent::ToolResult(result.clone())).await;
            results.push(result);
        }
        if !results.is_empty() {
            self.append(Node::new(self.tip, Message::tool(results)), emit).await?;
        }
        Ok(())
    }

    /// Every reply of the turn says so, for the caller gets the last one.
    fn template_changed(&self, reply: &Reply) -> Option<Degradation> {
        let (before, now) = (self.template?, reply.template?);
        (before != now).then_some(Degradation::TemplateChanged { before, now })
    }

    fn reply_node(&self, reply: &Reply, ask: &Ask) -> Node {
        let mut node = Node::new(self.tip, reply.message.clone());
        if reply.finish.is_interrupted() {
            node.status = NodeStatus::Interrupted;
        }
        node.tokens.clone_from(&reply.tokens);
        node.metadata = ask.facts();
        node.metadata.extend(facts(self.parts.model.name(), reply));
        node
    }

    async fn append(&mut self, node: Node, emit: &mut Emit<TurnEvent>) -> Result<NodeId> {
        self.abandoned.storing(&node);
        self.parts.store(&self.record.id, std::slice::from_ref(&node)).await?;
        self.tip = Some(node.id);
        self.path.push(node.clone());
        self.abandoned.stored();
        let id = node.id;
        emit.send(TurnEvent::Node(node)).await;
        Ok(id)
    }
}

/// Keeps what a model had said when it failed; before the first word there is nothing to keep.
fn failed(said: Message, error: Error) -> Result<Reply> {
    if said.is_empty() {
        return Err(error);
    }
    let finish = if error.is_cancelled() { FinishReason::Cancelled } else { FinishReason::Error };
    Ok(Reply { finish, error: Some(format!("{error:#}")), ..Reply::new(said) })
}

/// A node of a reply that nobody waited for.
pub(crate) fn abandoned_node(parent: Option<NodeId>, said: Message, facts: Map<String, Value>) -> Node {
    let mut node = Node::new(parent, said);
    node.status = NodeStatus::Interrupted;
    node.metadata = facts;
    node
}

/// How much of a path is left when the last answer, with its tool calls and results, is taken off.
fn question_length(path: &[Node]) -> usize {
    let asked = |node: &Node| matches!(node.message.role, Role::User | Role::System);
    path.iter().rposition(asked).map_or(0, |last| last + 1)
}

/// What a node remembers of its reply, for people and statistics.
fn facts(model: &str, reply: &Reply) -> Map<String, Value> {
    let mut facts = Map::new();
    facts.insert(MODEL.to_owned(), model.into());
    let mut remember = |name: &str, value: serde_json::Result<Value>| {
        // These types are plain structs of numbers and names, which always serialise.
        facts.extend(value.ok().filter(|value| !value.is_null()).map(|value| (name.to_owned(), value)));
    };
    remember(FINISH, serde_json::to_value(reply.finish));
    remember("stop_string", serde_json::to_value(&reply.stop_string));
    remember("error", serde_json::to_value(&reply.error));
    // No reply takes nothing at all: what is zero throughout is not known, and must not count as free.
    let usage = (reply.usage != Usage::default()).then_some(reply.usage);
    remember(USAGE, serde_json::to_value(usage));
    remember("cache", serde_json::to_value(reply.cache));
    remember("seed", serde_json::to_value(reply.seed));
    remember(TEMPLATE, serde_json::to_value(reply.template));
    if !reply.degradations.is_empty() {
        remember("degradations", serde_json::to_value(&reply.degradations));
    }
    facts
}
