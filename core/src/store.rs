//! Stores of conversations: append-only nodes, a head that moves by compare-and-set, blobs, and queries.

mod archive;
mod deletion;
mod extension;
mod guarded;
mod head;
mod memory;
mod name;
mod record;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Map, Value};

use crate::media::Digest;
use crate::query::Query;
use crate::search::SearchPage;
use crate::tree::{Node, NodeId, Tree};
use crate::{Error, ErrorKind, Result};

pub use archive::Archive;
pub use deletion::PartialDeletion;
pub use extension::ConversationStoreExt;
pub(crate) use extension::try_change_metadata;
pub(crate) use guarded::Guarded;
pub use head::HeadMove;
pub use memory::MemoryStore;
pub(crate) use name::must_be_a_name;
pub use name::{ConversationId, Owner};
pub(crate) use record::milliseconds;
pub use record::{ConversationPage, ConversationRecord, ConversationSummary, DamagedConversation};

/// How long an unreferenced blob is kept after it was last stored: longer than any turn takes from storing an image to
/// storing the message with it.
///
/// ```
/// use alloquy_core::store::{BLOB_GRACE, ConversationStore, ConversationStoreExt, MemoryStore};
/// use alloquy_core::{Media, Owner};
/// use std::time::Duration;
///
/// # pollster::block_on(async {
/// let store = MemoryStore::default();
/// let owner = Owner::local();
/// store.put_media(&owner, &Media::new("image/png", vec![1, 2, 3])).await?;
/// assert_eq!(store.collect_blobs(&owner, BLOB_GRACE).await?, 0);
/// assert_eq!(store.collect_blobs(&owner, Duration::ZERO).await?, 1);
/// # Ok::<(), alloquy_core::Error>(())
/// # })?;
/// # Ok::<(), alloquy_core::Error>(())
/// ```
pub const BLOB_GRACE: Duration = Duration::from_secs(3600);

/// Stores conversations.
///
/// # Contract
/// These methods are the minimum of an implementation; [`ConversationStoreExt`] adds convenience methods.
///
/// * **Nothing acknowledged is lost**: after a call has returned `Ok`, a new process sees what it wrote.
/// * **All or nothing**: a call that returns an error has changed nothing. A call whose future is dropped has changed
///   nothing or everything. For [`delete_matching`](Self::delete_matching) this holds for each conversation. If the
///   disk or the server fails for good midway, the error may belong to a call that changed everything.
/// * **Owners are separate**: every call names an [`Owner`], and sees, changes and counts only the data of that owner.
///   Two owners may use the same conversation id and store the same bytes. An owner need not be registered.
/// * **Append-only**: a node never changes. Appending the same node again is `Ok` and changes nothing; the same id
///   with other content is [`ErrorKind::Conflict`].
/// * **Compare and set**: if several writers move the head from the same place, one succeeds and the others get
///   [`ErrorKind::Conflict`]. The revision of the metadata works the same way.
/// * **Pruned nodes are hidden**: pruning appends a tombstone, which hides a node and everything below it from every
///   call. Appending below it is [`ErrorKind::NotFound`], and appending the pruned node again is
///   [`ErrorKind::Conflict`].
/// * **Bytes written** for a turn do not grow with the tree.
/// * **One query, one meaning**: list, count, search and delete select the same conversations. Pages are stable: a
///   conversation that is added meanwhile moves none from one page to another. See [`Sort`](crate::query::Sort) for
///   conversations that change meanwhile.
/// * **Blobs**: media bytes are stored once per owner, by digest, and not in messages. Store the blobs before the node
///   that needs them. An unreferenced blob is removed once [`BLOB_GRACE`] has passed since it was last stored: by the
///   next [`delete`](Self::delete), [`delete_matching`](Self::delete_matching) or [`compact`](Self::compact), or when
///   it is [collected](Self::collect_blobs). So stored bytes cannot vanish before their node is appended, whatever is
///   deleted meanwhile.
///
/// A missing conversation is [`ErrorKind::NotFound`]. Failing disks and servers are [`ErrorKind::Store`], and a
/// resource that another process holds for too long is [`ErrorKind::Busy`]. Damaged data is [`ErrorKind::Corrupt`] for
/// that conversation only; a call for many conversations reports it beside its result. `laws::store` checks this
/// contract.
#[async_trait]
pub trait ConversationStore: Send + Sync + fmt::Debug + 'static {
    /// Creates a conversation without nodes.
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`] if the id exists; [`ErrorKind::Invalid`] for a record whose head or revision is set, and
    /// for a name with invisible characters: see [`ConversationRecord::must_be_new`].
    async fn create(&self, owner: &Owner, record: &ConversationRecord) -> Result<()>;

    /// Appends nodes, parents before children, all or none.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] for a missing conversation or parent.
    async fn append(&self, owner: &Owner, id: &ConversationId, nodes: &[Node]) -> Result<()>;

    /// Moves the head from `from` to `to`.
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`] if the head is not at `from`; [`ErrorKind::NotFound`] for a node that does not exist.
    async fn set_head(
        &self,
        owner: &Owner,
        id: &ConversationId,
        from: Option<NodeId>,
        to: Option<NodeId>,
    ) -> Result<()>;

    /// Appends nodes like [`append`](Self::append) and moves the head from `from` to `to`, in one step. A turn stores a
    /// reply with it. `to` is one of the nodes or an existing one; without nodes only the head moves.
    ///
    /// If another writer has moved the head meanwhile, the nodes are appended all the same and the head stays. A head
    /// that is at `to` already counts as moved, so repeating a call changes nothing.
    ///
    /// **A store with a thread of its own takes over the call at the first poll of the future, and completes it even if
    /// the future is dropped.** So a reply is kept even if a host drops everything, for example in the handler of a
    /// request whose client has gone. `laws::store::dropped_turns_are_kept` checks it. The provided method appends,
    /// then moves the head. If it is dropped in between, the nodes may be stored without the head.
    ///
    /// # Errors
    /// As [`append`](Self::append); [`ErrorKind::NotFound`] for a `to` that does not exist. Nothing is changed then.
    async fn append_and_move(
        &self,
        owner: &Owner,
        id: &ConversationId,
        nodes: &[Node],
        from: Option<NodeId>,
        to: Option<NodeId>,
    ) -> Result<HeadMove> {
        if !nodes.is_empty() {
            self.append(owner, id, nodes).await?;
        }
        match self.set_head(owner, id, from, to).await {
            Ok(()) => Ok(HeadMove::Moved),
            Err(error) if error.is_conflict() => {
                Ok(HeadMove::of(self.record(owner, id).await?.head, from, to))
            }
            Err(error) => Err(error),
        }
    }

    /// Replaces the metadata of `revision`, and returns the new revision, which is one higher.
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`] if the metadata is not at `revision`.
    async fn update_metadata(
        &self,
        owner: &Owner,
        id: &ConversationId,
        revision: u64,
        metadata: &Map<String, Value>,
    ) -> Result<u64>;

    /// Hides a node and everything below it, for good. Pruning it again is `Ok` and changes nothing.
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`] if the head is at the node or below it: move it first. [`ErrorKind::NotFound`] for a
    /// node that does not exist.
    async fn prune(&self, owner: &Owner, id: &ConversationId, node: NodeId) -> Result<()>;

    /// Reclaims the space of pruned nodes. It does not change the result of any call.
    ///
    /// # Errors
    /// Those of the store.
    async fn compact(&self, owner: &Owner, id: &ConversationId) -> Result<()>;

    /// Reads a conversation without its nodes, but with their number and the time of the last one, like
    /// [`list`](Self::list).
    async fn summary(&self, owner: &Owner, id: &ConversationId) -> Result<ConversationSummary>;

    /// Reads a conversation without its nodes.
    async fn record(&self, owner: &Owner, id: &ConversationId) -> Result<ConversationRecord> {
        Ok(self.summary(owner, id).await?.record)
    }

    /// Reads a conversation and its whole tree.
    async fn load(&self, owner: &Owner, id: &ConversationId) -> Result<(ConversationRecord, Tree)>;

    /// Reads the nodes from the first message to `node`.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] for a missing conversation or node.
    async fn load_path(&self, owner: &Owner, id: &ConversationId, node: NodeId) -> Result<Vec<Node>>;

    /// Reads one node. The provided method reads the path to it; a store that finds a node by its id does better.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] for a missing conversation or node.
    async fn load_node(&self, owner: &Owner, id: &ConversationId, node: NodeId) -> Result<Node> {
        let mut path = self.load_path(owner, id, node).await?;
        path.pop().ok_or_else(|| Error::new(ErrorKind::NotFound, format!("node {node} does not exist")))
    }

    /// Lists the conversations that match a query, the last updated first unless the query has another order.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for an order that lists do not have, or a cursor of another order.
    async fn list(&self, owner: &Owner, query: &Query) -> Result<ConversationPage>;

    /// Returns how many conversations match a query; its limit and its cursor have no effect. The number may include
    /// damaged conversations.
    async fn count(&self, owner: &Owner, query: &Query) -> Result<usize>;

    /// Finds the nodes that match the text of a query, on any branch of the conversations that match its other
    /// conditions.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for a query without text, an order that searches do not have, or a cursor of another
    /// order.
    async fn search(&self, owner: &Owner, query: &Query) -> Result<SearchPage>;

    /// Deletes a conversation with its nodes.
    async fn delete(&self, owner: &Owner, id: &ConversationId) -> Result<()>;

    /// Deletes the conversations that match a query, and returns their names in the order of the query.
    ///
    /// Each conversation is deleted entirely or not at all. [`list`](Self::list) with the same query previews them. Damaged
    /// conversations stay.
    ///
    /// If a store fails midway, it may have deleted some of them. [`PartialDeletion`] among the causes of the error
    /// names these, and the same call deletes the rest.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for a query without a condition.
    async fn delete_matching(&self, owner: &Owner, query: &Query) -> Result<Vec<ConversationId>>;

    /// Stores media bytes and returns their digest; storing them again restarts their [`BLOB_GRACE`].
    async fn put_blob(&self, owner: &Owner, bytes: &Arc<[u8]>) -> Result<Digest>;

    /// Reads media bytes; `None` if this owner has none with this digest.
    ///
    /// # Errors
    /// [`ErrorKind::Corrupt`] if the bytes have another digest.
    async fn get_blob(&self, owner: &Owner, digest: Digest) -> Result<Option<Arc<[u8]>>>;

    /// Removes the unreferenced blobs that were last stored at least `grace` ago, and returns their number. Use a grace
    /// below [`BLOB_GRACE`] only while there are no writers.
    ///
    /// # Errors
    /// [`ErrorKind::Corrupt`] if damage hides the references of a conversation; nothing is removed then.
    async fn collect_blobs(&self, owner: &Owner, grace: Duration) -> Result<usize>;

    /// Imports whole conversations like [`ConversationStoreExt::import`], and returns the outcome of each, in order.
    ///
    /// A store waits for the disk or the server for many of them at once: pass some hundreds of conversations with a
    /// few megabytes in total. Each one is imported entirely or not at all. An `Ok` is final, and after a crash the
    /// same call imports what is missing.
    async fn import_all(&self, owner: &Owner, archives: Vec<Archive>) -> Vec<Result<()>> {
        import_each(self, owner, &archives).await
    }

    /// Waits until accepted changes are done, then closes the store's files and connections.
    ///
    /// In an async runtime, call it before dropping the store, because dropping does not wait there. Closing again is
    /// `Ok`. A store that keeps nothing open, such as one in memory, may stay usable; the provided method does nothing.
    ///
    /// # Errors
    /// Those of the store. Later calls of a closed store fail with [`ErrorKind::Store`].
    async fn close(&self) -> Result<()> {
        Ok(())
    }
}

/// Imports a conversation, entirely or not at all.
async fn import<S: ConversationStore + ?Sized>(store: &S, owner: &Owner, archive: &Archive) -> Result<()> {
    archive.must_be_whole()?;
    let record = archive.new_record();
    for bytes in archive.blobs.values() {
        store.put_blob(owner, bytes).await?;
    }
    // A process that was killed during an import may have left a conversation without nodes. The same import finishes it.
    let mut is_created = true;
    if let Err(error) = store.create(owner, &record).await {
        if !error.is_conflict() || !is_begun(store, owner, archive).await? {
            return Err(error);
        }
        is_created = false;
    }
    let filled = fill(store, owner, archive).await;
    if filled.is_err() && is_created {
        // An incomplete conversation is deleted. If that fails too, the first error is the one to return, and importing
        // again finishes it.
        let _ = store.delete(owner, &record.id).await;
    }
    filled
}

/// Returns whether the stored conversation is the beginning of the same import.
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

/// Stores the nodes and the head of a new conversation in one step, so that a killed process leaves both or neither.
///
/// # Errors
/// [`ErrorKind::Conflict`] if another writer has moved its head meanwhile.
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

/// Imports conversations one after the other, as the provided [`ConversationStore::import_all`] does. A store around
/// another one calls it to import through its own methods.
///
/// ```
/// use alloquy_core::store::{Archive, ConversationRecord, MemoryStore, import_each};
/// use alloquy_core::{Owner, Preface};
///
/// # pollster::block_on(async {
/// let record = ConversationRecord::new("tea".parse()?, Preface::default());
/// let archive = Archive::new(record, Vec::new())?;
/// let store = MemoryStore::default();
/// let outcomes = import_each(&store, &Owner::local(), &[archive.clone(), archive]).await;
/// assert!(outcomes[0].is_ok());
/// // The second one has the name of the first.
/// assert!(outcomes[1].as_ref().is_err_and(|error| error.is_conflict()));
/// # Ok::<(), alloquy_core::Error>(())
/// # })?;
/// # Ok::<(), alloquy_core::Error>(())
/// ```
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
