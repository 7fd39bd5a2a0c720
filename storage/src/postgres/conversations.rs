//! The SQL of records: creating, heads, metadata, deleting. The caller begins and ends the transaction.

use alloquy_core::query::Filter;
use alloquy_core::store::{BLOB_GRACE, ConversationRecord, HeadMove};
use alloquy_core::{ConversationId, Node, NodeId, Owner, Query};
use deadpool_postgres::Transaction;
use serde_json::{Map, Value};

use super::keys::{lock, summary};
use super::rows::place;
use super::{blobs, nodes, questions};
use crate::failure::Failure;
use crate::json::encode;
use crate::stored::{checksum, milliseconds};

pub(super) async fn create(
    transaction: &Transaction<'_>,
    owner: &Owner,
    record: &ConversationRecord,
) -> Result<(), Failure> {
    record.must_be_new(owner)?;
    let json = encode(record)?;
    let created = milliseconds(record.created);
    let sql = "INSERT INTO conversations (owner, id, record, checksum, created, updated)
        VALUES ($1, $2, $3, $4, $5, $5) ON CONFLICT (owner, id) DO NOTHING RETURNING key";
    let statement = transaction.prepare_cached(sql).await?;
    let name = record.id.as_str();
    let sum = checksum(&json);
    let row = transaction.query_opt(&statement, &[&owner.as_str(), &name, &json, &sum, &created]).await?;
    let key: i64 = row.ok_or_else(|| Failure::Exists(record.id.clone()))?.try_get(0)?;
    index(transaction, owner, key, &record.metadata).await?;
    blobs::refer(transaction, owner, key, record.media()).await
}

/// Indexes every value of the metadata, for filters and orders.
async fn index(
    transaction: &Transaction<'_>,
    owner: &Owner,
    conversation: i64,
    metadata: &Map<String, Value>,
) -> Result<(), Failure> {
    let entries = Filter::index(metadata).into_iter().map(|(pointer, value)| (place(&pointer), value));
    let (places, values): (Vec<_>, Vec<_>) = entries.unzip();
    if places.is_empty() {
        return Ok(());
    }
    let sql = "INSERT INTO metadata (conversation, owner, place, value)
        SELECT $1, $2, * FROM unnest($3::bytea[], $4::bytea[])";
    let statement = transaction.prepare_cached(sql).await?;
    transaction.execute(&statement, &[&conversation, &owner.as_str(), &places, &values]).await?;
    Ok(())
}

pub(super) async fn set_head(
    transaction: &Transaction<'_>,
    owner: &Owner,
    id: &ConversationId,
    from: Option<NodeId>,
    to: Option<NodeId>,
) -> Result<(), Failure> {
    let key = lock(transaction, owner, id).await?;
    if let Some(node) = to {
        nodes::must_exist(transaction, key, node).await?;
    }
    let from = from.map(|node| node.to_string());
    let to = to.map(|node| node.to_string());
    let sql = "UPDATE conversations SET head = $3 WHERE key = $1 AND head IS NOT DISTINCT FROM $2";
    let statement = transaction.prepare_cached(sql).await?;
    if transaction.execute(&statement, &[&key, &from, &to]).await? == 0 {
        return Err(Failure::HeadMoved(id.clone()));
    }
    Ok(())
}

/// Appends nodes, and moves the head unless another writer has moved it.
pub(super) async fn append_and_move(
    transaction: &Transaction<'_>,
    owner: &Owner,
    id: &ConversationId,
    nodes: &[Node],
    from: Option<NodeId>,
    to: Option<NodeId>,
) -> Result<HeadMove, Failure> {
    if let Some(node) = to.filter(|&to| nodes.iter().all(|node| node.id != to)) {
        let key = lock(transaction, owner, id).await?;
        nodes::must_exist(transaction, key, node).await?;
    }
    nodes::append(transaction, owner, id, nodes).await?;
    match set_head(transaction, owner, id, from, to).await {
        Ok(()) => Ok(HeadMove::Moved),
        Err(Failure::HeadMoved(_)) => {
            Ok(HeadMove::of(summary(transaction, owner, id).await?.record.head, from, to))
        }
        Err(failure) => Err(failure),
    }
}

pub(super) async fn update_metadata(
    transaction: &Transaction<'_>,
    owner: &Owner,
    id: &ConversationId,
    revision: u64,
    metadata: &Map<String, Value>,
) -> Result<u64, Failure> {
    let key = lock(transaction, owner, id).await?;
    let mut record = summary(transaction, owner, id).await?.record;
    if record.revision != revision {
        return Err(Failure::MetadataChanged(id.clone()));
    }
    // The stored record has no head: that is a column of its own.
    record.head = None;
    (record.metadata, record.revision) = (metadata.clone(), revision + 1);
    let json = encode(&record)?;
    let sql = "UPDATE conversations SET record = $2, checksum = $3 WHERE key = $1";
    let statement = transaction.prepare_cached(sql).await?;
    transaction.execute(&statement, &[&key, &json, &checksum(&json)]).await?;
    let statement = transaction.prepare_cached("DELETE FROM metadata WHERE conversation = $1").await?;
    transaction.execute(&statement, &[&key]).await?;
    index(transaction, owner, key, metadata).await?;
    Ok(record.revision)
}

pub(super) async fn delete(
    transaction: &Transaction<'_>,
    owner: &Owner,
    id: &ConversationId,
) -> Result<(), Failure> {
    lock(transaction, owner, id).await?;
    remove(transaction, owner, &[id.as_str()]).await?;
    blobs::collect(transaction, owner, BLOB_GRACE).await.map(drop)
}

async fn remove(transaction: &Transaction<'_>, owner: &Owner, ids: &[&str]) -> Result<(), Failure> {
    let statement =
        transaction.prepare_cached("DELETE FROM conversations WHERE owner = $1 AND id = ANY($2)").await?;
    transaction.execute(&statement, &[&owner.as_str(), &ids]).await?;
    Ok(())
}

pub(super) async fn delete_matching(
    transaction: &Transaction<'_>,
    owner: &Owner,
    query: &Query,
) -> Result<Vec<ConversationId>, Failure> {
    query.must_be_filtered()?;
    let before = matching(transaction, owner, query).await?;
    let names: Vec<_> = before.iter().map(ConversationId::as_str).collect();
    let sql = "SELECT 1 FROM conversations WHERE owner = $1 AND id = ANY($2) ORDER BY key FOR UPDATE";
    let statement = transaction.prepare_cached(sql).await?;
    transaction.query(&statement, &[&owner.as_str(), &names]).await?;
    // From here on the rows are locked. Those that others changed before that may no longer match.
    let mut ids = matching(transaction, owner, query).await?;
    ids.retain(|id| before.contains(id));
    let names: Vec<_> = ids.iter().map(ConversationId::as_str).collect();
    remove(transaction, owner, &names).await?;
    blobs::collect(transaction, owner, BLOB_GRACE).await?;
    Ok(ids)
}

async fn matching(
    transaction: &Transaction<'_>,
    owner: &Owner,
    query: &Query,
) -> Result<Vec<ConversationId>, Failure> {
    let page = questions::list(transaction, owner, query).await?;
    Ok(page.conversations.into_iter().map(|summary| summary.record.id).collect())
}
