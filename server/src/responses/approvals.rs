//! Approvals: the calls that wait for one, the decisions of a request, and the claim by which each call runs at most once.

use std::sync::Mutex;

use alloquy_core::message::{ToolCall, ToolResult};
use alloquy_core::store::ConversationStoreExt as _;
use alloquy_core::{Content, ConversationId, Message, Node, NodeId, Owner};
use serde_json::{Map, Value, json};

use super::request::Asked;
use crate::app::App;
use crate::error::{ApiError, ApiResult};
use crate::items::{
    Calls, DECISIONS, Decision, GivenApproval, GivenApprovalRequest, GivenItem, Item, McpItem, McpServers,
    ResponseId, Shown, items_of_path, no_request,
};
use crate::open_approvals::{OpenApproval, OpenApprovals};

/// The approvals that a request decides.
#[derive(Clone, Debug)]
pub(super) struct Decisions {
    /// In the order of the calls.
    pub(super) all: Vec<Decision>,
    /// The stored reply with calls among them.
    pub(super) reply: Option<NodeId>,
    /// The ids of those that wait in this process alone.
    in_memory: Vec<String>,
    /// The node of the last message of the request, by which the response is named.
    pub(super) question: NodeId,
}

/// A call that waits.
struct Waiting {
    request: String,
    label: String,
    call: ToolCall,
}

/// Returns the approvals that the items of a request have, with their places.
pub(super) fn given(items: &[GivenItem]) -> Vec<(String, &GivenApproval)> {
    let approvals = items.iter().enumerate().filter_map(|(index, item)| match item {
        GivenItem::McpApprovalResponse(given) => Some((format!("input[{index}].approval_request_id"), given)),
        _ => None,
    });
    approvals.collect()
}

/// Returns the node of the last reply of a path, and its calls that wait.
fn waiting(path: &[Node], conversation: &ConversationId) -> ApiResult<Option<(NodeId, Vec<Waiting>)>> {
    let Some(place) = path.iter().rposition(|node| node.reply.is_some()) else { return Ok(None) };
    let (before, after) = path.split_at(place + 1);
    let Some(reply) = before.last() else { return Ok(None) };
    if after.iter().any(|node| node.message.tool_results().next().is_none()) {
        return Ok(None);
    }
    let results: Vec<&str> =
        after.iter().flat_map(|node| node.message.tool_results()).map(|result| result.id.as_str()).collect();
    let servers = McpServers::of(&reply.metadata);
    let calls = reply.message.tool_calls().filter(|call| {
        let waits = servers.find(&call.name).is_some_and(|server| server.waits(&call.name));
        waits && !results.contains(&call.id.as_str())
    });
    let items = items_of_path(path, Shown { conversation, images: false })?;
    let requests = items.into_iter().filter(|(node, _)| *node == place).filter_map(|(_, item)| match item {
        Item::Mcp(McpItem::ApprovalRequest { id, server_label, .. }) => Some((id, server_label)),
        _ => None,
    });
    let waiting =
        requests.zip(calls).map(|((request, label), call)| Waiting { request, label, call: call.clone() });
    Ok(Some((reply.id, waiting.collect())))
}

impl Decisions {
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
    ) -> ApiResult<Option<Self>> {
        let given = given(&asked.items);
        if given.is_empty() {
            return Ok(None);
        }
        let stored = waiting(path, conversation)?;
        let mut decisions =
            Self { all: Vec::new(), reply: None, in_memory: Vec::new(), question: NodeId::new() };
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

    /// Adds the calls, so that their results have their places among the messages.
    pub(super) fn note(&self, calls: &mut Calls) {
        for decision in &self.all {
            calls.insert(decision.call.id.clone(), decision.call.name.clone());
            calls.insert_request(decision.request.clone(), decision.call.id.clone());
        }
    }

    /// Returns the calls that are approved.
    pub(super) fn approved(&self) -> Vec<ToolCall> {
        self.all.iter().filter(|decision| decision.approve).map(|decision| decision.call.clone()).collect()
    }

    /// Puts results into the places that the messages have for them, and refusals into theirs.
    pub(super) fn fill(&self, messages: &mut [Message], results: &[ToolResult]) {
        let parts = messages.iter_mut().flat_map(|message| &mut message.parts);
        for part in parts {
            let Content::ToolResult(place) = &part.content else { continue };
            let Some(decision) = self.all.iter().find(|decision| decision.call.id == place.id) else {
                continue;
            };
            let run = results.iter().find(|result| result.id == place.id).cloned();
            part.content = Content::ToolResult(match run.or_else(|| decision.refusal()) {
                Some(result) => result,
                None => ToolResult::error(&decision.call, "this call was stopped before it was answered"),
            });
        }
    }

    /// Claims the calls: of several requests that decide on them, one goes further, also if they are sent to several servers.
    ///
    /// # Errors
    /// 400 if another one was first; those of the store.
    pub(super) async fn claim(
        &self,
        app: &App,
        owner: &Owner,
        conversation: &ConversationId,
    ) -> ApiResult<()> {
        if !self.in_memory.is_empty() && !app.approvals().take(owner, &self.in_memory) {
            let request = self.in_memory.first().map_or("", String::as_str);
            return Err(no_request("input", request));
        }
        let Some(reply) = self.reply else { return Ok(()) };
        let before: Mutex<Option<NodeId>> = Mutex::default();
        let question = json!(self.question);
        let claim = |metadata: &mut Map<String, Value>| {
            let answered = metadata.entry(DECISIONS).or_insert_with(|| json!({}));
            let Some(answered) = answered.as_object_mut() else { return };
            let former =
                answered.get(&reply.to_string()).and_then(Value::as_str).and_then(|id| id.parse().ok());
            if former.is_none() {
                answered.insert(reply.to_string(), question.clone());
            }
            // The last call of this closure is the one whose change was made.
            *before.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = former;
        };
        app.store().change_metadata(owner, conversation, claim).await?;
        match before.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner) {
            Some(node) if node != self.question => Err(answered_before(conversation, node)),
            _ => Ok(()),
        }
    }
}

fn answered_before(conversation: &ConversationId, node: NodeId) -> ApiError {
    let response = ResponseId { conversation: conversation.clone(), node };
    let message = format!(
        "the approval was answered by the response {:?}, and its call runs at most once: continue that response",
        response.to_string()
    );
    ApiError::invalid("input", message).code("approval_already_answered")
}

fn not_offered(label: &str, name: &str) -> ApiError {
    let message = format!(
        "tools has no tool {name:?} of the server {label:?}, which the approved call needs: send the entry of type \"mcp\" again"
    );
    ApiError::invalid("tools", message)
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
