//! What tools and approvals know of their turn.

use crate::chat_model::Origin;
use crate::turn::TurnData;

/// What tools and approvals know of their turn.
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
    /// What the host passed to the turn.
    pub turn_data: TurnData,
    /// The conversation of the turn; the parent in it is the reply with the calls. `None` outside of a conversation.
    pub origin: Option<Origin>,
}

impl ToolContext {
    /// Creates a context outside of a conversation.
    pub fn new(turn_data: TurnData) -> Self {
        Self { turn_data, origin: None }
    }

    /// Sets the conversation of the turn.
    #[must_use]
    pub fn origin(mut self, origin: Origin) -> Self {
        self.origin = Some(origin);
        self
    }
}
