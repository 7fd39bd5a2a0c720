//! Where the messages of a request go: a new conversation, the head of one, or the end of an earlier response.

use std::sync::Arc;

use alloquy_core::manager::NewConversation;
use alloquy_core::store::ConversationRecord;
use alloquy_core::{
    Conversation, ConversationManager as _, Manager, Message, Node, NodeId, Preface, Role, TurnRequest,
};
use serde_json::{Value, json};

use super::approvals;
use super::request::{Asked, Context};
use super::settings::ResponseMark;
use super::stored::StoredResponse;
use crate::app::App;
use crate::caller::Caller;
use crate::error::{ApiError, ApiResult};
use crate::host_tools::{Decisions, note_lists, unanswered};
use crate::items::{
    Calls, GivenItem, ItemId, ItemPlace, MARK, McpServers, References, ResponseId, conversation_of,
};
use crate::models::ModelLease;
use crate::response_runs::{RunKey, RunState};

/// How the ids of the items of the host's tools begin.
const HOST_ITEMS: [&str; 4] = ["mcp_", "mcpl_", "mcpr_", "mcpa_"];

/// The place of a request's messages.
pub(super) struct Place {
    /// Where the conversation is: in the store, or in memory for this request.
    pub(super) manager: Manager,
    pub(super) conversation: Conversation,
    /// The node that the messages follow.
    pub(super) at: Option<NodeId>,
    /// Whether the conversation was created for this request.
    pub(super) is_new: bool,
    /// The conversation before the request.
    pub(super) record: ConversationRecord,
}

impl Place {
    /// Finds or creates the place of a request. The conversations of a request that stores nothing are copies in `temporary`.
    ///
    /// # Errors
    /// 404 for an unknown conversation, and 400 for an unknown response.
    pub(super) async fn open(
        asked: &Asked,
        app: &App,
        caller: &Caller,
        stored: Manager,
        temporary: Option<Manager>,
    ) -> ApiResult<Self> {
        match &asked.context {
            Context::New => Self::create(temporary.unwrap_or(stored)).await,
            Context::Conversation(id) => {
                let conversation = open_conversation(&stored, id).await?;
                let record = conversation.record().await?;
                Ok(Self { manager: stored, conversation, at: record.head, is_new: false, record })
            }
            Context::Response(id) => {
                let (conversation, at) = previous(app, caller, &stored, id).await?;
                match temporary {
                    None => {
                        let record = conversation.record().await?;
                        Ok(Self { manager: stored, conversation, at: Some(at), is_new: false, record })
                    }
                    Some(temporary) => Self::copy(temporary, &stored, &conversation, at).await,
                }
            }
        }
    }

    async fn create(manager: Manager) -> ApiResult<Self> {
        let new = NewConversation::from(Preface::default()).metadata(MARK, json!({}));
        let conversation = manager.create(new).await?;
        let record = conversation.record().await?;
        Ok(Self { manager, conversation, at: None, is_new: true, record })
    }

    /// Copies the path to a node into memory.
    async fn copy(
        temporary: Manager,
        stored: &Manager,
        conversation: &Conversation,
        at: NodeId,
    ) -> ApiResult<Self> {
        let path = conversation.path(at).await?;
        let mut archive = stored.export(conversation.id()).await?;
        archive.nodes.retain(|node| path.iter().any(|other| other.id == node.id));
        archive.record.head = Some(at);
        let copy = temporary.import(&archive).await?;
        Ok(Self {
            manager: temporary,
            conversation: copy,
            at: Some(at),
            is_new: false,
            record: archive.record,
        })
    }

    /// Returns the nodes that the request follows.
    pub(super) async fn path(&self) -> ApiResult<Vec<Node>> {
        match self.at {
            Some(_) => Ok(self.conversation.path(self.at).await?),
            None => Ok(Vec::new()),
        }
    }

    /// Puts a turn at this place.
    pub(super) fn put(&self, turn: TurnRequest) -> TurnRequest {
        match self.at {
            Some(node) => turn.at(node),
            None => turn,
        }
    }

    /// Notes which lists of tools the conversation has shown already: those that are the same are not shown again.
    pub(super) async fn note_lists(&self, asked: &mut Asked) -> ApiResult<()> {
        if asked.tools.servers.0.is_empty() {
            return Ok(());
        }
        let path = self.path().await?;
        note_lists(&mut asked.tools.servers, &path);
        for server in &mut asked.tools.servers.0 {
            let mut given = asked.items.iter().filter_map(|item| match item {
                GivenItem::McpListTools(list) if list.server_label == server.label => Some(&list.tools),
                _ => None,
            });
            if given.next_back().is_some_and(|tools| *tools == server.tools) {
                server.is_listed = false;
            }
        }
        Ok(())
    }

    /// Returns the decisions of the input on approvals.
    ///
    /// # Errors
    /// As [`approvals::read`].
    pub(super) async fn decisions(
        &self,
        asked: &Asked,
        app: &App,
        caller: &Caller,
    ) -> ApiResult<Option<Decisions>> {
        if approvals::given(&asked.items).is_empty() {
            return Ok(None);
        }
        let path = self.path().await?;
        approvals::read(asked, &path, self.conversation.id(), app, &caller.owner)
    }

    /// Returns the messages of the input, which ask something.
    ///
    /// # Errors
    /// As [`Place::given_messages`]; 400 where nothing is asked.
    pub(super) async fn messages(
        &self,
        asked: &Asked,
        decisions: Option<&Decisions>,
        app: &App,
        caller: &Caller,
    ) -> ApiResult<Vec<Message>> {
        let messages = self.given_messages(asked, decisions, app, caller).await?;
        if messages.last().is_none_or(|last| last.role == Role::Assistant) {
            let message =
                "input: the last item is not of the user, a tool or the system, so nothing is asked";
            return Err(ApiError::invalid("input", message));
        }
        Ok(messages)
    }

    /// Returns the messages of the input. Those of calls that are approved have places for their results.
    ///
    /// # Errors
    /// 400 with the place of what is not valid, and for results of some of the open calls, but not of all.
    pub(super) async fn given_messages(
        &self,
        asked: &Asked,
        decisions: Option<&Decisions>,
        app: &App,
        caller: &Caller,
    ) -> ApiResult<Vec<Message>> {
        if asked.items.is_empty() {
            return Ok(Vec::new());
        }
        let references = references(&asked.items, "input", &app.conversations(caller)).await?;
        let mut answered = GivenItem::answered_elsewhere(&asked.items);
        let mut calls = Calls::default();
        if let Some(decisions) = decisions {
            decisions.note(&mut calls);
            answered.extend(decisions.all.iter().map(|decision| decision.call.id.as_str()));
        }
        for call in references.values().flat_map(|(_, message)| message.tool_calls()) {
            calls.insert(call.id.clone(), call.name.clone());
        }
        if !answered.is_empty() {
            let path = self.conversation.path(self.at).await?;
            for call in path.iter().flat_map(|node| node.message.tool_calls()) {
                calls.insert(call.id.clone(), call.name.clone());
            }
            check_answers(&path, &answered)?;
        }
        let items = Arc::clone(&asked.items);
        let read = app.read(move |media| GivenItem::messages(&items, "input", &calls, &references, media));
        read.await
    }

    /// Adds the instructions to a turn, for it alone.
    ///
    /// They precede the system prompt that the conversation has, since a turn with a system prompt replaces that one.
    pub(super) fn instructed(&self, turn: TurnRequest, asked: &Asked, messages: &[Message]) -> TurnRequest {
        let Some(instructions) = &asked.settings.instructions else { return turn };
        let prefaced = self.record.preface.messages.iter().find(|message| message.role == Role::System);
        let own = match prefaced {
            Some(message) => Some(message.text()),
            None if self.at.is_none() => leading_system(messages),
            None => noted_system(&self.record),
        };
        let text = match own {
            Some(own) => format!("{instructions}\n\n{own}"),
            None => instructions.clone(),
        };
        turn.system_prompt(text)
    }

    /// Notes the system prompt with which a conversation begins, so that instructions can be added to it without reading the path.
    pub(super) async fn note_system(&self, messages: &[Message]) -> ApiResult<()> {
        let leading = leading_system(messages);
        if self.at.is_some() || leading.is_none() {
            return Ok(());
        }
        note_system(&self.conversation, leading.as_deref()).await
    }

    /// Removes the conversation of a request that was refused, or whose client has left before the model answered.
    pub(super) async fn remove_unanswered(self) {
        if !self.is_new {
            return;
        }
        let nodes = self.conversation.nodes().await;
        if !nodes.is_ok_and(|nodes| nodes.iter().all(|node| node.reply.is_none())) {
            return;
        }
        if let Err(error) = self.manager.delete(self.conversation.id()).await {
            tracing::warn!(error = format!("{error:#}"), "the conversation of a refused request stays");
        }
    }
}

/// The place of a request whose reply has not ended. If it is dropped so, because the client has left, a conversation without a reply
/// is removed.
pub(super) struct Unfinished(Option<Place>);

impl Unfinished {
    pub(super) fn new(place: Place) -> Self {
        Self(Some(place))
    }

    /// Keeps the conversation of a reply, and removes that of a request that was refused.
    pub(super) async fn ended<T>(mut self, outcome: ApiResult<T>) -> ApiResult<T> {
        if let (Some(place), Err(_)) = (self.0.take(), &outcome) {
            place.remove_unanswered().await;
        }
        outcome
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if let Some(place) = self.0.take() {
            tokio::spawn(place.remove_unanswered());
        }
    }
}

/// Reads the stored messages that items name.
///
/// # Errors
/// 400 for an unknown one, and for one with media.
pub(crate) async fn references(items: &[GivenItem], place: &str, manager: &Manager) -> ApiResult<References> {
    let mut references = References::new();
    for (place, id) in GivenItem::references(items, place) {
        if HOST_ITEMS.iter().any(|prefix| id.starts_with(prefix)) {
            let message =
                format!("{place}: the item {id:?} is one of the host's tools: send the item itself");
            return Err(ApiError::unsupported(place, message));
        }
        let Some(node) = referenced(id, manager).await? else {
            let message = format!("{place}: there is no stored item {id:?}");
            return Err(ApiError::invalid(place, message).code("item_not_found"));
        };
        if node.message.media().next().is_some() {
            let message = format!("{place}: the item {id:?} has media: send the item itself");
            return Err(ApiError::unsupported(place, message));
        }
        references.insert(id.to_owned(), (node.id, node.message));
    }
    Ok(references)
}

async fn referenced(id: &str, manager: &Manager) -> ApiResult<Option<Node>> {
    let Some(ItemId { conversation, node, place }) = ItemId::parse(id) else { return Ok(None) };
    let index = match place {
        ItemPlace::Generated(index) => index,
        ItemPlace::Given(_) => {
            let path = match manager.open(&conversation).await {
                Ok(conversation) => conversation.path(node).await,
                Err(error) => Err(error),
            };
            return match path {
                Err(error) if error.is_not_found() => Ok(None),
                path => Ok(path?.pop()),
            };
        }
    };
    let response = ResponseId { conversation, node };
    match StoredResponse::open(manager, &response.to_string()).await {
        Err(error) if error.is_not_found() => Ok(None),
        stored => Ok(stored?.node_of(index)),
    }
}

/// Notes the system prompt that is the first message of a conversation.
pub(crate) async fn note_system(conversation: &Conversation, text: Option<&str>) -> ApiResult<()> {
    let mut fields = conversation.metadata().await?.get(MARK).cloned().unwrap_or_else(|| json!({}));
    if fields.get("system").and_then(Value::as_str) == text {
        return Ok(());
    }
    if let Some(fields) = fields.as_object_mut() {
        fields.insert("system".to_owned(), json!(text));
    }
    Ok(conversation.set_metadata(MARK, fields).await?)
}

/// Returns the text of a system message that comes first.
pub(crate) fn leading_system(messages: &[Message]) -> Option<String> {
    messages.first().filter(|first| first.role == Role::System).map(Message::text)
}

fn noted_system(record: &ConversationRecord) -> Option<String> {
    Some(record.metadata.get(MARK)?.get("system")?.as_str()?.to_owned())
}

/// Opens a conversation of the manager's owner by its id.
///
/// # Errors
/// 404 for an unknown one.
pub(crate) async fn open_conversation(manager: &Manager, id: &str) -> ApiResult<Conversation> {
    let unknown = || ApiError::not_found(format!("there is no conversation {id:?}")).param("conversation");
    let Some(name) = conversation_of(id) else { return Err(unknown()) };
    match manager.open(&name).await {
        Err(error) if error.is_not_found() => Err(unknown()),
        opened => Ok(opened?),
    }
}

/// Finds the conversation and the last node of an earlier response.
async fn previous(
    app: &App,
    caller: &Caller,
    manager: &Manager,
    id: &str,
) -> ApiResult<(Conversation, NodeId)> {
    let unknown = || {
        let message =
            format!("there is no response {id:?} that can be continued: it was not stored, or was deleted");
        ApiError::invalid("previous_response_id", message).code("previous_response_not_found")
    };
    let Some(response) = ResponseId::parse(id) else { return Err(unknown()) };
    let key = RunKey::new(&caller.owner, response.clone());
    let run = app.responses().find(&key);
    if app.responses().is_streamed(&key) || run.is_some_and(|run| run.state() != RunState::Ended) {
        let message = format!("the response {id:?} is still being generated: wait for it, or cancel it");
        return Err(ApiError::invalid("previous_response_id", message));
    }
    if let Some(last) = app.responses().last_node(&key) {
        let conversation = match manager.open(&response.conversation).await {
            Err(error) if error.is_not_found() => return Err(unknown()),
            opened => opened?,
        };
        return Ok((conversation, last));
    }
    match StoredResponse::open(manager, id).await {
        Ok(stored) if stored.is_lost() => {
            let message = format!(
                "the approved calls of the response {id:?} run on another server, or their server ended before their results were stored: continue the response before it"
            );
            Err(ApiError::invalid("previous_response_id", message))
        }
        Ok(stored) => {
            let last = stored.last();
            Ok((stored.conversation, last))
        }
        Err(error) if error.is_not_found() => Err(unknown()),
        Err(error) => Err(error),
    }
}

/// Checks that either all calls of the last reply have results in the input, or none.
fn check_answers(path: &[Node], answered: &[&str]) -> ApiResult<()> {
    let Some((reply, call)) = unanswered(path, answered) else { return Ok(()) };
    let waits = McpServers::of(&reply.metadata).waiting(&call.name).is_some();
    let kind = if waits { "mcp_approval_response" } else { "function_call_output" };
    let message = format!(
        "input: there is no {kind} for the call {:?} of {:?}: all calls of a reply are answered in one request",
        call.id, call.name
    );
    Err(ApiError::invalid("input", message))
}

/// Adds the mark of a response to a turn.
pub(super) fn marked(turn: TurnRequest, mark: &ResponseMark) -> TurnRequest {
    turn.metadata(MARK, mark.of_reply()).message_metadata(MARK, mark.of_message())
}

/// Returns the managers of a request: of the store, and of memory where nothing is stored.
pub(super) fn managers(
    asked: &Asked,
    app: &App,
    model: &ModelLease,
    caller: &Caller,
) -> ApiResult<(Manager, Option<Manager>)> {
    let temporary = if asked.settings.store { None } else { Some(app.temporary_manager(model, caller)?) };
    Ok((app.manager(model, caller), temporary))
}
