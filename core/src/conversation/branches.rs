//! Branches: the path from the first message to each leaf, and the difference between two paths.

use std::collections::HashMap;

use serde::Serialize;

use crate::annotations::Annotations;
use crate::tree::{Node, NodeId, Tree};

/// The path from the first message to a leaf.
///
/// ```
/// use alloquy_core::{Conversation, TurnRequest};
/// use alloquy_testing::EchoModel;
///
/// # pollster::block_on(async {
/// let conversation = Conversation::new(EchoModel);
/// conversation.send("Tea?").await?;
/// let second = conversation.regenerate(TurnRequest::default()).await?;
/// let branches = conversation.branches().await?;
/// assert_eq!((branches.len(), branches[1].leaf), (2, second.node));
/// assert!(branches[1].has_head);
/// # Ok::<(), alloquy_core::Error>(())
/// # })?;
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Branch {
    /// Its last node.
    pub leaf: NodeId,
    /// The first node that no other branch has.
    pub begins: NodeId,
    /// How many nodes it has, from the first message on.
    pub nodes: usize,
    /// The label that is nearest to the leaf.
    pub label: Option<String>,
    /// Whether the head is on it. A head on nodes that several branches share is on all of them.
    pub has_head: bool,
}

/// What is known of the path down to a node.
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
        let mut branches = Vec::new();
        for leaf in tree.leaves() {
            if let Some(&Line { begins, nodes, label, has_head }) = lines.get(&leaf) {
                branches.push(Self { leaf, begins, nodes, label: label.map(str::to_owned), has_head });
            }
        }
        branches
    }
}

/// The nodes that two paths share, and those that only one of them has.
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
    /// The nodes on both paths. The paths part after the last of them.
    pub common: Vec<Node>,
    /// The nodes that only the left path has.
    pub left: Vec<Node>,
    /// The nodes that only the right path has.
    pub right: Vec<Node>,
}

impl BranchDiff {
    /// Compares two paths of one tree. Each begins at the first message.
    pub fn new(mut left: Vec<Node>, mut right: Vec<Node>) -> Self {
        let shared = left.iter().zip(&right).take_while(|(left, right)| left.id == right.id).count();
        let left_alone = left.split_off(shared);
        let right_alone = right.split_off(shared);
        Self { common: left, left: left_alone, right: right_alone }
    }
}
