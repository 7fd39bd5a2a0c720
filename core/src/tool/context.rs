//! What tools and approvals know of the turn that they serve.

use crate::chat_model::Origin;
use crate::turn::TurnData;

/// What tools and approvals know of the turn that they serve.
///
/// ```
/// use alloquy_core::tool::ToolContext;
/// use alloquy_core::turn::TurnData;
///
/// struct User(&'static str);
///
/// let context = ToolContext::new(TurnData::default().with(User("ann")));
/// assert_eq!(context.turn_data.get::<User>().map(|user| user.0), Some("ann"));
/// assert!(context.origin.is_none());
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ToolContext {
    /// What the host handed to the turn.
    pub turn_data: TurnData,
    /// Whose turn it is; its parent is the node of the reply that has the calls. `None` outside of a conversation.
    pub origin: Option<Origin>,
}

impl ToolContext {
    /// A context outside of a conversation.
    pub fn new(turn_data: TurnData) -> Self {
        Self { turn_data, origin: None }
    }

    /// Sets whose turn it is.
    #[must_use]
    pub fn origin(mut self, origin: Origin) -> Self {
        self.origin = Some(origin);
        self
    }
}
