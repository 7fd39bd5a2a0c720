//! Where a turn starts: at the head, or wherever it is told.

use super::{Parts, Trail};
use crate::message::Role;
use crate::store::{ConversationId, ConversationRecord};
use crate::tree::{Address, Node};
use crate::turn::TurnRequest;
use crate::{Error, ErrorKind, Result};

/// Where a turn starts and what is said there.
#[derive(Clone, Debug)]
pub(crate) struct Start {
    pub(crate) conversation: ConversationId,
    pub(crate) place: Place,
    pub(crate) ask: TurnRequest,
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

/// Reads a conversation, and the path to the node below which a turn goes on.
pub(super) async fn open_path(
    parts: &Parts,
    conversation: &ConversationId,
    place: &Place,
    ask: &TurnRequest,
) -> Result<(ConversationRecord, Trail)> {
    let record = parts.settled().await.record(&parts.owner, conversation).await?;
    let from = match (place, &ask.at) {
        (Place::Beside(node), _) | (_, Some(node)) => parts.node_at(conversation, node).await?,
        (Place::Head | Place::Question, None) => record.head,
    };
    let mut path = match from {
        Some(node) => parts.trail(&record, node).await?,
        None => Trail::default(),
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

/// How much of a path is left when the last answer, with its tool calls and results, is taken off.
fn question_length(path: &[Node]) -> usize {
    let asked = |node: &Node| matches!(node.message.role, Role::User | Role::System);
    path.iter().rposition(asked).map_or(0, |last| last + 1)
}
