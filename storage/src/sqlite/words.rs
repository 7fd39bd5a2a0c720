//! The index of words, which is written in batches. A search reads the texts of the newest nodes, fewer than a batch.

use alloquy_core::Node;
use alloquy_core::search::SearchText;
use rusqlite::{Transaction, params};

use super::rows::{self, NODE};
use crate::failure::Failure;

/// The most nodes that are not indexed yet.
const BATCH: i64 = 64;

/// The condition for nodes `n` that are not indexed yet.
pub(super) const UNWRITTEN: &str = "n.position > (SELECT words FROM progress) AND n.pruned = 0";

/// Returns whether the node at a position is the last of a batch. Its writer indexes the whole batch, so that fewer nodes
/// than a batch are unindexed at any time.
pub(super) fn ends_a_batch(position: i64) -> bool {
    position % BATCH == 0
}

/// Indexes the newest nodes when they are a batch.
pub(super) fn keep_up(transaction: &Transaction<'_>) -> Result<(), Failure> {
    let sql = "SELECT (SELECT max(position) FROM nodes) - words FROM progress";
    let waiting: Option<i64> = transaction.prepare_cached(sql)?.query_row([], |row| row.get(0))?;
    if waiting >= Some(BATCH) { catch_up(transaction) } else { Ok(()) }
}

/// Indexes all nodes that are not indexed yet. A damaged node is left out: reading it is an error.
pub(super) fn catch_up(transaction: &Transaction<'_>) -> Result<(), Failure> {
    let sql = format!(
        "SELECT {NODE}, c.owner FROM nodes n CROSS JOIN conversations c ON c.key = n.conversation
        WHERE {UNWRITTEN} ORDER BY n.position"
    );
    let mut statement = transaction.prepare_cached(&sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let owner: i64 = row.get(5)?;
        let stored = rows::node(row)?;
        let position = stored.position;
        if let Ok(node) = stored.node() {
            write(transaction, owner, position, &node)?;
        }
    }
    let sql =
        "UPDATE progress SET words = (SELECT max(position) FROM nodes) WHERE EXISTS (SELECT 1 FROM nodes)";
    transaction.prepare_cached(sql)?.execute([])?;
    Ok(())
}

fn write(transaction: &Transaction<'_>, owner: i64, position: i64, node: &Node) -> Result<(), Failure> {
    let words = SearchText::index(&node.message);
    if !words.is_empty() {
        let sql = "INSERT INTO words (rowid, owner, text) VALUES (?1, ?2, ?3)";
        transaction.prepare_cached(sql)?.execute(params![position, owner.to_string(), words])?;
    }
    Ok(())
}
