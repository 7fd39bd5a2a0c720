//! A conversation's tree as text: a role, the first words and an address on each line. Knows no store.

use std::fmt::Write as _;

use alloquy_core::{Digest, Node, NodeId, NodeStatus, Result, Tree};

use crate::preview::preview;

/// How many characters of a message are shown.
const WIDTH: usize = 60;

/// Draws a tree, marking the head with `*`.
///
/// A conversation without branches is drawn flat, whatever its length: a line is indented by the branches above
/// it alone.
pub(crate) fn draw(tree: &Tree, head: Option<NodeId>) -> Result<String> {
    let mut drawing = String::new();
    // Lines still to be drawn, the next one last: the node and what stands before its own mark.
    let mut pending = Vec::new();
    push_children(tree, None, ("", None), &mut pending);
    while let Some(Line { id, before, branch, template }) = pending.pop() {
        let node = tree.node(id)?;
        let here = if head == Some(id) { "*" } else { " " };
        let (mark, text, address) = (branch.mark(), describe(node, template), tree.address(Some(id))?);
        // Writing to a string cannot fail.
        let _ = writeln!(drawing, "{here} {before}{mark}{text}  [{address}]");
        let below = format!("{before}{}", branch.below());
        push_children(tree, Some(id), (&below, node.template().or(template)), &mut pending);
    }
    Ok(drawing)
}

/// A line to be drawn.
struct Line {
    id: NodeId,
    before: String,
    branch: Branch,
    /// What the last reply above was rendered with.
    template: Option<Digest>,
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

fn push_children(
    tree: &Tree,
    parent: Option<NodeId>,
    (before, template): (&str, Option<Digest>),
    pending: &mut Vec<Line>,
) {
    let children = tree.children(parent);
    for (place, &id) in children.iter().enumerate().rev() {
        let branch = match place + 1 {
            _ if children.len() == 1 => Branch::Only,
            count if count == children.len() => Branch::Last,
            _ => Branch::Middle,
        };
        pending.push(Line { id, before: before.to_owned(), branch, template });
    }
}

fn describe(node: &Node, before: Option<Digest>) -> String {
    let status = match node.status {
        NodeStatus::Interrupted => " (interrupted)",
        _ => "",
    };
    let template = match (before, node.template()) {
        (Some(before), Some(now)) if before != now => " (another template)",
        _ => "",
    };
    format!("{}: {}{status}{template}", node.message.role, preview(&node.message, WIDTH))
}

#[cfg(test)]
mod tests {
    use alloquy_core::Message;

    use super::*;

    fn child(tree: &mut Tree, parent: Option<NodeId>, message: Message) -> NodeId {
        let node = Node::new(parent, message);
        let id = node.id;
        tree.insert(node).unwrap();
        id
    }

    #[test]
    fn an_empty_tree_is_an_empty_drawing() {
        assert_eq!(draw(&Tree::default(), None).unwrap(), "");
    }

    #[test]
    fn branches_indent_and_a_line_of_messages_does_not() {
        let mut tree = Tree::default();
        let question = child(&mut tree, None, Message::user("Why is the sky blue?"));
        let first = child(&mut tree, Some(question), Message::assistant("Because."));
        let follow = child(&mut tree, Some(first), Message::user("Because what?"));
        child(&mut tree, Some(follow), Message::assistant("Because of the air."));
        let mut second = Node::new(Some(question), Message::assistant("Air scatters blue light"));
        second.status = NodeStatus::Interrupted;
        let head = second.id;
        tree.insert(second).unwrap();
        child(
            &mut tree,
            None,
            Message::user("Why is the sky so very blue today, and was it as blue in the days of old?"),
        );
        insta::assert_snapshot!(draw(&tree, Some(head)).unwrap());
    }

    #[test]
    fn another_template_than_above_is_told_of() {
        let mut tree = Tree::default();
        let mut above = None;
        for (said, template) in [("One", Some("a")), ("Two", None), ("Three", Some("b")), ("Four", Some("b"))]
        {
            let mut node = Node::new(above, Message::assistant(said));
            let digest = template.map(|source| Digest::of(source.as_bytes()).to_string());
            node.metadata.extend(digest.map(|digest| ("template".to_owned(), digest.into())));
            above = Some(node.id);
            tree.insert(node).unwrap();
        }
        let drawn = draw(&tree, above).unwrap();
        let told: Vec<_> = drawn.lines().map(|line| line.contains("(another template)")).collect();
        assert_eq!(told, [false, false, true, false], "{drawn}");
    }
}
