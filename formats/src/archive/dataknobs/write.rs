//! Writes an archive as a state of schema 1.1.0, with notes of what a state has no place for. [`read`](super::read) is
//! the inverse.

use std::collections::{HashMap, VecDeque};

use alloquy_core::annotations::Annotations;
use alloquy_core::store::Archive;
use alloquy_core::tree::{NodeStatus, Tree};
use alloquy_core::{Message, Node, NodeId, Result};
use serde_json::{Map, Value, json};

use super::facts::{StateFacts, Unmixed, flat, translated};
use super::ids::below;
use super::message::{self, ReadMessage};
use super::notes::{NOTE, ORIGIN, ORIGIN_OF_NODE, ORIGIN_OF_STATE, insert_shadowing, take_shadowing};
use super::rag::{RAG, rag_metadata};
use super::time::Timestamp;
use crate::archive::converted::WrittenArchive;
use crate::archive::derived::milliseconds;
use crate::archive::limits::ArchiveLimits;
use crate::archive::loss::Omission;
use crate::archive::native;

/// The version of what is written.
const SCHEMA: &str = "1.1.0";

/// Writes a state.
pub(in crate::archive) fn write(archive: &Archive, limits: &ArchiveLimits) -> Result<WrittenArchive> {
    let tree = archive.tree()?;
    let mut writer = Writer::new(archive, limits);
    let top = writer.preface(&tree);
    writer.tree(&tree, &top)?;
    let omitted = writer.omitted();
    Ok(WrittenArchive { text: format!("{}\n", writer.state(&top)), omitted })
}

struct Writer<'a> {
    archive: &'a Archive,
    limits: &'a ArchiveLimits,
    /// The annotations of the nodes; none where they cannot be read.
    notes: Annotations,
    nodes: Vec<Value>,
    edges: Vec<Value>,
    /// The id of each node in the state.
    names: HashMap<NodeId, String>,
    /// How many bytes the ids take so far: those of a deep tree grow with the square of the depth.
    bytes: usize,
    noted: usize,
    further: usize,
}

/// The id above the first messages; `None` where the only first message is the root itself.
struct Top(Option<String>);

impl<'a> Writer<'a> {
    fn new(archive: &'a Archive, limits: &'a ArchiveLimits) -> Self {
        Self {
            archive,
            limits,
            notes: Annotations::read(&archive.record.metadata).unwrap_or_default(),
            nodes: Vec::new(),
            edges: Vec::new(),
            names: HashMap::new(),
            bytes: 0,
            noted: 0,
            further: 0,
        }
    }

    /// Writes the preface as a chain from the root. Where there is none and several first messages need a root, an
    /// empty message is the root.
    fn preface(&mut self, tree: &Tree) -> Top {
        let time = Timestamp::of_milliseconds(milliseconds(self.archive.record.created)).to_string();
        let mut name: Option<String> = None;
        let mut messages = self.archive.record.preface.messages.clone();
        let needs_root = messages.is_empty() && tree.children(None).len() > 1;
        if needs_root {
            messages.push(Message::system(""));
        }
        for message in messages {
            let mut note = Map::from_iter([("preface".to_owned(), Value::Bool(!needs_root))]);
            self.note_message(&message, &mut note);
            let own = name.as_deref().map_or_else(String::new, |above| below(above, 0));
            if let Some(above) = &name {
                self.edges.push(json!([above, own]));
            }
            let written = message::written(&message);
            self.nodes
                .push(json!({"message": written, "node_id": own, "timestamp": time, "prompt_name": null,
                "branch_name": null, "metadata": {NOTE: note}}));
            name = Some(own);
        }
        Top(name)
    }

    fn tree(&mut self, tree: &Tree, top: &Top) -> Result<()> {
        let mut pending: VecDeque<(NodeId, Option<String>, usize)> = VecDeque::new();
        let first = tree.children(None).iter().enumerate();
        pending.extend(first.map(|(place, &id)| (id, top.0.clone(), place)));
        while let Some((id, above, place)) = pending.pop_front() {
            let name = above.as_deref().map_or_else(String::new, |above| below(above, place));
            self.bytes += 3 * name.len();
            self.limits.check_bytes(self.bytes)?;
            if let Some(above) = above {
                self.edges.push(json!([above, name]));
            }
            let node = self.node(tree.node(id)?, &name, tree);
            self.nodes.push(node);
            let children = tree.children(Some(id)).iter().enumerate();
            pending.extend(children.map(|(place, &child)| (child, Some(name.clone()), place)));
            self.names.insert(id, name);
        }
        Ok(())
    }

    fn node(&mut self, node: &Node, name: &str, tree: &Tree) -> Value {
        let mut metadata = node.metadata.clone();
        let origin = take_shadowing(&mut metadata, ORIGIN, &ORIGIN_OF_NODE);
        let facts = flat(node, metadata.clone());
        let mut stated = StateFacts::of(&facts);
        let mut written = message::written(&node.message);
        // The fields that a state had when it was imported replace those that would be written.
        if let Some(origin) = &origin {
            if let Some(message) = origin.get("message").and_then(Value::as_object) {
                written = message::overlaid(written, message);
            }
            if let Some(metadata) = origin.get("metadata").and_then(Value::as_object) {
                stated.metadata.extend(metadata.clone());
            }
            let has_further = origin.get("further").is_some_and(Value::is_object);
            self.further += usize::from(!node.message.extra.is_empty() || has_further);
        }
        let own = node.label.as_deref().filter(|label| !label.is_empty());
        let label = self.notes.label(node);
        if label != own {
            stated.branch_name = label.into();
        } else if let Some(name) = original(origin.as_ref(), "branch_name") {
            stated.branch_name = name.clone();
        }
        if origin.is_none() {
            let mut note = Map::from_iter([("id".to_owned(), node.id.to_string().into())]);
            let renamed = translated(&facts);
            if !renamed.is_empty() || !stated.branch_name.is_null() || !stated.prompt_name.is_null() {
                note.insert("facts".to_owned(), renamed.into());
            }
            if let Some(unmixed) = Unmixed::of(node, &metadata, facts) {
                note.insert("unmixed".to_owned(), json!(unmixed));
            }
            if let Some(rag) = rag_metadata(node, tree).filter(|_| !stated.metadata.contains_key(RAG)) {
                stated.metadata.insert(RAG.to_owned(), rag);
                note.insert(RAG.to_owned(), true.into());
            }
            self.note(node, &mut note);
            insert_shadowing(&mut stated.metadata, NOTE, note);
        }
        let made = Timestamp::of_milliseconds(milliseconds(node.id.created()));
        let time = original(origin.as_ref(), "timestamp").and_then(Value::as_str);
        let time = time.map_or_else(|| made.to_string(), str::to_owned);
        if let Some(name) = original(origin.as_ref(), "prompt_name") {
            stated.prompt_name = name.clone();
        }
        json!({"message": written, "node_id": name, "timestamp": time, "prompt_name": stated.prompt_name,
            "branch_name": stated.branch_name, "metadata": stated.metadata})
    }

    fn note(&mut self, node: &Node, note: &mut Map<String, Value>) {
        self.note_message(&node.message, note);
        if node.status != NodeStatus::Complete {
            note.insert("status".to_owned(), json!(node.status));
        }
        if !node.tokens.is_empty() {
            note.insert("tokens".to_owned(), json!(node.tokens));
        }
    }

    /// Notes a message that would not read back as it is.
    fn note_message(&mut self, message: &Message, note: &mut Map<String, Value>) {
        let written = message::written(message);
        let ReadMessage { message: read, origin, .. } =
            message::read(&written, ("", ""), &[], &mut Vec::new());
        if read != *message || !origin.is_empty() {
            note.insert("message".to_owned(), json!(message));
            self.noted += 1;
        }
    }

    fn omitted(&self) -> Vec<Omission> {
        let origin = self.archive.record.metadata.get(ORIGIN);
        let orphans = origin.and_then(|origin| origin.get("orphans")?.as_array()).map_or(0, Vec::len);
        let further =
            self.further + usize::from(origin.is_some_and(|origin| origin.get("further").is_some()));
        let mut omitted = Vec::new();
        if self.noted > 0 {
            omitted.push(Omission::Noted(self.noted));
        }
        if further > 0 {
            omitted.push(Omission::FurtherFields(further));
        }
        if orphans > 0 {
            omitted.push(Omission::Orphans(orphans));
        }
        omitted
    }

    fn state(self, top: &Top) -> Value {
        let record = &self.archive.record;
        let mut metadata = record.metadata.clone();
        let origin = take_shadowing(&mut metadata, ORIGIN, &ORIGIN_OF_STATE);
        let foreign = origin.as_ref().and_then(|origin| origin.get("metadata")?.as_object());
        metadata.extend(foreign.cloned().unwrap_or_default());
        let created = Timestamp::of_milliseconds(milliseconds(record.created)).to_string();
        // The newest node that was not imported; without one, the time that the imported state had.
        let made = self.archive.nodes.iter().filter(|node| !node.metadata.contains_key(ORIGIN));
        let updated = match made.map(|node| milliseconds(node.id.created())).max() {
            Some(newest) => Timestamp::of_milliseconds(newest).to_string(),
            None => original_text(origin.as_ref(), "updated_at").unwrap_or_else(|| created.clone()),
        };
        let head = record.head.and_then(|head| self.names.get(&head).cloned());
        let current = head.or_else(|| top.0.clone()).unwrap_or_default();
        let note = self.note_record(origin.is_none(), &current);
        insert_shadowing(&mut metadata, NOTE, note);
        json!({"schema_version": SCHEMA, "conversation_id": record.id, "nodes": self.nodes, "edges": self.edges,
            "current_node_id": current, "metadata": metadata,
            "created_at": original_text(origin.as_ref(), "created_at").unwrap_or(created),
            "updated_at": updated})
    }

    /// Notes what a state has no place for; of an imported conversation only what was changed here.
    fn note_record(&self, began_here: bool, current: &str) -> Map<String, Value> {
        let record = &self.archive.record;
        let mut note = Map::new();
        if began_here {
            note.insert("created".to_owned(), milliseconds(record.created).into());
        }
        let mut preface = record.preface.clone();
        preface.messages.clear();
        if began_here || record.preface != alloquy_core::Preface::default() {
            note.insert("preface".to_owned(), json!(preface));
        }
        if !record.sampling.is_empty() {
            note.insert("sampling".to_owned(), json!(record.sampling));
        }
        if !self.archive.blobs.is_empty() {
            note.insert("blobs".to_owned(), native::written_blobs(self.archive));
        }
        if record.head.is_none() && !self.nodes.is_empty() {
            note.insert("before_first".to_owned(), current.into());
        }
        note
    }
}

/// Returns a field that an imported state had; null is none.
fn original<'a>(origin: Option<&'a Map<String, Value>>, field: &str) -> Option<&'a Value> {
    origin?.get(field).filter(|value| !value.is_null())
}

fn original_text(origin: Option<&Map<String, Value>>, field: &str) -> Option<String> {
    Some(original(origin, field)?.as_str()?.to_owned())
}
