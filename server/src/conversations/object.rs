//! The object of a conversation.

use alloquy_core::Conversation;
use alloquy_core::store::ConversationRecord;
use axum::Json;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use crate::error::ApiResult;
use crate::items::{MARK, conversation_id};
use crate::times::unix_seconds;

/// A conversation.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ConversationObject {
    id: String,
    object: &'static str,
    created_at: u64,
    metadata: Value,
    alloquy: Value,
}

impl ConversationObject {
    fn of(record: &ConversationRecord) -> Self {
        let metadata = record.metadata.get(MARK).and_then(|fields| fields.get("metadata")).cloned();
        Self {
            id: conversation_id(&record.id),
            object: "conversation",
            created_at: unix_seconds(record.created),
            metadata: metadata.unwrap_or_else(|| json!({})),
            alloquy: json!({"conversation": record.id, "head": record.head}),
        }
    }
}

/// Returns the object of a conversation as it is stored now.
pub(super) async fn object(conversation: &Conversation) -> ApiResult<Json<ConversationObject>> {
    Ok(Json(ConversationObject::of(&conversation.record().await?)))
}
