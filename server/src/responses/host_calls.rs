//! The calls of the host's tools while a response is written.

use alloquy_core::Node;
use alloquy_core::message::{ToolCall, ToolResult};

use crate::items::{ApprovedCalls, DECISIONS, Decision, ItemId, McpItem, McpServers};

/// The calls of the host's tools in a response.
#[derive(Debug, Default)]
pub(super) struct HostCalls {
    pub(super) servers: McpServers,
    /// Those that the request has approved and that have not begun.
    pub(super) approved: Vec<Decision>,
    /// Those that run.
    pub(super) open: Vec<OpenCall>,
    /// Those that wait for an approval.
    pub(super) waiting: Vec<McpItem>,
    /// The messages of the request with approvals.
    given: Vec<Node>,
}

/// A call that runs.
#[derive(Debug)]
pub(super) struct OpenCall {
    pub(super) id: ItemId,
    pub(super) index: usize,
    pub(super) label: String,
    pub(super) call: ToolCall,
    /// The approval by which it runs.
    pub(super) request: Option<String>,
}

impl OpenCall {
    /// Returns the item of the call with its result, if there is one.
    pub(super) fn item(&self, result: Option<&ToolResult>) -> McpItem {
        McpItem::call(&self.id, &self.label, &self.call, self.request.as_deref(), result)
    }
}

impl HostCalls {
    /// Notes a message of the request.
    pub(super) fn note(&mut self, node: &Node) {
        if node.metadata.contains_key(DECISIONS) {
            self.given.push(node.clone());
        }
    }

    /// Returns the calls that the request has approved, with their results.
    pub(super) fn approved_calls(&self) -> ApprovedCalls {
        ApprovedCalls::of(self.given.iter())
    }

    /// Takes the decision on a call that begins now.
    pub(super) fn begin(&mut self, call: &ToolCall) -> Option<Decision> {
        let place = self.approved.iter().position(|decision| decision.call == *call)?;
        Some(self.approved.remove(place))
    }

    /// Takes a call that has ended.
    pub(super) fn end(&mut self, id: &str) -> Option<OpenCall> {
        let place = self.open.iter().position(|open| open.call.id == id)?;
        Some(self.open.remove(place))
    }
}
