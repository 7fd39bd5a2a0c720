//! States as dataknobs prints them, from archives, and what of them is compared.

use std::collections::HashMap;

use alloquy_core::prompt_library::{PROMPT_KEY, PromptFacts};
use alloquy_core::store::{Archive, ConversationStoreExt, MemoryStore};
use alloquy_core::{Node, Owner};
use alloquy_formats::archive::{self, ArchiveFormat, ArchiveLimits};
use pollster::block_on;
use serde_json::{Map, Value};

/// Writes an archive as a state.
pub(crate) fn of(archive: &Archive) -> Value {
    let written = archive::write(ArchiveFormat::Dataknobs, archive, &ArchiveLimits::default()).unwrap();
    serde_json::from_str(&written.text).unwrap()
}

/// The same after it was stored and taken out again, in memory and in a database.
pub(crate) fn stored(archive: &Archive) -> Value {
    let database = block_on(alloquy_storage::open("sqlite::memory:")).unwrap();
    let memory = MemoryStore::default();
    let owner = Owner::local();
    let id = &archive.record.id;
    block_on(async {
        memory.import(&owner, archive).await.unwrap();
        database.import(&owner, archive).await.unwrap();
        let [one, other] =
            [memory.export(&owner, id).await.unwrap(), database.export(&owner, id).await.unwrap()];
        assert_eq!(of(&one), of(&other));
        of(&one)
    })
}

/// The messages from the root to where the conversation stands.
pub(crate) fn path(state: &Value) -> Vec<&Value> {
    let nodes: HashMap<_, _> = list(state, "nodes").iter().map(|node| (&node["node_id"], node)).collect();
    let above: HashMap<_, _> = list(state, "edges").iter().map(|edge| (&edge[1], &edge[0])).collect();
    let mut path = Vec::new();
    let mut next = Some(&state["current_node_id"]);
    while let Some(node) = next.and_then(|id| nodes.get(id)) {
        path.push(*node);
        next = above.get(&node["node_id"]).copied();
    }
    path.reverse();
    path
}

pub(crate) fn messages(state: &Value) -> Value {
    path(state).into_iter().map(|node| node["message"].clone()).collect()
}

/// The nodes by time, as a list of messages has them.
pub(crate) fn chronological(state: &Value) -> Vec<&Value> {
    let mut nodes: Vec<_> = list(state, "nodes").iter().collect();
    nodes.sort_by_key(|node| node["timestamp"].as_str().unwrap().to_owned());
    nodes
}

pub(crate) fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value[name].as_array().map_or(&[], Vec::as_slice)
}

/// Adds what middleware notes of replies to the metadata of their nodes, where dataknobs has it; the facts of Alloquy's own
/// guards are left out. What the caller has given under the same name stays.
pub(crate) fn add_facts(nodes: &mut [Node]) {
    for node in nodes {
        let Some(reply) = &node.reply else { continue };
        for (name, value) in noted(&reply.facts) {
            node.metadata.entry(name).or_insert(value);
        }
    }
}

/// The facts that are not those of Alloquy's own guards.
pub(crate) fn noted(facts: &Map<String, Value>) -> Map<String, Value> {
    let mut facts = facts.clone();
    facts.retain(|name, _| !name.starts_with("alloquy."));
    facts
}

/// Takes out what Alloquy notes for itself.
pub(crate) fn plain(mut state: Value) -> Value {
    remove_note(&mut state["metadata"]);
    state["nodes"].as_array_mut().into_iter().flatten().for_each(|node| remove_note(&mut node["metadata"]));
    state
}

fn remove_note(metadata: &mut Value) {
    let Some(fields) = metadata.as_object_mut() else { return };
    fields.shift_remove("alloquy");
    fields.shift_remove("retrieval");
    crate::flows::write_facts(fields);
    if PromptFacts::of(fields).is_some() {
        fields.shift_remove(PROMPT_KEY);
    }
}

/// Blanks times, which depend on the clock.
pub(crate) fn timeless(mut value: Value) -> Value {
    match &mut value {
        Value::Object(fields) => {
            for (name, value) in fields.iter_mut() {
                *value = match name.as_str() {
                    "timestamp" | "created_at" | "updated_at" => Value::Null,
                    _ => timeless(value.take()),
                };
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| *item = timeless(item.take())),
        _ => {}
    }
    value
}

/// Says where two values differ, but for the last digits of binary fractions.
pub(crate) fn compare(what: &str, expected: &Value, found: &Value) -> Option<String> {
    let differ = rounded(expected.clone()) != rounded(found.clone());
    differ.then(|| format!("{what}\n      expected {expected}\n      found    {found}"))
}

fn rounded(mut value: Value) -> Value {
    match &mut value {
        Value::Object(fields) => fields.values_mut().for_each(|value| *value = rounded(value.take())),
        Value::Array(items) => items.iter_mut().for_each(|item| *item = rounded(item.take())),
        Value::Number(number) if number.is_f64() => {
            let rounded = format!("{:.12e}", number.as_f64().unwrap()).parse::<f64>().unwrap();
            return rounded.into();
        }
        _ => {}
    }
    value
}
