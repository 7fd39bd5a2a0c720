//! Imports whole conversations, many in one transaction. The caller begins and ends the transaction.

use std::collections::HashMap;

use alloquy_core::store::Archive;
use alloquy_core::{Node, NodeId, Owner};
use rusqlite::{Transaction, params};

use super::{blobs, conversations, nodes, words};
use crate::failure::Failure;
use crate::json::encode;
use crate::stored::{checksum, milliseconds};

/// Imports conversations, each whole or not at all. An error of the database fails the call, and then none is imported.
pub(super) fn all(
    transaction: &Transaction<'_>,
    owner: &Owner,
    archives: &[Archive],
) -> Result<Vec<Result<(), Failure>>, Failure> {
    let mut outcomes = Vec::with_capacity(archives.len());
    for archive in archives {
        transaction.prepare_cached("SAVEPOINT conversation")?.execute([])?;
        let outcome = one(transaction, owner, archive);
        if let Err(Failure::Sqlite(error)) = outcome {
            return Err(error.into());
        }
        if outcome.is_err() {
            transaction.prepare_cached("ROLLBACK TO conversation")?.execute([])?;
        }
        transaction.prepare_cached("RELEASE conversation")?.execute([])?;
        outcomes.push(outcome);
    }
    // Only after the last one, because the index of words is flushed whenever a savepoint begins.
    words::keep_up(transaction)?;
    Ok(outcomes)
}

fn one(transaction: &Transaction<'_>, owner: &Owner, archive: &Archive) -> Result<(), Failure> {
    archive.must_be_whole()?;
    for bytes in archive.blobs.values() {
        blobs::put(transaction, owner, bytes)?;
    }
    let id = &archive.record.id;
    let head = archive.record.head;
    match conversations::create(transaction, owner, &archive.new_record()) {
        Ok(key) => insert(transaction, key, &archive.nodes)?,
        Err(Failure::Exists(id)) => {
            let (record, tree) = nodes::load(transaction, owner, &id)?;
            if !archive.is_begun(&record, &tree)? {
                return Err(Failure::Exists(id));
            }
            nodes::append(transaction, owner, &id, &archive.nodes)?;
        }
        Err(failure) => return Err(failure),
    }
    if head.is_some() { conversations::set_head(transaction, owner, id, None, head) } else { Ok(()) }
}

/// Inserts the nodes of a new conversation. They are a whole tree, so nothing has to be looked up.
fn insert(transaction: &Transaction<'_>, key: i64, nodes: &[Node]) -> Result<(), Failure> {
    let mut positions: HashMap<NodeId, i64> = HashMap::with_capacity(nodes.len());
    let mut insert = transaction.prepare_cached(nodes::INSERT)?;
    for node in nodes {
        let parent = node.parent.and_then(|parent| positions.get(&parent).copied());
        let body = encode(node)?;
        insert.execute(params![key, node.id.to_string(), parent, body, checksum(&body)])?;
        positions.insert(node.id, transaction.last_insert_rowid());
        blobs::refer(transaction, key, node.media())?;
    }
    let Some(updated) = nodes.iter().map(|node| node.id.created()).max() else { return Ok(()) };
    let count = i64::try_from(nodes.len()).unwrap_or(i64::MAX);
    transaction.prepare_cached(nodes::COUNT)?.execute(params![key, count, milliseconds(updated)])?;
    Ok(())
}
