//! The ids of responses, conversations and items. Each has its conversation and its node, so that no index of ids is needed.

use std::fmt;

use alloquy_core::{ConversationId, NodeId};

const RESPONSE: &str = "resp_";
const CONVERSATION: &str = "conv_";

/// Returns the id of a conversation.
pub(crate) fn conversation_id(conversation: &ConversationId) -> String {
    format!("{CONVERSATION}{conversation}")
}

/// Reads the id of a conversation.
pub(crate) fn conversation_of(id: &str) -> Option<ConversationId> {
    id.strip_prefix(CONVERSATION)?.parse().ok()
}

/// The id of a response: its conversation, and the node of the last message that it answers.
///
/// The node of the reply has no id before the reply is whole, and the first event of a stream names the response. Each request has
/// input of its own, so the node that is answered belongs to one response.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ResponseId {
    pub(crate) conversation: ConversationId,
    pub(crate) node: NodeId,
}

impl ResponseId {
    /// Reads an id.
    pub(crate) fn parse(id: &str) -> Option<Self> {
        let (conversation, node) = id.strip_prefix(RESPONSE)?.rsplit_once('_')?;
        Some(Self { conversation: conversation.parse().ok()?, node: node.parse().ok()? })
    }
}

impl fmt::Display for ResponseId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{RESPONSE}{}_{}", self.conversation, self.node)
    }
}

/// The id of an item: its conversation, a node, and the place of the item.
///
/// An item that was given has the node of its message. An item that was generated has the node that is answered, because it is
/// streamed before its own node exists: `msg_CONVERSATION_NODE_r0` is the first item of the reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ItemId {
    pub(crate) conversation: ConversationId,
    pub(crate) node: NodeId,
    pub(crate) place: ItemPlace,
}

/// The place of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ItemPlace {
    /// In the message of the node.
    Given(usize),
    /// In the reply to the node.
    Generated(usize),
}

impl ItemId {
    /// An item in the message of a node.
    pub(crate) fn given(conversation: &ConversationId, node: NodeId, index: usize) -> Self {
        Self { conversation: conversation.clone(), node, place: ItemPlace::Given(index) }
    }

    /// An item in the reply to a node.
    pub(crate) fn generated(conversation: &ConversationId, answered: NodeId, index: usize) -> Self {
        Self { conversation: conversation.clone(), node: answered, place: ItemPlace::Generated(index) }
    }

    /// Returns the id of an item of a kind, such as `msg`.
    pub(crate) fn with_prefix(&self, prefix: &str) -> String {
        let Self { conversation, node, place } = self;
        match place {
            ItemPlace::Given(index) => format!("{prefix}_{conversation}_{node}_{index}"),
            ItemPlace::Generated(index) => format!("{prefix}_{conversation}_{node}_r{index}"),
        }
    }

    /// Reads an id.
    pub(crate) fn parse(id: &str) -> Option<Self> {
        let (rest, place) = id.rsplit_once('_')?;
        let (rest, node) = rest.rsplit_once('_')?;
        let (_, conversation) = rest.split_once('_')?;
        let place = match place.strip_prefix('r') {
            Some(index) => ItemPlace::Generated(index.parse().ok()?),
            None => ItemPlace::Given(place.parse().ok()?),
        };
        Some(Self { conversation: conversation.parse().ok()?, node: node.parse().ok()?, place })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_read_as_they_are_written() {
        for name in ["tea", "with_lines_", "0198b2c8-0000-7000-8000-000000000000"] {
            let conversation: ConversationId = name.parse().unwrap();
            let node = NodeId::new();
            let response = ResponseId { conversation: conversation.clone(), node };
            assert_eq!(ResponseId::parse(&response.to_string()), Some(response));
            for id in [ItemId::given(&conversation, node, 3), ItemId::generated(&conversation, node, 0)] {
                assert_eq!(ItemId::parse(&id.with_prefix("msg")), Some(id));
            }
            assert_eq!(conversation_of(&conversation_id(&conversation)), Some(conversation));
        }
        for other in ["", "resp_", "resp_tea", "resp_tea_1", "msg_1", "conv_"] {
            assert_eq!((ResponseId::parse(other), conversation_of(other)), (None, None), "{other}");
        }
    }
}
