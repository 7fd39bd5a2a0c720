//! The SQL of nodes: appending, reading, pruning. The caller begins and ends the transaction.

use std::collections::HashSet;

use alloquy_core::store::{BLOB_GRACE, ConversationRecord, ConversationSummary};
use alloquy_core::tree::Tree;
use alloquy_core::{ConversationId, Node, NodeId, Owner};
use rusqlite::{OptionalExtension, Transaction, params};

use super::rows::{self, NODE};
use super::{blobs, keys, words};
use crate::failure::Failure;
use crate::json::encode;
use crate::stored::{checksum, damaged, milliseconds};

/// Inserts a node of a new conversation. Its position is above every existing node, and above removed nodes that the index of
/// words has passed.
pub(super) const INSERT: &str = "INSERT INTO nodes (position, conversation, id, parent, body, checksum)
    SELECT 1 + max(words, (SELECT coalesce(max(position), 0) FROM nodes)), ?1, ?2, ?3, ?4, ?5 FROM progress";

/// Looks up what matters for inserting a node: whether it or its tombstone exists, its parent, and the next position.
const LOOK: &str = "SELECT
    EXISTS (SELECT 1 FROM nodes WHERE conversation = ?1 AND id = ?2)
        OR EXISTS (SELECT 1 FROM tombstones WHERE conversation = ?1 AND node = ?2),
    (SELECT position FROM nodes WHERE conversation = ?1 AND id = ?3 AND pruned = 0),
    1 + max(words, (SELECT coalesce(max(position), 0) FROM nodes)) FROM progress";

const INSERT_AT: &str = "INSERT INTO nodes (position, conversation, id, parent, body, checksum)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6)";

/// Counts nodes that were inserted.
pub(super) const COUNT: &str =
    "UPDATE conversations SET nodes = nodes + ?2, updated = max(updated, ?3) WHERE key = ?1";

pub(super) fn append(
    transaction: &Transaction<'_>,
    owner: &Owner,
    id: &ConversationId,
    nodes: &[Node],
) -> Result<(), Failure> {
    let key = keys::key(transaction, owner, id)?;
    append_to(transaction, key, nodes)
}

/// Appends nodes to the conversation that has a key.
pub(super) fn append_to(transaction: &Transaction<'_>, key: i64, nodes: &[Node]) -> Result<(), Failure> {
    let mut added = 0;
    let mut updated = None;
    let mut passes_a_batch = false;
    for node in nodes {
        if insert(transaction, key, node)? {
            passes_a_batch |= words::ends_a_batch(transaction.last_insert_rowid());
            blobs::refer(transaction, key, node.media())?;
            added += 1;
            updated = updated.max(Some(node.id.created()));
        }
    }
    let Some(updated) = updated else {
        return Ok(());
    };
    transaction.prepare_cached(COUNT)?.execute(params![key, added, milliseconds(updated)])?;
    if passes_a_batch {
        words::catch_up(transaction)?;
    }
    Ok(())
}

/// Inserts a node and returns whether it is new.
///
/// One statement looks at everything that could prevent it. Only where something does, others find out what.
fn insert(transaction: &Transaction<'_>, key: i64, node: &Node) -> Result<bool, Failure> {
    let id = node.id.to_string();
    let parent = node.parent.map(|parent| parent.to_string());
    let mut look = transaction.prepare_cached(LOOK)?;
    let (is_known, parent, position): (bool, Option<i64>, i64) =
        look.query_row(params![key, id, parent], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    if is_known || parent.is_none() && node.parent.is_some() {
        return why_not(transaction, key, node);
    }
    let body = encode(node)?;
    let row = params![position, key, id, parent, body, checksum(&body)];
    transaction.prepare_cached(INSERT_AT)?.execute(row)?;
    Ok(true)
}

/// Returns the error that explains why a node could not be inserted, or `false` where the same node exists.
fn why_not(transaction: &Transaction<'_>, key: i64, node: &Node) -> Result<bool, Failure> {
    if let Some((known, is_pruned)) = find(transaction, key, node.id)? {
        if is_pruned {
            return Err(pruned(transaction, key, node)?);
        }
        return if known == *node { Ok(false) } else { Err(Failure::OtherContent(node.id)) };
    }
    if is_tombstone(transaction, key, node.id)? {
        return Err(Failure::Pruned(node.id));
    }
    if let Some(parent) = node.parent {
        position(transaction, key, parent)?;
    }
    Err(Failure::damaged(format!("node {}", node.id), "an index does not agree with its table"))
}

/// Returns the error for a hidden node. A node below a pruned one has no parent any more; the pruned one cannot come back.
fn pruned(transaction: &Transaction<'_>, key: i64, node: &Node) -> Result<Failure, Failure> {
    Ok(match (is_tombstone(transaction, key, node.id)?, node.parent) {
        (false, Some(parent)) => Failure::NoNode(parent),
        _ => Failure::Pruned(node.id),
    })
}

fn find(transaction: &Transaction<'_>, key: i64, id: NodeId) -> Result<Option<(Node, bool)>, Failure> {
    let sql = format!("SELECT {NODE}, n.pruned FROM nodes n WHERE n.conversation = ?1 AND n.id = ?2");
    let mut statement = transaction.prepare_cached(&sql)?;
    let row = statement
        .query_row(params![key, id.to_string()], |row| Ok((rows::node(row)?, row.get(5)?)))
        .optional()?;
    match row {
        Some((stored, is_pruned)) => Ok(Some((stored.node()?, is_pruned))),
        None => Ok(None),
    }
}

fn is_tombstone(transaction: &Transaction<'_>, key: i64, id: NodeId) -> Result<bool, Failure> {
    let sql = "SELECT 1 FROM tombstones WHERE conversation = ?1 AND node = ?2";
    Ok(transaction.prepare_cached(sql)?.exists(params![key, id.to_string()])?)
}

/// Returns the position of a node that exists and is not pruned.
pub(super) fn position(transaction: &Transaction<'_>, key: i64, node: NodeId) -> Result<i64, Failure> {
    let sql = "SELECT position FROM nodes WHERE conversation = ?1 AND id = ?2 AND pruned = 0";
    let mut statement = transaction.prepare_cached(sql)?;
    let found = statement.query_row(params![key, node.to_string()], |row| row.get(0)).optional()?;
    found.ok_or(Failure::NoNode(node))
}

pub(super) fn load(
    transaction: &Transaction<'_>,
    owner: &Owner,
    id: &ConversationId,
) -> Result<(ConversationRecord, Tree), Failure> {
    let ConversationSummary { record, nodes, .. } = keys::summary(transaction, owner, id)?;
    let key = keys::key(transaction, owner, id)?;
    // A row's position grows with every insertion, so parents come before children.
    let sql =
        format!("SELECT {NODE} FROM nodes n WHERE n.conversation = ?1 AND n.pruned = 0 ORDER BY n.position");
    let mut statement = transaction.prepare_cached(&sql)?;
    let mut tree = Tree::default();
    for row in statement.query_map([key], rows::node)? {
        tree.insert(row?.node()?).map_err(|error| damaged(id, error))?;
    }
    let mut statement = transaction.prepare_cached("SELECT node FROM tombstones WHERE conversation = ?1")?;
    for row in statement.query_map([key], |row| row.get::<_, String>(0))? {
        let node: NodeId = row?.parse().map_err(|error| damaged(id, error))?;
        if tree.node(node).is_ok() {
            return Err(damaged(id, format!("node {node} is there, and pruned")));
        }
        tree.bury(node);
    }
    if let Some(node) = record.head {
        tree.node(node).map_err(|error| damaged(id, error))?;
    }
    // A damaged index can hide rows, which only the count reveals where no other row refers to them.
    if tree.len() != nodes {
        return Err(damaged(id, format!("{} nodes are found, and {nodes} are counted", tree.len())));
    }
    Ok((record, tree))
}

pub(super) fn path(
    transaction: &Transaction<'_>,
    owner: &Owner,
    id: &ConversationId,
    node: NodeId,
) -> Result<Vec<Node>, Failure> {
    let key = keys::key(transaction, owner, id)?;
    let position = position(transaction, key, node)?;
    // A parent has a lower position than its child, so that even a damaged chain ends.
    let sql = format!(
        "WITH RECURSIVE path (position, parent) AS (
            SELECT position, parent FROM nodes WHERE position = ?1
            UNION ALL
            SELECT nodes.position, nodes.parent FROM path
            CROSS JOIN nodes ON nodes.position = path.parent AND nodes.position < path.position
        )
        SELECT {NODE} FROM path CROSS JOIN nodes n ON n.position = path.position ORDER BY n.position"
    );
    let mut statement = transaction.prepare_cached(&sql)?;
    let rows = statement.query_map([position], rows::node)?;
    let path = rows.map(|row| row?.node()).collect::<Result<Vec<_>, _>>()?;
    match path.first() {
        Some(first) if first.parent.is_some() => {
            Err(damaged(id, format!("the parent of node {} is missing", first.id)))
        }
        _ => Ok(path),
    }
}

pub(super) fn node(
    transaction: &Transaction<'_>,
    owner: &Owner,
    id: &ConversationId,
    node: NodeId,
) -> Result<Node, Failure> {
    let key = keys::key(transaction, owner, id)?;
    let position = position(transaction, key, node)?;
    let mut statement =
        transaction.prepare_cached(&format!("SELECT {NODE} FROM nodes n WHERE n.position = ?1"))?;
    statement.query_row([position], rows::node)?.node()
}

pub(super) fn prune(
    transaction: &Transaction<'_>,
    owner: &Owner,
    id: &ConversationId,
    node: NodeId,
) -> Result<(), Failure> {
    let key = keys::key(transaction, owner, id)?;
    if is_tombstone(transaction, key, node)? {
        return Ok(());
    }
    let top = position(transaction, key, node)?;
    let head = keys::summary(transaction, owner, id)?.record.head;
    let head = head.map(|head| position(transaction, key, head)).transpose()?;
    let hidden = below(transaction, key, top)?;
    if head.is_some_and(|head| hidden.contains(&head)) {
        return Err(Failure::PrunesHead(node));
    }
    for position in &hidden {
        transaction.prepare_cached("UPDATE nodes SET pruned = 1 WHERE position = ?1")?.execute([position])?;
        transaction.prepare_cached("DELETE FROM words WHERE rowid = ?1")?.execute([position])?;
    }
    let sql = "INSERT INTO tombstones (conversation, node) VALUES (?1, ?2)";
    transaction.prepare_cached(sql)?.execute(params![key, node.to_string()])?;
    let sql = "UPDATE conversations SET nodes = nodes - ?2 WHERE key = ?1";
    let count = i64::try_from(hidden.len()).unwrap_or(i64::MAX);
    transaction.prepare_cached(sql)?.execute(params![key, count])?;
    Ok(())
}

/// Returns the positions of a node and of everything below it that is not hidden yet.
fn below(transaction: &Transaction<'_>, key: i64, top: i64) -> Result<HashSet<i64>, Failure> {
    let sql = "SELECT position, parent FROM nodes
        WHERE conversation = ?1 AND pruned = 0 AND position >= ?2 ORDER BY position";
    let mut statement = transaction.prepare_cached(sql)?;
    let mut found = HashSet::new();
    let mut rows = statement.query([key, top])?;
    // A parent has a lower position than its children, so one pass finds all of them.
    while let Some(row) = rows.next()? {
        let (position, parent): (i64, Option<i64>) = (row.get(0)?, row.get(1)?);
        if position == top || parent.is_some_and(|parent| found.contains(&parent)) {
            found.insert(position);
        }
    }
    Ok(found)
}

pub(super) fn compact(
    transaction: &Transaction<'_>,
    owner: &Owner,
    id: &ConversationId,
) -> Result<(), Failure> {
    let key = keys::key(transaction, owner, id)?;
    let sql = format!("SELECT {NODE} FROM nodes n WHERE n.conversation = ?1 AND n.pruned = 1");
    let mut statement = transaction.prepare_cached(&sql)?;
    let rows = statement.query_map([key], rows::node)?.collect::<rusqlite::Result<Vec<_>>>()?;
    for row in rows {
        let position = row.position;
        blobs::release(transaction, key, row.node()?.media())?;
        transaction.prepare_cached("DELETE FROM nodes WHERE position = ?1")?.execute([position])?;
    }
    blobs::collect(transaction, owner, BLOB_GRACE).map(drop)
}
