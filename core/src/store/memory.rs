//! The contract of a store in its shortest form: maps behind a lock.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;

use super::{ConversationId, ConversationRecord, ConversationStore, ConversationSummary, Query};
use crate::media::Digest;
use crate::tree::{Node, NodeId, Tree};
use crate::{Error, ErrorKind, Result};

/// Keeps conversations in memory; they end with the process.
///
/// ```
/// use alloquy_core::{ConversationRecord, ConversationStore, MemoryStore, Message, Node, Preface};
///
/// # pollster::block_on(async {
/// let store = MemoryStore::default();
/// let record = ConversationRecord::new("tea".parse()?, Preface::default());
/// store.create(&record).await?;
/// let node = Node::new(None, Message::user("Hello"));
/// store.append(&record.id, &[node.clone()]).await?;
/// store.set_head(&record.id, None, Some(node.id)).await?;
/// assert_eq!(store.load_path(&record.id, node.id).await?, [node]);
/// # Ok::<(), alloquy_core::Error>(())
/// # })?;
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct MemoryStore {
    conversations: Mutex<HashMap<ConversationId, Entry>>,
    blobs: Mutex<HashMap<Digest, Arc<[u8]>>>,
}

#[derive(Clone, Debug)]
struct Entry {
    record: ConversationRecord,
    tree: Tree,
}

impl MemoryStore {
    fn conversations(&self) -> MutexGuard<'_, HashMap<ConversationId, Entry>> {
        lock(&self.conversations)
    }
}

/// Every change below is one call that cannot panic half-way, so a panic elsewhere leaves the maps whole.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn missing(id: &ConversationId) -> Error {
    Error::new(ErrorKind::NotFound, format!("conversation {:?} does not exist", id.as_str()))
}

fn entry<'a>(entries: &'a mut HashMap<ConversationId, Entry>, id: &ConversationId) -> Result<&'a mut Entry> {
    entries.get_mut(id).ok_or_else(|| missing(id))
}

fn summary(entry: &Entry) -> ConversationSummary {
    let last = entry.tree.walk().map(|(_, node)| node.id).max();
    ConversationSummary {
        record: entry.record.clone(),
        nodes: entry.tree.len(),
        updated: last.map_or(entry.record.created, |last| last.created().max(entry.record.created)),
    }
}

#[async_trait]
impl ConversationStore for MemoryStore {
    async fn create(&self, record: &ConversationRecord) -> Result<()> {
        let mut entries = self.conversations();
        if record.head.is_some() {
            let message = format!("new conversation {:?} has a head but no nodes", record.id.as_str());
            return Err(Error::new(ErrorKind::Invalid, message));
        }
        if entries.contains_key(&record.id) {
            let message = format!("conversation {:?} exists already", record.id.as_str());
            return Err(Error::new(ErrorKind::Conflict, message));
        }
        entries.insert(record.id.clone(), Entry { record: record.clone(), tree: Tree::default() });
        Ok(())
    }

    async fn append(&self, id: &ConversationId, nodes: &[Node]) -> Result<()> {
        let mut entries = self.conversations();
        entry(&mut entries, id)?.tree.insert_all(nodes)
    }

    async fn set_head(&self, id: &ConversationId, from: Option<NodeId>, to: Option<NodeId>) -> Result<()> {
        let mut entries = self.conversations();
        let entry = entry(&mut entries, id)?;
        if let Some(node) = to {
            entry.tree.node(node)?;
        }
        if entry.record.head != from {
            let message = format!("the head of conversation {:?} has moved", id.as_str());
            return Err(Error::new(ErrorKind::Conflict, message));
        }
        entry.record.head = to;
        Ok(())
    }

    async fn record(&self, id: &ConversationId) -> Result<ConversationRecord> {
        Ok(entry(&mut self.conversations(), id)?.record.clone())
    }

    async fn load(&self, id: &ConversationId) -> Result<(ConversationRecord, Tree)> {
        let found = entry(&mut self.conversations(), id)?.clone();
        Ok((found.record, found.tree))
    }

    async fn load_path(&self, id: &ConversationId, node: NodeId) -> Result<Vec<Node>> {
        let mut entries = self.conversations();
        let path = entry(&mut entries, id)?.tree.path(Some(node))?;
        Ok(path.into_iter().cloned().collect())
    }

    async fn list(&self, query: &Query) -> Result<Vec<ConversationSummary>> {
        let mut all: Vec<_> = self.conversations().values().map(summary).collect();
        all.sort_by(|left, right| {
            right.updated.cmp(&left.updated).then_with(|| left.record.id.cmp(&right.record.id))
        });
        Ok(all.into_iter().skip(query.offset).take(query.limit.unwrap_or(usize::MAX)).collect())
    }

    async fn count(&self) -> Result<usize> {
        Ok(self.conversations().len())
    }

    async fn delete(&self, id: &ConversationId) -> Result<()> {
        self.conversations().remove(id).map(drop).ok_or_else(|| missing(id))
    }

    async fn put_blob(&self, bytes: &Arc<[u8]>) -> Result<Digest> {
        let digest = Digest::of(bytes);
        lock(&self.blobs).insert(digest, Arc::clone(bytes));
        Ok(digest)
    }

    async fn get_blob(&self, digest: Digest) -> Result<Option<Arc<[u8]>>> {
        Ok(lock(&self.blobs).get(&digest).cloned())
    }
}
