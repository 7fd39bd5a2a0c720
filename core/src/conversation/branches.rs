//! Branches: the line from the first message to each leaf, and what two of them do not share.

use std::collections::HashMap;

use serde::Serialize;

use crate::annotations::Annotations;
use crate::tree::{Node, NodeId, Tree};

/// The line from the first message to a leaf.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Branch {
    /// Its last node.
    pub leaf: NodeId,
    /// The first node that no other branch has.
    pub begins: NodeId,
    /// How many nodes it has, from the first message on.
    pub nodes: usize,
    /// The label that stands nearest to the leaf.
    pub label: Option<String>,
    /// Whether the head stands on it; on what several branches share, it stands on all of them.
    pub has_head: bool,
}

/// What is known of the line down to a node.
#[derive(Clone, Copy)]
struct Line<'a> {
    begins: NodeId,
    nodes: usize,
    label: Option<&'a str>,
    has_head: bool,
}

impl Branch {
    /// Finds the branches of a tree, the oldest leaf first.
    pub fn all(tree: &Tree, annotations: &Annotations, head: Option<NodeId>) -> Vec<Self> {
        let mut lines: HashMap<NodeId, Line<'_>> = HashMap::new();
        for (_, node) in tree.walk() {
            let above = node.parent.and_then(|parent| lines.get(&parent)).copied();
            let is_alone = tree.children(node.parent).len() == 1;
            let line = Line {
                begins: above.filter(|_| is_alone).map_or(node.id, |line| line.begins),
                nodes: above.map_or(0, |line| line.nodes) + 1,
                label: annotations.label(node).or(above.and_then(|line| line.label)),
                has_head: head == Some(node.id) || above.is_some_and(|line| line.has_head),
            };
            lines.insert(node.id, line);
        }
        let branch = |leaf: NodeId| {
            let Line { begins, nodes, label, has_head } = *lines.get(&leaf)?;
            Some(Self { leaf, begins, nodes, label: label.map(str::to_owned), has_head })
        };
        tree.leaves().into_iter().filter_map(branch).collect()
    }
}

/// What two paths have in common, and what each has alone.
///
/// ```
/// use alloquy_core::{Message, Node};
/// use alloquy_core::conversation::BranchDiff;
///
/// let question = Node::new(None, Message::user("Tea?"));
/// let [yes, no] = ["Yes", "No"].map(|text| Node::new(Some(question.id), Message::assistant(text)));
/// let diff = BranchDiff::new(vec![question.clone(), yes.clone()], vec![question.clone(), no]);
/// assert_eq!((diff.common, diff.left), (vec![question], vec![yes]));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct BranchDiff {
    /// The nodes that both have; the last of them is where they part.
    pub common: Vec<Node>,
    /// The nodes that the left path has alone.
    pub left: Vec<Node>,
    /// The nodes that the right path has alone.
    pub right: Vec<Node>,
}

impl BranchDiff {
    /// Compares two paths of one tree, each from the first message on.
    pub fn new(mut left: Vec<Node>, mut right: Vec<Node>) -> Self {
        let shared = left.iter().zip(&right).take_while(|(left, right)| left.id == right.id).count();
        let (left_alone, right_alone) = (left.split_off(shared), right.split_off(shared));
        Self { common: left, left: left_alone, right: right_alone }
    }
}
