//! The SQL of each call, inside a transaction that the caller begins and ends.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use alloquy_core::{
    ConversationId, ConversationRecord, ConversationSummary, Digest, Node, NodeId, Query, Tree,
};
use rusqlite::{OptionalExtension, Row, Transaction, params};

use crate::failure::Failure;
use crate::json::{decode, encode};

pub(super) fn create(transaction: &Transaction<'_>, record: &ConversationRecord) -> Result<(), Failure> {
    if record.head.is_some() {
        return Err(Failure::HeadWithoutNodes(record.id.clone()));
    }
    let sql =
        "INSERT INTO conversations (id, record, updated) VALUES (?1, ?2, ?3) ON CONFLICT (id) DO NOTHING";
    let row = params![record.id.as_str(), encode(record)?, milliseconds(record.created)];
    match transaction.prepare_cached(sql)?.execute(row)? {
        0 => Err(Failure::Exists(record.id.clone())),
        _ => Ok(()),
    }
}

pub(super) fn append(
    transaction: &Transaction<'_>,
    id: &ConversationId,
    nodes: &[Node],
) -> Result<(), Failure> {
    let key = key(transaction, id)?;
    let mut added = 0;
    let mut updated = None;
    for node in nodes {
        if insert(transaction, key, node)? {
            added += 1;
            updated = updated.max(Some(node.id.created()));
        }
    }
    let Some(updated) = updated else {
        return Ok(());
    };
    let sql = "UPDATE conversations SET nodes = nodes + ?2, updated = max(updated, ?3) WHERE key = ?1";
    transaction.prepare_cached(sql)?.execute(params![key, added, milliseconds(updated)])?;
    Ok(())
}

/// Inserts a node and says whether it is new.
fn insert(transaction: &Transaction<'_>, key: i64, node: &Node) -> Result<bool, Failure> {
    if let Some(known) = find(transaction, key, node.id)? {
        return match known == *node {
            true => Ok(false),
            false => Err(Failure::OtherContent(node.id)),
        };
    }
    if let Some(parent) = node.parent {
        must_exist(transaction, key, parent)?;
    }
    let sql = "INSERT INTO nodes (conversation, id, parent, body) VALUES (?1, ?2, ?3, ?4)";
    let parent = node.parent.map(|parent| parent.to_string());
    transaction.prepare_cached(sql)?.execute(params![key, node.id.to_string(), parent, encode(node)?])?;
    Ok(true)
}

fn find(transaction: &Transaction<'_>, key: i64, id: NodeId) -> Result<Option<Node>, Failure> {
    let sql = "SELECT id, parent, body FROM nodes WHERE conversation = ?1 AND id = ?2";
    let mut statement = transaction.prepare_cached(sql)?;
    let row = statement.query_row(params![key, id.to_string()], StoredNode::read).optional()?;
    row.map(StoredNode::node).transpose()
}

fn must_exist(transaction: &Transaction<'_>, key: i64, node: NodeId) -> Result<(), Failure> {
    let sql = "SELECT 1 FROM nodes WHERE conversation = ?1 AND id = ?2";
    match transaction.prepare_cached(sql)?.exists(params![key, node.to_string()])? {
        true => Ok(()),
        false => Err(Failure::NoNode(node)),
    }
}

pub(super) fn set_head(
    transaction: &Transaction<'_>,
    id: &ConversationId,
    from: Option<NodeId>,
    to: Option<NodeId>,
) -> Result<(), Failure> {
    let key = key(transaction, id)?;
    if let Some(node) = to {
        must_exist(transaction, key, node)?;
    }
    let text = |node: Option<NodeId>| node.map(|node| node.to_string());
    let sql = "UPDATE conversations SET head = ?3 WHERE key = ?1 AND head IS ?2";
    match transaction.prepare_cached(sql)?.execute(params![key, text(from), text(to)])? {
        0 => Err(Failure::HeadMoved(id.clone())),
        _ => Ok(()),
    }
}

fn key(transaction: &Transaction<'_>, id: &ConversationId) -> Result<i64, Failure> {
    let mut statement = transaction.prepare_cached("SELECT key FROM conversations WHERE id = ?1")?;
    let key = statement.query_row([id.as_str()], |row| row.get(0)).optional()?;
    key.ok_or_else(|| Failure::NoConversation(id.clone()))
}

pub(super) fn summary(
    transaction: &Transaction<'_>,
    id: &ConversationId,
) -> Result<ConversationSummary, Failure> {
    let sql = "SELECT id, record, head, nodes, updated FROM conversations WHERE id = ?1";
    let mut statement = transaction.prepare_cached(sql)?;
    let row = statement.query_row([id.as_str()], StoredConversation::read).optional()?;
    row.ok_or_else(|| Failure::NoConversation(id.clone()))?.summary()
}

pub(super) fn load(
    transaction: &Transaction<'_>,
    id: &ConversationId,
) -> Result<(ConversationRecord, Tree), Failure> {
    let record = summary(transaction, id)?.record;
    let key = key(transaction, id)?;
    // A row's position grows with every insertion, so parents come before children.
    let sql = "SELECT id, parent, body FROM nodes WHERE conversation = ?1 ORDER BY position";
    let mut statement = transaction.prepare_cached(sql)?;
    let mut tree = Tree::default();
    for row in statement.query_map([key], StoredNode::read)? {
        tree.insert(row?.node()?).map_err(|error| damaged(id, error))?;
    }
    let head = record.head.map(|node| tree.node(node)).transpose();
    head.map_err(|error| damaged(id, error))?;
    Ok((record, tree))
}

pub(super) fn path(
    transaction: &Transaction<'_>,
    id: &ConversationId,
    node: NodeId,
) -> Result<Vec<Node>, Failure> {
    let key = key(transaction, id)?;
    // A parent stands before its child, so that even a damaged chain ends.
    let sql = "WITH RECURSIVE path (position, id, parent, body) AS (
            SELECT position, id, parent, body FROM nodes WHERE conversation = ?1 AND id = ?2
            UNION ALL
            SELECT nodes.position, nodes.id, nodes.parent, nodes.body FROM path
            JOIN nodes ON nodes.conversation = ?1 AND nodes.id = path.parent AND nodes.position < path.position
        )
        SELECT id, parent, body FROM path ORDER BY position";
    let mut statement = transaction.prepare_cached(sql)?;
    let rows = statement.query_map(params![key, node.to_string()], StoredNode::read)?;
    let path = rows.map(|row| row?.node()).collect::<Result<Vec<_>, _>>()?;
    match path.first() {
        None => Err(Failure::NoNode(node)),
        Some(first) if first.parent.is_some() => {
            Err(damaged(id, format!("the parent of node {} is missing", first.id)))
        }
        Some(_) => Ok(path),
    }
}

pub(super) fn list(
    transaction: &Transaction<'_>,
    query: &Query,
) -> Result<Vec<ConversationSummary>, Failure> {
    let sql = "SELECT id, record, head, nodes, updated FROM conversations
        ORDER BY updated DESC, id LIMIT ?1 OFFSET ?2";
    // No database holds more rows than the largest number.
    let number = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
    let page = params![query.limit.map_or(-1, number), number(query.offset)];
    let mut statement = transaction.prepare_cached(sql)?;
    let rows = statement.query_map(page, StoredConversation::read)?;
    rows.map(|row| row?.summary()).collect()
}

pub(super) fn count(transaction: &Transaction<'_>) -> Result<usize, Failure> {
    let mut statement = transaction.prepare_cached("SELECT count(*) FROM conversations")?;
    unsigned(statement.query_row([], |row| row.get(0))?)
}

pub(super) fn delete(transaction: &Transaction<'_>, id: &ConversationId) -> Result<(), Failure> {
    let mut statement = transaction.prepare_cached("DELETE FROM conversations WHERE id = ?1")?;
    match statement.execute([id.as_str()])? {
        0 => Err(Failure::NoConversation(id.clone())),
        _ => Ok(()),
    }
}

pub(super) fn put_blob(transaction: &Transaction<'_>, bytes: &[u8]) -> Result<Digest, Failure> {
    let digest = Digest::of(bytes);
    // Other bytes under the digest are damaged, and these are the right ones.
    let sql = "INSERT INTO blobs (digest, bytes) VALUES (?1, ?2)
        ON CONFLICT (digest) DO UPDATE SET bytes = excluded.bytes WHERE bytes <> excluded.bytes";
    transaction.prepare_cached(sql)?.execute(params![digest.to_string(), bytes])?;
    Ok(digest)
}

pub(super) fn get_blob(transaction: &Transaction<'_>, digest: Digest) -> Result<Option<Arc<[u8]>>, Failure> {
    let mut statement = transaction.prepare_cached("SELECT bytes FROM blobs WHERE digest = ?1")?;
    let bytes: Option<Vec<u8>> = statement.query_row([digest.to_string()], |row| row.get(0)).optional()?;
    match bytes {
        Some(bytes) if Digest::of(&bytes) != digest => {
            Err(Failure::damaged(format!("blob {digest}"), "its bytes have another digest"))
        }
        bytes => Ok(bytes.map(Arc::from)),
    }
}

struct StoredNode {
    id: String,
    parent: Option<String>,
    body: String,
}

impl StoredNode {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self { id: row.get(0)?, parent: row.get(1)?, body: row.get(2)? })
    }

    fn node(self) -> Result<Node, Failure> {
        let what = || format!("node {:?}", self.id);
        let node: Node = decode(self.body.as_bytes(), what)?;
        let parent = node.parent.map(|parent| parent.to_string());
        match node.id.to_string() == self.id && parent == self.parent {
            true => Ok(node),
            false => Err(Failure::damaged(what(), "its columns and its body disagree")),
        }
    }
}

struct StoredConversation {
    id: String,
    record: String,
    head: Option<String>,
    nodes: i64,
    updated: i64,
}

impl StoredConversation {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            id: row.get(0)?,
            record: row.get(1)?,
            head: row.get(2)?,
            nodes: row.get(3)?,
            updated: row.get(4)?,
        })
    }

    fn summary(self) -> Result<ConversationSummary, Failure> {
        let what = || format!("conversation {:?}", self.id);
        let mut record: ConversationRecord = decode(self.record.as_bytes(), what)?;
        if record.id.as_str() != self.id {
            return Err(Failure::damaged(what(), "its columns and its record disagree"));
        }
        let head = self.head.map(|head| head.parse::<NodeId>());
        record.head = head.transpose().map_err(|error| Failure::damaged(what(), error))?;
        let updated =
            moment(self.updated).ok_or_else(|| Failure::damaged(what(), "its time is unreadable"))?;
        Ok(ConversationSummary { record, nodes: unsigned(self.nodes)?, updated })
    }
}

fn unsigned(count: i64) -> Result<usize, Failure> {
    usize::try_from(count).map_err(|error| Failure::damaged(format!("count {count}"), error))
}

fn damaged(id: &ConversationId, reason: impl std::fmt::Display) -> Failure {
    Failure::damaged(format!("conversation {:?}", id.as_str()), reason)
}

/// Times are kept to the millisecond, like those in node ids; times before 1970 are refused with the record.
fn milliseconds(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

fn moment(milliseconds: i64) -> Option<SystemTime> {
    UNIX_EPOCH.checked_add(Duration::from_millis(u64::try_from(milliseconds).ok()?))
}
