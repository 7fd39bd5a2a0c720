//! Where the head of a conversation is after a writer wanted it elsewhere.

use crate::tree::NodeId;

/// Where the head of the conversation is after a turn, or after nodes were appended with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HeadMove {
    /// At the last node.
    Moved,
    /// Elsewhere: another writer moved it first, and what was added is kept as a branch.
    Branched {
        /// Where it is.
        head: Option<NodeId>,
    },
}

impl HeadMove {
    /// Decides what becomes of a head that is at `head` when a writer moves it from `from` to `to`. One that is at `to`
    /// already counts as moved, so that moving again is harmless.
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
