//! A conversation as JSON in the words of the release that wrote it, whatever it is called in memory by now.
//!
//! A later version that calls a field or a value otherwise writes it here under its name of 0.1: what a release's
//! `expected.json` says is never edited.

use std::time::UNIX_EPOCH;

use alloquy_core::Node;
use alloquy_core::annotations::{ANNOTATIONS_KEY, Annotations};
use alloquy_core::media::Digest;
use alloquy_core::prompt::PromptUnit;
use alloquy_core::store::{Archive, ConversationRecord};
use alloquy_core::tree::Tree;
use alloquy_cost::{Cost, PriceTable};
use alloquy_engine::decoder::{Snapshot, SnapshotError};
use alloquy_formats::archive::ArchiveFormat;
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
    metadata.shift_remove(ANNOTATIONS_KEY);
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
        "prompt_name": node.prompt_name,
        "label": node.label,
        "called": notes.label(node),
        "reply": reply(node),
        "metadata": node.metadata,
        "noted": noted,
    })
}

/// Describes the facts of a reply under the names that they had in the metadata of a node.
fn reply(node: &Node) -> Value {
    let Some(reply) = &node.reply else { return Value::Null };
    let facts: Map<String, Value> = serde_json::from_value(json!(reply)).unwrap();
    assert!(reply.facts.is_empty(), "no middleware noted anything");
    let mut facts = Value::Object(facts);
    rename(&mut facts);
    facts
}

/// Names of today in the facts of a reply, each with the name that release 0.1 wrote.
const FORMER_NAMES: [(&str, &str); 13] = [
    ("audio_chunked", "sound_chunked"),
    ("audio_cut", "sound_cut"),
    ("audio_padded", "sound_padded"),
    ("cached", "reused"),
    ("changed", "differs"),
    ("computed", "forwarded"),
    ("evicted", "not_held"),
    ("grammar_cut", "constraint_cut"),
    ("history_summarized", "history_summarised"),
    ("not_rewindable", "rewound"),
    ("retokenized", "respelled"),
    ("tools_excluded", "tools_shut_out"),
    ("warnings", "degradations"),
];

/// Gives keys, and texts that are names, the names of release 0.1.
fn rename(value: &mut Value) {
    match value {
        Value::String(text) => former_name(text),
        Value::Array(values) => values.iter_mut().for_each(rename),
        Value::Object(fields) => {
            for (mut name, mut value) in std::mem::take(fields) {
                former_name(&mut name);
                rename(&mut value);
                fields.insert(name, value);
            }
        }
        _ => {}
    }
}

fn former_name(name: &mut String) {
    if let Some((_, former)) = FORMER_NAMES.iter().find(|(now, _)| now == name) {
        *name = (*former).to_owned();
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
pub(super) fn cost(tree: &Tree) -> Value {
    json!(Cost::of(tree.nodes(), &PriceTable::example()))
}

/// Describes a snapshot, or why it is refused.
pub(super) fn snapshot(read: &Result<Snapshot, SnapshotError>) -> Value {
    let snapshot = match read {
        Ok(snapshot) => snapshot,
        Err(refusal) => return json!(refusal),
    };
    let mut units = Vec::new();
    for unit in snapshot.units() {
        units.push(match unit {
            PromptUnit::Token(token) => json!({"token": token}),
            PromptUnit::Media(media) => json!({"media": media.digest()}),
        });
    }
    json!({"model": snapshot.origin().model, "template": snapshot.origin().template, "key": snapshot.key(), "units": units,
        "state": Digest::of(snapshot.state())})
}
