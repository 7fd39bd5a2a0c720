//! Looks up the keys of owners and conversations, and summaries. The caller begins and ends the transaction.

use alloquy_core::store::ConversationSummary;
use alloquy_core::{ConversationId, Owner};
use rusqlite::{OptionalExtension, Transaction};

use super::rows::{self, CONVERSATION};
use crate::failure::Failure;

/// The key for an owner without rows. Keys begin at 1.
const UNKNOWN: i64 = 0;

/// Returns the key of an owner, [`UNKNOWN`] when it has stored nothing yet.
pub(super) fn owner(transaction: &Transaction<'_>, owner: &Owner) -> Result<i64, Failure> {
    let mut statement = transaction.prepare_cached("SELECT key FROM owners WHERE name = ?1")?;
    let key = statement.query_row([owner.as_str()], |row| row.get(0)).optional()?;
    Ok(key.unwrap_or(UNKNOWN))
}

/// Returns the key of an owner, and adds the owner where it is unknown.
pub(super) fn known_owner(transaction: &Transaction<'_>, name: &Owner) -> Result<i64, Failure> {
    match owner(transaction, name)? {
        UNKNOWN => {
            transaction.prepare_cached("INSERT INTO owners (name) VALUES (?1)")?.execute([name.as_str()])?;
            Ok(transaction.last_insert_rowid())
        }
        key => Ok(key),
    }
}

/// Returns the key of a conversation.
pub(super) fn key(transaction: &Transaction<'_>, owner: &Owner, id: &ConversationId) -> Result<i64, Failure> {
    // Not a join of the two tables: SQLite would plan that by the values of its parameters, and so compile it for each call.
    let sql =
        "SELECT key FROM conversations WHERE owner = (SELECT key FROM owners WHERE name = ?1) AND id = ?2";
    let mut statement = transaction.prepare_cached(sql)?;
    let key = statement.query_row([owner.as_str(), id.as_str()], |row| row.get(0)).optional()?;
    key.ok_or_else(|| Failure::NoConversation(id.clone()))
}

/// Returns the line of a conversation in lists.
pub(super) fn summary(
    transaction: &Transaction<'_>,
    owner: &Owner,
    id: &ConversationId,
) -> Result<ConversationSummary, Failure> {
    let sql = format!(
        "SELECT {CONVERSATION} FROM conversations c JOIN owners o ON o.key = c.owner WHERE o.name = ?1 AND c.id = ?2"
    );
    let mut statement = transaction.prepare_cached(&sql)?;
    let row = statement.query_row([owner.as_str(), id.as_str()], rows::conversation).optional()?;
    row.ok_or_else(|| Failure::NoConversation(id.clone()))?.summary()
}
