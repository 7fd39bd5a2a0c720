//! The objects of answers: conversations, nodes, trees, branches, the head.

use std::collections::BTreeMap;

use alloquy_core::annotations::{ANNOTATIONS_KEY, Annotations};
use alloquy_core::conversation::Branch;
use alloquy_core::store::{ConversationRecord, ConversationSummary};
use alloquy_core::tree::Tree;
use alloquy_core::{ConversationId, Node, NodeId};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::identity::shown;
use super::notes::bookmarks_of;
use crate::error::ApiResult;
use crate::items::{DECISIONS, McpServers};
use crate::times::unix_seconds;

/// A conversation without its nodes.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "StoredConversation")]
pub(crate) struct ConversationObject {
    /// `conv_` and the name.
    pub(super) id: String,
    object: &'static str,
    /// The name, as on the command line.
    name: String,
    /// When it was created, in seconds since 1970.
    created_at: u64,
    /// When the last node was added, in seconds since 1970.
    updated_at: u64,
    /// How many nodes it has.
    nodes: usize,
    /// The node that the next message follows.
    head: Option<String>,
    /// Messages and tools before the first node.
    preface: Value,
    /// How its replies are sampled, unless a turn says otherwise.
    sampling: Value,
    metadata: Map<String, Value>,
    /// How often the metadata was changed.
    revision: u64,
}

impl ConversationObject {
    pub(super) fn of(summary: ConversationSummary) -> Self {
        let ConversationSummary { record, nodes, updated, .. } = summary;
        let mut metadata = record.metadata;
        metadata.shift_remove(ANNOTATIONS_KEY);
        Self {
            id: shown(&record.id),
            object: "conversation",
            name: record.id.to_string(),
            created_at: unix_seconds(record.created),
            updated_at: unix_seconds(updated),
            nodes,
            head: record.head.map(|head| head.to_string()),
            preface: json!(record.preface),
            sampling: json!(record.sampling),
            metadata,
            revision: record.revision,
        }
    }
}

/// A call of a tool of the host that waits for an approval.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub(crate) struct WaitingCall {
    pub(super) call_id: String,
    /// The label of the tools of the host.
    server_label: String,
    name: String,
    arguments: Value,
}

impl WaitingCall {
    /// Returns those of a reply.
    fn all(node: &Node) -> Vec<Self> {
        if node.reply.is_none() {
            return Vec::new();
        }
        let servers = McpServers::of(&node.metadata);
        let mut all = Vec::new();
        for call in node.message.tool_calls() {
            let Some(server) = servers.waiting(&call.name) else { continue };
            all.push(Self {
                call_id: call.id.clone(),
                server_label: server.label.clone(),
                name: call.name.clone(),
                arguments: call.arguments.clone(),
            });
        }
        all
    }
}

/// What a conversation has noted of its nodes.
#[derive(Debug, Default)]
pub(crate) struct NodeNotes {
    pub(super) annotations: Annotations,
    /// The replies whose approvals are decided.
    decided: Vec<String>,
}

impl NodeNotes {
    /// Reads those of a conversation.
    ///
    /// # Errors
    /// Those of notes that are damaged.
    pub(super) fn of(record: &ConversationRecord) -> ApiResult<Self> {
        let annotations = Annotations::of(record)?;
        let decided = record.metadata.get(DECISIONS).and_then(Value::as_object);
        let decided = decided.map(|decided| decided.keys().cloned().collect()).unwrap_or_default();
        Ok(Self { annotations, decided })
    }
}

/// A message at its place in a tree.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub(crate) struct NodeObject {
    pub(super) id: String,
    object: &'static str,
    /// The node that it follows; `null` for a first message.
    parent: Option<String>,
    /// When it was created, in seconds since 1970.
    created_at: u64,
    role: String,
    /// The text of its parts.
    text: String,
    /// All parts: text, thinking, media by their digests, calls of tools and their results.
    parts: Value,
    /// `complete`, or `interrupted` for a text that ended early.
    status: Value,
    label: Option<String>,
    bookmarks: Vec<String>,
    metadata: Map<String, Value>,
    /// The calls of tools of the host that wait for an approval: `approvals` of a turn answers them.
    pub(super) waiting: Vec<WaitingCall>,
    /// What the model reported of its reply; `null` for other messages.
    reply: Option<Value>,
    /// The prompt of the library that the message was made of.
    prompt: Option<String>,
}

impl NodeObject {
    pub(crate) fn of(node: &Node, notes: &NodeNotes) -> Self {
        let id = node.id.to_string();
        let waiting = if notes.decided.contains(&id) { Vec::new() } else { WaitingCall::all(node) };
        let notes = &notes.annotations;
        let bookmarks = notes.bookmarks().filter(|(_, at)| *at == node.id);
        Self {
            id,
            object: "node",
            parent: node.parent.map(|parent| parent.to_string()),
            created_at: unix_seconds(node.id.created()),
            role: node.message.role.to_string(),
            text: node.message.text(),
            parts: json!(node.message.parts),
            status: json!(node.status),
            label: notes.label(node).map(str::to_owned),
            bookmarks: bookmarks.map(|(name, _)| name.to_owned()).collect(),
            metadata: notes.metadata(node),
            waiting,
            reply: node.reply.as_ref().map(|facts| json!(facts)),
            prompt: node.prompt_name.clone(),
        }
    }

    /// Returns the objects of several nodes.
    pub(crate) fn all(nodes: &[Node], notes: &NodeNotes) -> Vec<Self> {
        nodes.iter().map(|node| Self::of(node, notes)).collect()
    }
}

/// Every node of a conversation.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct TreeObject {
    /// The conversation.
    id: String,
    object: &'static str,
    head: Option<String>,
    /// The nodes, each after its parent.
    nodes: Vec<NodeObject>,
    /// The nodes of bookmarks by their names.
    bookmarks: BTreeMap<String, String>,
}

impl TreeObject {
    pub(super) fn of(id: &ConversationId, head: Option<NodeId>, tree: &Tree, notes: &NodeNotes) -> Self {
        let nodes = tree.walk().map(|(_, node)| NodeObject::of(node, notes));
        Self {
            id: shown(id),
            object: "tree",
            head: head.map(|head| head.to_string()),
            nodes: nodes.collect(),
            bookmarks: bookmarks_of(&notes.annotations),
        }
    }
}

/// The path from the first message to a leaf.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct BranchObject {
    /// The last node of the branch.
    pub(super) id: String,
    object: &'static str,
    /// The first node that no other branch has.
    begins: String,
    /// How many nodes it has, from the first message on.
    nodes: usize,
    /// The label that is nearest to the leaf.
    label: Option<String>,
    /// Whether the head is on it.
    has_head: bool,
}

impl BranchObject {
    pub(super) fn of(branch: Branch) -> Self {
        Self {
            id: branch.leaf.to_string(),
            object: "branch",
            begins: branch.begins.to_string(),
            nodes: branch.nodes,
            label: branch.label,
            has_head: branch.has_head,
        }
    }
}

/// Where the next message is added.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct HeadObject {
    /// The conversation.
    id: String,
    object: &'static str,
    /// The node that the next message follows; `null` is before the first message.
    head: Option<String>,
}

impl HeadObject {
    pub(super) fn of(id: &ConversationId, head: Option<NodeId>) -> Self {
        Self { id: shown(id), object: "head", head: head.map(|head| head.to_string()) }
    }
}
