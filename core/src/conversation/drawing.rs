//! Draws a tree as text: a message on each line, with its address, its labels and a mark at the head.

use std::fmt;

use crate::annotations::Annotations;
use crate::media::Digest;
use crate::message::Message;
use crate::short_ids::ShortIds;
use crate::tree::{Node, NodeId, NodePath, NodeStatus, Tree};

/// How many characters of a message are shown.
const WIDTH: usize = 60;

/// The depth to which nodes are shown by their position. Below it, a short id is easier to read and to type.
const DEEP: usize = 8;

/// Draws a tree, a line per message: its role, its first words, its label, its bookmarks, and its address in brackets.
/// `*` marks the head.
///
/// A conversation without branches is drawn flat, however long it is: only branches indent the lines below them. Nodes
/// deeper than 8 levels show the end of their id instead of their position; [`Tree::find`] finds both.
///
/// ```
/// use alloquy_core::{Message, Node};
/// use alloquy_core::conversation::TreeDrawing;
/// use alloquy_core::tree::Tree;
///
/// let question = Node::new(None, Message::user("Tea?"));
/// let answers = ["Yes", "No"].map(|text| Node::new(Some(question.id), Message::assistant(text)));
/// let head = Some(answers[1].id);
/// let tree = Tree::from_nodes([question].into_iter().chain(answers))?;
/// let drawn = TreeDrawing::new(&tree).head(head).to_string();
/// assert_eq!(drawn, "  user: Tea?  [0]\n  ├─ assistant: Yes  [0.0]\n* └─ assistant: No  [0.1]\n");
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct TreeDrawing<'a> {
    tree: &'a Tree,
    head: Option<NodeId>,
    annotations: Option<&'a Annotations>,
}

impl<'a> TreeDrawing<'a> {
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

    /// Returns the lines of the children of a node, the last one first.
    fn below(&self, parent: Option<NodeId>, above: &Above) -> Vec<Line> {
        let children = self.tree.children(parent);
        let mut lines = Vec::with_capacity(children.len());
        for (number, &id) in children.iter().enumerate().rev() {
            let branch = if children.len() == 1 {
                Branch::Only
            } else if number + 1 == children.len() {
                Branch::Last
            } else {
                Branch::Middle
            };
            let mut places = above.places.clone().filter(|places| places.len() < DEEP);
            if let Some(places) = &mut places {
                places.push(number);
            }
            lines.push(Line { id, before: above.before.clone(), branch, template: above.template, places });
        }
        lines
    }

    fn describe(&self, node: &Node, line: &Line, short: &ShortIds) -> String {
        let status = match node.status {
            NodeStatus::Interrupted => " (interrupted)",
            NodeStatus::Complete => "",
        };
        let template = match (line.template, node.template()) {
            (Some(before), Some(now)) if before != now => " (another template)",
            _ => "",
        };
        let role = &node.message.role;
        let said = node.message.preview(WIDTH);
        format!("{role}: {said}{status}{template}{}  [{}]", self.notes(node), line.address(short))
    }

    fn notes(&self, node: &Node) -> String {
        let Some(annotations) = self.annotations else { return String::new() };
        let mut notes = String::new();
        if let Some(label) = annotations.label(node) {
            notes.push_str(&format!(" “{}”", shown(label)));
        }
        for (name, id) in annotations.bookmarks() {
            if id == node.id {
                notes.push_str(&format!(" @{}", shown(name)));
            }
        }
        notes
    }
}

/// Shortens a name to fit into a line.
fn shown(name: &str) -> String {
    Message::user(name).preview(WIDTH)
}

impl fmt::Display for TreeDrawing<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let above = Above { before: String::new(), template: None, places: Some(Vec::new()) };
        let short = ShortIds::of(self.tree.nodes().map(|node| node.id));
        // The lines that are still to be drawn, the next one last.
        let mut pending = self.below(None, &above);
        while let Some(line) = pending.pop() {
            let Ok(node) = self.tree.node(line.id) else { continue };
            let here = if self.head == Some(line.id) { "*" } else { " " };
            let text = self.describe(node, &line, &short);
            writeln!(formatter, "{here} {}{}{text}", line.before, line.branch.mark())?;
            let before = format!("{}{}", line.before, line.branch.below());
            let template = node.template().or(line.template);
            pending.extend(self.below(Some(line.id), &Above { before, template, places: line.places }));
        }
        Ok(())
    }
}

/// What is above some lines.
struct Above {
    before: String,
    /// The template of the last reply.
    template: Option<Digest>,
    /// The position of the parent; `None` if it is too deep to be shown.
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
    fn address(&self, short: &ShortIds) -> String {
        match &self.places {
            Some(places) => places.iter().copied().collect::<NodePath>().to_string(),
            None => short.short(&self.id.to_string()).to_owned(),
        }
    }
}

/// How a node is connected to the one above it.
#[derive(Clone, Copy)]
enum Branch {
    /// It is the only child.
    Only,
    /// Others follow.
    Middle,
    /// It is the last child of several.
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
