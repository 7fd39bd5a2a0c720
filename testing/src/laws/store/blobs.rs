//! Blobs: kept by digest, for as long as a node or a preface refers to them.

use std::sync::Arc;
use std::time::Duration;

use alloquy_core::media::Digest;
use alloquy_core::store::{BLOB_GRACE, ConversationRecord, ConversationStore, ConversationStoreExt};
use alloquy_core::{Media, Node, Preface};

use super::conversations::created;
use super::outcomes::{me, must, name, text};
use super::samples::showing;

/// Blobs are kept by digest, each once, whatever their bytes. A digest that was never stored has no blob.
pub async fn blobs_are_kept_by_digest(store: &dyn ConversationStore) {
    let nothing = must("get_blob", store.get_blob(&me(), Digest::of(b"never stored")).await);
    assert!(nothing.is_none(), "a blob that was never stored is none");
    let zeros = vec![0; 100_000];
    let every: Vec<u8> = (0..=255).collect();
    for bytes in [&b""[..], b"\n", &every, &zeros] {
        let bytes: Arc<[u8]> = bytes.into();
        for _ in 0..2 {
            let digest = must("put_blob", store.put_blob(&me(), &bytes).await);
            assert_eq!(digest, Digest::of(&bytes), "a blob is stored under the digest of its bytes");
        }
        let read = must("get_blob", store.get_blob(&me(), Digest::of(&bytes)).await);
        assert_eq!(read.as_ref(), Some(&bytes), "a blob is read as it was stored");
    }
    let media = Media::new("image/png", every);
    must("put_media", store.put_media(&me(), &media).await);
    let bare: Media = must("media", serde_json::from_str(&text(&media)));
    let restored = must("get_media", store.get_media(&me(), &bare).await);
    assert_eq!(restored.bytes(), media.bytes(), "media come back with their bytes");
}

/// A blob stays while a node or a preface refers to it, and is collected after the last reference is gone.
pub async fn a_blob_goes_with_its_last_reference(store: &dyn ConversationStore) {
    let (shown, before): (Arc<[u8]>, Arc<[u8]>) = (b"shown"[..].into(), b"before"[..].into());
    let digests =
        [must("put", store.put_blob(&me(), &shown).await), must("put", store.put_blob(&me(), &before).await)];
    let one = created(store, "one").await;
    let two = created(store, "two").await;
    for id in [&one, &two] {
        let nodes = [Node::new(None, showing(&shown)), Node::new(None, showing(&shown))];
        must("append", store.append(&me(), id, &nodes).await);
    }
    let preface = Preface::default().message(showing(&before));
    let three = ConversationRecord::new(name("three"), preface);
    must("create", store.create(&me(), &three).await);
    collects(store, 0, "what nodes and prefaces refer to stays").await;
    must("delete", store.delete(&me(), &one).await);
    collects(store, 0, "a blob stays while another conversation refers to it").await;
    must("delete", store.delete(&me(), &two).await);
    collects(store, 1, "a blob goes with its last reference").await;
    must("delete", store.delete(&me(), &three.id).await);
    collects(store, 1, "that of a preface too").await;
    for digest in digests {
        let read = must("get_blob", store.get_blob(&me(), digest).await);
        assert_eq!(read, None, "a blob that went is none");
    }
    pruned_references(store, &shown).await;
}

/// A pruned node no longer refers to its blobs once the conversation is compacted.
async fn pruned_references(store: &dyn ConversationStore, bytes: &Arc<[u8]>) {
    let id = created(store, "pruned").await;
    let node = Node::new(None, showing(bytes));
    must("put_blob", store.put_blob(&me(), bytes).await);
    must("append", store.append(&me(), &id, std::slice::from_ref(&node)).await);
    collects(store, 0, "a node refers to its blobs").await;
    must("prune", store.prune(&me(), &id, node.id).await);
    must("compact", store.compact(&me(), &id).await);
    collects(store, 1, "what was pruned and compacted refers to nothing").await;
}

async fn collects(store: &dyn ConversationStore, count: usize, law: &str) {
    let collected = must("collect_blobs", store.collect_blobs(&me(), Duration::ZERO).await);
    assert_eq!(collected, count, "{law}");
}

/// A new blob stays until its node is appended, even if the other nodes with it are deleted before.
pub async fn a_blob_that_was_put_waits_for_its_node(store: &dyn ConversationStore) {
    let bytes: Arc<[u8]> = b"in time"[..].into();
    let old = created(store, "old").await;
    let new = created(store, "new").await;
    must("put_blob", store.put_blob(&me(), &bytes).await);
    must("append", store.append(&me(), &old, &[Node::new(None, showing(&bytes))]).await);
    let digest = must("put again", store.put_blob(&me(), &bytes).await);
    must("delete the only reference", store.delete(&me(), &old).await);
    let collected = must("collect_blobs", store.collect_blobs(&me(), BLOB_GRACE).await);
    assert_eq!(collected, 0, "what was put just now is not collected");
    must("append", store.append(&me(), &new, &[Node::new(None, showing(&bytes))]).await);
    let read = must("get_blob", store.get_blob(&me(), digest).await);
    assert_eq!(read, Some(bytes), "a blob that was put waits for its node");
}
