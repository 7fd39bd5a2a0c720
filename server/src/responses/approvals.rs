//! The approvals that a request for a response decides: those of stored calls, and those that wait in this process.

use alloquy_core::message::ToolCall;
use alloquy_core::{ConversationId, Node, Owner};
use serde_json::json;

use super::request::Asked;
use crate::app::App;
use crate::error::{ApiError, ApiResult};
use crate::host_tools::{Asker, Decisions, not_offered, waiting};
use crate::items::{Decision, GivenApproval, GivenApprovalRequest, GivenItem, Item, McpItem, no_request};
use crate::open_approvals::{OpenApproval, OpenApprovals};

/// Returns the approvals that the items of a request have, with their places.
pub(super) fn given(items: &[GivenItem]) -> Vec<(String, &GivenApproval)> {
    let approvals = items.iter().enumerate().filter_map(|(index, item)| match item {
        GivenItem::McpApprovalResponse(given) => Some((format!("input[{index}].approval_request_id"), given)),
        _ => None,
    });
    approvals.collect()
}

/// Reads the decisions of a request that follows a path.
///
/// # Errors
/// 400 for an approval that nothing waits for, which is so for those of other owners, for one that is decided twice, and where the
/// request does not offer the tool.
pub(super) fn read(
    asked: &Asked,
    path: &[Node],
    conversation: &ConversationId,
    app: &App,
    owner: &Owner,
) -> ApiResult<Option<Decisions>> {
    let given = given(&asked.items);
    if given.is_empty() {
        return Ok(None);
    }
    let stored = waiting(path, conversation)?;
    let mut decisions = Decisions::new(Asker::Response);
    for (place, approval) in given {
        let request = &approval.approval_request_id;
        if decisions.all.iter().any(|decision| decision.request == *request) {
            let message = format!("{place}: the approval {request:?} is decided twice in this request");
            return Err(ApiError::invalid(place, message));
        }
        let found =
            stored.iter().flat_map(|(_, waiting)| waiting).find(|waiting| waiting.request == *request);
        let (label, call) = match found {
            Some(waiting) => {
                decisions.reply = stored.as_ref().map(|(reply, _)| *reply);
                (waiting.label.clone(), waiting.call.clone())
            }
            None => {
                decisions.in_memory.push(request.clone());
                in_memory(asked, &place, request, app, owner)?
            }
        };
        if approval.approve && !asked.tools.has(&label, &call.name) {
            return Err(not_offered(&label, &call.name));
        }
        let reason = approval.reason.clone();
        let request = request.clone();
        decisions.all.push(Decision { request, approve: approval.approve, reason, label, call });
    }
    if decisions.reply.is_some() && !asked.settings.store {
        let message = "store is false, and the response whose approval is decided is stored: the decision is kept with it";
        return Err(ApiError::invalid("store", message));
    }
    Ok(Some(decisions))
}

/// Finds an approval of a response that was not stored, whose request the client sends back as it was.
fn in_memory(
    asked: &Asked,
    place: &str,
    request: &str,
    app: &App,
    owner: &Owner,
) -> ApiResult<(String, ToolCall)> {
    let given = asked.items.iter().find_map(|item| match item {
        GivenItem::McpApprovalRequest(given) if given.id == request => Some(given),
        _ => None,
    });
    let open = app.approvals().find(owner, request);
    match (given, open) {
        (Some(given), Some(open)) if is_same(given, &open) => Ok((open.label, given.call())),
        _ => Err(no_request(place, request)),
    }
}

fn is_same(given: &GivenApprovalRequest, open: &OpenApproval) -> bool {
    let call = given.call();
    given.server_label == open.label && call.name == open.call.name && call.arguments == open.call.arguments
}

/// Notes the approvals that an output requests, where the response is not stored.
pub(super) fn note_open(output: &[Item], open: &OpenApprovals, owner: &Owner) {
    for item in output {
        if let Item::Mcp(McpItem::ApprovalRequest { id, server_label, name, arguments }) = item {
            let arguments = serde_json::from_str(arguments).unwrap_or_else(|_| json!(arguments));
            let call = ToolCall::new(id, name, arguments);
            open.add(owner, id, OpenApproval { label: server_label.clone(), call });
        }
    }
}
