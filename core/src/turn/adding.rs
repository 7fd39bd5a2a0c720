//! Creates the nodes of the messages of a request, and adds them without a turn.

use std::sync::Arc;

use super::outcome::AddOutcome;
use super::parts::Parts;
use super::prompts::{filled, note_keys};
use super::request::TurnRequest;
use super::start::{Place, open_path};
use crate::Result;
use crate::store::ConversationId;
use crate::tree::{Node, NodeId};
use crate::turn::OpenCalls;

/// Creates the nodes of the messages of a request, the first one below `tip`. `open` are the calls without results,
/// before and after these messages.
pub(super) fn nodes_of(ask: &TurnRequest, open: &mut OpenCalls, tip: Option<NodeId>) -> Result<Vec<Node>> {
    let mut nodes: Vec<Node> = Vec::new();
    for message in open.followed_by(&ask.messages)? {
        let parent = nodes.last().map_or(tip, |node| Some(node.id));
        let mut node = Node::new(parent, message);
        ask.mark_message(&mut node);
        nodes.push(node);
    }
    if let (Some(last), Some(id)) = (nodes.last_mut(), ask.last_id) {
        last.id = id;
    }
    ask.mark_reply(nodes.last_mut())?;
    Ok(nodes)
}

/// Adds messages, each below the one before it, and moves the head to the last one.
pub(crate) async fn add(
    parts: &Arc<Parts>,
    conversation: &ConversationId,
    ask: &TurnRequest,
) -> Result<AddOutcome> {
    let place = Place::Head;
    let (record, path) = open_path(parts, conversation, &place, ask).await?;
    let ask = &filled(parts, &record, &path, ask).await?;
    let from = path.last().map(|node| node.id);
    let mut open = OpenCalls::after(path.iter().map(|node| &node.message));
    let mut nodes = nodes_of(ask, &mut open, from)?;
    if let Some(last) = nodes.last_mut() {
        ask.mark(last);
    }
    let to = nodes.last().map_or(from, |node| Some(node.id));
    parts.store_media(&nodes).await?;
    let store = &parts.store;
    let owner = &parts.owner;
    let head = ask.head_to_move(record.head);
    let head = store.append_and_move(owner, conversation, &nodes, head, to).await?;
    note_keys(parts, conversation, ask, nodes.first().map(|node| node.id)).await;
    Ok(AddOutcome { node: to, nodes, head })
}
