//! A conversation as JSON in the words of the release that wrote it, whatever it is called in memory by now.
//!
//! A later version that calls a field or a value otherwise writes it here under its name of 0.1: what a release's
//! `expected.json` says is never edited.

use std::time::UNIX_EPOCH;

use alloquy_core::{
    ANNOTATIONS, Annotations, Archive, CacheReport, ConversationRecord, CutHistory, Degradation, Digest,
    FinishReason, Node, PriceTable, Role, Snapshot, SnapshotRefusal, Spending, Tree, Unit, Usage,
};
use alloquy_formats::archive::ArchiveFormat;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

/// Describes a stored conversation.
pub(super) fn described(record: &ConversationRecord, tree: &Tree) -> Value {
    let mut description = described_nodes(record, tree.nodes());
    description["revision"] = json!(record.revision);
    description["pruned"] = json!(tree.tombstones().collect::<Vec<_>>());
    description
}

fn described_nodes<'a>(record: &ConversationRecord, nodes: impl Iterator<Item = &'a Node>) -> Value {
    let notes = Annotations::of(record).unwrap();
    let mut metadata = record.metadata.clone();
    metadata.shift_remove(ANNOTATIONS);
    let mut nodes: Vec<_> = nodes.collect();
    nodes.sort_unstable_by_key(|node| node.id);
    json!({
        "id": record.id,
        "created": u64::try_from(record.created.duration_since(UNIX_EPOCH).unwrap().as_millis()).unwrap(),
        "preface": record.preface,
        "sampling": record.sampling,
        "metadata": metadata,
        "head": record.head,
        "bookmarks": notes.bookmarks().collect::<std::collections::BTreeMap<_, _>>(),
        "nodes": nodes.iter().map(|node| described_node(node, &notes)).collect::<Vec<_>>(),
    })
}

/// Describes a node: what it is, what is known of its reply, and what the host has noted.
fn described_node(node: &Node, notes: &Annotations) -> Value {
    let mut metadata = node.metadata.clone();
    let prompt_name = metadata.shift_remove("prompt_name");
    let label = metadata.shift_remove("label");
    assert_eq!(prompt_name.as_ref().and_then(Value::as_str), node.prompt());
    assert_eq!(label.as_ref().and_then(Value::as_str), node.label());
    let mut noted = notes.metadata(node);
    for name in node.metadata.keys().filter(|name| !noted.contains_key(*name)).cloned().collect::<Vec<_>>() {
        noted.insert(name, Value::Null);
    }
    noted.retain(|name, value| node.metadata.get(name) != Some(value));
    json!({
        "id": node.id,
        "parent": node.parent,
        "message": node.message,
        "status": node.status,
        "tokens": node.tokens,
        "prompt_name": prompt_name,
        "label": label,
        "called": notes.label(node),
        "reply": reply(node, &mut metadata),
        "metadata": metadata,
        "noted": noted,
    })
}

/// Takes what a reply says of itself out of a node's metadata. What cannot be read as its type is the host's.
fn reply(node: &Node, metadata: &mut Map<String, Value>) -> Value {
    let is_reply = node.message.role == Role::Assistant && node.model().is_some();
    if !is_reply {
        return Value::Null;
    }
    let mut facts = Map::new();
    take::<String>("model", metadata, &mut facts);
    take::<FinishReason>("finish", metadata, &mut facts);
    take::<Usage>("usage", metadata, &mut facts);
    take::<CacheReport>("cache", metadata, &mut facts);
    take::<Digest>("template", metadata, &mut facts);
    take::<u64>("seed", metadata, &mut facts);
    take::<String>("stop_string", metadata, &mut facts);
    take::<String>("error", metadata, &mut facts);
    take::<String>("system_prompt", metadata, &mut facts);
    take::<Vec<Degradation>>("degradations", metadata, &mut facts);
    take::<CutHistory>("history_cut", metadata, &mut facts);
    Value::Object(facts)
}

fn take<T: DeserializeOwned + Serialize>(
    name: &str,
    metadata: &mut Map<String, Value>,
    facts: &mut Map<String, Value>,
) {
    let Some(value) = metadata.get(name) else { return };
    if let Ok(fact) = serde_json::from_value::<T>(value.clone()) {
        facts.insert(name.to_owned(), serde_json::to_value(fact).unwrap());
        metadata.shift_remove(name);
    }
}

/// Describes what a document held: all of a conversation, or the messages alone, whose ids and times are made up.
pub(super) fn described_archive(form: ArchiveFormat, archive: &Archive) -> Value {
    if is_whole(form) {
        archive.must_be_whole().unwrap();
        return described_nodes(&archive.record, archive.nodes.iter());
    }
    let messages: Vec<_> = archive.nodes.iter().map(|node| &node.message).collect();
    json!({"preface": archive.record.preface, "metadata": archive.record.metadata, "messages": messages})
}

/// Whether a form holds all of a conversation but its pruned nodes.
pub(super) fn is_whole(form: ArchiveFormat) -> bool {
    matches!(form, ArchiveFormat::Alloquy | ArchiveFormat::Dataknobs)
}

/// Describes what replies took and cost.
pub(super) fn spending(tree: &Tree) -> Value {
    json!(Spending::of(tree.nodes(), &PriceTable::example()))
}

/// Describes a snapshot, or why it is refused.
pub(super) fn snapshot(read: &Result<Snapshot, SnapshotRefusal>) -> Value {
    let snapshot = read.as_ref().unwrap();
    let mut units = Vec::new();
    for unit in snapshot.units() {
        units.push(match unit {
            Unit::Token(token) => json!({"token": token}),
            Unit::Media(media) => json!({"media": media.digest()}),
        });
    }
    json!({"model": snapshot.origin().model, "adapter": snapshot.origin().adapter,
        "template": snapshot.origin().template, "key": snapshot.key(), "units": units,
        "state": Digest::of(snapshot.state())})
}
