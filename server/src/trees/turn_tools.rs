//! The tools of the host in a turn, and what a turn decides on the calls that wait for an approval.

use alloquy_core::{Content, Conversation, Message, Node, NodeId, Role, ToolSpec, TurnRequest};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::identity::{HEAD, place};
use crate::app::App;
use crate::caller::Caller;
use crate::error::{ApiError, ApiResult};
use crate::host_tools::{
    ApprovedTurn, Asker, Decisions, GivenMcp, HostTools, Work, add_offered, not_offered, note_lists,
    unanswered, waiting,
};
use crate::items::{Decision, SERVERS, TurnMark};
use crate::served_tools::ToolServers;

/// Tools of the host that a turn offers.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum GivenTurnTool {
    /// Those of a server that the host has, as in Responses.
    Mcp(GivenMcp),
}

/// Whether a call that waits for an approval runs.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TurnApproval {
    /// The id of the call.
    call_id: String,
    /// Whether it runs. A call that is refused has a result that says so.
    approve: bool,
    /// Why; the model reads it where the call is refused.
    #[serde(default)]
    reason: Option<String>,
}

/// The tools of the host in a turn.
#[derive(Debug)]
pub(super) struct TurnTools {
    host: HostTools,
    specs: Vec<ToolSpec>,
    /// Those whose calls wait for an approval. They are offered as those of the client are, so the turn ends at their calls.
    waiting: Vec<ToolSpec>,
}

impl TurnTools {
    /// Reads those that a turn names.
    ///
    /// # Errors
    /// 400 for servers and tools that the host does not have, and for two tools of one name; those of a source of tools that fails.
    pub(super) fn read(tools: &[GivenTurnTool], servers: &ToolServers) -> ApiResult<Self> {
        let mut offered = Vec::new();
        for (index, tool) in tools.iter().enumerate() {
            let place = format!("tools[{index}]");
            let GivenTurnTool::Mcp(given) = tool;
            add_offered(&mut offered, given.offered(&place, servers)?, &place)?;
        }
        let specs: Vec<ToolSpec> = offered.iter().map(|tool| tool.spec.clone()).collect();
        let waits = offered.iter().filter(|tool| tool.waits());
        let waiting = waits.map(|tool| tool.spec.clone()).collect();
        let host = HostTools::new(&offered, &specs, None);
        Ok(Self { host, specs, waiting })
    }

    /// Returns the tools.
    pub(super) fn specs(&self) -> &[ToolSpec] {
        &self.specs
    }

    /// Offers them in a turn that follows a path, beside the tools of the conversation.
    ///
    /// # Errors
    /// 400 where the conversation has a tool of the same name; those of the store.
    pub(super) async fn offer(
        &mut self,
        ask: TurnRequest,
        conversation: &Conversation,
        path: &[Node],
    ) -> ApiResult<TurnRequest> {
        if self.host.is_empty() {
            return Ok(ask);
        }
        let mut tools = conversation.record().await?.preface.tools;
        if let Some(taken) = tools.iter().find(|tool| self.specs.iter().any(|spec| spec.name == tool.name)) {
            let message = format!(
                "tools: the conversation has a tool {:?} of its client: name the others in allowed_tools",
                taken.name
            );
            return Err(ApiError::invalid("tools", message));
        }
        note_lists(&mut self.host.servers, path);
        tools.extend(self.waiting.iter().cloned());
        let (_, free) = self.host.toolboxes();
        Ok(ask.host_tools(tools).tools(free).metadata(SERVERS, json!(self.host.servers)))
    }
}

/// The approvals of a turn, and the place of its messages.
pub(super) struct Approving {
    decisions: Decisions,
    messages: Vec<Message>,
    at: Option<NodeId>,
    head: Option<NodeId>,
}

impl Approving {
    /// Reads the approvals of a turn that follows a node. `messages` are those of the turn, with the results of the other calls.
    ///
    /// # Errors
    /// 400 for a call that does not wait there, for one that is decided twice, where the turn does not offer the tool of an allowed one,
    /// and where a call of the reply stays without an answer.
    pub(super) async fn read(
        approvals: &[TurnApproval],
        tools: &TurnTools,
        conversation: &Conversation,
        node: Option<&str>,
        messages: Vec<Message>,
    ) -> ApiResult<Self> {
        let head = conversation.head().await?;
        let at = place(conversation, node.unwrap_or(HEAD), "node").await?;
        let path = path_to(conversation, at).await?;
        let decisions = decided(approvals, tools, &path, conversation)?;
        must_answer_all(&path, &decisions, &messages)?;
        // The results come first; they are known once the calls have run.
        let places = decisions.all.iter().map(|decision| Content::ToolResult(decision.unanswered()));
        let mut all = vec![Message::new(Role::Tool, places.collect())];
        all.extend(messages);
        Ok(Self { decisions, messages: all, at, head })
    }

    /// Returns the approved calls and the turn after them.
    pub(super) fn begin(
        self,
        app: &App,
        caller: &Caller,
        conversation: Conversation,
        tools: &TurnTools,
        turn: TurnRequest,
    ) -> Work {
        let (toolbox, _) = tools.host.toolboxes();
        Work::approved(ApprovedTurn {
            app: app.clone(),
            owner: caller.owner.clone(),
            conversation,
            decisions: self.decisions,
            is_claimed: false,
            toolbox,
            messages: self.messages,
            at: self.at,
            head: self.head,
            // As it is of messages that were given, so that the items of the conversation have the decisions.
            mark: json!(TurnMark::default()),
            turn,
            task: app.turns().begin(),
        })
    }
}

/// Returns the nodes to a place.
pub(super) async fn path_to(conversation: &Conversation, at: Option<NodeId>) -> ApiResult<Vec<Node>> {
    match at {
        Some(_) => Ok(conversation.path(at).await?),
        None => Ok(Vec::new()),
    }
}

fn decided(
    approvals: &[TurnApproval],
    tools: &TurnTools,
    path: &[Node],
    conversation: &Conversation,
) -> ApiResult<Decisions> {
    if approvals.is_empty() {
        let message = "approvals is empty, so nothing is decided: leave it out";
        return Err(ApiError::invalid("approvals", message));
    }
    let found = waiting(path, conversation.id())?;
    let mut decisions = Decisions::new(Asker::Turn);
    for (index, approval) in approvals.iter().enumerate() {
        let place = format!("approvals[{index}].call_id");
        let id = &approval.call_id;
        if decisions.all.iter().any(|decision| decision.call.id == *id) {
            let message = format!("{place}: the call {id:?} is decided twice in this turn");
            return Err(ApiError::invalid(place, message));
        }
        let open = found.iter().flat_map(|(reply, calls)| calls.iter().map(move |call| (*reply, call)));
        let Some((reply, call)) = open.into_iter().find(|(_, waiting)| waiting.call.id == *id) else {
            let message = format!(
                "{place}: no call {id:?} waits for an approval there: name the reply that has it in its field waiting as node"
            );
            return Err(ApiError::invalid(place, message).code("approval_request_not_found"));
        };
        if approval.approve && !tools.host.has(&call.label, &call.call.name) {
            return Err(not_offered(&call.label, &call.call.name));
        }
        decisions.reply = Some(reply);
        decisions.all.push(Decision {
            request: call.request.clone(),
            approve: approval.approve,
            reason: approval.reason.clone(),
            label: call.label.clone(),
            call: call.call.clone(),
        });
    }
    Ok(decisions)
}

/// Checks that each call of the reply is decided or has a result: the reply is claimed with all its calls.
fn must_answer_all(path: &[Node], decisions: &Decisions, messages: &[Message]) -> ApiResult<()> {
    let mut answered: Vec<&str> = decisions.all.iter().map(|decision| decision.call.id.as_str()).collect();
    answered.extend(messages.iter().flat_map(Message::tool_results).map(|result| result.id.as_str()));
    let Some((_, call)) = unanswered(path, &answered) else { return Ok(()) };
    let message = format!(
        "approvals: the call {:?} of {:?} has no approval and no result in messages: all calls of a reply are answered in one turn",
        call.id, call.name
    );
    Err(ApiError::invalid("approvals", message))
}
