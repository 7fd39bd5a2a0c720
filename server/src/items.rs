//! Items: what the input and the output of responses, and the contents of conversations, consist of in OpenAI's API.

mod given;
mod ids;
mod mcp;
mod namespaces;
mod shown;

pub(crate) use given::{
    Calls, GivenApproval, GivenApprovalRequest, GivenItem, Input, References, SUMMARY_PREFIX, no_request,
    parsed_items,
};
pub(crate) use ids::{ItemId, ItemPlace, ResponseId, conversation_id, conversation_of};
pub(crate) use mcp::{ApprovedCalls, DECISIONS, Decision, McpItem, McpServer, McpServers, McpTool, SERVERS};
pub(crate) use namespaces::Namespaces;
pub(crate) use shown::{Item, ItemContent, MARK, Shown, TurnMark, items_of_path};
