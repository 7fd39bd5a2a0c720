//! Reads a state as an archive: versions, times, names, the head, and what [`write`](super::write) noted there.

use std::time::{Duration, UNIX_EPOCH};

use alloquy_core::annotations::{ANNOTATIONS_KEY, Annotations};
use alloquy_core::media::Digest;
use alloquy_core::message::ToolCall;
use alloquy_core::store::{Archive, ConversationRecord};
use alloquy_core::{ConversationId, Error, ErrorKind, Message, Node, NodeId, Preface, Result};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::facts::{StateFacts, Unmixed, flat, put_back, set, translated};
use super::forest::Forest;
use super::ids::invalid;
use super::message::{self, ReadMessage};
use super::notes::{
    NOTE, NOTE_OF_NODE, NOTE_OF_RECORD, ORIGIN, ORIGIN_OF_STATE, insert_shadowing, take_shadowing,
};
use super::rag::RAG;
use super::time::Timestamp;
use crate::archive::converted::ReadArchive;
use crate::archive::derived::name_of;
use crate::archive::limits::ArchiveLimits;
use crate::archive::loss::Repair;
use crate::archive::native;

const STATE: [&str; 8] = [
    "schema_version",
    "conversation_id",
    "nodes",
    "edges",
    "current_node_id",
    "metadata",
    "created_at",
    "updated_at",
];
const NODE: [&str; 6] = ["message", "node_id", "timestamp", "prompt_name", "branch_name", "metadata"];

/// Reads a state.
pub(super) fn read(mut state: Map<String, Value>, limits: &ArchiveLimits) -> Result<ReadArchive> {
    let mut repairs = Vec::new();
    let version = version(&state, &mut repairs)?;
    let id = name(&state, &mut repairs)?;
    let nodes = state.shift_remove("nodes").or_else(|| state.shift_remove("messages")).unwrap_or_default();
    limits.check_nodes(nodes.as_array().map_or(0, Vec::len))?;
    let mut forest = Forest::read(nodes, state.shift_remove("edges"), &mut repairs)?;
    let mut reader = Reader { id, repairs, naive: 0, notes: Annotations::default() };
    let mut record = reader.record(&mut state, &forest)?;
    let note = take_shadowing(&mut record.metadata, NOTE, &NOTE_OF_RECORD).unwrap_or_default();
    if note.contains_key("created") {
        // Alloquy wrote it: an empty state was an empty conversation, and times are in UTC.
        reader.repairs.retain(|repair| *repair != Repair::NoNodes);
        reader.naive = 0;
    }
    reader.preface(&note, &mut record)?;
    let foreign = reader.annotations(&note, &mut record);
    let noted = reader.notes.clone();
    let nodes = reader.nodes(&mut forest, version, &record, note.contains_key("preface"))?;
    record.preface.messages = nodes.lifted;
    record.head = reader.head(&state, &forest, &note, &nodes.ids);
    if reader.notes != noted {
        reader.notes.write(&mut record.metadata)?;
    }
    if reader.naive > 0 {
        reader.repairs.push(Repair::NoZone(reader.naive));
    }
    keep(&state, &forest, foreign, &mut record);
    let mut archive = Archive::new(record, nodes.nodes)?;
    archive.blobs = native::blobs(note.get("blobs").cloned().unwrap_or_else(|| Map::new().into()))?;
    Ok(ReadArchive { archive, repairs: reader.repairs })
}

/// Reads the version as three numbers; a state without one is of 0.0.0.
fn version(state: &Map<String, Value>, repairs: &mut Vec<Repair>) -> Result<[u64; 3]> {
    let text = match state.get("schema_version") {
        None | Some(Value::Null) => return Ok([0; 3]),
        Some(Value::String(text)) => text,
        Some(other) => return Err(invalid(format!("schema_version {other} is not text such as \"1.1.0\""))),
    };
    let numbers: Option<Vec<u64>> = text.split('.').map(|number| number.parse().ok()).collect();
    let Some([major, minor, patch]) = numbers.as_deref() else {
        return Err(invalid(format!("schema_version {text:?} is not three numbers such as \"1.1.0\"")));
    };
    if *major > 1 {
        let message = format!("schema_version {text:?} is newer than what this build reads, up to 1.1.0");
        return Err(Error::new(ErrorKind::Unsupported, message));
    }
    if (*major, *minor, *patch) > (1, 1, 0) {
        repairs.push(Repair::NewerVersion(text.clone()));
    }
    Ok([*major, *minor, *patch])
}

/// Returns the name of the state, or derives one where a new conversation may not have that name.
fn name(state: &Map<String, Value>, repairs: &mut Vec<Repair>) -> Result<ConversationId> {
    let from = state.get("conversation_id").and_then(Value::as_str).unwrap_or_default();
    if let Ok(id) = from.parse::<ConversationId>()
        && id.must_be_visible().is_ok()
    {
        return Ok(id);
    }
    let to = name_of(Value::Object(state.clone()).to_string().as_bytes())?;
    repairs.push(Repair::Renamed { from: from.to_owned(), to: to.to_string() });
    Ok(to)
}

/// Keeps the fields of a state that a record lacks in the metadata of the record.
fn keep(
    state: &Map<String, Value>,
    forest: &Forest,
    foreign: Option<Value>,
    record: &mut ConversationRecord,
) {
    let mut origin = take_shadowing(&mut record.metadata, ORIGIN, &ORIGIN_OF_STATE).unwrap_or_default();
    let mut further = state.clone();
    further.retain(|name, _| !STATE.contains(&name.as_str()) && name != "message_count");
    if !further.is_empty() {
        origin.insert("further".to_owned(), Value::Object(further));
    }
    if let Some(foreign) = foreign {
        origin.insert("metadata".to_owned(), json!({ANNOTATIONS_KEY: foreign}));
    }
    let orphans = forest.orphans();
    if !orphans.is_empty() {
        origin.insert("orphans".to_owned(), orphans.into());
    }
    insert_shadowing(&mut record.metadata, ORIGIN, origin);
}

struct Reader {
    id: ConversationId,
    repairs: Vec<Repair>,
    /// How many timestamps named no zone.
    naive: usize,
    /// What people noted on the nodes.
    notes: Annotations,
}

/// The nodes of a state as nodes here.
struct ReadNodes {
    nodes: Vec<Node>,
    /// The new id of each node of the state; those of the preface have none.
    ids: Vec<Option<NodeId>>,
    /// The messages of the preface.
    lifted: Vec<Message>,
}

/// What is known of a node before its message is read.
#[derive(Default)]
struct Known {
    id: Option<NodeId>,
    milliseconds: u64,
    open: Vec<ToolCall>,
}

impl Reader {
    fn record(&mut self, state: &mut Map<String, Value>, forest: &Forest) -> Result<ConversationRecord> {
        let mut metadata = match state.shift_remove("metadata") {
            Some(Value::Object(metadata)) => metadata,
            None | Some(Value::Null) => Map::new(),
            Some(other) => return Err(invalid(format!("metadata {other} is not an object"))),
        };
        let first = forest.order.first().and_then(|&root| forest.nodes.get(root)?.get("timestamp"));
        let created = match state.get("created_at").and_then(Value::as_str).and_then(|text| self.time(text)) {
            Some(created) => Some(created),
            None => {
                self.repairs.push(Repair::NoCreation);
                first.and_then(Value::as_str).and_then(|text| self.time(text))
            }
        };
        let note = metadata.get(NOTE).cloned();
        let mut origin = Map::new();
        if note.as_ref().and_then(|note| note.get("created")).is_none() {
            for name in ["created_at", "updated_at"] {
                if let Some(time) = state.get(name).and_then(Value::as_str).and_then(Timestamp::parse) {
                    origin.insert(name.to_owned(), time.to_string().into());
                }
            }
        }
        insert_shadowing(&mut metadata, ORIGIN, origin);
        let milliseconds = created.and_then(|time| time.milliseconds()).unwrap_or_default();
        let mut record = ConversationRecord::new(self.id.clone(), Preface::default());
        record.created = UNIX_EPOCH + Duration::from_millis(milliseconds);
        record.metadata = metadata;
        Ok(record)
    }

    /// Reads what was noted of the conversation.
    fn preface(&mut self, note: &Map<String, Value>, record: &mut ConversationRecord) -> Result<()> {
        if let Some(preface) = note.get("preface") {
            record.preface = serde_json::from_value(preface.clone()).map_err(wrong_note)?;
        }
        if let Some(sampling) = note.get("sampling") {
            record.sampling = serde_json::from_value(sampling.clone()).map_err(wrong_note)?;
        }
        if let Some(created) = note.get("created").and_then(Value::as_u64) {
            record.created = UNIX_EPOCH + Duration::from_millis(created);
        }
        Ok(())
    }

    /// Reads the annotations. A value in their place that is none is taken out and returned.
    fn annotations(&mut self, note: &Map<String, Value>, record: &mut ConversationRecord) -> Option<Value> {
        let error = match Annotations::read(&record.metadata) {
            Ok(notes) => {
                self.notes = notes;
                return None;
            }
            Err(error) => error,
        };
        // Alloquy wrote this conversation, so it had the same value before.
        if note.contains_key("created") {
            return None;
        }
        self.repairs.push(Repair::ForeignNotes(error.to_string()));
        record.metadata.shift_remove(ANNOTATIONS_KEY)
    }

    fn time(&mut self, text: &str) -> Option<Timestamp> {
        let time = Timestamp::parse(text)?;
        self.naive += usize::from(!time.has_zone());
        Some(time)
    }

    fn nodes(
        &mut self,
        forest: &mut Forest,
        version: [u64; 3],
        record: &ConversationRecord,
        noted: bool,
    ) -> Result<ReadNodes> {
        let lifted = if noted { forest.lifted() } else { Vec::new() };
        let mut known: Vec<Known> = forest.nodes.iter().map(|_| Known::default()).collect();
        let mut read = ReadNodes { nodes: Vec::new(), ids: vec![None; known.len()], lifted: Vec::new() };
        let created = record.created.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        // The parent and the time of the previous node. A node takes its times and its open calls from its parent.
        // A sibling may not be older than the previous one, so that the ids of siblings sort in their order.
        let mut before = (None, u64::try_from(created).unwrap_or_default());
        for node in forest.order.clone() {
            let parent = forest.parents.get(node).copied().flatten();
            let above = parent.and_then(|parent| known.get(parent));
            let (parent_id, open) = above.map_or((None, Vec::new()), |above| (above.id, above.open.clone()));
            let made = above.map_or(before.1, |above| above.milliseconds);
            let least = if before.0 == Some(parent) { before.1 } else { 0 };
            let context = Above { parent: parent_id, open, made, least };
            let (read_node, milliseconds, open) = self.node(forest, node, version, &context)?;
            before = (Some(parent), milliseconds);
            let is_lifted = lifted.contains(&node);
            let id = (!is_lifted).then_some(read_node.id);
            if let (Some(place), Some(slot)) = (known.get_mut(node), read.ids.get_mut(node)) {
                *place = Known { id, milliseconds, open };
                *slot = id;
            }
            if !is_lifted {
                read.nodes.push(read_node);
            } else if !forest.is_placeholder(node) {
                read.lifted.push(read_node.message);
            }
        }
        Ok(read)
    }

    fn node(
        &mut self,
        forest: &mut Forest,
        node: usize,
        version: [u64; 3],
        above: &Above,
    ) -> Result<(Node, u64, Vec<ToolCall>)> {
        let place = forest.places.get(node).copied().unwrap_or_default();
        let mut fields = forest.nodes.get(node).cloned().unwrap_or_default();
        let name = forest.id(node).to_owned();
        let mut metadata = match fields.shift_remove("metadata") {
            Some(Value::Object(metadata)) => metadata,
            _ => Map::new(),
        };
        let Some(Value::Object(mut raw)) = fields.shift_remove("message") else {
            return Err(invalid(format!("the message of node {name:?} is not an object")));
        };
        if version < [1, 1, 0] && move_calls(&metadata, &mut raw) {
            self.repairs.push(Repair::CallsMoved(name.clone()));
        }
        let note = take_note(&mut metadata);
        let naive = self.naive;
        let (milliseconds, mut origin) = self.timestamp(&fields, &name, above);
        if note.is_some() {
            self.naive = naive;
        }
        let id = note.as_ref().and_then(|note| note.get("id")?.as_str()?.parse().ok());
        let id = id.unwrap_or_else(|| self.derived(above.parent, milliseconds, place, &name));
        let seed = id.to_string();
        let read = message::read(&raw, (&name, &seed), &above.open, &mut self.repairs);
        let ReadMessage { mut message, origin: of_message, open } = read;
        let branch_name = fields.get("branch_name").cloned().unwrap_or_default();
        let prompt_name = fields.get("prompt_name").cloned().unwrap_or_default();
        let stated = StateFacts { metadata, branch_name, prompt_name };
        fields.retain(|field, _| !NODE.contains(&field.as_str()));
        keep_fields(&mut origin, "further", fields);
        keep_fields(&mut origin, "message", of_message);
        let mut read = Node::new(above.parent, message.clone()).with_id(id);
        match note {
            None => {
                self.facts(&name, stated, &mut read, &mut origin);
                insert_shadowing(&mut read.metadata, ORIGIN, origin);
            }
            Some(note) => {
                if !noted(&note, &raw, &mut read) | !noted_facts(&note, &stated, &mut read) {
                    self.repairs.push(Repair::NoteOutdated(name));
                }
                self.rename(&note, &stated, &read);
                message.clone_from(&read.message);
            }
        }
        let open = if message.tool_results().next().is_some() {
            open
        } else {
            message.tool_calls().cloned().collect()
        };
        Ok((read, milliseconds, open))
    }

    /// Reads the facts of a node; `origin` keeps those that would be written differently.
    fn facts(
        &mut self,
        name: &str,
        mut stated: StateFacts,
        node: &mut Node,
        origin: &mut Map<String, Value>,
    ) {
        let whole = stated.clone();
        if stated.is_uncounted() {
            self.repairs.push(Repair::UsageUnread(name.to_owned()));
        }
        let names = stated.set_aside(node.message.role);
        if !names.is_empty() {
            self.repairs.push(Repair::NotedOtherwise { node: name.to_owned(), names });
        }
        set(node, stated.facts());
        let rewritten = StateFacts::of(&flat(node, node.metadata.clone()));
        let differing = whole.difference(&rewritten);
        if !differing.is_empty() {
            origin.insert("metadata".to_owned(), differing.into());
        }
        let names = [
            ("branch_name", whole.branch_name, rewritten.branch_name),
            ("prompt_name", whole.prompt_name, rewritten.prompt_name),
        ];
        for (field, stated, rewritten) in names {
            if stated != rewritten && !stated.is_null() {
                origin.insert(field.to_owned(), stated);
            }
        }
    }

    /// Changes the label of a node whose branch was renamed.
    fn rename(&mut self, note: &Map<String, Value>, stated: &StateFacts, node: &Node) {
        let label = match &stated.branch_name {
            Value::String(name) => Some(name.as_str()).filter(|name| !name.is_empty()),
            Value::Null if note.contains_key("facts") => None,
            _ => return,
        };
        if self.notes.label(node) != label {
            self.notes.set_label(node.id, label);
        }
    }

    /// Reads when a node was created, and what its id cannot say about that.
    fn timestamp(
        &mut self,
        fields: &Map<String, Value>,
        name: &str,
        above: &Above,
    ) -> (u64, Map<String, Value>) {
        let mut origin = Map::new();
        let found = match fields.get("timestamp").unwrap_or(&Value::Null) {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let Some(time) = self.time(&found) else {
            self.repairs.push(Repair::BadTime { node: name.to_owned(), found });
            return (above.made.max(above.least), origin);
        };
        origin.insert("timestamp".to_owned(), time.to_string().into());
        let own = time.milliseconds();
        let milliseconds = own.unwrap_or_default().max(above.least);
        if own != Some(milliseconds) {
            self.repairs.push(Repair::TimeMoved(name.to_owned()));
        }
        (milliseconds, origin)
    }

    /// Derives an id, which is the same whenever the same state is read.
    fn derived(&self, parent: Option<NodeId>, milliseconds: u64, place: usize, name: &str) -> NodeId {
        let parent = parent.map(|parent| parent.to_string()).unwrap_or_default();
        let digest = Digest::of(format!("{}\n{parent}\n{name}", self.id).as_bytes());
        NodeId::of_import(milliseconds, place as u64, digest)
    }

    fn head(
        &mut self,
        state: &Map<String, Value>,
        forest: &Forest,
        note: &Map<String, Value>,
        ids: &[Option<NodeId>],
    ) -> Option<NodeId> {
        let current = state.get("current_node_id").and_then(Value::as_str);
        if note.get("before_first").is_some_and(|noted| noted.as_str() == current) {
            return None;
        }
        let found = current.and_then(|current| forest.find(current)).filter(|&node| forest.is_reached(node));
        let node = found.or_else(|| forest.order.last().copied())?;
        if found.is_none() || current != Some(forest.id(node)) {
            let from = current.unwrap_or_default().to_owned();
            self.repairs.push(Repair::HeadMoved { from, to: forest.id(node).to_owned() });
        }
        ids.get(node).copied().flatten()
    }
}

fn wrong_note(source: serde_json::Error) -> Error {
    invalid("the metadata \"alloquy\" is not what Alloquy noted there").with_source(source)
}

/// What a node takes from the nodes before it.
struct Above {
    parent: Option<NodeId>,
    open: Vec<ToolCall>,
    /// When the parent was created.
    made: u64,
    /// When the sibling before was created: ids of siblings sort in their order.
    least: u64,
}

/// Moves calls from the metadata, where states before 1.1.0 have them, into the message.
fn move_calls(metadata: &Map<String, Value>, raw: &mut Map<String, Value>) -> bool {
    let mut moved = false;
    for name in ["tool_calls", "function_call"] {
        if raw.get(name).is_none_or(Value::is_null)
            && let Some(calls) = metadata.get(name)
            && !calls.is_null()
        {
            raw.insert(name.to_owned(), calls.clone());
            moved = true;
        }
    }
    moved
}

/// Restores what was noted of a node's message; returns false when the message was changed since.
fn noted(note: &Map<String, Value>, raw: &Map<String, Value>, node: &mut Node) -> bool {
    let message: Option<Message> =
        note.get("message").and_then(|noted| serde_json::from_value(noted.clone()).ok());
    let message = message.unwrap_or_else(|| node.message.clone());
    if message::written(&message) != message::canonical(raw) {
        return false;
    }
    node.message = message;
    let status = note.get("status").and_then(|status| serde_json::from_value(status.clone()).ok());
    node.status = status.unwrap_or_default();
    let tokens = note.get("tokens").and_then(|tokens| serde_json::from_value(tokens.clone()).ok());
    node.tokens = tokens.unwrap_or_default();
    true
}

/// Restores what was noted of a node's facts; reads the facts and returns false when they were changed since.
fn noted_facts(note: &Map<String, Value>, stated: &StateFacts, node: &mut Node) -> bool {
    let noted = note.get("facts").and_then(Value::as_object).cloned().unwrap_or_default();
    let as_noted = StateFacts::of(&noted);
    if translated(&stated.metadata) == as_noted.metadata && stated.prompt_name == as_noted.prompt_name {
        let mut facts = stated.metadata.clone();
        put_back(&mut facts, &noted);
        set(node, facts.clone());
        let unmixed = note.get("unmixed").and_then(|unmixed| Unmixed::deserialize(unmixed).ok());
        return unmixed.is_none_or(|unmixed| unmixed.restore(&facts, node));
    }
    set(node, StateFacts { branch_name: as_noted.branch_name, ..stated.clone() }.facts());
    // Earlier versions noted none.
    !note.contains_key("facts")
}

/// Keeps the fields that have no place here, where there are any.
fn keep_fields(origin: &mut Map<String, Value>, name: &str, fields: Map<String, Value>) {
    if !fields.is_empty() {
        origin.insert(name.to_owned(), Value::Object(fields));
    }
}

/// Takes out the note of a node, and the passages that were derived from facts of the node that the metadata has too.
fn take_note(metadata: &mut Map<String, Value>) -> Option<Map<String, Value>> {
    let note = take_shadowing(metadata, NOTE, &NOTE_OF_NODE)?;
    if note.contains_key(RAG) {
        metadata.shift_remove(RAG);
    }
    Some(note)
}
