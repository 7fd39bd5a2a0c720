//! Which conversation a request comes from.

use crate::store::{ConversationId, Owner};
use crate::tree::NodeId;

/// The conversation that a request comes from. A turn sets it, middleware and tools read it, and a decoder on a server
/// may derive a session's name from it.
///
/// ```
/// use alloquy_core::{Owner, Request};
/// use alloquy_core::chat_model::Origin;
///
/// let request = Request::default().origin(Origin::new(Owner::local(), "letters".parse()?));
/// let origin = request.origin.as_ref();
/// assert_eq!(origin.map(|origin| origin.conversation.as_str()), Some("letters"));
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Origin {
    /// Who owns the conversation.
    pub owner: Owner,
    /// The conversation.
    pub conversation: ConversationId,
    /// The node that the reply follows; `None` for a reply to the preface alone.
    pub parent: Option<NodeId>,
}

impl Origin {
    /// Creates the origin of a request before the first message of a conversation.
    pub fn new(owner: Owner, conversation: ConversationId) -> Self {
        Self { owner, conversation, parent: None }
    }

    /// Sets the node that the reply follows.
    #[must_use]
    pub fn parent(mut self, parent: Option<NodeId>) -> Self {
        self.parent = parent;
        self
    }
}
