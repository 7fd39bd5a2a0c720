//! How a stored completion is known: by the id of its conversation.

use alloquy_core::ConversationId;

use crate::error::{ApiError, ApiResult};

/// The beginning of the ids of completions; the rest is the id of the conversation.
pub(crate) const ID: &str = "chatcmpl-";

/// The metadata of a conversation that is a stored completion.
pub(crate) const METADATA: &str = "chat_completion";

/// Reads the id of a completion.
pub(crate) fn conversation_of(id: &str) -> ApiResult<ConversationId> {
    let conversation = id.strip_prefix(ID).and_then(|id| id.parse().ok());
    conversation.ok_or_else(|| no_completion(id))
}

/// Creates the error for an id of no completion.
pub(crate) fn no_completion(id: &str) -> ApiError {
    ApiError::not_found(format!("there is no stored chat completion {id:?}")).param("completion_id")
}
