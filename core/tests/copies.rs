//! Copies and their union, and what is pruned.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

use std::collections::BTreeSet;
use std::sync::Arc;

use alloquy_core::store::{ConversationStore, MemoryStore};
use alloquy_core::tree::{Address, Tree};
use alloquy_core::{
    Content, Conversation, ConversationId, ErrorKind, Manager, Media, Message, Node, NodeId, Preface, Role,
    TurnRequest,
};
use alloquy_testing::EchoModel;
use pollster::block_on;
use proptest::prelude::*;

fn manager() -> Manager {
    Manager::new(EchoModel)
}

fn at(text: &str) -> Address {
    text.parse().unwrap()
}

async fn conversation() -> Conversation {
    let conversation = manager().create(Preface::default()).await.unwrap();
    conversation.send("One").finish().await.unwrap();
    conversation.edit(at("0"), "Two").finish().await.unwrap();
    conversation
}

/// A copy of the whole conversation in a store of its own.
async fn copied(conversation: &Conversation) -> Conversation {
    let store = Arc::new(MemoryStore::default());
    let manager = Manager::builder(EchoModel);
    let manager = manager.store(store.clone()).build().unwrap();
    let mut record = conversation.record().await.unwrap();
    record.head = None;
    record.revision = 0;
    store.create(manager.owner(), &record).await.unwrap();
    let nodes: Vec<_> = conversation.tree().await.unwrap().walk().map(|(_, node)| node.clone()).collect();
    store.append(manager.owner(), &record.id, &nodes).await.unwrap();
    alloquy_core::ConversationManager::open(&manager, &record.id).await.unwrap()
}

#[test]
fn a_fork_has_the_notes_of_its_path_and_needs_a_new_name() {
    block_on(async {
        let conversation = conversation().await;
        conversation.bookmark("one", at("0.0")).await.unwrap();
        conversation.bookmark("two", at("1")).await.unwrap();
        conversation.set_metadata("title", "Numbers").await.unwrap();
        let id: ConversationId = "copy".parse().unwrap();
        let copy = conversation.fork_at(at("0.0"), id.clone()).await.unwrap();
        let bookmarks: Vec<_> =
            copy.annotations().await.unwrap().bookmarks().map(|(name, _)| name.to_owned()).collect();
        assert_eq!(bookmarks, ["one"]);
        assert_eq!(copy.metadata().await.unwrap(), conversation.metadata().await.unwrap());
        assert_eq!(copy.history().await.unwrap(), conversation.path(at("0.0")).await.unwrap());
        assert!(conversation.fork_at(at("1"), id).await.unwrap_err().is_conflict());
        assert_eq!(copy.tree().await.unwrap().len(), 2, "the copy that is there stays as it is");
        let empty = conversation.fork_at(at(""), "empty".parse().unwrap()).await.unwrap();
        assert_eq!(empty.head().await.unwrap(), None);
    });
}

#[test]
fn merging_each_into_the_other_makes_two_copies_equal() {
    block_on(async {
        let left = conversation().await;
        let right = copied(&left).await;
        left.send("Left").finish().await.unwrap();
        left.bookmark("left", at("0")).await.unwrap();
        let image = Media::new("image/png", b"an image".to_vec());
        let shown = Message::new(Role::User, vec![Content::Image(image.clone())]);
        right.send(TurnRequest::from(shown).at(at("0.0"))).finish().await.unwrap();
        let merged = left.merge(&right).await.unwrap();
        assert_eq!(merged.added.len(), 2);
        assert_eq!(left.history().await.unwrap().last().unwrap().message.text(), "Left", "the head stays");
        right.merge(&left).await.unwrap();
        assert_eq!(left.tree().await.unwrap(), right.tree().await.unwrap());
        assert_eq!(left.annotations().await.unwrap(), right.annotations().await.unwrap());
        assert_eq!(left.merge(&right).await.unwrap(), Default::default(), "nothing is left to do");
        let path = left.request().await.unwrap();
        assert!(path.path.iter().all(|message| message.media().next().is_none()));
        left.goto(merged.added[0]).await.unwrap();
        let request = left.request().await.unwrap();
        assert!(
            request.path.last().unwrap().media().all(|media| media.bytes().is_some()),
            "bytes came along"
        );
    });
}

#[test]
fn a_merge_prunes_what_either_copy_has_pruned() {
    block_on(async {
        let left = conversation().await;
        let right = copied(&left).await;
        left.prune(at("0")).await.unwrap();
        right.goto(at("0")).await.unwrap();
        let late = right.send("late").finish().await.unwrap();
        right.prune(at("1")).await.unwrap();
        let merged = left.merge(&right).await.unwrap();
        assert_eq!(merged.added, []);
        assert!(merged.pruned_here.contains(&late.node));
        assert_eq!(merged.held.len(), 1, "the head stands there");
        assert_eq!(left.tree().await.unwrap().len(), 2);
        left.goto(None).await.unwrap();
        assert_eq!(left.merge(&right).await.unwrap().pruned, merged.held);
        assert!(left.tree().await.unwrap().is_empty());
    });
}

#[test]
fn a_merge_of_no_copy_is_refused_and_changes_nothing() {
    block_on(async {
        let left = conversation().await;
        let other = manager().create(Preface::system("Rhyme.")).await.unwrap();
        assert!(left.merge(&other).await.unwrap_err().is_conflict());
        let right = copied(&left).await;
        let store = MemoryStore::default();
        let owner = alloquy_core::Owner::local();
        let mut record = right.record().await.unwrap();
        record.head = None;
        let mut nodes: Vec<Node> = right.tree().await.unwrap().walk().map(|(_, node)| node.clone()).collect();
        nodes.push(Node::new(None, Message::user("new")));
        nodes[0].message = Message::user("never said");
        store.create(&owner, &record).await.unwrap();
        store.append(&owner, &record.id, &nodes).await.unwrap();
        let liar = Manager::builder(EchoModel).store(Arc::new(store)).build().unwrap();
        let liar = alloquy_core::ConversationManager::open(&liar, &record.id).await.unwrap();
        let before: Tree = left.tree().await.unwrap();
        let error = left.merge(&liar).await.unwrap_err();
        assert!(error.is_conflict() && error.to_string().contains("other content"), "{error}");
        assert_eq!(left.tree().await.unwrap(), before);
    });
}

#[test]
fn pruning_hides_a_branch_that_the_head_is_not_on() {
    block_on(async {
        let conversation = conversation().await;
        conversation.bookmark("one", at("0.0")).await.unwrap();
        assert!(conversation.prune(at("1")).await.unwrap_err().is_conflict());
        assert_eq!(conversation.prune(at("0")).await.unwrap(), 2);
        assert_eq!(conversation.tree().await.unwrap().len(), 2);
        assert_eq!(conversation.resolve("one").await.unwrap_err().kind(), ErrorKind::NotFound);
        conversation.compact().await.unwrap();
        assert_eq!(conversation.annotations().await.unwrap().bookmarks().count(), 0);
        assert_eq!(conversation.prune(at("")).await.unwrap_err().kind(), ErrorKind::Invalid);
    });
}

#[test]
fn a_reset_conversation_has_no_messages() {
    block_on(async {
        let conversation = conversation().await;
        conversation.set_metadata("title", "Numbers").await.unwrap();
        conversation.bookmark("one", at("0.0")).await.unwrap();
        conversation.reset().await.unwrap();
        assert!(conversation.tree().await.unwrap().is_empty());
        assert_eq!(
            (conversation.head().await.unwrap(), conversation.metadata().await.unwrap().len()),
            (None, 1)
        );
        assert_eq!(conversation.annotations().await.unwrap(), Default::default());
        assert_eq!(conversation.send("anew").finish().await.unwrap().text(), "anew");
    });
}

/// What is done to a copy: something is said below a node, or a node is pruned; numbers choose among those that are there.
type Steps = Vec<(bool, prop::sample::Index)>;

fn steps() -> impl Strategy<Value = Steps> {
    prop::collection::vec((prop::bool::weighted(0.7), any::<prop::sample::Index>()), 0..8)
}

async fn change(conversation: &Conversation, steps: Steps) {
    for (number, (is_said, place)) in steps.into_iter().enumerate() {
        let nodes = conversation.nodes().await.unwrap();
        let at = place.index(nodes.len() + 1).checked_sub(1).map(|place| nodes[place].id);
        match (is_said, at) {
            (true, at) => drop(conversation.add(TurnRequest::from(number.to_string()).at(at)).await.unwrap()),
            // Where the head stands nothing goes.
            (false, Some(node)) => drop(conversation.prune(node).await),
            (false, None) => {}
        }
    }
}

async fn ids(conversation: &Conversation) -> BTreeSet<NodeId> {
    conversation.nodes().await.unwrap().iter().map(|node| node.id).collect()
}

/// The nodes that stand at or below one of `gone`.
fn below(tree: &Tree, gone: &BTreeSet<NodeId>) -> BTreeSet<NodeId> {
    let is_gone =
        |node: &&Node| tree.path(Some(node.id)).unwrap().iter().any(|above| gone.contains(&above.id));
    tree.nodes().filter(is_gone).map(|node| node.id).collect()
}

proptest! {
    /// A merge is a union: of nodes, without what either has pruned.
    #[test]
    fn changed_copies_merge_to_their_union(before in steps(), left in steps(), right in steps()) {
        block_on(async {
            let ours = conversation().await;
            change(&ours, before).await;
            let theirs = copied(&ours).await;
            change(&ours, left).await;
            change(&theirs, right).await;
            let (one, other) = (ours.tree().await.unwrap(), theirs.tree().await.unwrap());
            let pruned: BTreeSet<_> = one.tombstones().chain(other.tombstones()).collect();
            let union: BTreeSet<_> = ids(&ours).await.union(&ids(&theirs).await).copied().collect();
            let gone: BTreeSet<_> = below(&one, &pruned).union(&below(&other, &pruned)).copied().collect();
            let merged = ours.merge(&theirs).await.unwrap();
            let back = theirs.merge(&ours).await.unwrap();
            if merged.held.is_empty() && back.held.is_empty() {
                let wanted: BTreeSet<_> = union.difference(&gone).copied().collect();
                assert_eq!((&ids(&ours).await, &ids(&theirs).await), (&wanted, &wanted));
            }
            assert!(ids(&ours).await.is_superset(&union.difference(&gone).copied().collect()));
            assert_eq!(ours.merge(&theirs).await.unwrap().added, [], "merging again adds nothing");
        });
    }
}
