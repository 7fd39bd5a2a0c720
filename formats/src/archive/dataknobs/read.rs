//! A state as an archive: versions, times, names, the head. Knows what was noted there by [`write`](super::write).

use std::time::{Duration, UNIX_EPOCH};

use alloquy_core::annotations::{ANNOTATIONS, Annotations};
use alloquy_core::media::Digest;
use alloquy_core::message::ToolCall;
use alloquy_core::store::{Archive, ConversationRecord};
use alloquy_core::{ConversationId, Error, ErrorKind, Message, Node, NodeId, Preface, Result};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::facts::{Told, Unmixed, flat, put_back, set, translated};
use super::forest::Forest;
use super::ids::invalid;
use super::message::{self, ReadMessage};
use super::notes::{
    NOTE, NOTE_OF_NODE, NOTE_OF_RECORD, ORIGIN, ORIGIN_OF_STATE, insert_shadowing, take_shadowing,
};
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
        // What was written here is as it was: empty, and in UTC.
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

/// Refuses a name that no new conversation may have.
fn visible(id: ConversationId) -> Result<ConversationId> {
    id.must_be_visible().map(|()| id)
}

/// Takes the name over, or derives one from the state.
fn name(state: &Map<String, Value>, repairs: &mut Vec<Repair>) -> Result<ConversationId> {
    let from = state.get("conversation_id").and_then(Value::as_str).unwrap_or_default();
    from.parse().and_then(visible).or_else(|_| {
        let to = name_of(Value::Object(state.clone()).to_string().as_bytes())?;
        repairs.push(Repair::Renamed { from: from.to_owned(), to: to.to_string() });
        Ok(to)
    })
}

/// Keeps what a record has no place for.
fn keep(
    state: &Map<String, Value>,
    forest: &Forest,
    foreign: Option<Value>,
    record: &mut ConversationRecord,
) {
    let mut origin = take_shadowing(&mut record.metadata, ORIGIN, &ORIGIN_OF_STATE).unwrap_or_default();
    let further =
        state.iter().filter(|(name, _)| !STATE.contains(&name.as_str()) && *name != "message_count");
    let further: Map<_, _> = further.map(|(name, value)| (name.clone(), value.clone())).collect();
    if !further.is_empty() {
        origin.insert("further".to_owned(), Value::Object(further));
    }
    origin.extend(foreign.map(|foreign| ("metadata".to_owned(), json!({ANNOTATIONS: foreign}))));
    let orphans = forest.orphans();
    if !orphans.is_empty() {
        origin.insert("orphans".to_owned(), orphans.into());
    }
    insert_shadowing(&mut record.metadata, ORIGIN, origin);
}

struct Reader {
    id: ConversationId,
    repairs: Vec<Repair>,
    /// How many times named no zone.
    naive: usize,
    /// What people noted on the nodes.
    notes: Annotations,
}

/// The nodes of a state as nodes here.
struct ReadNodes {
    nodes: Vec<Node>,
    /// The id that each node of the state has now; those of the preface have none.
    ids: Vec<Option<NodeId>>,
    /// The messages that belong to the preface.
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
                let time = state.get(name).and_then(Value::as_str).and_then(Timestamp::parse);
                origin.extend(time.map(|time| (name.to_owned(), time.to_string().into())));
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
        let wrong =
            |source| invalid("the metadata \"alloquy\" is not what Alloquy noted there").with_source(source);
        if let Some(preface) = note.get("preface") {
            record.preface = serde_json::from_value(preface.clone()).map_err(wrong)?;
        }
        if let Some(sampling) = note.get("sampling") {
            record.sampling = serde_json::from_value(sampling.clone()).map_err(wrong)?;
        }
        if let Some(created) = note.get("created").and_then(Value::as_u64) {
            record.created = UNIX_EPOCH + Duration::from_millis(created);
        }
        Ok(())
    }

    /// Reads what people noted here. What else stands in its place is taken out and returned.
    fn annotations(&mut self, note: &Map<String, Value>, record: &mut ConversationRecord) -> Option<Value> {
        let error = match Annotations::read(&record.metadata) {
            Ok(notes) => {
                self.notes = notes;
                return None;
            }
            Err(error) => error,
        };
        // Of a conversation that began here it is the same as it was here.
        if note.contains_key("created") {
            return None;
        }
        self.repairs.push(Repair::ForeignNotes(error.to_string()));
        record.metadata.shift_remove(ANNOTATIONS)
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
        let lifted = if noted { lifted(forest) } else { Vec::new() };
        let mut known: Vec<Known> = forest.nodes.iter().map(|_| Known::default()).collect();
        let mut read = ReadNodes { nodes: Vec::new(), ids: vec![None; known.len()], lifted: Vec::new() };
        let created = record.created.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
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
            match is_lifted {
                true if is_stand_in(forest, node) => {}
                true => read.lifted.push(read_node.message),
                false => read.nodes.push(read_node),
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
        let note = take_shadowing(&mut metadata, NOTE, &NOTE_OF_NODE);
        let naive = self.naive;
        let (milliseconds, mut origin) = self.timestamp(&fields, &name, above);
        if note.is_some() {
            self.naive = naive;
        }
        let id = note.as_ref().and_then(|note| note.get("id")?.as_str()?.parse().ok());
        let id = id.unwrap_or_else(|| self.derived(above.parent, milliseconds, place, &name));
        let seed = id.to_string();
        let read = message::read(&raw, (&name, &seed), &above.open, &mut self.repairs);
        let ReadMessage { mut message, origin: said, open } = read;
        let named = |field: &str| fields.get(field).cloned().unwrap_or_default();
        let told = Told { metadata, branch_name: named("branch_name"), prompt_name: named("prompt_name") };
        let further = fields.into_iter().filter(|(field, _)| !NODE.contains(&field.as_str())).collect();
        keep_fields(&mut origin, "further", further);
        keep_fields(&mut origin, "message", said);
        let mut read = Node::new(above.parent, message.clone()).with_id(id);
        match note {
            None => {
                self.facts(&name, told, &mut read, &mut origin);
                insert_shadowing(&mut read.metadata, ORIGIN, origin);
            }
            Some(note) => {
                if !noted(&note, &raw, &mut read) | !noted_facts(&note, &told, &mut read) {
                    self.repairs.push(Repair::NoteOutdated(name));
                }
                self.rename(&note, &told, &read);
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

    /// Reads what a state says of a node; `origin` keeps what it would not say again.
    fn facts(&mut self, name: &str, mut told: Told, node: &mut Node, origin: &mut Map<String, Value>) {
        let whole = told.clone();
        if told.is_uncounted() {
            self.repairs.push(Repair::UsageUnread(name.to_owned()));
        }
        let names = told.set_aside(node.message.role);
        if !names.is_empty() {
            self.repairs.push(Repair::NotedOtherwise { node: name.to_owned(), names });
        }
        set(node, told.facts());
        let again = Told::of(&flat(node, node.metadata.clone()));
        let differing = whole.difference(&again);
        if !differing.is_empty() {
            origin.insert("metadata".to_owned(), differing.into());
        }
        let names = [
            ("branch_name", whole.branch_name, again.branch_name),
            ("prompt_name", whole.prompt_name, again.prompt_name),
        ];
        let lost = names.into_iter().filter(|(_, told, again)| told != again && !told.is_null());
        origin.extend(lost.map(|(field, told, _)| (field.to_owned(), told)));
    }

    /// Labels a node anew whose branch was given another name.
    fn rename(&mut self, note: &Map<String, Value>, told: &Told, node: &Node) {
        let label = match &told.branch_name {
            Value::String(name) => Some(name.as_str()).filter(|name| !name.is_empty()),
            Value::Null if note.contains_key("facts") => None,
            _ => return,
        };
        if self.notes.label(node) != label {
            self.notes.set_label(node.id, label);
        }
    }

    /// Reads when a node was made, and what of that its id cannot say.
    fn timestamp(
        &mut self,
        fields: &Map<String, Value>,
        name: &str,
        above: &Above,
    ) -> (u64, Map<String, Value>) {
        let mut origin = Map::new();
        let said = match fields.get("timestamp").unwrap_or(&Value::Null) {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let Some(time) = self.time(&said) else {
            self.repairs.push(Repair::BadTime { node: name.to_owned(), found: said });
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

    /// An id that is the same whenever the same state is read.
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
            let (from, to) = (current.unwrap_or_default().to_owned(), forest.id(node).to_owned());
            self.repairs.push(Repair::HeadMoved { from, to });
        }
        ids.get(node).copied().flatten()
    }
}

/// What a node takes from those before it.
struct Above {
    parent: Option<NodeId>,
    open: Vec<ToolCall>,
    /// When the parent was made.
    made: u64,
    /// When the sibling before was made: ids of siblings sort in their order.
    least: u64,
}

/// States before 1.1.0 have calls beside the message.
fn move_calls(metadata: &Map<String, Value>, raw: &mut Map<String, Value>) -> bool {
    let mut moved = false;
    for name in ["tool_calls", "function_call"] {
        let lacks = raw.get(name).is_none_or(Value::is_null);
        if let (true, Some(calls)) = (lacks, metadata.get(name).filter(|calls| !calls.is_null())) {
            raw.insert(name.to_owned(), calls.clone());
            moved = true;
        }
    }
    moved
}

/// Puts back what was noted of a node; nothing when the message says something else by now.
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

/// Puts back what was noted of a node's facts; where they are others by now, those are read.
fn noted_facts(note: &Map<String, Value>, told: &Told, node: &mut Node) -> bool {
    let noted = note.get("facts").and_then(Value::as_object).cloned().unwrap_or_default();
    let as_noted = Told::of(&noted);
    if translated(&told.metadata) == as_noted.metadata && told.prompt_name == as_noted.prompt_name {
        let mut facts = told.metadata.clone();
        put_back(&mut facts, &noted);
        set(node, facts.clone());
        let unmixed = note.get("unmixed").and_then(|unmixed| Unmixed::deserialize(unmixed).ok());
        return unmixed.is_none_or(|unmixed| unmixed.restore(&facts, node));
    }
    set(node, Told { branch_name: as_noted.branch_name, ..told.clone() }.facts());
    // Earlier versions noted none.
    !note.contains_key("facts")
}

/// The nodes from the root down that are noted to be messages of the preface.
fn lifted(forest: &Forest) -> Vec<usize> {
    let mut lifted = Vec::new();
    let mut level = forest.roots();
    while let [node] = level {
        if preface_note(forest, *node).is_none() {
            break;
        }
        lifted.push(*node);
        level = forest.children(*node);
    }
    lifted
}

fn preface_note(forest: &Forest, node: usize) -> Option<&Value> {
    forest.nodes.get(node)?.get("metadata")?.get(NOTE)?.get("preface")
}

/// Says whether a node stands where a root was needed and nothing was said.
fn is_stand_in(forest: &Forest, node: usize) -> bool {
    preface_note(forest, node).is_some_and(|note| *note == Value::Bool(false))
}

/// Keeps fields that nothing here says, where there are any.
fn keep_fields(origin: &mut Map<String, Value>, name: &str, fields: Map<String, Value>) {
    if !fields.is_empty() {
        origin.insert(name.to_owned(), Value::Object(fields));
    }
}
