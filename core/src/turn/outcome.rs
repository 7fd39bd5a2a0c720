//! What happens during a turn, and what it comes to.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::Result;
use crate::chat_model::Reply;
use crate::message::{Message, ToolCall, ToolResult};
use crate::processor::Delta;
use crate::report::ReplyTiming;
use crate::store::HeadMove;
use crate::tree::{Node, NodeId};

/// Something that happens during a turn.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
// A turn has a node or two, and its events are handed on one by one: a box would save nothing.
#[allow(clippy::large_enum_variant)]
pub enum TurnEvent {
    /// A piece of the reply.
    Delta(Delta),
    /// A tool answered.
    ToolResult(ToolResult),
    /// A node was stored.
    Node(Node),
    /// The turn ended: the last event.
    Finished(Box<TurnReply>),
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
    /// [`Turn::stop`](super::Turn::stop) ended it. Tools that were running then answered with an error that says so.
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
    /// The nodes that the turn added below the one that it answered, in their order: a reply for each model call, and the
    /// results of its tools. Each reply's node has what the call took.
    pub nodes: Vec<Node>,
    /// How many times the model was called.
    pub model_calls: usize,
    /// How long each of these calls took, where known, in their order.
    pub timings: Vec<ReplyTiming>,
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

    /// Reads the reply's text as JSON of a type.
    ///
    /// # Errors
    /// As [`Reply::parse`].
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T> {
        self.reply.parse()
    }

    /// Returns the node that the turn answered, to go back to.
    pub fn answers(&self) -> Option<NodeId> {
        self.answers
    }
}

/// What [`Conversation::add`](crate::Conversation::add) came to.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Added {
    /// The node of the last message, or where nothing was added the one below which it would have stood.
    pub node: Option<NodeId>,
    /// The nodes that were added, parents before children.
    pub nodes: Vec<Node>,
    /// Whether the head is there now.
    pub head: HeadMove,
}
