//! Trees as text: branches, notes, templates, any depth.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

use alloquy_core::conversation::TreeDrawing;
use alloquy_core::media::Digest;
use alloquy_core::report::ReplyFacts;
use alloquy_core::tree::{NodeStatus, Tree};
use alloquy_core::{Manager, Message, Node, NodeId, Preface};
use alloquy_testing::EchoModel;
use pollster::block_on;

fn child(tree: &mut Tree, parent: Option<NodeId>, message: Message) -> NodeId {
    let node = Node::new(parent, message);
    let id = node.id;
    tree.insert(node).unwrap();
    id
}

#[test]
fn an_empty_tree_is_an_empty_drawing() {
    assert_eq!(TreeDrawing::new(&Tree::default()).to_string(), "");
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
    let long = "Why is the sky so very blue today, and was it as blue in the days of old?";
    child(&mut tree, None, Message::user(long));
    insta::assert_snapshot!(TreeDrawing::new(&tree).head(Some(head)));
}

#[test]
fn a_change_of_template_is_shown() {
    let mut tree = Tree::default();
    let mut above = None;
    for (said, template) in [("One", Some("a")), ("Two", None), ("Three", Some("b")), ("Four", Some("b"))] {
        let mut node = Node::new(above, Message::assistant(said));
        let mut facts = ReplyFacts::new("tiny");
        facts.template = template.map(|source| Digest::of(source.as_bytes()));
        node.reply = Some(Box::new(facts));
        above = Some(node.id);
        tree.insert(node).unwrap();
    }
    let drawn = TreeDrawing::new(&tree).head(above).to_string();
    let reported: Vec<_> = drawn.lines().map(|line| line.contains("(another template)")).collect();
    assert_eq!(reported, [false, false, true, false], "{drawn}");
}

#[test]
fn labels_and_bookmarks_follow_a_message() {
    block_on(async {
        let manager = Manager::new(EchoModel);
        let conversation = manager.create(Preface::default()).await.unwrap();
        let tea = conversation.send("Tea?").finish().await.unwrap();
        conversation.label(tea.answers(), Some("drinks\u{1b}[2J")).await.unwrap();
        conversation.bookmark("here", tea.node).await.unwrap();
        conversation.bookmark("and here", tea.node).await.unwrap();
        insta::assert_snapshot!(conversation.draw().await.unwrap());
    });
}

#[test]
fn a_conversation_a_hundred_thousand_deep_is_drawn_in_short_lines() {
    let mut parent = None;
    let chain = std::iter::repeat_with(|| {
        let node = Node::new(parent, Message::user("x"));
        parent = Some(node.id);
        node
    });
    let tree = Tree::from_nodes(chain.take(100_000)).unwrap();
    let drawn = TreeDrawing::new(&tree).to_string();
    assert_eq!(drawn.lines().count(), 100_000);
    assert!(drawn.lines().all(|line| line.len() < 100));
    let last = drawn.lines().last().unwrap();
    let address = last.split_once('[').unwrap().1.trim_end_matches(']');
    assert_eq!(tree.find(address).unwrap(), Some(tree.leaves()[0]), "what it shows is an address");
}
