//! A store in memory, and the shortest implementation of a store: maps in a mutex.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use async_trait::async_trait;
use serde_json::{Map, Value};

use super::{
    BLOB_GRACE, ConversationId, ConversationPage, ConversationRecord, ConversationStore, ConversationSummary,
    HeadMove, Owner,
};
use crate::media::Digest;
use crate::query::{Query, SearchScope};
use crate::search::{SearchCandidate, SearchPage, SearchText};
use crate::tree::{Node, NodeId, Tree};
use crate::{Error, ErrorKind, Result};

/// Keeps conversations in memory, until the process ends.
///
/// ```
/// use alloquy_core::{Message, Node, Owner, Preface};
/// use alloquy_core::store::{ConversationRecord, ConversationStore, MemoryStore};
///
/// # pollster::block_on(async {
/// let (store, owner) = (MemoryStore::default(), Owner::local());
/// let record = ConversationRecord::new("tea".parse()?, Preface::default());
/// store.create(&owner, &record).await?;
/// let node = Node::new(None, Message::user("Hello"));
/// store.append(&owner, &record.id, &[node.clone()]).await?;
/// store.set_head(&owner, &record.id, None, Some(node.id)).await?;
/// assert_eq!(store.load_path(&owner, &record.id, node.id).await?, [node]);
/// # Ok::<(), alloquy_core::Error>(())
/// # })?;
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct MemoryStore {
    owners: Mutex<HashMap<Owner, Owned>>,
}

/// The data of one owner.
#[derive(Debug, Default)]
struct Owned {
    conversations: BTreeMap<ConversationId, Entry>,
    blobs: HashMap<Digest, (Arc<[u8]>, Instant)>,
}

#[derive(Clone, Debug)]
struct Entry {
    record: ConversationRecord,
    tree: Tree,
    updated: SystemTime,
}

impl Entry {
    fn summary(&self) -> ConversationSummary {
        let record = self.record.clone();
        ConversationSummary { record, nodes: self.tree.len(), updated: self.updated }
    }

    fn append(&mut self, nodes: &[Node]) -> Result<()> {
        self.tree.insert_all(nodes)?;
        let last = nodes.iter().map(|node| node.id.created()).max();
        self.updated = last.map_or(self.updated, |last| last.max(self.updated));
        Ok(())
    }

    fn matches(&self, query: &Query) -> bool {
        query.matches(&self.summary()) && query.search_text().is_none_or(|text| self.contains(text))
    }

    fn contains(&self, text: &SearchText) -> bool {
        self.tree.nodes().any(|node| text.matches(node))
    }

    fn media(&self) -> impl Iterator<Item = Digest> {
        self.record.media().into_iter().chain(self.tree.nodes().flat_map(Node::media))
    }
}

impl Owned {
    fn entry(&mut self, id: &ConversationId) -> Result<&mut Entry> {
        self.conversations.get_mut(id).ok_or_else(|| missing(id))
    }

    fn matching(&self, query: &Query) -> Vec<ConversationSummary> {
        let entries = self.conversations.values().filter(|entry| entry.matches(query));
        entries.map(Entry::summary).collect()
    }

    /// Returns the matching nodes, the newest first; their ids are their marks.
    fn candidates(&self, query: &Query, scope: &SearchScope<'_>) -> Result<Vec<SearchCandidate>> {
        let until: Option<NodeId> = scope.until.map(str::parse).transpose()?;
        let mut found = Vec::new();
        for entry in self.conversations.values().filter(|entry| query.matches(&entry.summary())) {
            let nodes = entry.tree.nodes().filter(|node| until.is_none_or(|until| node.id <= until));
            found.extend(nodes.filter(|node| scope.text.matches(node)).map(|node| (node, &entry.record.id)));
        }
        found.sort_by(|left, right| right.0.id.cmp(&left.0.id).then_with(|| left.1.cmp(right.1)));
        let newest = found.into_iter().take(scope.at_most);
        Ok(newest.map(|(node, id)| scope.candidate(id, node, node.id.to_string())).collect())
    }

    fn collect(&mut self, grace: Duration) -> usize {
        let used: BTreeSet<_> = self.conversations.values().flat_map(Entry::media).collect();
        let before = self.blobs.len();
        self.blobs.retain(|digest, (_, put)| used.contains(digest) || put.elapsed() < grace);
        before - self.blobs.len()
    }
}

impl MemoryStore {
    /// Creates a store with one conversation.
    pub(crate) fn holding(owner: Owner, record: ConversationRecord) -> Self {
        let id = record.id.clone();
        let entry = Entry { updated: record.created, record, tree: Tree::default() };
        let mut owned = Owned::default();
        owned.conversations.insert(id, entry);
        Self { owners: Mutex::new(HashMap::from([(owner, owned)])) }
    }

    /// Every change below is one call that cannot panic midway, so the maps are valid after a panic elsewhere.
    fn owners(&self) -> MutexGuard<'_, HashMap<Owner, Owned>> {
        self.owners.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn of<T>(&self, owner: &Owner, call: impl FnOnce(&mut Owned) -> T) -> T {
        call(self.owners().entry(owner.clone()).or_default())
    }
}

fn missing(id: &ConversationId) -> Error {
    Error::new(ErrorKind::NotFound, format!("conversation {:?} does not exist", id.as_str()))
}

fn conflict(message: String) -> Error {
    Error::new(ErrorKind::Conflict, message)
}

#[async_trait]
impl ConversationStore for MemoryStore {
    async fn create(&self, owner: &Owner, record: &ConversationRecord) -> Result<()> {
        record.must_be_new(owner)?;
        self.of(owner, |owned| {
            if owned.conversations.contains_key(&record.id) {
                return Err(conflict(format!("conversation {:?} exists already", record.id.as_str())));
            }
            let (record, tree, updated) = (record.clone(), Tree::default(), record.created);
            owned.conversations.insert(record.id.clone(), Entry { record, tree, updated });
            Ok(())
        })
    }

    async fn append(&self, owner: &Owner, id: &ConversationId, nodes: &[Node]) -> Result<()> {
        self.of(owner, |owned| owned.entry(id)?.append(nodes))
    }

    async fn set_head(
        &self,
        owner: &Owner,
        id: &ConversationId,
        from: Option<NodeId>,
        to: Option<NodeId>,
    ) -> Result<()> {
        self.of(owner, |owned| {
            let entry = owned.entry(id)?;
            if let Some(node) = to {
                entry.tree.node(node)?;
            }
            if entry.record.head != from {
                return Err(conflict(format!("the head of conversation {:?} has moved", id.as_str())));
            }
            entry.record.head = to;
            Ok(())
        })
    }

    async fn append_and_move(
        &self,
        owner: &Owner,
        id: &ConversationId,
        nodes: &[Node],
        from: Option<NodeId>,
        to: Option<NodeId>,
    ) -> Result<HeadMove> {
        self.of(owner, |owned| {
            let entry = owned.entry(id)?;
            if let Some(node) = to.filter(|&to| nodes.iter().all(|node| node.id != to)) {
                entry.tree.node(node)?;
            }
            entry.append(nodes)?;
            let moved = HeadMove::of(entry.record.head, from, to);
            if moved == HeadMove::Moved {
                entry.record.head = to;
            }
            Ok(moved)
        })
    }

    async fn update_metadata(
        &self,
        owner: &Owner,
        id: &ConversationId,
        revision: u64,
        metadata: &Map<String, Value>,
    ) -> Result<u64> {
        self.of(owner, |owned| {
            let record = &mut owned.entry(id)?.record;
            if record.revision != revision {
                return Err(conflict(format!("the metadata of conversation {:?} has changed", id.as_str())));
            }
            record.metadata = metadata.clone();
            record.revision += 1;
            Ok(record.revision)
        })
    }

    async fn prune(&self, owner: &Owner, id: &ConversationId, node: NodeId) -> Result<()> {
        self.of(owner, |owned| {
            let entry = owned.entry(id)?;
            entry.tree.can_prune(node, entry.record.head)?;
            entry.tree.prune(node)
        })
    }

    async fn compact(&self, owner: &Owner, id: &ConversationId) -> Result<()> {
        self.of(owner, |owned| {
            owned.entry(id)?;
            owned.collect(BLOB_GRACE);
            Ok(())
        })
    }

    async fn summary(&self, owner: &Owner, id: &ConversationId) -> Result<ConversationSummary> {
        self.of(owner, |owned| Ok(owned.entry(id)?.summary()))
    }

    async fn load(&self, owner: &Owner, id: &ConversationId) -> Result<(ConversationRecord, Tree)> {
        let found = self.of(owner, |owned| owned.entry(id).cloned())?;
        Ok((found.record, found.tree))
    }

    async fn load_path(&self, owner: &Owner, id: &ConversationId, node: NodeId) -> Result<Vec<Node>> {
        self.of(owner, |owned| Ok(owned.entry(id)?.tree.path(Some(node))?.into_iter().cloned().collect()))
    }

    async fn load_node(&self, owner: &Owner, id: &ConversationId, node: NodeId) -> Result<Node> {
        self.of(owner, |owned| owned.entry(id)?.tree.node(node).cloned())
    }

    async fn list(&self, owner: &Owner, query: &Query) -> Result<ConversationPage> {
        query.page(self.of(owner, |owned| owned.matching(query)))
    }

    async fn count(&self, owner: &Owner, query: &Query) -> Result<usize> {
        Ok(self.of(owner, |owned| owned.matching(query)).len())
    }

    async fn search(&self, owner: &Owner, query: &Query) -> Result<SearchPage> {
        let scope = query.search_scope()?;
        Ok(scope.page(self.of(owner, |owned| owned.candidates(query, &scope))?))
    }

    async fn delete(&self, owner: &Owner, id: &ConversationId) -> Result<()> {
        self.of(owner, |owned| {
            owned.conversations.remove(id).ok_or_else(|| missing(id))?;
            owned.collect(BLOB_GRACE);
            Ok(())
        })
    }

    async fn delete_matching(&self, owner: &Owner, query: &Query) -> Result<Vec<ConversationId>> {
        query.must_be_filtered()?;
        self.of(owner, |owned| {
            let page = query.page(owned.matching(query))?;
            let ids: Vec<_> = page.conversations.into_iter().map(|summary| summary.record.id).collect();
            owned.conversations.retain(|id, _| !ids.contains(id));
            owned.collect(BLOB_GRACE);
            Ok(ids)
        })
    }

    async fn put_blob(&self, owner: &Owner, bytes: &Arc<[u8]>) -> Result<Digest> {
        let digest = Digest::of(bytes);
        self.of(owner, |owned| owned.blobs.insert(digest, (Arc::clone(bytes), Instant::now())));
        Ok(digest)
    }

    async fn get_blob(&self, owner: &Owner, digest: Digest) -> Result<Option<Arc<[u8]>>> {
        Ok(self.of(owner, |owned| owned.blobs.get(&digest).map(|(bytes, _)| Arc::clone(bytes))))
    }

    async fn collect_blobs(&self, owner: &Owner, grace: Duration) -> Result<usize> {
        Ok(self.of(owner, |owned| owned.collect(grace)))
    }
}
