//! The approval of tool calls.

use std::fmt::Debug;
use std::sync::Arc;

use async_trait::async_trait;

use super::ToolContext;
use crate::message::ToolCall;
use crate::preface::ToolSpec;

/// Decides whether a tool call may run.
///
/// It decides the calls of a reply one after another, in order, and none runs until all are decided. It is not asked
/// about calls of unknown tools.
///
/// ```
/// use alloquy_core::ToolSpec;
/// use alloquy_core::message::ToolCall;
/// use alloquy_core::tool::{ToolApproval, ToolContext, ApprovalDecision};
///
/// /// Allows reading, and writing only for some users.
/// #[derive(Debug)]
/// struct ReadOnly;
///
/// /// What the host passes to the turns of these users.
/// struct MayWrite;
///
/// #[async_trait::async_trait]
/// impl ToolApproval for ReadOnly {
///     async fn approve(&self, call: &ToolCall, _: &ToolSpec, context: &ToolContext) -> ApprovalDecision {
///         let may_write = context.turn_data.get::<MayWrite>().is_some();
///         if call.name.starts_with("read_") || may_write {
///             ApprovalDecision::Allow
///         } else {
///             ApprovalDecision::Refuse("only reading is allowed here".to_owned())
///         }
///     }
/// }
/// ```
#[async_trait]
pub trait ToolApproval: Send + Sync + Debug {
    /// Decides about a call of `tool` in a turn. Dropping the future withdraws the request.
    async fn approve(&self, call: &ToolCall, tool: &ToolSpec, context: &ToolContext) -> ApprovalDecision;
}

// Every method is computed, also one that the trait gets later.
#[deny(clippy::missing_trait_methods)]
#[async_trait]
impl<A: ToolApproval + ?Sized> ToolApproval for Arc<A> {
    async fn approve(&self, call: &ToolCall, tool: &ToolSpec, context: &ToolContext) -> ApprovalDecision {
        (**self).approve(call, tool, context).await
    }
}

/// Whether a call may run.
///
/// ```
/// use alloquy_core::message::ToolCall;
/// use alloquy_core::tool::ApprovalDecision;
/// use serde_json::json;
///
/// fn decide(call: &ToolCall) -> ApprovalDecision {
///     match call.arguments["path"].as_str() {
///         Some(path) if path.starts_with("notes/") => ApprovalDecision::Allow,
///         _ => ApprovalDecision::Refuse("only files in notes/ may be read".to_owned()),
///     }
/// }
///
/// let call = ToolCall::new("call_1", "read_file", json!({"path": "notes/tea.md"}));
/// assert_eq!(decide(&call), ApprovalDecision::Allow);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ApprovalDecision {
    /// It runs.
    Allow,
    /// It does not run, and the model reads this reason.
    Refuse(String),
}
