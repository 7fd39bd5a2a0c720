//! Approvals: the calls that wait for one, what a request decides on them, and the claim by which each call runs at most once.

use std::sync::Mutex;

use alloquy_core::message::{ToolCall, ToolResult};
use alloquy_core::store::ConversationStoreExt as _;
use alloquy_core::{Content, ConversationId, Message, Node, NodeId, Owner, Role};
use serde_json::{Map, Value, json};

use crate::app::App;
use crate::error::{ApiError, ApiResult};
use crate::items::{
    Calls, DECISIONS, Decision, Item, McpItem, McpServers, ResponseId, Shown, items_of_path, no_request,
};

/// What kind of request decides, for the words of its errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asker {
    /// One for a response.
    Response,
    /// A turn of a tree.
    Turn,
}

/// The approvals that a request decides.
#[derive(Clone, Debug)]
pub(crate) struct Decisions {
    /// In the order of the calls.
    pub(crate) all: Vec<Decision>,
    /// The stored reply with calls among them.
    pub(crate) reply: Option<NodeId>,
    /// The ids of those that wait in this process alone.
    pub(crate) in_memory: Vec<String>,
    /// The node of the last message of the request, by which the response is named.
    pub(crate) question: NodeId,
    asker: Asker,
}

/// A call that waits.
pub(crate) struct Waiting {
    pub(crate) request: String,
    pub(crate) label: String,
    pub(crate) call: ToolCall,
}

/// Returns the node of the last reply of a path, and its calls that wait.
///
/// # Errors
/// Those of showing items.
pub(crate) fn waiting(
    path: &[Node],
    conversation: &ConversationId,
) -> ApiResult<Option<(NodeId, Vec<Waiting>)>> {
    let Some(place) = path.iter().rposition(|node| node.reply.is_some()) else { return Ok(None) };
    let (before, after) = path.split_at(place + 1);
    let Some(reply) = before.last() else { return Ok(None) };
    if after.iter().any(|node| node.message.tool_results().next().is_none()) {
        return Ok(None);
    }
    let results: Vec<&str> =
        after.iter().flat_map(|node| node.message.tool_results()).map(|result| result.id.as_str()).collect();
    let servers = McpServers::of(&reply.metadata);
    let calls = reply
        .message
        .tool_calls()
        .filter(|call| servers.waiting(&call.name).is_some() && !results.contains(&call.id.as_str()));
    let items = items_of_path(path, Shown { conversation, images: false })?;
    let requests = items.into_iter().filter(|(node, _)| *node == place).filter_map(|(_, item)| match item {
        Item::Mcp(McpItem::ApprovalRequest { id, server_label, .. }) => Some((id, server_label)),
        _ => None,
    });
    let waiting =
        requests.zip(calls).map(|((request, label), call)| Waiting { request, label, call: call.clone() });
    Ok(Some((reply.id, waiting.collect())))
}

/// Returns the first call of the last reply of a path that has no result, neither there nor among those that are answered now.
pub(crate) fn unanswered<'a>(path: &'a [Node], answered: &[&str]) -> Option<(&'a Node, &'a ToolCall)> {
    let place = path.iter().rposition(|node| node.message.role != Role::Tool)?;
    let (before, after) = path.split_at(place + 1);
    let reply = before.last()?;
    let mut results: Vec<&str> =
        after.iter().flat_map(|node| node.message.tool_results()).map(|result| result.id.as_str()).collect();
    results.extend(answered);
    let call = reply.message.tool_calls().find(|call| !results.contains(&call.id.as_str()))?;
    Some((reply, call))
}

impl Decisions {
    /// Decisions of a request, of which there are none yet.
    pub(crate) fn new(asker: Asker) -> Self {
        Self { all: Vec::new(), reply: None, in_memory: Vec::new(), question: NodeId::new(), asker }
    }

    /// Adds the calls, so that their results have their places among the messages.
    pub(crate) fn note(&self, calls: &mut Calls) {
        for decision in &self.all {
            calls.insert(decision.call.id.clone(), decision.call.name.clone());
            calls.insert_request(decision.request.clone(), decision.call.id.clone());
        }
    }

    /// Returns the calls that are approved.
    pub(crate) fn approved(&self) -> Vec<ToolCall> {
        self.all.iter().filter(|decision| decision.approve).map(|decision| decision.call.clone()).collect()
    }

    /// Puts results into the places that the messages have for them, and refusals into theirs.
    pub(crate) fn fill(&self, messages: &mut [Message], results: &[ToolResult]) {
        let parts = messages.iter_mut().flat_map(|message| &mut message.parts);
        for part in parts {
            let Content::ToolResult(place) = &part.content else { continue };
            let Some(decision) = self.all.iter().find(|decision| decision.call.id == place.id) else {
                continue;
            };
            let run = results.iter().find(|result| result.id == place.id).cloned();
            let result = run.or_else(|| decision.refusal());
            part.content = Content::ToolResult(result.unwrap_or_else(|| decision.unanswered()));
        }
    }

    /// Claims the calls: of several requests that decide on them, one goes further, also if they are sent to several servers.
    ///
    /// # Errors
    /// 400 if another one was first; those of the store.
    pub(crate) async fn claim(
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
            Some(node) if node != self.question => Err(self.answered_before(conversation, node)),
            _ => Ok(()),
        }
    }

    fn answered_before(&self, conversation: &ConversationId, node: NodeId) -> ApiError {
        let (place, message) = match self.asker {
            Asker::Response => {
                let response = ResponseId { conversation: conversation.clone(), node }.to_string();
                let message = format!(
                    "the approval was answered by the response {response:?}, and its call runs at most once: continue that response"
                );
                ("input", message)
            }
            Asker::Turn => {
                let message = format!(
                    "the calls were answered by the node {:?}, and each runs at most once: continue there. Where there is no such node, \
                     their server has not stored it yet, or it ended before: then answer the message before the calls again",
                    node.to_string()
                );
                ("approvals", message)
            }
        };
        ApiError::invalid(place, message).code("approval_already_answered")
    }
}

/// Creates the error of an approved call whose tool the request does not offer.
pub(crate) fn not_offered(label: &str, name: &str) -> ApiError {
    let message = format!(
        "tools has no tool {name:?} of the server {label:?}, which the approved call needs: send the entry of type \"mcp\" again"
    );
    ApiError::invalid("tools", message)
}
