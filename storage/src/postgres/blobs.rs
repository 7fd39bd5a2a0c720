//! The SQL of blobs, and of the nodes that use them. The caller begins and ends the transaction.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use alloquy_core::Owner;
use alloquy_core::media::Digest;
use deadpool_postgres::Transaction;

use crate::failure::Failure;
use crate::stored::milliseconds;

pub(super) async fn put(
    transaction: &Transaction<'_>,
    owner: &Owner,
    bytes: &[u8],
) -> Result<Digest, Failure> {
    let digest = Digest::of(bytes);
    // Other bytes under the same digest are damaged, and are replaced.
    let sql = "INSERT INTO blobs (owner, digest, put, bytes) VALUES ($1, $2, $3, $4)
        ON CONFLICT (owner, digest) DO UPDATE SET put = greatest(blobs.put, excluded.put), bytes = excluded.bytes";
    let statement = transaction.prepare_cached(sql).await?;
    let now = milliseconds(SystemTime::now());
    transaction.execute(&statement, &[&owner.as_str(), &digest.to_string(), &now, &bytes]).await?;
    Ok(digest)
}

pub(super) async fn get(
    transaction: &Transaction<'_>,
    owner: &Owner,
    digest: Digest,
) -> Result<Option<Arc<[u8]>>, Failure> {
    let statement =
        transaction.prepare_cached("SELECT bytes FROM blobs WHERE owner = $1 AND digest = $2").await?;
    let row = transaction.query_opt(&statement, &[&owner.as_str(), &digest.to_string()]).await?;
    match row.map(|row| row.try_get::<_, Vec<u8>>(0)).transpose()? {
        Some(bytes) if Digest::of(&bytes) != digest => {
            Err(Failure::damaged(format!("blob {digest}"), "its bytes have another digest"))
        }
        bytes => Ok(bytes.map(Arc::from)),
    }
}

/// Counts uses of media by nodes or a preface. A digest that occurs twice counts twice.
pub(super) async fn refer(
    transaction: &Transaction<'_>,
    owner: &Owner,
    conversation: i64,
    media: impl IntoIterator<Item = Digest>,
) -> Result<(), Failure> {
    let (digests, times) = counted(media);
    if digests.is_empty() {
        return Ok(());
    }
    let sql = "INSERT INTO uses (conversation, owner, digest, times)
        SELECT $1, $2, * FROM unnest($3::text[], $4::bigint[])
        ON CONFLICT (conversation, digest) DO UPDATE SET times = uses.times + excluded.times";
    let statement = transaction.prepare_cached(sql).await?;
    transaction.execute(&statement, &[&conversation, &owner.as_str(), &digests, &times]).await?;
    Ok(())
}

/// Subtracts uses of media by nodes that are removed.
pub(super) async fn release(
    transaction: &Transaction<'_>,
    conversation: i64,
    media: impl IntoIterator<Item = Digest>,
) -> Result<(), Failure> {
    let (digests, times) = counted(media);
    let sql = "UPDATE uses SET times = uses.times - gone.times
        FROM unnest($2::text[], $3::bigint[]) AS gone (digest, times)
        WHERE uses.conversation = $1 AND uses.digest = gone.digest";
    let statement = transaction.prepare_cached(sql).await?;
    transaction.execute(&statement, &[&conversation, &digests, &times]).await?;
    let sql = "DELETE FROM uses WHERE conversation = $1 AND times <= 0";
    let statement = transaction.prepare_cached(sql).await?;
    transaction.execute(&statement, &[&conversation]).await?;
    Ok(())
}

fn counted(media: impl IntoIterator<Item = Digest>) -> (Vec<String>, Vec<i64>) {
    let mut times = BTreeMap::new();
    for digest in media {
        *times.entry(digest.to_string()).or_insert(0) += 1;
    }
    times.into_iter().unzip()
}

/// Removes blobs that are unused and were put at least `grace` ago, and returns how many.
pub(super) async fn collect(
    transaction: &Transaction<'_>,
    owner: &Owner,
    grace: Duration,
) -> Result<usize, Failure> {
    let grace = i64::try_from(grace.as_millis()).unwrap_or(i64::MAX);
    let before = milliseconds(SystemTime::now()).saturating_sub(grace);
    let sql = "DELETE FROM blobs WHERE owner = $1 AND put <= $2 AND NOT EXISTS (
        SELECT 1 FROM uses u WHERE u.owner = $1 AND u.digest = blobs.digest)";
    let statement = transaction.prepare_cached(sql).await?;
    let removed = transaction.execute(&statement, &[&owner.as_str(), &before]).await?;
    usize::try_from(removed).map_err(|error| Failure::damaged("the count of blobs", error))
}
