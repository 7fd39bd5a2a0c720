//! What a node is called by: its id, or its place in the tree. Knows no tree.

use std::fmt;
use std::str::FromStr;

use crate::tree::NodeId;
use crate::{Error, ErrorKind, Result};

/// A place in a tree: `""` stands before the first message, `"0"` is the first message, `"0.1"` the second thing that
/// was ever said after it.
///
/// It is computed from the tree and never stored: where a node is pruned, the siblings behind it move up.
///
/// ```
/// use alloquy_core::{Message, Node, Tree};
///
/// let question = Node::new(None, Message::user("Why?"));
/// let answer = Node::new(Some(question.id), Message::assistant("Because."));
/// let tree = Tree::from_nodes([question, answer.clone()])?;
/// assert_eq!(tree.position(Some(answer.id))?.to_string(), "0.0");
/// assert_eq!(tree.at(&"0.0".parse()?)?, Some(answer.id));
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position(Vec<usize>);

impl Position {
    /// Returns the place at each level, from the first message down, counted from 0.
    pub fn places(&self) -> &[usize] {
        &self.0
    }
}

impl FromIterator<usize> for Position {
    fn from_iter<I: IntoIterator<Item = usize>>(places: I) -> Self {
        Self(places.into_iter().collect())
    }
}

impl fmt::Display for Position {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let places: Vec<_> = self.0.iter().map(usize::to_string).collect();
        formatter.write_str(&places.join("."))
    }
}

impl FromStr for Position {
    type Err = Error;

    /// Reads one spelling only: no sign, no space, no leading zero.
    fn from_str(text: &str) -> Result<Self> {
        if text.is_empty() {
            return Ok(Self::default());
        }
        let place = |digits: &str| {
            let number = digits.parse::<usize>().ok()?;
            (number.to_string() == digits).then_some(number)
        };
        text.split('.').map(place).collect::<Option<_>>().map(Self).ok_or_else(|| {
            let message = format!("{text:?} is not a list of places such as \"0.1.2\"");
            Error::new(ErrorKind::Invalid, message)
        })
    }
}

/// A node by its id or by its [`Position`]: whatever takes one takes the other. The empty position, and a node that is
/// `None`, is the place before the first message.
///
/// A position is looked up in the whole tree, each time; an id is not.
///
/// ```
/// use alloquy_core::{Address, NodeId};
///
/// let node = NodeId::new();
/// assert_eq!(node.to_string().parse::<Address>()?, Address::from(node));
/// assert_eq!("0.1.2".parse::<Address>()?.to_string(), "0.1.2");
/// assert_eq!(Address::from(None), "".parse()?);
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Address {
    /// The node of this id, wherever it stands.
    Node(NodeId),
    /// The node that stands here, whichever it is.
    Position(Position),
}

impl Default for Address {
    fn default() -> Self {
        Self::Position(Position::default())
    }
}

impl From<NodeId> for Address {
    fn from(id: NodeId) -> Self {
        Self::Node(id)
    }
}

impl From<Option<NodeId>> for Address {
    fn from(id: Option<NodeId>) -> Self {
        id.map_or_else(Self::default, Self::Node)
    }
}

impl From<Position> for Address {
    fn from(position: Position) -> Self {
        Self::Position(position)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Node(id) => id.fmt(formatter),
            Self::Position(position) => position.fmt(formatter),
        }
    }
}

impl FromStr for Address {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        if let Ok(id) = text.parse() {
            return Ok(Self::Node(id));
        }
        text.parse().map(Self::Position).map_err(|_: Error| {
            let message =
                format!("address {text:?} is neither a node's id nor a list of places such as \"0.1.2\"");
            Error::new(ErrorKind::Invalid, message)
        })
    }
}
