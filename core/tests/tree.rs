//! Trees: any order of insertion, any shape, any depth.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

use alloquy_core::tree::{Address, Tree};
use alloquy_core::{ErrorKind, Message, Node, NodeId};
use proptest::prelude::*;

/// Nodes in the order of making; each names its parent among those before it, or none.
fn nodes(shape: &[Option<usize>]) -> Vec<Node> {
    let mut nodes: Vec<Node> = Vec::new();
    for (index, parent) in shape.iter().enumerate() {
        let parent = parent.filter(|_| index > 0).map(|parent| nodes[parent % index].id);
        nodes.push(Node::new(parent, Message::user(index.to_string())));
    }
    nodes
}

/// A shuffle that keeps parents before children.
fn shuffled(nodes: &[Node], mut seed: u64) -> Vec<Node> {
    let mut waiting = nodes.to_vec();
    let mut placed = Vec::new();
    while !waiting.is_empty() {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let ready =
            |node: &Node| node.parent.is_none_or(|id| placed.iter().any(|other: &Node| other.id == id));
        let candidates: Vec<_> = (0..waiting.len()).filter(|&index| ready(&waiting[index])).collect();
        placed.push(waiting.remove(candidates[(seed >> 33) as usize % candidates.len()]));
    }
    placed
}

proptest! {
    #[test]
    fn the_order_of_insertion_does_not_matter(
        shape in prop::collection::vec(prop::option::of(any::<usize>()), 0..40),
        seed in any::<u64>(),
    ) {
        let nodes = nodes(&shape);
        let tree = Tree::from_nodes(nodes.clone()).unwrap();
        let other = Tree::from_nodes(shuffled(&nodes, seed)).unwrap();
        prop_assert_eq!(&tree, &other);
        let walked: Vec<_> = tree.walk().map(|(depth, node)| (depth, node.id)).collect();
        prop_assert_eq!(walked.len(), nodes.len());
        for (depth, id) in walked {
            prop_assert_eq!(tree.path(Some(id)).unwrap().len(), depth + 1);
        }
    }

    #[test]
    fn an_address_leads_back_to_its_node(
        shape in prop::collection::vec(prop::option::of(any::<usize>()), 1..40),
    ) {
        let nodes = nodes(&shape);
        let tree = Tree::from_nodes(nodes.clone()).unwrap();
        for node in &nodes {
            let position = tree.position(Some(node.id)).unwrap();
            let read: Address = position.to_string().parse().unwrap();
            prop_assert_eq!(&read, &Address::from(position));
            prop_assert_eq!(tree.at(&read).unwrap(), Some(node.id));
            prop_assert_eq!(tree.at(&node.id.to_string().parse().unwrap()).unwrap(), Some(node.id));
        }
    }

    #[test]
    fn a_batch_is_inserted_whole_or_not_at_all(
        shape in prop::collection::vec(prop::option::of(any::<usize>()), 2..20),
        split in any::<prop::sample::Index>(),
    ) {
        let nodes = nodes(&shape);
        let at = split.index(nodes.len());
        let mut tree = Tree::from_nodes(nodes[..at].to_vec()).unwrap();
        let before = tree.clone();
        let mut batch = nodes[at..].to_vec();
        batch.push(Node::new(Some(NodeId::new()), Message::user("an orphan")));
        prop_assert_eq!(tree.insert_all(&batch).unwrap_err().kind(), ErrorKind::NotFound);
        prop_assert_eq!(&tree, &before);
        batch.pop();
        tree.insert_all(&batch).unwrap();
        prop_assert_eq!(tree, Tree::from_nodes(nodes).unwrap());
    }

    #[test]
    fn a_node_is_read_as_it_was_written(text in any::<String>(), tokens in any::<Vec<u32>>(), number in any::<i64>()) {
        let mut node = Node::new(Some(NodeId::new()), Message::user(text).named("Ann"));
        node.message.extra.insert("number".to_owned(), number.into());
        node.tokens = tokens;
        let written = serde_json::to_string(&node).unwrap();
        prop_assert_eq!(serde_json::from_str::<Node>(&written).unwrap(), node);
    }
}

#[test]
fn a_hundred_thousand_nodes_deep_is_no_limit() {
    let mut parent = None;
    let chain = std::iter::repeat_with(|| {
        let node = Node::new(parent, Message::user("x"));
        parent = Some(node.id);
        node
    });
    let tree = Tree::from_nodes(chain.take(100_000)).unwrap();
    let leaf = tree.leaves()[0];
    assert_eq!(tree.path(Some(leaf)).unwrap().len(), 100_000);
    assert_eq!(tree.walk().count(), 100_000);
    assert_eq!(tree.at(&tree.position(Some(leaf)).unwrap().into()).unwrap(), Some(leaf));
}

#[test]
fn an_address_has_one_notation() {
    for wrong in ["-1", " 0", "+0", "00", "0.", ".0", "0..1", "a", "0.1.99999999999999999999"] {
        let error = wrong.parse::<Address>().unwrap_err();
        assert!(error.to_string().contains(&format!("{wrong:?}")), "{error}");
    }
}

#[test]
fn the_same_id_with_other_content_is_a_conflict() {
    let node = Node::new(None, Message::user("said"));
    let mut tree = Tree::from_nodes([node.clone(), node.clone()]).unwrap();
    let mut other = node;
    other.message = Message::user("never said");
    assert!(tree.insert(other).unwrap_err().is_conflict());
    assert_eq!(tree.len(), 1);
}
