//! The SQL of blobs, and of the nodes that use them. The caller begins and ends the transaction.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use alloquy_core::Owner;
use alloquy_core::media::Digest;
use rusqlite::{OptionalExtension, Transaction, params};

use super::keys;
use crate::failure::Failure;
use crate::stored::milliseconds;

pub(super) fn put(transaction: &Transaction<'_>, owner: &Owner, bytes: &[u8]) -> Result<Digest, Failure> {
    let digest = Digest::of(bytes);
    let owner = keys::known_owner(transaction, owner)?;
    // Other bytes under the same digest are damaged, and are replaced.
    let sql = "INSERT INTO blobs (owner, digest, put, bytes) VALUES (?1, ?2, ?3, ?4)
        ON CONFLICT (owner, digest) DO UPDATE SET bytes = excluded.bytes WHERE bytes <> excluded.bytes";
    let now = milliseconds(SystemTime::now());
    transaction.prepare_cached(sql)?.execute(params![owner, digest.to_string(), now, bytes])?;
    let sql = "UPDATE blobs SET put = ?3 WHERE owner = ?1 AND digest = ?2 AND put <> ?3";
    transaction.prepare_cached(sql)?.execute(params![owner, digest.to_string(), now])?;
    Ok(digest)
}

pub(super) fn get(
    transaction: &Transaction<'_>,
    owner: &Owner,
    digest: Digest,
) -> Result<Option<Arc<[u8]>>, Failure> {
    let owner = keys::owner(transaction, owner)?;
    let sql = "SELECT bytes FROM blobs WHERE owner = ?1 AND digest = ?2";
    let mut statement = transaction.prepare_cached(sql)?;
    let row = params![owner, digest.to_string()];
    let bytes: Option<Vec<u8>> = statement.query_row(row, |row| row.get(0)).optional()?;
    match bytes {
        Some(bytes) if Digest::of(&bytes) != digest => {
            Err(Failure::damaged(format!("blob {digest}"), "its bytes have another digest"))
        }
        bytes => Ok(bytes.map(Arc::from)),
    }
}

/// Counts one more use of each of these media, by a node or a preface.
pub(super) fn refer(
    transaction: &Transaction<'_>,
    conversation: i64,
    media: impl IntoIterator<Item = Digest>,
) -> Result<(), Failure> {
    let sql = "INSERT INTO uses (conversation, digest, times) VALUES (?1, ?2, 1)
        ON CONFLICT (conversation, digest) DO UPDATE SET times = times + 1";
    for digest in media.into_iter().collect::<BTreeSet<_>>() {
        transaction.prepare_cached(sql)?.execute(params![conversation, digest.to_string()])?;
    }
    Ok(())
}

/// Counts one use less of each of these media, after a node is removed.
pub(super) fn release(
    transaction: &Transaction<'_>,
    conversation: i64,
    media: impl IntoIterator<Item = Digest>,
) -> Result<(), Failure> {
    let sql = "UPDATE uses SET times = times - 1 WHERE conversation = ?1 AND digest = ?2";
    for digest in media.into_iter().collect::<BTreeSet<_>>() {
        transaction.prepare_cached(sql)?.execute(params![conversation, digest.to_string()])?;
    }
    let sql = "DELETE FROM uses WHERE conversation = ?1 AND times <= 0";
    transaction.prepare_cached(sql)?.execute([conversation])?;
    Ok(())
}

/// Removes blobs that are unused and were put at least `grace` ago, and returns how many.
pub(super) fn collect(
    transaction: &Transaction<'_>,
    owner: &Owner,
    grace: Duration,
) -> Result<usize, Failure> {
    let owner = keys::owner(transaction, owner)?;
    let grace = i64::try_from(grace.as_millis()).unwrap_or(i64::MAX);
    let before = milliseconds(SystemTime::now()).saturating_sub(grace);
    let sql = "DELETE FROM blobs WHERE owner = ?1 AND put <= ?2 AND NOT EXISTS (
        SELECT 1 FROM uses u JOIN conversations c ON c.key = u.conversation
        WHERE u.digest = blobs.digest AND c.owner = ?1)";
    Ok(transaction.prepare_cached(sql)?.execute(params![owner, before])?)
}
