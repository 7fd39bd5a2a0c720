//! The SQL of nodes: appending, reading, pruning. The caller begins and ends the transaction.

use std::collections::{HashMap, HashSet};

use alloquy_core::store::{BLOB_GRACE, ConversationRecord, ConversationSummary};
use alloquy_core::tree::Tree;
use alloquy_core::{ConversationId, Node, NodeId, Owner};
use deadpool_postgres::Transaction;

use super::rows::{self, NODE};
use super::words::Words;
use super::{blobs, keys};
use crate::failure::Failure;
use crate::json::encode;
use crate::stored::{checksum, damaged, milliseconds};

pub(super) async fn append(
    transaction: &Transaction<'_>,
    owner: &Owner,
    id: &ConversationId,
    nodes: &[Node],
) -> Result<(), Failure> {
    let key = keys::lock(transaction, owner, id).await?;
    let new = Known::read(transaction, key, nodes).await?.new_among(nodes)?;
    let Some(updated) = new.iter().map(|node| node.id.created()).max() else {
        return Ok(());
    };
    insert(transaction, key, owner, &new).await?;
    blobs::refer(transaction, owner, key, new.iter().flat_map(|node| node.media())).await?;
    let sql = "UPDATE conversations SET nodes = nodes + $2, updated = greatest(updated, $3) WHERE key = $1";
    let statement = transaction.prepare_cached(sql).await?;
    let count = i64::try_from(new.len()).unwrap_or(i64::MAX);
    transaction.execute(&statement, &[&key, &count, &milliseconds(updated)]).await?;
    Ok(())
}

/// The nodes of a batch and their parents, as far as they exist.
struct Known {
    /// The nodes, each with whether it is pruned.
    nodes: HashMap<NodeId, (Node, bool)>,
    parents: HashSet<String>,
    tombstones: HashSet<String>,
}

impl Known {
    async fn read(transaction: &Transaction<'_>, key: i64, batch: &[Node]) -> Result<Self, Failure> {
        let ids: Vec<_> = batch.iter().map(|node| node.id.to_string()).collect();
        let parents: Vec<_> = batch.iter().filter_map(|node| Some(node.parent?.to_string())).collect();
        let sql =
            format!("SELECT {NODE}, n.pruned FROM nodes n WHERE n.conversation = $1 AND n.id = ANY($2)");
        let statement = transaction.prepare_cached(&sql).await?;
        let mut nodes = HashMap::new();
        for row in transaction.query(&statement, &[&key, &ids]).await? {
            let node = rows::node(&row)?.node()?;
            nodes.insert(node.id, (node, row.try_get(5)?));
        }
        let sql = "SELECT id FROM nodes WHERE conversation = $1 AND id = ANY($2) AND NOT pruned";
        let parents = names(transaction, sql, key, &parents).await?;
        let sql = "SELECT node FROM tombstones WHERE conversation = $1 AND node = ANY($2)";
        let tombstones = names(transaction, sql, key, &ids).await?;
        Ok(Self { nodes, parents, tombstones })
    }

    /// Returns the nodes of a batch that are new. Fails unless the whole batch may be appended.
    fn new_among(mut self, batch: &[Node]) -> Result<Vec<&Node>, Failure> {
        let mut new = Vec::new();
        for node in batch {
            if self.is_new(node)? {
                self.parents.insert(node.id.to_string());
                self.nodes.insert(node.id, (node.clone(), false));
                new.push(node);
            }
        }
        Ok(new)
    }

    fn is_new(&self, node: &Node) -> Result<bool, Failure> {
        let is_tombstone = self.tombstones.contains(&node.id.to_string());
        match (self.nodes.get(&node.id), node.parent) {
            (Some((known, false)), _) if known == node => Ok(false),
            (Some((_, false)), _) => Err(Failure::OtherContent(node.id)),
            // The node was pruned with a node above it, so its parent does not exist any more.
            (Some((_, true)), Some(parent)) if !is_tombstone => Err(Failure::NoNode(parent)),
            // The node itself was pruned, and cannot come back.
            (Some((_, true)), _) => Err(Failure::Pruned(node.id)),
            (None, _) if is_tombstone => Err(Failure::Pruned(node.id)),
            (None, Some(parent)) if !self.parents.contains(&parent.to_string()) => {
                Err(Failure::NoNode(parent))
            }
            (None, _) => Ok(true),
        }
    }
}

async fn names(
    transaction: &Transaction<'_>,
    sql: &str,
    key: i64,
    ids: &[String],
) -> Result<HashSet<String>, Failure> {
    let statement = transaction.prepare_cached(sql).await?;
    let rows = transaction.query(&statement, &[&key, &ids]).await?;
    Ok(rows.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?)
}

/// Inserts new nodes, in their order.
async fn insert(
    transaction: &Transaction<'_>,
    key: i64,
    owner: &Owner,
    nodes: &[&Node],
) -> Result<(), Failure> {
    let ids: Vec<_> = nodes.iter().map(|node| node.id.to_string()).collect();
    let parents: Vec<_> = nodes.iter().map(|node| node.parent.map(|parent| parent.to_string())).collect();
    let bodies = nodes.iter().map(|node| encode(*node)).collect::<Result<Vec<_>, _>>()?;
    let sums: Vec<_> = bodies.iter().map(|body| checksum(body)).collect();
    let words: Vec<_> = nodes.iter().map(|node| Words::of(owner, node)).collect();
    let (texts, terms): (Vec<_>, Vec<_>) = words.iter().map(|words| (&words.text, &words.terms)).unzip();
    let sql = "INSERT INTO nodes (conversation, id, parent, body, checksum, words, terms)
        SELECT $1, id, parent, body, checksum, words, array_to_tsvector(string_to_array(terms, ' '))
        FROM unnest($2::text[], $3::text[], $4::text[], $5::bigint[], $6::text[], $7::text[])
            WITH ORDINALITY AS new (id, parent, body, checksum, words, terms, number)
        ORDER BY number";
    let statement = transaction.prepare_cached(sql).await?;
    transaction.execute(&statement, &[&key, &ids, &parents, &bodies, &sums, &texts, &terms]).await?;
    Ok(())
}

async fn is_tombstone(transaction: &Transaction<'_>, key: i64, id: NodeId) -> Result<bool, Failure> {
    let sql = "SELECT 1 FROM tombstones WHERE conversation = $1 AND node = $2";
    let statement = transaction.prepare_cached(sql).await?;
    Ok(transaction.query_opt(&statement, &[&key, &id.to_string()]).await?.is_some())
}

pub(super) async fn must_exist(transaction: &Transaction<'_>, key: i64, node: NodeId) -> Result<(), Failure> {
    let sql = "SELECT 1 FROM nodes WHERE conversation = $1 AND id = $2 AND NOT pruned";
    let statement = transaction.prepare_cached(sql).await?;
    let row = transaction.query_opt(&statement, &[&key, &node.to_string()]).await?;
    if row.is_none() {
        return Err(Failure::NoNode(node));
    }
    Ok(())
}

pub(super) async fn load(
    transaction: &Transaction<'_>,
    owner: &Owner,
    id: &ConversationId,
) -> Result<(ConversationRecord, Tree), Failure> {
    let ConversationSummary { record, nodes, .. } = keys::summary(transaction, owner, id).await?;
    let key = keys::key(transaction, owner, id).await?;
    // A row's position grows with every insertion, so parents come before children.
    let sql =
        format!("SELECT {NODE} FROM nodes n WHERE n.conversation = $1 AND NOT n.pruned ORDER BY n.position");
    let statement = transaction.prepare_cached(&sql).await?;
    let mut tree = Tree::default();
    for row in transaction.query(&statement, &[&key]).await? {
        tree.insert(rows::node(&row)?.node()?).map_err(|error| damaged(id, error))?;
    }
    let statement = transaction.prepare_cached("SELECT node FROM tombstones WHERE conversation = $1").await?;
    for row in transaction.query(&statement, &[&key]).await? {
        let node: NodeId = row.try_get::<_, String>(0)?.parse().map_err(|error| damaged(id, error))?;
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

pub(super) async fn path(
    transaction: &Transaction<'_>,
    owner: &Owner,
    id: &ConversationId,
    node: NodeId,
) -> Result<Vec<Node>, Failure> {
    let key = keys::key(transaction, owner, id).await?;
    must_exist(transaction, key, node).await?;
    // A parent has a lower position than its child, so that even a damaged chain ends.
    let sql = format!(
        "WITH RECURSIVE path (position, parent) AS (
            SELECT position, parent FROM nodes WHERE conversation = $1 AND id = $2
            UNION ALL
            SELECT nodes.position, nodes.parent FROM path
            JOIN nodes ON nodes.conversation = $1 AND nodes.id = path.parent AND nodes.position < path.position
        )
        SELECT {NODE} FROM path JOIN nodes n ON n.position = path.position ORDER BY n.position"
    );
    let statement = transaction.prepare_cached(&sql).await?;
    let rows = transaction.query(&statement, &[&key, &node.to_string()]).await?;
    let path = rows.iter().map(|row| rows::node(row)?.node()).collect::<Result<Vec<_>, _>>()?;
    match path.first() {
        Some(first) if first.parent.is_some() => {
            Err(damaged(id, format!("the parent of node {} is missing", first.id)))
        }
        _ => Ok(path),
    }
}

pub(super) async fn node(
    transaction: &Transaction<'_>,
    owner: &Owner,
    id: &ConversationId,
    node: NodeId,
) -> Result<Node, Failure> {
    let key = keys::key(transaction, owner, id).await?;
    must_exist(transaction, key, node).await?;
    let sql = format!("SELECT {NODE} FROM nodes n WHERE n.conversation = $1 AND n.id = $2");
    let statement = transaction.prepare_cached(&sql).await?;
    let row = transaction.query_one(&statement, &[&key, &node.to_string()]).await?;
    rows::node(&row)?.node()
}

pub(super) async fn prune(
    transaction: &Transaction<'_>,
    owner: &Owner,
    id: &ConversationId,
    node: NodeId,
) -> Result<(), Failure> {
    let key = keys::lock(transaction, owner, id).await?;
    if is_tombstone(transaction, key, node).await? {
        return Ok(());
    }
    must_exist(transaction, key, node).await?;
    let head = keys::summary(transaction, owner, id).await?.record.head;
    let hidden = below(transaction, key, node).await?;
    if head.is_some_and(|head| hidden.contains_key(&head.to_string())) {
        return Err(Failure::PrunesHead(node));
    }
    let positions: Vec<_> = hidden.into_values().collect();
    let sql = "UPDATE nodes SET pruned = TRUE, words = '', terms = '' WHERE position = ANY($1)";
    let statement = transaction.prepare_cached(sql).await?;
    transaction.execute(&statement, &[&positions]).await?;
    let statement =
        transaction.prepare_cached("INSERT INTO tombstones (conversation, node) VALUES ($1, $2)").await?;
    transaction.execute(&statement, &[&key, &node.to_string()]).await?;
    let statement =
        transaction.prepare_cached("UPDATE conversations SET nodes = nodes - $2 WHERE key = $1").await?;
    let count = i64::try_from(positions.len()).unwrap_or(i64::MAX);
    transaction.execute(&statement, &[&key, &count]).await?;
    Ok(())
}

/// Returns a node and everything below it that is not hidden yet, with their positions.
async fn below(
    transaction: &Transaction<'_>,
    key: i64,
    node: NodeId,
) -> Result<HashMap<String, i64>, Failure> {
    let sql =
        "SELECT position, id, parent FROM nodes WHERE conversation = $1 AND NOT pruned ORDER BY position";
    let statement = transaction.prepare_cached(sql).await?;
    let mut found = HashMap::new();
    let top = node.to_string();
    // A parent has a lower position than its children, so one pass finds all of them.
    for row in transaction.query(&statement, &[&key]).await? {
        let (position, id, parent): (i64, String, Option<String>) =
            (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
        if id == top || parent.is_some_and(|parent| found.contains_key(&parent)) {
            found.insert(id, position);
        }
    }
    Ok(found)
}

pub(super) async fn compact(
    transaction: &Transaction<'_>,
    owner: &Owner,
    id: &ConversationId,
) -> Result<(), Failure> {
    let key = keys::lock(transaction, owner, id).await?;
    let sql = format!("SELECT {NODE} FROM nodes n WHERE n.conversation = $1 AND n.pruned");
    let statement = transaction.prepare_cached(&sql).await?;
    let mut media = Vec::new();
    for row in transaction.query(&statement, &[&key]).await? {
        media.extend(rows::node(&row)?.node()?.media());
    }
    blobs::release(transaction, key, media).await?;
    let statement =
        transaction.prepare_cached("DELETE FROM nodes WHERE conversation = $1 AND pruned").await?;
    transaction.execute(&statement, &[&key]).await?;
    blobs::collect(transaction, owner, BLOB_GRACE).await.map(drop)
}
