//! Replies that begin with a given text, or where another reply was cut.

use alloquy_core::chat_model::ReplyBeginning;
use alloquy_core::{Node, Role};

use crate::error::{ApiError, ApiResult};
use crate::models::OpenedModel;

/// Returns what a request gives of a reply: a text, or exactly these tokens.
///
/// # Errors
/// 400 where both are given, or nothing of them.
pub(super) fn beginning(text: Option<String>, tokens: Option<Vec<u32>>) -> ApiResult<Option<ReplyBeginning>> {
    match (text, tokens) {
        (Some(_), Some(_)) => {
            let message = "prefix and prefix_tokens are both given: send one of them";
            Err(ApiError::invalid("prefix_tokens", message))
        }
        (Some(text), None) if text.is_empty() => {
            Err(ApiError::invalid("prefix", "prefix is empty, so it has no effect: leave it out"))
        }
        (None, Some(tokens)) if tokens.is_empty() => Err(ApiError::invalid(
            "prefix_tokens",
            "prefix_tokens is empty, so it has no effect: leave it out",
        )),
        (Some(text), None) => Ok(Some(ReplyBeginning::Text(text))),
        (None, Some(tokens)) => Ok(Some(ReplyBeginning::Tokens(tokens))),
        (None, None) => Ok(None),
    }
}

/// Returns a reply as the beginning of a longer one: its tokens, where they are stored and of this model, else its text.
///
/// # Errors
/// 400 for what is no reply, for one that calls tools, and for one whose text is not all of it.
pub(super) fn beginning_of(node: &Node, model: &OpenedModel) -> ApiResult<ReplyBeginning> {
    if node.message.role != Role::Assistant {
        let message = format!("the node {} is no reply, and only a reply is continued", node.id);
        return Err(ApiError::invalid("node", message));
    }
    if node.message.tool_calls().next().is_some() {
        let message = "a reply that calls tools is not continued: answer its calls";
        return Err(ApiError::invalid("node", message));
    }
    if !node.tokens.is_empty() && node.model().is_some_and(|name| model.chat.names().contains(&name)) {
        return Ok(ReplyBeginning::Tokens(node.tokens.clone()));
    }
    let is_text = node.message.parts.iter().all(|part| part.as_text().is_some());
    let text = node.message.text();
    if is_text && !text.is_empty() {
        return Ok(ReplyBeginning::Text(text));
    }
    let message =
        "the tokens of this reply are not stored for this model, and it is more than a text: answer it again";
    Err(ApiError::invalid("node", message))
}
