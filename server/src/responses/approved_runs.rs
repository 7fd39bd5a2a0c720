//! Responses of the background whose approved calls run: their messages are stored once the results are known. Until then, the record of
//! the conversation says which responses there are, so that they are found also after a crash.

use alloquy_core::store::{ConversationRecord, ConversationStoreExt as _};
use alloquy_core::{ConversationId, NodeId, Owner};
use serde_json::{Map, Value, json};

use super::settings::ResponseMark;
use crate::app::App;
use crate::error::ApiResult;
use crate::items::MARK;

/// The entry of a conversation's metadata with the marks of such responses, by the ids of their last messages.
const RUNNING: &str = "openai_running_approvals";

/// Notes a response before its calls run.
///
/// # Errors
/// Those of the store.
pub(super) async fn note(
    app: &App,
    owner: &Owner,
    conversation: &ConversationId,
    question: NodeId,
    mark: &ResponseMark,
) -> ApiResult<()> {
    let entry = json!({MARK: mark.of_message()});
    let change = |metadata: &mut Map<String, Value>| {
        let running = metadata.entry(RUNNING).or_insert_with(|| json!({}));
        if let Some(running) = running.as_object_mut() {
            running.insert(question.to_string(), entry.clone());
        }
    };
    app.store().change_metadata(owner, conversation, change).await?;
    Ok(())
}

/// Removes the note of a response, whose messages are stored or which is deleted. What cannot be removed does no harm, since stored
/// messages come first.
pub(super) async fn forget(app: &App, owner: &Owner, conversation: &ConversationId, question: NodeId) {
    let change = |metadata: &mut Map<String, Value>| {
        let Some(running) = metadata.get_mut(RUNNING).and_then(Value::as_object_mut) else { return };
        running.shift_remove(&question.to_string());
        if running.is_empty() {
            metadata.shift_remove(RUNNING);
        }
    };
    if let Err(error) = app.store().change_metadata(owner, conversation, change).await {
        tracing::warn!(error = format!("{error:#}"), "the note of a response with approved calls stays");
    }
}

/// Returns the mark of a response whose messages are not stored.
pub(super) fn find(record: &ConversationRecord, question: NodeId) -> Option<ResponseMark> {
    let running = record.metadata.get(RUNNING)?.as_object()?;
    ResponseMark::read(running.get(&question.to_string())?.as_object()?)
}
