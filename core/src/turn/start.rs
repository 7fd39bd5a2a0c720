//! The place where a turn starts: the head, or the place of its request.

use super::prompts::filled;
use super::{OpenCalls, Parts, Trail};
use crate::chat_model::{Origin, Request};
use crate::message::Role;
use crate::store::{ConversationId, ConversationRecord};
use crate::tree::{Address, Node};
use crate::turn::TurnRequest;
use crate::{Error, ErrorKind, Result};

/// The place of a turn and its request.
#[derive(Clone, Debug)]
pub(crate) struct Start {
    pub(crate) conversation: ConversationId,
    pub(crate) place: Place,
    pub(crate) ask: TurnRequest,
}

/// The node after which a turn continues.
#[derive(Clone, Debug)]
pub(crate) enum Place {
    /// The node of the request, else the head at the start of the turn.
    Head,
    /// The message that was answered there; the new reply is a sibling of the former one.
    Question,
    /// The parent of a node, so that the messages become its siblings.
    Beside(Address),
}

/// Returns the request of a draft; nothing is stored.
pub(crate) async fn drafted(
    parts: &Parts,
    conversation: &ConversationId,
    draft: &TurnRequest,
) -> Result<Request> {
    let (record, mut path) = open_path(parts, conversation, &Place::Head, draft).await?;
    let draft = &filled(parts, &record, &path, draft).await?;
    let mut open = OpenCalls::after(path.iter().map(|node| &node.message));
    let messages = path.followed_by(open.followed_by(&draft.messages)?);
    let origin = Origin::new(parts.owner.clone(), record.id.clone()).parent(path.last().map(|node| node.id));
    let request = parts.request(&parts.tools(draft)?, &record, messages, draft);
    parts.trails.keep(&record, path);
    Ok(request.origin(origin))
}

/// Reads a conversation and the path to the node after which a turn continues.
pub(super) async fn open_path(
    parts: &Parts,
    conversation: &ConversationId,
    place: &Place,
    ask: &TurnRequest,
) -> Result<(ConversationRecord, Trail)> {
    let mut record = parts.settled().await.record(&parts.owner, conversation).await?;
    if let Some(tools) = &ask.host_tools {
        // The turn works with its own copy of the record, so the stored preface keeps its tools.
        record.preface.tools.clone_from(tools);
    }
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
        Place::Beside(_) => {
            if path.pop().is_none() {
                let message = "there is no message before the first one that could be edited";
                return Err(Error::new(ErrorKind::Invalid, message));
            }
        }
    }
    Ok((record, path))
}

/// Returns the length of a path without its last reply and the tool calls and results of that reply.
fn question_length(path: &[Node]) -> usize {
    let last = path.iter().rposition(|node| matches!(node.message.role, Role::User | Role::System));
    last.map_or(0, |last| last + 1)
}
