//! The items of the host's tools in a request: a client sends back what it received, and decides on approvals.

use alloquy_core::message::ToolCall;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::super::mcp::McpTool;

/// The tools of a server, as an earlier response has listed them.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GivenList {
    #[serde(rename = "type")]
    _kind: ListKind,
    pub(crate) server_label: String,
    pub(crate) tools: Vec<McpTool>,
    #[serde(default, rename = "id")]
    _id: Option<String>,
    #[serde(default, rename = "error")]
    _error: Option<String>,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum ListKind {
    McpListTools,
}

/// A call that has run at this server, with its result.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GivenMcpCall {
    #[serde(rename = "type")]
    _kind: McpCallKind,
    pub(crate) id: String,
    #[serde(rename = "server_label")]
    _server_label: String,
    pub(crate) name: String,
    pub(crate) arguments: String,
    #[serde(default)]
    pub(crate) output: Option<String>,
    #[serde(default)]
    pub(crate) error: Option<Value>,
    #[serde(default, rename = "approval_request_id")]
    _approval_request_id: Option<String>,
    #[serde(default, rename = "status")]
    _status: Option<McpCallStatus>,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum McpCallKind {
    McpCall,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum McpCallStatus {
    InProgress,
    Completed,
    Incomplete,
    Calling,
    Failed,
}

impl GivenMcpCall {
    /// Returns what the model reads as the result.
    pub(crate) fn result(&self) -> String {
        match (&self.output, &self.error) {
            (Some(output), _) => output.clone(),
            (None, Some(Value::String(error))) => error.clone(),
            (None, Some(error)) => {
                let said = error.get("content").or_else(|| error.get("message"));
                said.and_then(Value::as_str).map_or_else(|| error.to_string(), str::to_owned)
            }
            (None, None) => "this call was stopped before it was answered".to_owned(),
        }
    }
}

/// A call that waits for an approval.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GivenApprovalRequest {
    #[serde(rename = "type")]
    _kind: RequestKind,
    pub(crate) id: String,
    pub(crate) server_label: String,
    pub(crate) name: String,
    pub(crate) arguments: String,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum RequestKind {
    McpApprovalRequest,
}

impl GivenApprovalRequest {
    /// Returns the call, whose id is that of the item.
    pub(crate) fn call(&self) -> ToolCall {
        let arguments = serde_json::from_str(&self.arguments).unwrap_or_else(|_| json!(self.arguments));
        ToolCall::new(&self.id, &self.name, arguments)
    }
}

/// The decision on a call.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GivenApproval {
    #[serde(rename = "type")]
    _kind: ApprovalKind,
    pub(crate) approval_request_id: String,
    pub(crate) approve: bool,
    #[serde(default)]
    pub(crate) reason: Option<String>,
    #[serde(default, rename = "id")]
    _id: Option<String>,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum ApprovalKind {
    McpApprovalResponse,
}
