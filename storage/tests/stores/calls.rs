//! Every kind of call on a store with something in it, and all that can be seen of a store: what tests of failures
//! compare before and after.

use std::sync::Arc;
use std::time::Duration;

use alloquy_core::query::{Filter, Sort, SortKey};
use alloquy_core::store::{ConversationRecord, ConversationStore, PartialDeletion};
use alloquy_core::{
    Content, ConversationId, Error, ErrorKind, Media, Message, Node, NodeId, Owner, Preface, Query, Result,
    Role,
};
use serde_json::{Map, Value, json};

use crate::{me, say};

/// What stands in a store before a call, and what the calls add.
pub(crate) struct Sample {
    tea: ConversationRecord,
    milk: ConversationRecord,
    new: ConversationRecord,
    trunk: Vec<Node>,
    branch: Vec<Node>,
    next: Vec<Node>,
    pruned: Node,
    other: Node,
    /// Nothing refers to it.
    pub(crate) loose: Media,
    unknown: Media,
}

/// A call on the sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Call {
    Create,
    CreateForNewOwner,
    Append,
    AppendAgain,
    SetHead,
    AppendAndMove,
    AppendBesideHead,
    UpdateMetadata,
    Prune,
    Compact,
    Delete,
    PutBlob,
    PutBlobAgain,
    CollectBlobs,
    Load,
    List,
    Search,
    GetBlob,
}

pub(crate) const CALLS: [Call; 18] = [
    Call::Create,
    Call::CreateForNewOwner,
    Call::Append,
    Call::AppendAgain,
    Call::SetHead,
    Call::AppendAndMove,
    Call::AppendBesideHead,
    Call::UpdateMetadata,
    Call::Prune,
    Call::Compact,
    Call::Delete,
    Call::PutBlob,
    Call::PutBlobAgain,
    Call::CollectBlobs,
    Call::Load,
    Call::List,
    Call::Search,
    Call::GetBlob,
];

fn image(bytes: &str) -> Media {
    Media::new("image/png", bytes.as_bytes().to_vec())
}

fn showing(parent: NodeId, media: &Media) -> Node {
    Node::new(Some(parent), Message::new(Role::User, vec![Content::Image(media.clone())]))
}

fn record(name: &str) -> ConversationRecord {
    ConversationRecord::new(name.parse().unwrap(), Preface::system("Be brief."))
}

fn bytes(media: &Media) -> Arc<[u8]> {
    Arc::clone(media.bytes().unwrap())
}

fn metadata(value: &Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

fn stranger() -> Owner {
    "ann".parse().unwrap()
}

impl Sample {
    pub(crate) fn new() -> Self {
        let first = say(None, "green tea");
        let trunk = vec![first.clone(), showing(first.id, &image("cup")), say(Some(first.id), "hot")];
        let branch = vec![say(Some(first.id), "black tea"), showing(first.id, &image("can"))];
        let next = vec![showing(trunk[1].id, &image("cup")), say(Some(trunk[1].id), "and cold tea")];
        let pruned = say(Some(trunk[2].id), "gone");
        let other = say(None, "milk tea");
        let loose = image("loose");
        let unknown = image("unknown");
        let [tea, milk, new] = ["tea", "milk", "new"].map(record);
        Self { tea, milk, new, trunk, branch, next, pruned, other, loose, unknown }
    }

    /// Writes what stands there before.
    pub(crate) async fn write(&self, store: &dyn ConversationStore) -> Result<()> {
        let tea = &self.tea.id;
        for media in [&image("cup"), &image("can"), &self.loose] {
            store.put_blob(&me(), &bytes(media)).await?;
        }
        store.create(&me(), &self.tea).await?;
        store.append(&me(), tea, &self.trunk).await?;
        store.append(&me(), tea, &self.branch).await?;
        store.append(&me(), tea, std::slice::from_ref(&self.pruned)).await?;
        store.prune(&me(), tea, self.pruned.id).await?;
        store.set_head(&me(), tea, None, Some(self.trunk[2].id)).await?;
        store.create(&me(), &self.milk).await?;
        store.append(&me(), &self.milk.id, std::slice::from_ref(&self.other)).await
    }

    /// Checks that a deletion that failed midway keeps no bytes for ever.
    pub(crate) async fn leaves_no_blobs(&self, store: &dyn ConversationStore, what: &str) {
        store.collect_blobs(&me(), Duration::ZERO).await.unwrap();
        for media in [image("cup"), image("can")] {
            assert_eq!(store.get_blob(&me(), media.digest()).await.unwrap(), None, "{what}");
        }
    }

    /// Reads a conversation, so that a store has it in memory.
    pub(crate) async fn warm(&self, store: &dyn ConversationStore) {
        store.load(&me(), &self.tea.id).await.unwrap();
        store.list(&me(), &Query::default()).await.unwrap();
    }
}

impl Call {
    pub(crate) async fn make(self, store: &dyn ConversationStore, sample: &Sample) -> Result<()> {
        let owner = &me();
        let tea = &sample.tea.id;
        let head = Some(sample.trunk[2].id);
        match self {
            Self::Create => store.create(owner, &sample.new).await,
            Self::CreateForNewOwner => store.create(&stranger(), &sample.new).await,
            Self::Append => store.append(owner, tea, &sample.next).await,
            Self::AppendAgain => store.append(owner, tea, &sample.trunk).await,
            Self::SetHead => store.set_head(owner, tea, head, Some(sample.trunk[1].id)).await,
            Self::AppendAndMove => {
                let to = Some(sample.next[1].id);
                store.append_and_move(owner, tea, &sample.next, head, to).await.map(drop)
            }
            Self::AppendBesideHead => {
                let to = Some(sample.next[1].id);
                store.append_and_move(owner, tea, &sample.next, None, to).await.map(drop)
            }
            Self::UpdateMetadata => {
                store.update_metadata(owner, tea, 0, &metadata(&json!({"stars": 5}))).await.map(drop)
            }
            Self::Prune => store.prune(owner, tea, sample.branch[1].id).await,
            Self::Compact => store.compact(owner, tea).await,
            Self::Delete => store.delete(owner, tea).await,
            Self::PutBlob => store.put_blob(owner, &bytes(&sample.unknown)).await.map(drop),
            Self::PutBlobAgain => store.put_blob(owner, &bytes(&image("cup"))).await.map(drop),
            Self::CollectBlobs => store.collect_blobs(owner, Duration::ZERO).await.map(drop),
            Self::Load => store.load(owner, tea).await.map(drop),
            Self::List => store.list(owner, &Query::default()).await.map(drop),
            Self::Search => {
                let query = Query::default().filter(Filter::missing("stars")).text("tea")?;
                store.search(owner, &query).await.map(drop)
            }
            Self::GetBlob => store.get_blob(owner, image("cup").digest()).await.map(drop),
        }
    }

    /// What the call says when it was made before, where that is no success.
    pub(crate) fn is_done(self, error: &Error) -> bool {
        match self {
            Self::Create | Self::CreateForNewOwner | Self::SetHead | Self::UpdateMetadata => {
                error.kind() == ErrorKind::Conflict
            }
            Self::Delete => error.kind() == ErrorKind::NotFound,
            _ => false,
        }
    }
}

/// All that can be seen of a store, unless it contradicts itself.
pub(crate) async fn seen(store: &dyn ConversationStore, sample: &Sample) -> Vec<String> {
    let mut seen = Vec::new();
    for owner in [me(), stranger()] {
        let page = store.list(&owner, &Query::default()).await.unwrap();
        assert!(page.damaged.is_empty(), "{:?}", page.damaged);
        assert_eq!(store.count(&owner, &Query::default()).await.unwrap(), page.conversations.len());
        for summary in page.conversations {
            let (record, tree) = store.load(&owner, &summary.record.id).await.unwrap();
            assert_eq!((&record, tree.len()), (&summary.record, summary.nodes), "a list says the same");
            let nodes: Vec<&Node> = tree.walk().map(|(_, node)| node).collect();
            for digest in nodes.iter().flat_map(|node| node.media()) {
                assert!(store.get_blob(&owner, digest).await.unwrap().is_some(), "a blob is whole");
            }
            let mut tombstones: Vec<_> = tree.tombstones().collect();
            tombstones.sort();
            seen.push(json!([owner.as_str(), record, nodes, tombstones]).to_string());
        }
        let hits = store.search(&owner, &Query::default().text("tea").unwrap()).await.unwrap().hits;
        let mut found: Vec<_> = hits.iter().map(|hit| hit.node.to_string()).collect();
        found.sort();
        seen.extend(found);
    }
    // Bytes that nothing refers to are there whole or not at all, which is all that is promised of them.
    store.get_blob(&me(), sample.loose.digest()).await.unwrap();
    let unknown = store.get_blob(&me(), sample.unknown.digest()).await.unwrap();
    seen.push(format!("{} bytes were put", unknown.map_or(0, |bytes| bytes.len())));
    seen.sort();
    seen
}

/// What is to be deleted at once.
fn rubbish() -> Query {
    Query::default().filter(Filter::exists("rubbish")).sort(Sort::ascending(SortKey::Id))
}

pub(crate) async fn write_rubbish(store: &dyn ConversationStore) {
    for name in ["one", "two", "three"] {
        let mut record = record(name);
        record.metadata = metadata(&json!({"rubbish": 1}));
        store.create(&me(), &record).await.unwrap();
    }
}

/// Deletes at once, and checks that what is reported as deleted is gone from an `independent` store.
pub(crate) async fn delete_rubbish<S: ConversationStore>(
    store: &dyn ConversationStore,
    before_independent: impl FnOnce(),
    independent: impl AsyncFnOnce() -> S,
) {
    let there = async |store: &dyn ConversationStore| {
        let found = store.list(&me(), &rubbish()).await.unwrap().conversations;
        found.into_iter().map(|summary| summary.record.id).collect::<Vec<_>>()
    };
    let outcome = store.delete_matching(&me(), &rubbish()).await;
    before_independent();
    let independent = independent().await;
    let reported = match &outcome {
        Ok(deleted) => deleted.as_slice(),
        Err(error) => PartialDeletion::of(error).map_or(&[][..], PartialDeletion::deleted),
    };
    let left = there(&independent).await;
    let all: Vec<ConversationId> = ["one", "three", "two"].map(|name| name.parse().unwrap()).to_vec();
    assert_eq!([reported, &left].concat(), all, "{outcome:?}");
    assert_eq!(there(store).await, left, "the store knows: {outcome:?}");
    let rest = store.delete_matching(&me(), &rubbish()).await.unwrap();
    assert_eq!(rest, left, "the same call deletes the rest: {outcome:?}");
    assert!(there(&independent).await.is_empty());
}
