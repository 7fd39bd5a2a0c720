//! Who and which conversation is meant: their keys, and its summary. Inside a transaction that the caller begins and ends.

use alloquy_core::store::ConversationSummary;
use alloquy_core::{ConversationId, Owner};
use rusqlite::{OptionalExtension, Transaction};

use super::rows::{self, CONVERSATION};
use crate::failure::Failure;

/// Who has nothing: keys begin at 1.
const NOBODY: i64 = 0;

/// Returns the key of an owner, of [`NOBODY`] when it has stored nothing yet.
pub(super) fn owner(transaction: &Transaction<'_>, owner: &Owner) -> Result<i64, Failure> {
    let mut statement = transaction.prepare_cached("SELECT key FROM owners WHERE name = ?1")?;
    let key = statement.query_row([owner.as_str()], |row| row.get(0)).optional()?;
    Ok(key.unwrap_or(NOBODY))
}

/// Returns the key of an owner, who is made known first.
pub(super) fn known_owner(transaction: &Transaction<'_>, name: &Owner) -> Result<i64, Failure> {
    match owner(transaction, name)? {
        NOBODY => {
            transaction.prepare_cached("INSERT INTO owners (name) VALUES (?1)")?.execute([name.as_str()])?;
            Ok(transaction.last_insert_rowid())
        }
        key => Ok(key),
    }
}

/// Returns the key of a conversation.
pub(super) fn key(transaction: &Transaction<'_>, owner: &Owner, id: &ConversationId) -> Result<i64, Failure> {
    // A join of the two would be compiled anew for each question: SQLite looks at the values of its parameters.
    let sql =
        "SELECT key FROM conversations WHERE owner = (SELECT key FROM owners WHERE name = ?1) AND id = ?2";
    let mut statement = transaction.prepare_cached(sql)?;
    let key = statement.query_row([owner.as_str(), id.as_str()], |row| row.get(0)).optional()?;
    key.ok_or_else(|| Failure::NoConversation(id.clone()))
}

/// Returns what lists say of a conversation.
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
