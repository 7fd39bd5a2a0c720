//! A tree as text: a message on each line, with its address, its labels and the place of the head. Knows no store.

use std::fmt;

use crate::annotations::Annotations;
use crate::media::Digest;
use crate::message::Message;
use crate::tree::{Address, Node, NodeId, NodeStatus, Tree};

/// How many characters of a message are shown.
const WIDTH: usize = 60;

/// How deep a node may stand to be shown by its position; below, its id is shorter.
const DEEP: usize = 32;

/// Draws a tree: who says it, how it begins, its label, its bookmarks, and its address in brackets. `*` marks the head.
///
/// A conversation without branches is drawn flat, whatever its length: a line is indented by the branches above it
/// alone. Nodes deeper than 32 levels show their id in the place of their position.
///
/// ```
/// use alloquy_core::{Message, Node};
/// use alloquy_core::conversation::Drawing;
/// use alloquy_core::tree::Tree;
///
/// let question = Node::new(None, Message::user("Tea?"));
/// let answers = ["Yes", "No"].map(|text| Node::new(Some(question.id), Message::assistant(text)));
/// let head = Some(answers[1].id);
/// let tree = Tree::from_nodes([question].into_iter().chain(answers))?;
/// let drawn = Drawing::new(&tree).head(head).to_string();
/// assert_eq!(drawn, "  user: Tea?  [0]\n  ├─ assistant: Yes  [0.0]\n* └─ assistant: No  [0.1]\n");
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct Drawing<'a> {
    tree: &'a Tree,
    head: Option<NodeId>,
    annotations: Option<&'a Annotations>,
}

impl<'a> Drawing<'a> {
    /// Draws a tree.
    pub fn new(tree: &'a Tree) -> Self {
        Self { tree, head: None, annotations: None }
    }

    /// Marks the head.
    pub fn head(mut self, head: Option<NodeId>) -> Self {
        self.head = head;
        self
    }

    /// Shows labels and bookmarks.
    pub fn annotations(mut self, annotations: &'a Annotations) -> Self {
        self.annotations = Some(annotations);
        self
    }

    /// The lines of what follows a node, the last one first.
    fn below(&self, parent: Option<NodeId>, above: &Above) -> Vec<Line> {
        let children = self.tree.children(parent);
        let line = |(number, &id): (usize, &NodeId)| {
            let branch = match number + 1 {
                _ if children.len() == 1 => Branch::Only,
                count if count == children.len() => Branch::Last,
                _ => Branch::Middle,
            };
            let places = above.places.as_ref().filter(|places| places.len() < DEEP);
            let places = places.map(|places| places.iter().copied().chain([number]).collect());
            Line { id, before: above.before.clone(), branch, template: above.template, places }
        };
        children.iter().enumerate().rev().map(line).collect()
    }

    fn describe(&self, node: &Node, line: &Line) -> String {
        let status = match node.status {
            NodeStatus::Interrupted => " (interrupted)",
            NodeStatus::Complete => "",
        };
        let template = match (line.template, node.template()) {
            (Some(before), Some(now)) if before != now => " (another template)",
            _ => "",
        };
        let (role, said) = (&node.message.role, node.message.preview(WIDTH));
        format!("{role}: {said}{status}{template}{}  [{}]", self.notes(node), line.address())
    }

    fn notes(&self, node: &Node) -> String {
        let Some(annotations) = self.annotations else { return String::new() };
        let bookmarks = annotations.bookmarks().filter(|(_, id)| *id == node.id);
        let bookmarks = bookmarks.map(|(name, _)| format!(" @{}", shown(name)));
        let label = annotations.label(node).map(|label| format!(" “{}”", shown(label)));
        label.into_iter().chain(bookmarks).collect()
    }
}

/// A name as a line shows it.
fn shown(name: &str) -> String {
    Message::user(name).preview(WIDTH)
}

impl fmt::Display for Drawing<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let above = Above { before: String::new(), template: None, places: Some(Vec::new()) };
        // Lines still to be drawn, the next one last.
        let mut pending = self.below(None, &above);
        while let Some(line) = pending.pop() {
            let Ok(node) = self.tree.node(line.id) else { continue };
            let here = if self.head == Some(line.id) { "*" } else { " " };
            let text = self.describe(node, &line);
            writeln!(formatter, "{here} {}{}{text}", line.before, line.branch.mark())?;
            let before = format!("{}{}", line.before, line.branch.below());
            let template = node.template().or(line.template);
            pending.extend(self.below(Some(line.id), &Above { before, template, places: line.places }));
        }
        Ok(())
    }
}

/// What stands above some lines.
struct Above {
    before: String,
    /// What the last reply was rendered with.
    template: Option<Digest>,
    /// The places down to here; `None` where it is too deep for a line.
    places: Option<Vec<usize>>,
}

/// A line to be drawn.
struct Line {
    id: NodeId,
    before: String,
    branch: Branch,
    template: Option<Digest>,
    places: Option<Vec<usize>>,
}

impl Line {
    fn address(&self) -> Address {
        match &self.places {
            Some(places) => Address::Position(places.iter().copied().collect()),
            None => Address::Node(self.id),
        }
    }
}

/// How a node hangs on the one above it.
#[derive(Clone, Copy)]
enum Branch {
    /// It is the only one.
    Only,
    /// Others follow.
    Middle,
    /// It is the last of several.
    Last,
}

impl Branch {
    fn mark(self) -> &'static str {
        match self {
            Branch::Only => "",
            Branch::Middle => "├─ ",
            Branch::Last => "└─ ",
        }
    }

    fn below(self) -> &'static str {
        match self {
            Branch::Only => "",
            Branch::Middle => "│  ",
            Branch::Last => "   ",
        }
    }
}
