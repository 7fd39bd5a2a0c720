//! One turn: message, node, round, node, tools, node, …, head. The only place that makes nodes.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures::{Stream, StreamExt};
use serde_json::{Map, Value};
use tracing::Instrument;

use crate::arguments::ProcessorArguments;
use crate::chat_model::{ChatModel, Degradation, FinishReason, Reply, Request};
use crate::media::Digest;
use crate::message::{Message, Role, ToolCall, ToolResult};
use crate::middleware::{Middleware, Next};
use crate::preface::Preface;
use crate::processor::Delta;
use crate::sampling::SamplingOptions;
use crate::stop::StopSignal;
use crate::store::{ConversationId, ConversationRecord, ConversationStore, ConversationStoreExt};
use crate::stream::{Emit, Run};
use crate::tool::{ToolAnswers, Toolbox};
use crate::tree::{Node, NodeId, NodeStatus, TEMPLATE};
use crate::{Error, ErrorKind, Result};

/// Everything that turns of one manager share.
#[derive(Debug)]
pub(crate) struct Parts {
    pub(crate) model: Arc<dyn ChatModel>,
    pub(crate) middleware: Vec<Arc<dyn Middleware>>,
    pub(crate) tools: Toolbox,
    pub(crate) store: Arc<dyn ConversationStore>,
    pub(crate) sampling: SamplingOptions,
    pub(crate) tool_rounds: usize,
}

impl Parts {
    /// Asks for an answer to `path`, offering the toolbox beside the tools of the preface.
    pub(crate) fn request(&self, preface: &Preface, path: &[Node]) -> Request {
        let mut preface = preface.clone();
        let offered = preface.tools.len();
        for spec in self.tools.specs() {
            if preface.tools.iter().take(offered).all(|known| known.name != spec.name) {
                preface.tools.push(spec.clone());
            }
        }
        let path = path.iter().map(|node| node.message.clone()).collect();
        Request::new(preface, path).sampling(self.sampling.clone())
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
    /// At the reply.
    Moved,
    /// Elsewhere: another writer moved it first, and the reply is kept as a branch.
    Branched {
        /// Where it is.
        head: Option<NodeId>,
    },
}

/// What a turn came to.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct TurnReply {
    /// The last reply, with its usage, cache report and finish reason.
    pub reply: Reply,
    /// The node of that reply.
    pub node: NodeId,
    /// The node that the turn answered; `None` when it answered the preface alone.
    pub answers: Option<NodeId>,
    /// Whether the head is at the reply now.
    pub head: HeadMove,
    /// Calls that only the host can answer: add the results as a tool message and complete.
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
        self.reply.message.text()
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
    /// Those of the store, the template, the model and the middleware, and [`ErrorKind::ToolRounds`]. What was
    /// stored before stays stored.
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
    let mut line = Line::open(&parts, &start).await?;
    for message in &start.messages {
        line.append(Node::new(line.tip, message.clone()), &mut emit).await?;
    }
    let answers = line.question()?;
    for rounds in 1..=parts.tool_rounds + 1 {
        let request = line.request(&start, &stop);
        let stream = Next::new(&parts.middleware, &*parts.model).call(request).await?;
        let mut reply = relay(stream, &mut emit).await?;
        reply.degradations.extend(line.template_changed(&reply));
        if reply.finish == FinishReason::Cancelled && reply.message.is_empty() {
            return Err(Error::new(ErrorKind::Cancelled, "the reply was stopped before its first word"));
        }
        let node = line.append(line.reply_node(&reply), &mut emit).await?;
        let called = match reply.finish {
            reason if reason.is_interrupted() => ToolAnswers::default(),
            _ => parts.tools.answer(&reply.message, &line.record.preface.tools).await,
        };
        let done = called.results.is_empty() || !called.pending.is_empty();
        line.answer_tools(called.results, &mut emit).await?;
        if done {
            let head = line.move_head().await?;
            return Ok(TurnReply { reply, node, answers, head, pending: called.pending, rounds });
        }
    }
    let message = format!("the model still asks for tools after {} rounds", parts.tool_rounds);
    Err(Error::new(ErrorKind::ToolRounds, message))
}

/// Adds messages at the head, one below the other, and moves the head to the last one.
pub(crate) async fn add(
    parts: &Parts,
    conversation: &ConversationId,
    messages: Vec<Message>,
) -> Result<Option<NodeId>> {
    let from = parts.store.record(conversation).await?.head;
    let mut nodes: Vec<Node> = Vec::new();
    for message in messages {
        let tip = nodes.last().map_or(from, |node| Some(node.id));
        nodes.push(Node::new(tip, message));
    }
    let to = nodes.last().map_or(from, |node| Some(node.id));
    parts.store.append(conversation, &nodes).await?;
    parts.store.set_head(conversation, from, to).await?;
    Ok(to)
}

async fn relay(mut stream: crate::ReplyStream, emit: &mut Emit<TurnEvent>) -> Result<Reply> {
    while let Some(delta) = stream.next().await {
        emit.send(TurnEvent::Delta(delta)).await;
    }
    stream.finish().await
}

/// The line of nodes that a turn makes longer.
struct Line<'a> {
    parts: &'a Parts,
    record: ConversationRecord,
    path: Vec<Node>,
    tip: Option<NodeId>,
    /// What the last reply before this turn was rendered with, of those of which it is known.
    template: Option<Digest>,
}

impl<'a> Line<'a> {
    async fn open(parts: &'a Parts, start: &Start) -> Result<Self> {
        let record = parts.store.record(&start.conversation).await?;
        let from = match start.place {
            Place::Head | Place::Question => record.head,
            Place::Beside(node) => Some(node),
        };
        let mut path = match from {
            Some(node) => parts.store.load_path(&record.id, node).await?,
            None => Vec::new(),
        };
        match start.place {
            Place::Head => {}
            Place::Beside(_) => drop(path.pop()),
            Place::Question => path.truncate(question_length(&path)),
        }
        let tip = path.last().map(|node| node.id);
        let template = path.iter().rev().find_map(Node::template);
        Ok(Self { parts, record, path, tip, template })
    }

    fn question(&self) -> Result<Option<NodeId>> {
        if self.path.is_empty() && self.record.preface.messages.is_empty() {
            let message = format!("conversation {:?} has no message to answer", self.record.id.as_str());
            return Err(Error::new(ErrorKind::Invalid, message));
        }
        Ok(self.tip)
    }

    fn request(&self, start: &Start, stop: &StopSignal) -> Request {
        let mut request = self.parts.request(&self.record.preface, &self.path);
        request.arguments = start.arguments.clone();
        request.sampling = start.sampling.clone().or(&self.record.sampling).or(&request.sampling);
        request.stop(stop.clone())
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
        for media in node.message.media().filter(|media| media.bytes().is_some()) {
            self.parts.store.put_media(media).await?;
        }
        self.parts.store.append(&self.record.id, std::slice::from_ref(&node)).await?;
        self.tip = Some(node.id);
        self.path.push(node.clone());
        let id = node.id;
        emit.send(TurnEvent::Node(node)).await;
        Ok(id)
    }

    async fn answer_tools(&mut self, results: Vec<ToolResult>, emit: &mut Emit<TurnEvent>) -> Result<()> {
        for result in &results {
            emit.send(TurnEvent::ToolResult(result.clone())).await;
        }
        if !results.is_empty() {
            self.append(Node::new(self.tip, Message::tool(results)), emit).await?;
        }
        Ok(())
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
