//! The words of nodes: written in batches, and all of them before anything is searched.

use alloquy_core::{Node, SearchText};
use rusqlite::{Transaction, params};

use super::rows::{self, NODE};
use crate::failure::Failure;

/// How many nodes wait for their words to be written at most.
const BATCH: usize = 64;

/// Notes that a node has words, and writes those of a whole batch.
pub(super) fn add(transaction: &Transaction<'_>, position: i64) -> Result<(), Failure> {
    transaction.prepare_cached("INSERT INTO pending (position) VALUES (?1)")?.execute([position])?;
    let mut statement = transaction.prepare_cached("SELECT count(*) FROM pending")?;
    let waiting: usize = statement.query_row([], |row| row.get::<_, u32>(0))? as usize;
    match waiting >= BATCH {
        true => catch_up(transaction),
        false => Ok(()),
    }
}

/// Says whether words of some node are not written yet.
pub(super) fn are_behind(transaction: &Transaction<'_>) -> Result<bool, Failure> {
    Ok(transaction.prepare_cached("SELECT 1 FROM pending")?.exists([])?)
}

/// Writes the words that are not written yet. A damaged node has none: whoever reads it is told.
pub(super) fn catch_up(transaction: &Transaction<'_>) -> Result<(), Failure> {
    let sql = format!(
        "SELECT {NODE}, c.owner FROM pending p JOIN nodes n ON n.position = p.position
        JOIN conversations c ON c.key = n.conversation WHERE n.pruned = 0 ORDER BY p.position"
    );
    let mut statement = transaction.prepare_cached(&sql)?;
    let read = |row: &rusqlite::Row<'_>| Ok((rows::node(row)?, row.get::<_, i64>(5)?));
    let rows = statement.query_map([], read)?.collect::<rusqlite::Result<Vec<_>>>()?;
    for (row, owner) in rows {
        let position = row.position;
        if let Ok(node) = row.node() {
            write(transaction, owner, position, &node)?;
        }
    }
    transaction.prepare_cached("DELETE FROM pending")?.execute([])?;
    Ok(())
}

/// Writes the words of one node.
pub(super) fn write(
    transaction: &Transaction<'_>,
    owner: i64,
    position: i64,
    node: &Node,
) -> Result<(), Failure> {
    let words = SearchText::index(&node.message);
    if !words.is_empty() {
        let sql = "INSERT INTO words (rowid, owner, text) VALUES (?1, ?2, ?3)";
        transaction.prepare_cached(sql)?.execute(params![position, owner.to_string(), words])?;
    }
    Ok(())
}
