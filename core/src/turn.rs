//! One turn: message, node, round, node, tools, node, …, head. The only place that makes nodes.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures::{Stream, StreamExt};
use serde::Serialize;
use serde_json::{Map, Value};
use tracing::Instrument;

use crate::arguments::ProcessorArguments;
use crate::calls::OpenCalls;
use crate::chat_model::{ChatModel, Degradation, FinishReason, Reply, Request};
use crate::guidance::Guidance;
use crate::media::Digest;
use crate::message::{Message, Role, ToolCall, ToolResult};
use crate::middleware::{Middleware, Next};
use crate::preface::Preface;
use crate::processor::Delta;
use crate::sampling::SamplingOptions;
use crate::stop::StopSignal;
use crate::store::{ConversationId, ConversationRecord, ConversationStore};
use crate::stream::{Emit, Run};
use crate::tool::{Toolbox, Tools};
use crate::tree::{Node, NodeId, NodeStatus, TEMPLATE};
use crate::{Error, ErrorKind, Result};

mod media;

/// Everything that turns of one manager share.
#[derive(Debug)]
pub(crate) struct Parts {
    pub(crate) model: Arc<dyn ChatModel>,
    pub(crate) middleware: Vec<Arc<dyn Middleware>>,
    pub(crate) toolbox: Toolbox,
    pub(crate) store: Arc<dyn ConversationStore>,
    pub(crate) sampling: SamplingOptions,
    pub(crate) tool_rounds: usize,
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
        let path = path.iter().map(|node| node.message.clone()).collect();
        Request::new(preface, path).sampling(self.sampling.clone())
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
    pub(crate) messages: Vec<Message>,
    pub(crate) sampling: SamplingOptions,
    pub(crate) arguments: ProcessorArguments,
    pub(crate) guidance: Guidance,
}

/// Below which node a turn goes on.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Place {
    /// The head, wherever it is when the turn starts.
    Head,
    /// The message that the head answers: its next answer is a sibling.
    Question,
    /// Beside a node, as its sibling.
    Beside(NodeId),
}

/// Something that happens during a turn.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum TurnEvent {
    /// A piece of the reply.
    Delta(Delta),
    /// A tool answered.
    ToolResult(ToolResult),
    /// A node was stored.
    Node(Node),
}

/// Where the head of the conversation is after a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadMove {
    /// At the turn's last node.
    Moved,
    /// Elsewhere: another writer moved it first, and the reply is kept as a branch.
    Branched {
        /// Where it is.
        head: Option<NodeId>,
    },
}

/// Why a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum TurnEnd {
    /// The model answered, and asks for nothing more.
    Answered,
    /// Calls of the last reply are for the host to answer.
    HostCalls,
    /// The model asked for tools once more than it may in one turn. Those calls did not run: completing the turn runs
    /// them, with as many rounds again.
    ToolRounds,
    /// [`Turn::stop`] ended it. Tools that were running then answered with an error that says so.
    Stopped,
    /// The model failed midway. What it had said is kept as an interrupted node, and [`Reply::error`] says why.
    Failed,
}

/// What a turn came to.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct TurnReply {
    /// Why the turn ended.
    pub end: TurnEnd,
    /// The last reply, with its usage, cache report and finish reason.
    pub reply: Reply,
    /// The node of that reply.
    pub node: NodeId,
    /// The turn's last node: that of the reply, or of the results of its calls.
    pub last: NodeId,
    /// The node that the turn answered; `None` when it answered the preface alone.
    pub answers: Option<NodeId>,
    /// Whether the head is at [`TurnReply::last`] now.
    pub head: HeadMove,
    /// Calls that nothing has answered yet. The results that the next message carries are theirs; calls of tools that
    /// the manager has run when the turn is completed; the rest is answered by an error when the conversation goes on.
    pub pending: Vec<ToolCall>,
    /// How many times the model was called.
    pub rounds: usize,
}

impl TurnReply {
    /// Returns the reply's message.
    pub fn message(&self) -> &Message {
        &self.reply.message
    }

    /// Returns the reply's text.
    pub fn text(&self) -> String {
        self.reply.text()
    }

    /// Returns the node that the turn answered, to go back to.
    pub fn answers(&self) -> Option<NodeId> {
        self.answers
    }
}

/// A turn that is being taken.
///
/// It advances while it is polled. Dropping it drops the reply that was being written; what is stored already
/// stays, the head does not move, and everything goes on working. [`Turn::stop`] ends it gracefully instead.
#[derive(Debug)]
#[must_use = "a turn does nothing unless it is polled"]
pub struct Turn {
    run: Run<TurnEvent, TurnReply>,
    stop: StopSignal,
}

impl Turn {
    pub(crate) fn start(parts: Arc<Parts>, start: Start) -> Self {
        let stop = StopSignal::default();
        let signal = stop.clone();
        let span = tracing::debug_span!("turn", conversation = %start.conversation);
        Self { run: Run::new(|emit| turn(parts, start, signal, emit).instrument(span)), stop }
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
    /// A model that fails midway is no error here: the reply is kept as an interrupted node, and its `finish` says so
    /// ([`FinishReason::Error`]).
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
    let mut line = Line::open(&parts, &start, stop).await?;
    let open = line.say(&start.messages, &mut emit).await?;
    let answers = line.question()?;
    line.resume(open, &mut emit).await?;
    let (mut last, mut rounds) = (None, 0);
    let end = loop {
        let mut reply = line.ask(&start, rounds, &mut emit).await?;
        reply.degradations.extend(line.template_changed(&reply));
        if reply.finish == FinishReason::Cancelled && reply.message.is_empty() {
            break TurnEnd::Stopped;
        }
        rounds += 1;
        let node = line.append(line.reply_node(&reply), &mut emit).await?;
        let end = line.end(&reply, rounds, &mut emit).await?;
        last = Some((reply, node));
        if let Some(end) = end {
            break end;
        }
    };
    let nothing = || Error::new(ErrorKind::Cancelled, "the reply was stopped before its first word");
    let (reply, node) = last.ok_or_else(nothing)?;
    let (head, pending) = (line.move_head().await?, line.open_calls().into_calls());
    Ok(TurnReply { end, reply, node, last: line.tip.unwrap_or(node), answers, head, pending, rounds })
}

/// Adds messages at the head, one below the other, and moves the head to the last one.
pub(crate) async fn add(
    parts: &Parts,
    conversation: &ConversationId,
    messages: &[Message],
) -> Result<Option<NodeId>> {
    let from = parts.store.record(conversation).await?.head;
    let path = match from {
        Some(head) => parts.store.load_path(conversation, head).await?,
        None => Vec::new(),
    };
    let mut open = OpenCalls::after(path.iter().map(|node| &node.message));
    let mut nodes: Vec<Node> = Vec::new();
    for message in open.followed_by(messages)? {
        let tip = nodes.last().map_or(from, |node| Some(node.id));
        nodes.push(Node::new(tip, message));
    }
    let to = nodes.last().map_or(from, |node| Some(node.id));
    parts.store(conversation, &nodes).await?;
    parts.store.set_head(conversation, from, to).await?;
    Ok(to)
}

/// The line of nodes that a turn makes longer.
struct Line<'a> {
    parts: &'a Parts,
    tools: Tools,
    stop: StopSignal,
    record: ConversationRecord,
    path: Vec<Node>,
    tip: Option<NodeId>,
    /// What the last reply before this turn was rendered with, of those of which it is known.
    template: Option<Digest>,
}

impl<'a> Line<'a> {
    async fn open(parts: &'a Parts, start: &Start, stop: StopSignal) -> Result<Self> {
        let tools = parts.toolbox.now()?;
        let record = parts.store.record(&start.conversation).await?;
        let from = match start.place {
            Place::Head | Place::Question => record.head,
            Place::Beside(node) => Some(node),
        };
        let mut path = match from {
            Some(node) => parts.path(&record.id, node).await?,
            None => Vec::new(),
        };
        match start.place {
            Place::Head => {}
            Place::Beside(_) => drop(path.pop()),
            Place::Question => path.truncate(question_length(&path)),
        }
        let tip = path.last().map(|node| node.id);
        let template = path.iter().rev().find_map(Node::template);
        Ok(Self { parts, tools, stop, record, path, tip, template })
    }

    /// Adds what is said, and returns the calls that it leaves open.
    async fn say(&mut self, messages: &[Message], emit: &mut Emit<TurnEvent>) -> Result<OpenCalls> {
        let mut open = self.open_calls();
        for message in open.followed_by(messages)? {
            self.append(Node::new(self.tip, message), emit).await?;
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

    async fn ask(&self, start: &Start, rounds: usize, emit: &mut Emit<TurnEvent>) -> Result<Reply> {
        let mut request = self.request(start);
        if rounds > 0 {
            request.guidance.after_calls();
        }
        let mut stream = self.parts.next().call(request).await?;
        while let Some(delta) = stream.next().await {
            emit.send(TurnEvent::Delta(delta)).await;
        }
        stream.finish().await
    }

    fn request(&self, start: &Start) -> Request {
        let mut request = self.parts.request(&self.tools, &self.record.preface, &self.path);
        request.arguments = start.arguments.clone();
        request.sampling = start.sampling.clone().or(&self.record.sampling).or(&request.sampling);
        request.guidance(start.guidance.clone()).stop(self.stop.clone())
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

    fn reply_node(&self, reply: &Reply) -> Node {
        let mut node = Node::new(self.tip, reply.message.clone());
        if reply.finish.is_interrupted() {
            node.status = NodeStatus::Interrupted;
        }
        node.tokens.clone_from(&reply.tokens);
        node.metadata = facts(self.parts.model.name(), reply);
        node
    }

    async fn append(&mut self, node: Node, emit: &mut Emit<TurnEvent>) -> Result<NodeId> {
        self.parts.store(&self.record.id, std::slice::from_ref(&node)).await?;
        self.tip = Some(node.id);
        self.path.push(node.clone());
        let id = node.id;
        emit.send(TurnEvent::Node(node)).await;
        Ok(id)
    }

    async fn move_head(&self) -> Result<HeadMove> {
        let moved = self.parts.store.set_head(&self.record.id, self.record.head, self.tip).await;
        match moved {
            Ok(()) => Ok(HeadMove::Moved),
            Err(error) if error.is_conflict() => {
                tracing::debug!("another writer moved the head first: the reply is a branch");
                Ok(HeadMove::Branched { head: self.parts.store.record(&self.record.id).await?.head })
            }
            Err(error) => Err(error),
        }
    }
}

/// How much of a path is left when the last answer, with its tool calls and results, is taken off.
fn question_length(path: &[Node]) -> usize {
    let asked = |node: &Node| matches!(node.message.role, Role::User | Role::System);
    path.iter().rposition(asked).map_or(0, |last| last + 1)
}

/// What a node remembers of its reply, for people and statistics.
fn facts(model: &str, reply: &Reply) -> Map<String, Value> {
    let mut facts = Map::new();
    facts.insert("model".to_owned(), model.into());
    let mut remember = |name: &str, value: serde_json::Result<Value>| {
        // These types are plain structs of numbers and names, which always serialise.
        facts.extend(value.ok().filter(|value| !value.is_null()).map(|value| (name.to_owned(), value)));
    };
    remember("finish", serde_json::to_value(reply.finish));
    remember("stop_string", serde_json::to_value(&reply.stop_string));
    remember("error", serde_json::to_value(&reply.error));
    remember("usage", serde_json::to_value(reply.usage));
    remember("cache", serde_json::to_value(reply.cache));
    remember("seed", serde_json::to_value(reply.seed));
    remember(TEMPLATE, serde_json::to_value(reply.template));
    if !reply.degradations.is_empty() {
        remember("degradations", serde_json::to_value(&reply.degradations));
    }
    facts
}
