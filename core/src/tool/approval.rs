//! Who says whether a call may run.

use std::fmt::Debug;
use std::sync::Arc;

use async_trait::async_trait;

use super::ToolContext;
use crate::message::ToolCall;
use crate::preface::ToolSpec;

/// Says of each call whether it may run, before it does.
///
/// The calls of a reply are put before it one after another, in order, and none runs until all are decided. A call of
/// a name that nobody knows is not put before it.
///
/// ```
/// use alloquy_core::ToolSpec;
/// use alloquy_core::message::ToolCall;
/// use alloquy_core::tool::{Approval, ToolContext, Verdict};
///
/// /// Lets a model read, and write only for those who may.
/// #[derive(Debug)]
/// struct ReadOnly;
///
/// /// What the host hands to the turns of some users.
/// struct MayWrite;
///
/// #[async_trait::async_trait]
/// impl Approval for ReadOnly {
///     async fn approve(&self, call: &ToolCall, _: &ToolSpec, context: &ToolContext) -> Verdict {
///         let may_write = context.turn_data.get::<MayWrite>().is_some();
///         if call.name.starts_with("read_") || may_write {
///             Verdict::Allow
///         } else {
///             Verdict::Refuse("only reading is allowed here".to_owned())
///         }
///     }
/// }
/// ```
#[async_trait]
pub trait Approval: Send + Sync + Debug {
    /// Decides on a call of `tool` in a turn. Dropping the future withdraws the question.
    async fn approve(&self, call: &ToolCall, tool: &ToolSpec, context: &ToolContext) -> Verdict;
}

// A method that is provided later is passed on too.
#[deny(clippy::missing_trait_methods)]
#[async_trait]
impl<A: Approval + ?Sized> Approval for Arc<A> {
    async fn approve(&self, call: &ToolCall, tool: &ToolSpec, context: &ToolContext) -> Verdict {
        (**self).approve(call, tool, context).await
    }
}

/// Whether a call may run.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// It runs.
    Allow,
    /// It does not, and the model reads this reason.
    Refuse(String),
}
