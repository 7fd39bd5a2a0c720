//! The words of nodes: written in batches. Until then the newest nodes, fewer than a batch, are read by who searches.

use alloquy_core::Node;
use alloquy_core::search::SearchText;
use rusqlite::{Transaction, params};

use super::rows::{self, NODE};
use crate::failure::Failure;

/// How many nodes wait for their words to be written at most.
const BATCH: i64 = 64;

/// Nodes `n` whose words are not written yet.
pub(super) const UNWRITTEN: &str = "n.position > (SELECT words FROM progress) AND n.pruned = 0";

/// Says whether the node at a position is the last of a batch: its writer writes the words of all that wait, so that
/// fewer than a batch wait at any time.
pub(super) fn ends_a_batch(position: i64) -> bool {
    position % BATCH == 0
}

/// Writes the words of the newest nodes when they are a batch.
pub(super) fn keep_up(transaction: &Transaction<'_>) -> Result<(), Failure> {
    let sql = "SELECT (SELECT max(position) FROM nodes) - words FROM progress";
    let waiting: Option<i64> = transaction.prepare_cached(sql)?.query_row([], |row| row.get(0))?;
    match waiting >= Some(BATCH) {
        true => catch_up(transaction),
        false => Ok(()),
    }
}

/// Writes all words that are not written yet. A damaged node has none: whoever reads it is told.
pub(super) fn catch_up(transaction: &Transaction<'_>) -> Result<(), Failure> {
    let sql = format!(
        "SELECT {NODE}, c.owner FROM nodes n CROSS JOIN conversations c ON c.key = n.conversation
        WHERE {UNWRITTEN} ORDER BY n.position"
    );
    let mut statement = transaction.prepare_cached(&sql)?;
    let read = |row: &rusqlite::Row<'_>| Ok((rows::node(row)?, row.get::<_, i64>(5)?));
    for row in statement.query_map([], read)? {
        let (stored, owner) = row?;
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
