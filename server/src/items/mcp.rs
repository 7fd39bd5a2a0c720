//! What is kept of the host's tools in a response: their lists, which calls wait for an approval, and how approvals were decided.

use alloquy_core::message::{ToolCall, ToolResult};
use alloquy_core::{ConversationId, Node, NodeId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::ids::ItemId;
use crate::call_arguments;

/// The entry of a reply's metadata with the tools of its request.
pub(crate) const SERVERS: &str = "openai_mcp";
/// The entry of a message's metadata with the approvals that its request decided, and of a conversation's with the nodes by which the
/// approvals of replies were answered.
pub(crate) const DECISIONS: &str = "openai_approvals";

/// A tool of a server, as lists show it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct McpTool {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) description: Option<String>,
    #[serde(default)]
    pub(crate) input_schema: Value,
    /// What a server says beside; there is none here.
    #[serde(default)]
    pub(crate) annotations: Option<Value>,
}

/// The tools of a server, as a request offers them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct McpServer {
    pub(crate) label: String,
    /// Whether the response shows the list: an earlier one of the same conversation has not.
    pub(crate) is_listed: bool,
    pub(crate) tools: Vec<McpTool>,
    /// The names of the tools whose calls wait for an approval.
    pub(crate) waiting: Vec<String>,
}

/// The servers of a request.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct McpServers(pub(crate) Vec<McpServer>);

impl McpServers {
    /// Reads those of a reply with this metadata.
    pub(crate) fn of(metadata: &Map<String, Value>) -> Self {
        metadata.get(SERVERS).and_then(|value| Self::deserialize(value).ok()).unwrap_or_default()
    }

    /// Returns the server of a tool. Names are unique within a request.
    pub(crate) fn find(&self, tool: &str) -> Option<&McpServer> {
        self.0.iter().find(|server| server.tools.iter().any(|other| other.name == tool))
    }

    /// Returns the server of a tool whose calls wait for an approval.
    pub(crate) fn waiting(&self, tool: &str) -> Option<&McpServer> {
        self.find(tool).filter(|server| server.waits(tool))
    }

    /// Returns the lists that are shown, as items before all others.
    pub(crate) fn items(&self, conversation: &ConversationId, answered: NodeId) -> Vec<McpItem> {
        let listed = self.0.iter().filter(|server| server.is_listed).enumerate();
        listed
            .map(|(index, server)| McpItem::ListTools {
                id: ItemId::generated(conversation, answered, index).with_prefix("mcpl"),
                server_label: server.label.clone(),
                tools: server.tools.clone(),
                error: None,
            })
            .collect()
    }
}

impl McpServer {
    /// Returns whether calls of a tool wait for an approval.
    pub(crate) fn waits(&self, tool: &str) -> bool {
        self.waiting.iter().any(|name| name == tool)
    }
}

/// An approval that was decided.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Decision {
    /// The id of the item that requests it.
    pub(crate) request: String,
    pub(crate) approve: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<String>,
    pub(crate) label: String,
    pub(crate) call: ToolCall,
}

impl Decision {
    /// Reads those of a message with this metadata.
    pub(crate) fn all(metadata: &Map<String, Value>) -> Vec<Self> {
        metadata.get(DECISIONS).and_then(|value| Vec::deserialize(value).ok()).unwrap_or_default()
    }

    /// Returns the result of a call that has not run.
    pub(crate) fn unanswered(&self) -> ToolResult {
        ToolResult::error(&self.call, "this call was stopped before it was answered")
    }

    /// Returns the result of the call, if it was refused.
    pub(crate) fn refusal(&self) -> Option<ToolResult> {
        if self.approve {
            return None;
        }
        let reason = self.reason.as_deref().filter(|reason| !reason.is_empty());
        let message = match reason {
            Some(reason) => format!("this call was refused: {reason}"),
            None => "this call was refused".to_owned(),
        };
        Some(ToolResult::error(&self.call, message))
    }
}

/// The calls that a request has approved, with their results: the first items of its output.
#[derive(Clone, Debug, Default)]
pub(crate) struct ApprovedCalls(Vec<(Decision, Option<ToolResult>)>);

impl ApprovedCalls {
    /// Reads those of the messages of a request.
    pub(crate) fn of<'a>(given: impl IntoIterator<Item = &'a Node>) -> Self {
        let given: Vec<&Node> = given.into_iter().collect();
        let Some(last) = given.last() else { return Self::default() };
        let approved = Decision::all(&last.metadata).into_iter().filter(|decision| decision.approve);
        let found = |id: &str| {
            let mut results = given.iter().flat_map(|node| node.message.tool_results());
            results.find(|result| result.id == id).cloned()
        };
        Self(approved.map(|decision| (decision.clone(), found(&decision.call.id))).collect())
    }

    /// Returns their items, of which the first has a number.
    pub(crate) fn items(
        &self,
        conversation: &ConversationId,
        answered: NodeId,
        first: usize,
    ) -> impl Iterator<Item = McpItem> {
        self.0.iter().enumerate().map(move |(index, (decision, result))| {
            let id = ItemId::generated(conversation, answered, first + index);
            McpItem::call(&id, &decision.label, &decision.call, Some(&decision.request), result.as_ref())
        })
    }
}

/// An item of the host's tools.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(tag = "type")]
pub(crate) enum McpItem {
    #[serde(rename = "mcp_list_tools")]
    ListTools { id: String, server_label: String, tools: Vec<McpTool>, error: Option<String> },
    #[serde(rename = "mcp_call")]
    Call {
        id: String,
        server_label: String,
        name: String,
        arguments: String,
        approval_request_id: Option<String>,
        output: Option<String>,
        error: Option<Value>,
        status: String,
    },
    #[serde(rename = "mcp_approval_request")]
    ApprovalRequest { id: String, server_label: String, name: String, arguments: String },
    #[serde(rename = "mcp_approval_response")]
    ApprovalResponse { id: String, approval_request_id: String, approve: bool, reason: Option<String> },
}

impl McpItem {
    /// Returns the id.
    pub(crate) fn id(&self) -> &str {
        match self {
            Self::ListTools { id, .. }
            | Self::Call { id, .. }
            | Self::ApprovalRequest { id, .. }
            | Self::ApprovalResponse { id, .. } => id,
        }
    }

    /// A call that has run here. Without a result, it has not.
    pub(crate) fn call(
        id: &ItemId,
        label: &str,
        call: &ToolCall,
        request: Option<&str>,
        result: Option<&ToolResult>,
    ) -> Self {
        let status = match result {
            Some(result) if result.is_error => "failed",
            Some(_) => "completed",
            None => "incomplete",
        };
        let failure = result.filter(|result| result.is_error);
        Self::Call {
            id: id.with_prefix("mcp"),
            server_label: label.to_owned(),
            name: call.name.clone(),
            arguments: call_arguments::text_of(call),
            approval_request_id: request.map(str::to_owned),
            output: result.filter(|result| !result.is_error).map(ToolResult::text),
            error: failure
                .map(|result| json!({"type": "mcp_tool_execution_error", "content": result.text()})),
            status: status.to_owned(),
        }
    }

    /// A call that waits for an approval.
    pub(crate) fn request(id: &ItemId, label: &str, call: &ToolCall) -> Self {
        Self::ApprovalRequest {
            id: id.with_prefix("mcpr"),
            server_label: label.to_owned(),
            name: call.name.clone(),
            arguments: call_arguments::text_of(call),
        }
    }
}
