//! The outcome of moving the head of a conversation.

use crate::tree::NodeId;

/// Where the head of a conversation is after a turn, or after nodes were appended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HeadMove {
    /// At the last node.
    Moved,
    /// Elsewhere: another writer moved it first, and the added nodes are kept as a branch.
    Branched {
        /// Where it is.
        head: Option<NodeId>,
    },
}

impl HeadMove {
    /// Returns the outcome if the head is at `head` and a writer moves it from `from` to `to`. A head that is at `to`
    /// already counts as moved, so repeating a move is harmless.
    ///
    /// ```
    /// use alloquy_core::NodeId;
    /// use alloquy_core::store::HeadMove;
    ///
    /// let (to, other) = (Some(NodeId::new()), Some(NodeId::new()));
    /// assert_eq!(HeadMove::of(None, None, to), HeadMove::Moved);
    /// assert_eq!(HeadMove::of(to, None, to), HeadMove::Moved);
    /// assert_eq!(HeadMove::of(other, None, to), HeadMove::Branched { head: other });
    /// ```
    pub fn of(head: Option<NodeId>, from: Option<NodeId>, to: Option<NodeId>) -> Self {
        if head == from || head == to { Self::Moved } else { Self::Branched { head } }
    }
}
