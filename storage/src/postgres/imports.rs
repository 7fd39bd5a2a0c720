//! Imports whole conversations, many in one transaction. The caller begins and ends the transaction.

use alloquy_core::Owner;
use alloquy_core::store::Archive;
use deadpool_postgres::Transaction;

use super::{blobs, conversations, nodes};
use crate::failure::Failure;

/// Imports conversations, each whole or not at all. An error of the server fails the call, and then none is imported.
pub(super) async fn all(
    transaction: &Transaction<'_>,
    owner: &Owner,
    archives: &[Archive],
) -> Result<Vec<Result<(), Failure>>, Failure> {
    let mut outcomes = Vec::with_capacity(archives.len());
    for archive in archives {
        transaction.batch_execute("SAVEPOINT conversation").await?;
        let outcome = one(transaction, owner, archive).await;
        if let Err(Failure::Postgres(error)) = outcome {
            return Err(error.into());
        }
        let after = match &outcome {
            Ok(()) => "RELEASE conversation",
            Err(_) => "ROLLBACK TO conversation; RELEASE conversation",
        };
        transaction.batch_execute(after).await?;
        outcomes.push(outcome);
    }
    Ok(outcomes)
}

async fn one(transaction: &Transaction<'_>, owner: &Owner, archive: &Archive) -> Result<(), Failure> {
    archive.must_be_whole()?;
    for bytes in archive.blobs.values() {
        blobs::put(transaction, owner, bytes).await?;
    }
    let id = &archive.record.id;
    let head = archive.record.head;
    match conversations::create(transaction, owner, &archive.new_record()).await {
        Err(Failure::Exists(id)) => {
            let (record, tree) = nodes::load(transaction, owner, &id).await?;
            if !archive.is_begun(&record, &tree)? {
                return Err(Failure::Exists(id));
            }
        }
        created => created?,
    }
    nodes::append(transaction, owner, id, &archive.nodes).await?;
    if head.is_some() { conversations::set_head(transaction, owner, id, None, head).await } else { Ok(()) }
}
