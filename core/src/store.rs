//! Where conversations are kept: append-only nodes, a head moved by compare-and-set, blobs, and questions about them.

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
pub(crate) use guarded::Guarded;
pub use head::HeadMove;
pub use memory::MemoryStore;
pub(crate) use name::must_be_a_name;
pub use name::{ConversationId, Owner};
pub(crate) use record::milliseconds;
pub use record::{ConversationPage, ConversationRecord, ConversationSummary, DamagedConversation};

/// How long a blob stays that nothing refers to, since it was put last: longer than any turn takes from storing a
/// picture to storing the message that shows it.
pub const BLOB_GRACE: Duration = Duration::from_secs(3600);

/// Keeps conversations.
///
/// # Contract
/// This is the minimum that an implementation gives; conveniences are in [`ConversationStoreExt`].
///
/// * **Nothing acknowledged is lost**: once a call returned `Ok`, a new process sees what it wrote.
/// * **All or nothing**: a call that returns an error changed nothing, and so does one whose future is dropped
///   before it is done, or it changed everything. [`delete_matching`](Self::delete_matching) is so for each conversation. Where
///   disk or server go away for good midway, the error may be of a call that changed everything.
/// * **Owners are apart**: every call names an [`Owner`] and sees, changes and counts what is of that owner alone. Two
///   owners may use the same conversation id, and store the same bytes. An owner need not be made known first.
/// * **Append-only**: a node never changes. Appending the same node again is `Ok` and changes nothing; the same id
///   with other content is [`ErrorKind::Conflict`].
/// * **Compare and set**: of several writers that move the head from the same place, one succeeds and the others
///   get [`ErrorKind::Conflict`]. The metadata's revision likewise.
/// * **Pruned is gone for readers**: a tombstone is one more thing that is appended. It hides a node with everything
///   below it from every call; appending below it is [`ErrorKind::NotFound`], appending the pruned node itself again is
///   [`ErrorKind::Conflict`].
/// * **Bytes written** for a turn do not grow with the tree.
/// * **One query, one meaning**: list, count, search and delete find the same conversations. Pages are stable: what is
///   added meanwhile moves nothing from one page to another; see [`Sort`](crate::query::Sort) for what changes meanwhile.
/// * **Blobs**: media bytes are stored once for each owner, by digest, apart from messages. Put the blobs before the
///   node that needs them. A blob that no node and no preface refers to goes, when [`BLOB_GRACE`] has passed since it
///   was put last: with the next [`delete`](Self::delete), [`delete_matching`](Self::delete_matching) or
///   [`compact`](Self::compact), or when it is [collected](Self::collect_blobs). So bytes that were put cannot vanish
///   before the node is appended, whatever is deleted meanwhile.
///
/// A conversation that is not there is [`ErrorKind::NotFound`]; failing disks and servers are
/// [`ErrorKind::Store`], what others hold for too long is [`ErrorKind::Busy`], and damaged data is
/// [`ErrorKind::Corrupt`]: of that conversation alone, and reported beside the answer where a call is about many.
/// `laws::store` checks all of it.
#[async_trait]
pub trait ConversationStore: Send + Sync + fmt::Debug + 'static {
    /// Creates a conversation without nodes.
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`] when the id is taken; [`ErrorKind::Invalid`] for a record whose head or revision is set, and for a
    /// name that nobody could read: what [`ConversationRecord::must_be_new`] says.
    async fn create(&self, owner: &Owner, record: &ConversationRecord) -> Result<()>;

    /// Appends nodes, parents before children, all or none.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] for a missing conversation or parent.
    async fn append(&self, owner: &Owner, id: &ConversationId, nodes: &[Node]) -> Result<()>;

    /// Moves the head from `from` to `to`.
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`] when the head is not at `from`; [`ErrorKind::NotFound`] for a node that is not there.
    async fn set_head(
        &self,
        owner: &Owner,
        id: &ConversationId,
        from: Option<NodeId>,
        to: Option<NodeId>,
    ) -> Result<()>;

    /// Appends nodes as [`append`](Self::append) does and moves the head from `from` to `to`, in one step: what a turn does
    /// with a reply. `to` is one of the nodes, or was there before; without nodes the head alone moves.
    ///
    /// Where another writer has moved the head meanwhile, the nodes are appended all the same and the head stays where it
    /// is. A head that is at `to` already counts as moved, so that the same call again changes nothing.
    ///
    /// **A store that works on a thread of its own takes the call over at the first poll of the future, and ends it whether
    /// or not anybody polls again.** So a host that drops everything, such as the handler of a request whose client has
    /// gone, keeps the reply. `laws::store::dropped_turns_are_kept` checks it. The provided method appends, then moves the
    /// head, and ends where nobody polls it any more: nodes may then be there without the head.
    ///
    /// # Errors
    /// As [`append`](Self::append); [`ErrorKind::NotFound`] for a `to` that is not there. Nothing was changed then.
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

    /// Replaces the metadata that stood at `revision`, and returns the new revision, which is one higher.
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`] when the metadata is not at `revision`.
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
    /// [`ErrorKind::Conflict`] when the head stands at the node or below it: move it first. [`ErrorKind::NotFound`] for
    /// a node that is not there.
    async fn prune(&self, owner: &Owner, id: &ConversationId, node: NodeId) -> Result<()>;

    /// Reclaims what pruned nodes occupy; what any call answers stays the same.
    ///
    /// # Errors
    /// Those of the store.
    async fn compact(&self, owner: &Owner, id: &ConversationId) -> Result<()>;

    /// Reads a conversation without its nodes, with their number and when the last was made, as [`list`](Self::list) has it.
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

    /// Lists the conversations that a query means, the last updated first unless it says otherwise.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for an order that lists do not have, or a cursor of another order.
    async fn list(&self, owner: &Owner, query: &Query) -> Result<ConversationPage>;

    /// Returns how many conversations a query means; its limit and its cursor do not count. Damaged conversations may
    /// be among them.
    async fn count(&self, owner: &Owner, query: &Query) -> Result<usize>;

    /// Finds the nodes, on any branch, in which the text of a query stands, in the conversations that it means.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for a query without text, an order that searches do not have, or a cursor of another.
    async fn search(&self, owner: &Owner, query: &Query) -> Result<SearchPage>;

    /// Deletes a conversation with its nodes.
    async fn delete(&self, owner: &Owner, id: &ConversationId) -> Result<()>;

    /// Deletes the conversations that a query means, each whole or not at all, and returns their names in the order of
    /// the query. [`list`](Self::list) of the same query says before which they are. Damaged ones stay.
    ///
    /// A store that fails midway may have deleted some: [`PartialDeletion`] among the causes of the error says which, and
    /// the same call deletes the rest.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for a query without a condition.
    async fn delete_matching(&self, owner: &Owner, query: &Query) -> Result<Vec<ConversationId>>;

    /// Stores media bytes and returns their digest; storing them again begins their [`BLOB_GRACE`] again.
    async fn put_blob(&self, owner: &Owner, bytes: &Arc<[u8]>) -> Result<Digest>;

    /// Reads media bytes, or `None` when this owner has none under this digest.
    ///
    /// # Errors
    /// [`ErrorKind::Corrupt`] when the bytes do not have the digest.
    async fn get_blob(&self, owner: &Owner, digest: Digest) -> Result<Option<Arc<[u8]>>>;

    /// Removes the blobs that nothing refers to and that were put last at least `grace` ago, and returns how many.
    /// A grace below [`BLOB_GRACE`] is for times when nobody writes.
    ///
    /// # Errors
    /// [`ErrorKind::Corrupt`] where damage hides what a conversation refers to; nothing is removed then.
    async fn collect_blobs(&self, owner: &Owner, grace: Duration) -> Result<usize>;

    /// Brings whole conversations in, as [`ConversationStoreExt::import`] does one, and returns what became of each, in order.
    ///
    /// A store that waits for a disk or a server waits for as many of them together as it can: give it some hundreds at a
    /// time, of a few megabytes together. Each comes in whole or not at all; whoever was told `Ok` may rely on it, and after a
    /// crash the same call brings in what is missing.
    async fn import_all(&self, owner: &Owner, archives: Vec<Archive>) -> Vec<Result<()>> {
        import_each(self, owner, &archives).await
    }

    /// Waits until the changes that were taken over are done, then closes the store's files and connections.
    ///
    /// A store of a runtime's host closes here: dropping a store on a thread of a runtime does not wait. Closing again is
    /// `Ok`. A store that holds nothing open, such as one in memory, may work on; the provided method does nothing.
    ///
    /// # Errors
    /// Those of the store. After it, calls of a closed store fail with [`ErrorKind::Store`].
    async fn close(&self) -> Result<()> {
        Ok(())
    }
}

/// Brings a conversation in, whole or not at all.
async fn import<S: ConversationStore + ?Sized>(store: &S, owner: &Owner, archive: &Archive) -> Result<()> {
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
