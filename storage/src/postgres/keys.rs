//! Looks up the keys and summaries of conversations. The caller begins and ends the transaction.

use alloquy_core::store::ConversationSummary;
use alloquy_core::{ConversationId, Owner};
use deadpool_postgres::Transaction;

use super::rows::{self, CONVERSATION};
use crate::failure::Failure;

/// Returns the key of a conversation.
pub(super) async fn key(
    transaction: &Transaction<'_>,
    owner: &Owner,
    id: &ConversationId,
) -> Result<i64, Failure> {
    found(transaction, "SELECT key FROM conversations WHERE owner = $1 AND id = $2", owner, id).await
}

/// Returns the key of a conversation, and locks it until the transaction ends.
pub(super) async fn lock(
    transaction: &Transaction<'_>,
    owner: &Owner,
    id: &ConversationId,
) -> Result<i64, Failure> {
    found(transaction, "SELECT key FROM conversations WHERE owner = $1 AND id = $2 FOR UPDATE", owner, id)
        .await
}

async fn found(
    transaction: &Transaction<'_>,
    sql: &str,
    owner: &Owner,
    id: &ConversationId,
) -> Result<i64, Failure> {
    let statement = transaction.prepare_cached(sql).await?;
    let row = transaction.query_opt(&statement, &[&owner.as_str(), &id.as_str()]).await?;
    Ok(row.ok_or_else(|| Failure::NoConversation(id.clone()))?.try_get(0)?)
}

/// Returns the line of a conversation in lists.
pub(super) async fn summary(
    transaction: &Transaction<'_>,
    owner: &Owner,
    id: &ConversationId,
) -> Result<ConversationSummary, Failure> {
    let sql = format!("SELECT {CONVERSATION} FROM conversations c WHERE c.owner = $1 AND c.id = $2");
    let statement = transaction.prepare_cached(&sql).await?;
    let row = transaction.query_opt(&statement, &[&owner.as_str(), &id.as_str()]).await?;
    rows::conversation(&row.ok_or_else(|| Failure::NoConversation(id.clone()))?)?.summary()
}
