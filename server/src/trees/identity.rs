//! How conversations and nodes are named in addresses and bodies.

use alloquy_core::{Conversation, ConversationId, ConversationManager as _, Manager, NodeId};

use crate::app::App;
use crate::caller::Caller;
use crate::error::{ApiError, ApiResult};

/// The beginning of the ids of conversations; the rest is the id in the store.
const CONVERSATION: &str = "conv_";
/// The name of the head, where a node is requested.
pub(super) const HEAD: &str = "head";

/// Returns the id of a conversation as answers have it.
pub(crate) fn shown(id: &ConversationId) -> String {
    format!("{CONVERSATION}{id}")
}

/// Reads the id of a conversation, with `conv_` or without it.
///
/// # Errors
/// 404 for what is no id.
pub(crate) fn conversation_id(text: &str) -> ApiResult<ConversationId> {
    let id = text.strip_prefix(CONVERSATION).unwrap_or(text).parse();
    id.map_err(|_| unknown(text))
}

fn unknown(text: &str) -> ApiError {
    ApiError::not_found(format!("there is no conversation {text:?}")).param("conversation_id")
}

/// Opens a conversation of the caller's, for requests that ask no model.
///
/// # Errors
/// 404 for an unknown one, and for one of another owner.
pub(crate) async fn opened(app: &App, caller: &Caller, id: &str) -> ApiResult<Conversation> {
    opened_in(&app.conversations(caller), id).await
}

/// Opens a conversation of a manager's owner.
///
/// # Errors
/// 404 for an unknown one.
pub(crate) async fn opened_in(manager: &Manager, id: &str) -> ApiResult<Conversation> {
    match manager.open(&conversation_id(id)?).await {
        Err(error) if error.is_not_found() => Err(unknown(id)),
        opened => Ok(opened?),
    }
}

/// Finds a place in a tree by the name that a request has for it: `head`, an id or a part of one, a position such as `0.1`, or a
/// bookmark. `None` is before the first message, whose name is empty. A whole id is not looked up.
///
/// # Errors
/// 404 for an unknown place, and 400 for a text that is none of these.
pub(crate) async fn place(conversation: &Conversation, name: &str, param: &str) -> ApiResult<Option<NodeId>> {
    if name == HEAD {
        return Ok(conversation.head().await?);
    }
    // Whether it exists is found where it is used, without reading the whole tree.
    if let Ok(id) = name.parse::<NodeId>() {
        return Ok(Some(id));
    }
    let found = conversation.resolve(name).await;
    found.map_err(|error| ApiError::from(error).param(param))
}

/// Finds a node as [`place`] does.
///
/// # Errors
/// 404 for an unknown node, and for the place before the first message.
pub(crate) async fn node(conversation: &Conversation, name: &str, param: &str) -> ApiResult<NodeId> {
    match place(conversation, name, param).await? {
        Some(node) => Ok(node),
        None => {
            let message = format!("{name:?} is before the first message, where there is no node");
            Err(ApiError::not_found(message).param(param))
        }
    }
}
