//! The SQL of records: creating, heads, metadata, deleting. The caller begins and ends the transaction.

use alloquy_core::query::Filter;
use alloquy_core::store::{BLOB_GRACE, ConversationRecord, HeadMove};
use alloquy_core::{ConversationId, Node, NodeId, Owner, Query};
use rusqlite::{Transaction, params};
use serde_json::{Map, Value};

use super::keys::{key, known_owner, summary};
use super::{blobs, nodes, questions};
use crate::failure::Failure;
use crate::json::encode;
use crate::stored::{checksum, milliseconds};

/// Creates a conversation and returns its key.
pub(super) fn create(
    transaction: &Transaction<'_>,
    owner: &Owner,
    record: &ConversationRecord,
) -> Result<i64, Failure> {
    record.must_be_new(owner)?;
    let owner = known_owner(transaction, owner)?;
    let json = encode(record)?;
    let created = milliseconds(record.created);
    let sql = "INSERT INTO conversations (owner, id, record, checksum, created, updated)
        VALUES (?1, ?2, ?3, ?4, ?5, ?5) ON CONFLICT (owner, id) DO NOTHING";
    let row = params![owner, record.id.as_str(), json, checksum(&json), created];
    if transaction.prepare_cached(sql)?.execute(row)? == 0 {
        return Err(Failure::Exists(record.id.clone()));
    }
    let key = transaction.last_insert_rowid();
    index(transaction, owner, key, &record.metadata)?;
    blobs::refer(transaction, key, record.media())?;
    Ok(key)
}

/// Indexes every value of the metadata, for filters and orders.
pub(super) fn index(
    transaction: &Transaction<'_>,
    owner: i64,
    conversation: i64,
    metadata: &Map<String, Value>,
) -> Result<(), Failure> {
    let sql = "INSERT INTO metadata (conversation, owner, place, value) VALUES (?1, ?2, ?3, ?4)";
    let mut statement = transaction.prepare_cached(sql)?;
    for (place, value) in Filter::index(metadata) {
        statement.execute(params![conversation, owner, place, value])?;
    }
    Ok(())
}

pub(super) fn set_head(
    transaction: &Transaction<'_>,
    owner: &Owner,
    id: &ConversationId,
    from: Option<NodeId>,
    to: Option<NodeId>,
) -> Result<(), Failure> {
    let key = key(transaction, owner, id)?;
    if let Some(node) = to {
        nodes::position(transaction, key, node)?;
    }
    if move_head(transaction, key, from, to)? { Ok(()) } else { Err(Failure::HeadMoved(id.clone())) }
}

/// Moves the head to an existing node, and returns whether it was at `from`.
fn move_head(
    transaction: &Transaction<'_>,
    key: i64,
    from: Option<NodeId>,
    to: Option<NodeId>,
) -> Result<bool, Failure> {
    let from = from.map(|node| node.to_string());
    let to = to.map(|node| node.to_string());
    let sql = "UPDATE conversations SET head = ?3 WHERE key = ?1 AND head IS ?2";
    Ok(transaction.prepare_cached(sql)?.execute(params![key, from, to])? != 0)
}

/// Appends nodes, and moves the head unless another writer has moved it.
pub(super) fn append_and_move(
    transaction: &Transaction<'_>,
    owner: &Owner,
    id: &ConversationId,
    nodes: &[Node],
    from: Option<NodeId>,
    to: Option<NodeId>,
) -> Result<HeadMove, Failure> {
    let key = key(transaction, owner, id)?;
    if let Some(node) = to.filter(|&to| nodes.iter().all(|node| node.id != to)) {
        nodes::position(transaction, key, node)?;
    }
    nodes::append_to(transaction, key, nodes)?;
    if move_head(transaction, key, from, to)? {
        return Ok(HeadMove::Moved);
    }
    Ok(HeadMove::of(summary(transaction, owner, id)?.record.head, from, to))
}

pub(super) fn update_metadata(
    transaction: &Transaction<'_>,
    owner: &Owner,
    id: &ConversationId,
    revision: u64,
    metadata: Map<String, Value>,
) -> Result<u64, Failure> {
    let key = key(transaction, owner, id)?;
    let mut record = summary(transaction, owner, id)?.record;
    if record.revision != revision {
        return Err(Failure::MetadataChanged(id.clone()));
    }
    // The stored record has no head: that is a column of its own.
    record.head = None;
    (record.metadata, record.revision) = (metadata, revision + 1);
    let json = encode(&record)?;
    let sql = "UPDATE conversations SET record = ?2, checksum = ?3 WHERE key = ?1 RETURNING owner";
    let row = params![key, json, checksum(&json)];
    let owner = transaction.prepare_cached(sql)?.query_row(row, |row| row.get(0))?;
    transaction.prepare_cached("DELETE FROM metadata WHERE conversation = ?1")?.execute([key])?;
    index(transaction, owner, key, &record.metadata)?;
    Ok(record.revision)
}

pub(super) fn delete(
    transaction: &Transaction<'_>,
    owner: &Owner,
    id: &ConversationId,
) -> Result<(), Failure> {
    remove(transaction, key(transaction, owner, id)?)?;
    blobs::collect(transaction, owner, BLOB_GRACE).map(drop)
}

fn remove(transaction: &Transaction<'_>, key: i64) -> Result<(), Failure> {
    let sql = "DELETE FROM words WHERE rowid IN (SELECT position FROM nodes WHERE conversation = ?1 AND pruned = 0)";
    transaction.prepare_cached(sql)?.execute([key])?;
    transaction.prepare_cached("DELETE FROM conversations WHERE key = ?1")?.execute([key])?;
    Ok(())
}

pub(super) fn delete_matching(
    transaction: &Transaction<'_>,
    owner: &Owner,
    query: &Query,
) -> Result<Vec<ConversationId>, Failure> {
    query.must_be_filtered()?;
    let page = questions::list(transaction, owner, query)?;
    let ids: Vec<_> = page.conversations.into_iter().map(|summary| summary.record.id).collect();
    for id in &ids {
        remove(transaction, key(transaction, owner, id)?)?;
    }
    blobs::collect(transaction, owner, BLOB_GRACE)?;
    Ok(ids)
}
