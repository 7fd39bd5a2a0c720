//! A stored response: its nodes in the tree of its conversation.

use alloquy_core::annotations::Annotations;
use alloquy_core::store::ConversationRecord;
use alloquy_core::tree::Tree;
use alloquy_core::{Conversation, ConversationManager as _, Manager, Node, NodeId, Role};
use serde::Deserialize;
use serde_json::{Value, json};

use super::approved_runs;
use super::object::{Ending, HeadPlace, ResponseObject, Sources, Status};
use super::settings::ResponseMark;
use crate::error::{ApiError, ApiResult};
use crate::items::{ApprovedCalls, Item, MARK, ResponseId, Shown};

/// The entry of a message's metadata that says how a response without a reply ended.
const ENDING: &str = "openai_ending";

/// A stored response.
pub(super) struct StoredResponse {
    pub(super) id: ResponseId,
    pub(super) conversation: Conversation,
    pub(super) mark: ResponseMark,
    /// The messages of its input.
    pub(super) given: Vec<Node>,
    /// The nodes of its reply.
    pub(super) nodes: Vec<Node>,
    record: ConversationRecord,
    tree: Tree,
    ending: Option<Ending>,
}

/// Creates the error for an id of no response.
pub(super) fn no_response(id: &str) -> ApiError {
    ApiError::not_found(format!("there is no stored response {id:?}")).param("response_id")
}

impl StoredResponse {
    /// Reads a response of the manager's owner.
    ///
    /// # Errors
    /// 404 for an id of something else, and of what was deleted.
    pub(super) async fn open(manager: &Manager, id: &str) -> ApiResult<Self> {
        let Some(response) = ResponseId::parse(id) else { return Err(no_response(id)) };
        let conversation = match manager.open(&response.conversation).await {
            Err(error) if error.is_not_found() => return Err(no_response(id)),
            opened => opened?,
        };
        let record = conversation.record().await?;
        let tree = conversation.tree().await?;
        let annotations = Annotations::of(&record)?;
        let Ok(question) = tree.node(response.node) else {
            let Some(mark) = approved_runs::find(&record, response.node) else { return Err(no_response(id)) };
            return Ok(Self::without_messages(response, conversation, mark, record, tree));
        };
        let metadata = annotations.metadata(question);
        // A deleted response has no mark any more.
        let Some(mark) = ResponseMark::read(&metadata) else { return Err(no_response(id)) };
        let given = given(&tree, response.node, &mark)?;
        if given.last().is_none_or(|last| last.id != response.node) {
            return Err(no_response(id));
        }
        let nodes = replies(&tree, response.node, &mark);
        if let Some(first) = tree.children(Some(response.node)).first().and_then(|id| tree.node(*id).ok()) {
            // Only the last message of a request is answered.
            if first.reply.is_none() && mark.is_of(first) {
                return Err(no_response(id));
            }
        }
        let ending = metadata.get(ENDING).and_then(|ending| Ending::deserialize(ending).ok());
        // The replies have the tools as well.
        let mark = nodes.first().and_then(|node| ResponseMark::read(&node.metadata)).unwrap_or(mark);
        Ok(Self { id: response, conversation, mark, given, nodes, record, tree, ending })
    }

    /// A response whose messages are not stored yet, or were lost with the server that ran its approved calls.
    fn without_messages(
        id: ResponseId,
        conversation: Conversation,
        mark: ResponseMark,
        record: ConversationRecord,
        tree: Tree,
    ) -> Self {
        Self { id, conversation, mark, given: Vec::new(), nodes: Vec::new(), record, tree, ending: None }
    }

    /// Returns whether there is no message of it: unless its approved calls still run, nothing can follow it.
    pub(super) fn is_lost(&self) -> bool {
        self.given.is_empty()
    }

    /// Returns the last node.
    pub(super) fn last(&self) -> NodeId {
        self.nodes.last().map_or(self.id.node, |node| node.id)
    }

    /// Returns how it ended.
    pub(super) fn ending(&self) -> Ending {
        match &self.ending {
            Some(ending) if self.nodes.is_empty() => ending.clone(),
            _ => Ending::of(&self.mark.settings, &self.nodes),
        }
    }

    /// Returns where the head is now.
    pub(super) fn head(&self) -> HeadPlace {
        HeadPlace { head: self.record.head, branched: None }
    }

    fn sources(&self) -> Sources<'_> {
        let settings = &self.mark.settings;
        Sources::new(settings, &self.id.conversation, self.id.node, &self.nodes, Some(self.head()))
    }

    fn approved(&self) -> ApprovedCalls {
        ApprovedCalls::of(self.given.iter())
    }

    /// Returns the response that has ended.
    pub(super) fn object(&self) -> ResponseObject {
        self.sources().approved(&self.approved()).ended(self.ending())
    }

    /// Returns the response that runs.
    pub(super) fn running(&self, status: Status) -> ResponseObject {
        self.sources().running(status)
    }

    /// Returns the node of an item of its output.
    pub(super) fn node_of(&self, index: usize) -> Option<Node> {
        let shown = Shown { conversation: &self.id.conversation, images: false };
        let items = shown.placed_replies(self.id.node, &self.nodes, &self.approved());
        let (place, _) = items.get(index)?;
        self.nodes.get(*place).cloned()
    }

    /// Returns the items of its input.
    pub(super) fn input(&self, images: bool) -> ApiResult<Vec<Item>> {
        let shown = Shown { conversation: &self.id.conversation, images };
        let mut items = Vec::new();
        for node in &self.given {
            shown.push_given(node, &mut items)?;
        }
        Ok(items)
    }

    /// Deletes it: its nodes where nothing follows them, and else its mark, because what follows needs them.
    ///
    /// # Errors
    /// Those of the store.
    pub(super) async fn delete(self, manager: &Manager) -> ApiResult<()> {
        let follows = |id: NodeId| self.nodes.iter().chain(&self.given).all(|node| node.id != id);
        let own = self.nodes.iter().map(|node| node.id).chain([self.id.node]);
        let is_continued = own.flat_map(|id| self.tree.children(Some(id))).any(|child| follows(*child));
        let Some(first) = self.given.first() else { return Ok(()) };
        if is_continued {
            return Ok(self.conversation.set_node_metadata(self.id.node, MARK, Value::Null).await?);
        }
        let is_alone = self.tree.len() == self.nodes.len() + self.given.len();
        if is_alone && self.mark.settings.conversation.is_none() {
            return Ok(manager.delete(self.conversation.id()).await?);
        }
        let is_here = |head: NodeId| !follows(head);
        if self.record.head.is_some_and(is_here) {
            self.conversation.goto(first.parent).await?;
        }
        self.conversation.prune(first.id).await?;
        Ok(())
    }
}

/// Stores how a response without a reply ended.
pub(super) async fn note_ending(conversation: &Conversation, question: NodeId, ending: &Ending) {
    if let Err(error) = conversation.set_node_metadata(question, ENDING, json!(ending)).await {
        tracing::warn!(error = format!("{error:#}"), "how a response ended is not stored");
    }
}

/// Returns the messages of a response's input, of which `last` is the last one.
fn given(tree: &Tree, last: NodeId, mark: &ResponseMark) -> ApiResult<Vec<Node>> {
    let path = tree.path(Some(last))?;
    let count = path.iter().rev().take_while(|node| node.reply.is_none() && mark.is_of(node)).count();
    let given = path.into_iter().rev().take(count).cloned();
    let mut given: Vec<Node> = given.collect();
    given.reverse();
    Ok(given)
}

/// Returns the replies to a message, and the results of the tools that ran here between them.
fn replies(tree: &Tree, question: NodeId, mark: &ResponseMark) -> Vec<Node> {
    let mut nodes: Vec<Node> = Vec::new();
    let mut last = question;
    loop {
        let children = tree.children(Some(last)).iter().filter_map(|id| tree.node(*id).ok());
        let is_after_reply = nodes.last().is_some_and(|node| node.reply.is_some());
        let mut next = children.filter(|node| match node.reply {
            Some(_) => mark.is_of(node),
            None => is_after_reply && node.message.role == Role::Tool && !node.metadata.contains_key(MARK),
        });
        let Some(node) = next.next() else { return nodes };
        last = node.id;
        nodes.push(node.clone());
    }
}
