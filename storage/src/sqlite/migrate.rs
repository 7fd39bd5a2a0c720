//! Migrates the tables of older formats. Damaged rows are copied as they are: a person can still read them, and the store
//! reports them.

use std::collections::HashMap;

use alloquy_core::store::ConversationRecord;
use alloquy_core::{Node, Owner};
use rusqlite::{Transaction, params};

use super::{blobs, conversations, keys, words};
use crate::failure::Failure;
use crate::stored::{checksum, milliseconds};

/// Migrates the first format, which had one owner, no words and no checksums.
pub(super) fn from_first(transaction: &Transaction<'_>) -> Result<(), Failure> {
    transaction.execute_batch(
        "DROP INDEX conversations_by_update;
        ALTER TABLE nodes RENAME TO first_nodes;
        ALTER TABLE conversations RENAME TO first_conversations;
        ALTER TABLE blobs RENAME TO first_blobs;",
    )?;
    transaction.execute_batch(include_str!("schema.sql"))?;
    let owner = keys::known_owner(transaction, &Owner::local())?;
    copy_conversations(transaction, owner)?;
    copy_nodes(transaction)?;
    words::catch_up(transaction)?;
    let now = milliseconds(std::time::SystemTime::now());
    let sql = "INSERT INTO blobs (owner, digest, put, bytes) SELECT ?1, digest, ?2, bytes FROM first_blobs";
    transaction.execute(sql, params![owner, now])?;
    let sql = "DROP TABLE first_nodes; DROP TABLE first_conversations; DROP TABLE first_blobs;";
    Ok(transaction.execute_batch(sql)?)
}

/// Migrates the second format, which listed the nodes whose words were not indexed yet: only the newest ones.
pub(super) fn from_second(transaction: &Transaction<'_>) -> Result<(), Failure> {
    Ok(transaction.execute_batch(
        "CREATE TABLE progress (words INTEGER NOT NULL) STRICT;
        INSERT INTO progress (words)
            SELECT coalesce((SELECT min(position) - 1 FROM pending), (SELECT max(position) FROM nodes), 0);
        DROP TABLE pending;
        INSERT INTO words (words, rank) VALUES ('automerge', 16), ('crisismerge', 64);",
    )?)
}

fn copy_conversations(transaction: &Transaction<'_>, owner: i64) -> Result<(), Failure> {
    let mut statement = transaction
        .prepare("SELECT key, id, record, head, nodes, updated FROM first_conversations ORDER BY key")?;
    let mut insert = transaction.prepare(
        "INSERT INTO conversations (key, owner, id, record, checksum, head, nodes, created, updated)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    )?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (key, json, updated): (i64, String, i64) = (row.get(0)?, row.get(2)?, row.get(5)?);
        let (id, head, count): (String, Option<String>, i64) = (row.get(1)?, row.get(3)?, row.get(4)?);
        let record = serde_json::from_str::<ConversationRecord>(&json).ok();
        let created = record.as_ref().map_or(updated, |record| milliseconds(record.created));
        insert.execute(params![key, owner, id, json, checksum(&json), head, count, created, updated])?;
        if let Some(record) = record {
            conversations::index(transaction, owner, key, &record.metadata)?;
            blobs::refer(transaction, key, record.media())?;
        }
    }
    Ok(())
}

fn copy_nodes(transaction: &Transaction<'_>) -> Result<(), Failure> {
    let mut statement = transaction
        .prepare("SELECT position, conversation, id, parent, body FROM first_nodes ORDER BY position")?;
    let mut insert = transaction.prepare(
        "INSERT INTO nodes (position, conversation, id, parent, body, checksum) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?;
    let mut rows = statement.query([])?;
    // A parent comes before its children, so its position is known.
    let mut positions = HashMap::new();
    while let Some(row) = rows.next()? {
        let (position, conversation, body): (i64, i64, String) = (row.get(0)?, row.get(1)?, row.get(4)?);
        let (id, parent): (String, Option<String>) = (row.get(2)?, row.get(3)?);
        let parent = parent.and_then(|parent| positions.get(&(conversation, parent)).copied());
        insert.execute(params![position, conversation, id, parent, body, checksum(&body)])?;
        positions.insert((conversation, id), position);
        if let Ok(node) = serde_json::from_str::<Node>(&body) {
            blobs::refer(transaction, conversation, node.media())?;
        }
    }
    Ok(())
}
