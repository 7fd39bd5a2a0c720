//! Whole conversations into a store and out of it. Knows the contract of stores; no format.

use std::collections::{BTreeMap, BTreeSet};

use super::{Archive, ConversationId, ConversationStore, HeadMove, Owner};
use crate::media::Digest;
use crate::tree::{Node, NodeId};
use crate::{Error, ErrorKind, Media, Result};

/// Brings a conversation in, whole or not at all.
pub(super) async fn import<S: ConversationStore + ?Sized>(
    store: &S,
    owner: &Owner,
    archive: &Archive,
) -> Result<()> {
    archive.must_be_whole()?;
    let record = archive.new_record();
    for bytes in archive.blobs.values() {
        store.put_blob(owner, bytes).await?;
    }
    let began = match store.create(owner, &record).await {
        Ok(()) => Began::Now,
        Err(error) if error.is_conflict() => match is_begun(store, owner, archive).await? {
            true => Began::Before,
            false => return Err(error),
        },
        Err(error) => return Err(error),
    };
    let filled = fill(store, owner, archive).await;
    if let (Err(_), Began::Now) = (&filled, began) {
        // Half a conversation is none. Should deleting fail too, the first error is the one to tell, and importing again
        // finishes what was begun.
        let _ = store.delete(owner, &record.id).await;
    }
    filled
}

/// Whether this import made the conversation, or one before that was killed.
enum Began {
    Now,
    Before,
}

/// Says whether what is there is the beginning of this very import.
async fn is_begun<S: ConversationStore + ?Sized>(
    store: &S,
    owner: &Owner,
    archive: &Archive,
) -> Result<bool> {
    let (record, tree) = store.load(owner, &archive.record.id).await?;
    archive.is_begun(&record, &tree)
}

async fn fill<S: ConversationStore + ?Sized>(store: &S, owner: &Owner, archive: &Archive) -> Result<()> {
    fill_with(store, owner, &archive.record.id, &archive.nodes, archive.record.head).await
}

/// Gives a new conversation its nodes and its head in one step, so that a kill leaves both or neither.
///
/// # Errors
/// [`ErrorKind::Conflict`] where somebody else has moved its head meanwhile.
pub(crate) async fn fill_with<S: ConversationStore + ?Sized>(
    store: &S,
    owner: &Owner,
    id: &ConversationId,
    nodes: &[Node],
    head: Option<NodeId>,
) -> Result<()> {
    match store.append_and_move(owner, id, nodes, None, head).await? {
        HeadMove::Moved => Ok(()),
        HeadMove::Branched { .. } => {
            let message = format!("the head of conversation {:?} has moved", id.as_str());
            Err(Error::new(ErrorKind::Conflict, message))
        }
    }
}

/// Brings conversations in, one after the other: what [`ConversationStore::import_all`] does unless a store knows better. A
/// store around another one calls it to import through its own methods.
pub async fn import_each<S: ConversationStore + ?Sized>(
    store: &S,
    owner: &Owner,
    archives: &[Archive],
) -> Vec<Result<()>> {
    let mut outcomes = Vec::with_capacity(archives.len());
    for archive in archives {
        outcomes.push(import(store, owner, archive).await);
    }
    outcomes
}

/// Takes a copy of a conversation out.
pub(super) async fn export<S: ConversationStore + ?Sized>(
    store: &S,
    owner: &Owner,
    id: &ConversationId,
) -> Result<Archive> {
    let (record, tree) = store.load(owner, id).await?;
    let nodes: Vec<Node> = tree.walk().map(|(_, node)| node.clone()).collect();
    let mut archive = Archive::new(record, nodes)?;
    let shown: BTreeSet<Digest> = archive.media().map(Media::digest).collect();
    archive.blobs = BTreeMap::new();
    for digest in shown {
        let missing = || Error::new(ErrorKind::NotFound, format!("no bytes are stored for media {digest}"));
        let bytes = store.get_blob(owner, digest).await?.ok_or_else(missing)?;
        archive.blobs.insert(digest, bytes);
    }
    Ok(archive)
}
