//! The addresses of nodes: ids, and positions in the tree.

use std::fmt;
use std::str::FromStr;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::clock::new_id;
use crate::media::Digest;
use crate::{Error, ErrorKind, Result};

/// The id of a node: a UUIDv7, so ids sort by the time of their creation.
///
/// ```
/// use alloquy_core::NodeId;
///
/// let (first, second) = (NodeId::new(), NodeId::new());
/// assert!(first < second);
/// assert_eq!(first.to_string().parse::<NodeId>()?, first);
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NodeId(Uuid);

impl NodeId {
    /// Creates an id that sorts above every id created before in this process. A clock before 1970 counts as 1970.
    #[allow(clippy::new_without_default)] // every call gives another value
    pub fn new() -> Self {
        Self(new_id())
    }

    /// Returns the id of a node that was created elsewhere, `milliseconds` after 1970, as the `place`th of its
    /// siblings. The same arguments give the same id, and ids of one moment sort by place. `digest` distinguishes nodes
    /// with the same time and place.
    pub fn of_import(milliseconds: u64, place: u64, digest: Digest) -> Self {
        // A UUIDv7 has 74 free bits: 12 and 6 of them are the place, 56 the digest. Places beyond 18 bits are added to
        // the time, so that the order stays.
        let [.., high, middle, low] = place.to_be_bytes();
        let [_, _, _, a, b, c, d, e, f, g, ..] = *digest.as_bytes();
        let bits = [(high << 2) | (middle >> 6), (middle << 2) | (low >> 6), low & 0x3f, a, b, c, d, e, f, g];
        Self(uuid::Builder::from_unix_timestamp_millis(milliseconds + (place >> 18), &bits).into_uuid())
    }

    /// Returns when the id was created, to the millisecond.
    pub fn created(self) -> SystemTime {
        let since_epoch = self.0.get_timestamp().map_or((0, 0), |timestamp| timestamp.to_unix());
        SystemTime::UNIX_EPOCH + Duration::new(since_epoch.0, since_epoch.1)
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

impl fmt::Debug for NodeId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "NodeId({self})")
    }
}

impl FromStr for NodeId {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        text.parse().map(Self).map_err(|source| {
            Error::new(ErrorKind::Invalid, format!("node id {text:?} is not a UUID")).with_source(source)
        })
    }
}

/// A place in a tree: `""` is before the first message, `"0"` is the first message, and `"0.1"` is its second child.
///
/// It is computed from the tree and never stored: if a node is pruned, the siblings after it move up.
///
/// ```
/// use alloquy_core::{Message, Node};
/// use alloquy_core::tree::Tree;
///
/// let question = Node::new(None, Message::user("Why?"));
/// let answer = Node::new(Some(question.id), Message::assistant("Because."));
/// let tree = Tree::from_nodes([question, answer.clone()])?;
/// assert_eq!(tree.position(Some(answer.id))?.to_string(), "0.0");
/// assert_eq!(tree.at(&"0.0".parse()?)?, Some(answer.id));
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodePath(Vec<usize>);

impl NodePath {
    /// Returns the place at each level, from the first message down, counted from 0.
    pub fn places(&self) -> &[usize] {
        &self.0
    }
}

impl FromIterator<usize> for NodePath {
    fn from_iter<I: IntoIterator<Item = usize>>(places: I) -> Self {
        Self(places.into_iter().collect())
    }
}

impl fmt::Display for NodePath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let places: Vec<_> = self.0.iter().map(usize::to_string).collect();
        formatter.write_str(&places.join("."))
    }
}

impl FromStr for NodePath {
    type Err = Error;

    /// Accepts only one notation: no sign, no space, no leading zero.
    fn from_str(text: &str) -> Result<Self> {
        if text.is_empty() {
            return Ok(Self::default());
        }
        let mut places = Vec::new();
        for digits in text.split('.') {
            match digits.parse::<usize>() {
                Ok(place) if place.to_string() == digits => places.push(place),
                _ => {
                    let message = format!("{text:?} is not a list of places such as \"0.1.2\"");
                    return Err(Error::new(ErrorKind::Invalid, message));
                }
            }
        }
        Ok(Self(places))
    }
}

/// A node by its id or by its [`NodePath`]. The empty position, and a node that is `None`, is the place before the
/// first message.
///
/// Looking up a position reads the whole tree each time; looking up an id does not.
///
/// ```
/// use alloquy_core::NodeId;
/// use alloquy_core::tree::Address;
///
/// let node = NodeId::new();
/// assert_eq!(node.to_string().parse::<Address>()?, Address::from(node));
/// assert_eq!("0.1.2".parse::<Address>()?.to_string(), "0.1.2");
/// assert_eq!(Address::from(None), "".parse()?);
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Address {
    /// The node with this id.
    Node(NodeId),
    /// The node that is at this position now.
    Path(NodePath),
}

impl Default for Address {
    fn default() -> Self {
        Self::Path(NodePath::default())
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

impl From<NodePath> for Address {
    fn from(position: NodePath) -> Self {
        Self::Path(position)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Node(id) => id.fmt(formatter),
            Self::Path(position) => position.fmt(formatter),
        }
    }
}

impl FromStr for Address {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        if let Ok(id) = text.parse() {
            return Ok(Self::Node(id));
        }
        text.parse().map(Self::Path).map_err(|_: Error| {
            let message =
                format!("address {text:?} is neither a node's id nor a list of places such as \"0.1.2\"");
            Error::new(ErrorKind::Invalid, message)
        })
    }
}
