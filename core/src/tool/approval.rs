//! Who says whether a call may run.

use std::fmt::Debug;
use std::sync::Arc;

use async_trait::async_trait;

use crate::message::ToolCall;
use crate::preface::ToolSpec;

/// Says of each call whether it may run, before it does.
///
/// The calls of a reply are put before it one after another, in order, and none runs until all are decided. A call of
/// a name that nobody knows is not put before it.
///
/// ```
/// use alloquy_core::{Approval, ToolCall, ToolSpec, Verdict};
///
/// /// Lets a model look, not touch.
/// #[derive(Debug)]
/// struct ReadOnly;
///
/// #[async_trait::async_trait]
/// impl Approval for ReadOnly {
///     async fn approve(&self, call: &ToolCall, _tool: &ToolSpec) -> Verdict {
///         match call.name.starts_with("read_") {
///             true => Verdict::Allow,
///             false => Verdict::Refuse("only reading is allowed here".to_owned()),
///         }
///     }
/// }
/// ```
#[async_trait]
pub trait Approval: Send + Sync + Debug {
    /// Decides on a call of `tool`. Dropping the future withdraws the question.
    async fn approve(&self, call: &ToolCall, tool: &ToolSpec) -> Verdict;
}

#[async_trait]
impl<A: Approval + ?Sized> Approval for Arc<A> {
    async fn approve(&self, call: &ToolCall, tool: &ToolSpec) -> Verdict {
        (**self).approve(call, tool).await
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
