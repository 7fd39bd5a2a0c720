//! The events and the result of a turn.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::Result;
use crate::chat_model::Reply;
use crate::message::{Message, ToolCall, ToolResult};
use crate::processor::Delta;
use crate::report::ReplyTiming;
use crate::store::HeadMove;
use crate::tree::{Node, NodeId};

/// An event of a turn.
///
/// A [`Turn`](super::Turn) is a stream of events.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
// A turn has few nodes, and its events are passed on one by one, so a box would save nothing.
#[allow(clippy::large_enum_variant)]
pub enum TurnEvent {
    /// A piece of the reply.
    Delta(Delta),
    /// The result of a tool.
    ToolResult(ToolResult),
    /// A node was stored.
    Node(Node),
    /// The turn ended. It is the last event.
    Finished(Box<TurnReply>),
}

/// Why a turn ended.
///
/// A [`TurnReply`] contains it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum TurnEnd {
    /// The model answered without tool calls.
    Answered,
    /// The host must run calls of the last reply.
    HostCalls,
    /// The model called tools once more than the limit of one turn allows, or called tools that do not exist three times
    /// in a row. These calls did not run: [`Conversation::complete`](crate::Conversation::complete) runs them, with the
    /// same limit again.
    ToolLimit,
    /// [`Turn::cancel`](super::Turn::cancel) ended it. The results of tools that were running are errors.
    Cancelled,
    /// The model failed midway. The text so far is kept as an interrupted node, and [`Reply::error`] says why.
    Failed,
}

/// The result of a turn.
///
/// ```
/// use alloquy_core::Conversation;
/// use alloquy_core::turn::TurnEnd;
/// use alloquy_testing::EchoModel;
///
/// # pollster::block_on(async {
/// let reply = Conversation::new(EchoModel).send("Tea?").await?;
/// assert_eq!((reply.text().as_str(), reply.end), ("Tea?", TurnEnd::Answered));
/// assert_eq!((reply.model_calls, reply.nodes.len()), (1, 1));
/// assert!(reply.pending.is_empty());
/// # Ok::<(), alloquy_core::Error>(())
/// # })?;
/// # Ok::<(), alloquy_core::Error>(())
/// ```
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
    /// The node that the turn answered; `None` if it answered the preface alone.
    pub answers: Option<NodeId>,
    /// Whether the head is at [`TurnReply::last`] now.
    pub head: HeadMove,
    /// Calls without a result. The next message may contain their results, and
    /// [`Conversation::complete`](crate::Conversation::complete) runs those of the manager's tools. Calls that still
    /// have no result when the conversation continues get an error.
    pub pending: Vec<ToolCall>,
    /// The nodes that the turn added after the one that it answered, in their order: a reply for each model call, and
    /// the results of its tools. Each reply's node has the usage of its call.
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

    /// Returns the node that the turn answered.
    pub fn answers(&self) -> Option<NodeId> {
        self.answers
    }
}

/// The result of [`Conversation::add`](crate::Conversation::add).
///
/// ```
/// use alloquy_core::{Conversation, Message};
/// use alloquy_testing::EchoModel;
///
/// # pollster::block_on(async {
/// let conversation = Conversation::new(EchoModel);
/// let added = conversation.add(vec![Message::user("Tea?"), Message::assistant("Please.")]).await?;
/// assert_eq!(added.nodes.len(), 2);
/// assert_eq!(added.node, conversation.head().await?);
/// # Ok::<(), alloquy_core::Error>(())
/// # })?;
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct AddOutcome {
    /// The node of the last message; if nothing was added, the last node before.
    pub node: Option<NodeId>,
    /// The nodes that were added, parents before children.
    pub nodes: Vec<Node>,
    /// Whether the head is at it now.
    pub head: HeadMove,
}
