//! What dataknobs tells of a node beside its message: labels, usage, models and costs, there and back.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

use std::sync::Arc;

use alloquy_core::report::{ReplyFacts, Usage};
use alloquy_core::store::{Archive, ConversationRecord, ConversationStoreExt, MemoryStore};
use alloquy_core::{Conversation, ConversationManager, Manager, Message, Node, Owner, Preface};
use alloquy_formats::archive::{self, ArchiveFormat, ArchiveLimits, ReadArchive};
use alloquy_testing::EchoModel;
use pollster::block_on;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

const FACTS: &str = include_str!("fixtures/archive/dataknobs_facts.json");

fn read(state: &Value) -> ReadArchive {
    let limits = ArchiveLimits::default();
    archive::read(ArchiveFormat::Dataknobs, &state.to_string(), &limits).unwrap().remove(0).unwrap()
}

fn written(archive: &Archive) -> Value {
    let written = archive::write(ArchiveFormat::Dataknobs, archive, &ArchiveLimits::default()).unwrap();
    serde_json::from_str(&written.text).unwrap()
}

/// A chat over what was imported, and its store.
fn stored(archive: &Archive) -> (Conversation, Arc<MemoryStore>) {
    let store = Arc::new(MemoryStore::default());
    block_on(store.import(&Owner::local(), archive)).unwrap();
    let manager = Manager::builder(EchoModel).store(Arc::clone(&store) as _).build().unwrap();
    (block_on(manager.open(&archive.record.id)).unwrap(), store)
}

fn exported(conversation: &Conversation, store: &MemoryStore) -> Archive {
    block_on(store.export(&Owner::local(), conversation.id())).unwrap()
}

#[test]
fn a_state_with_facts_comes_back_as_it_was() {
    let mut state: Value = serde_json::from_str(FACTS).unwrap();
    let (conversation, store) = stored(&read(&state).archive);
    let back = written(&exported(&conversation, &store));
    for (node, back) in
        state["nodes"].as_array_mut().unwrap().iter_mut().zip(back["nodes"].as_array().unwrap())
    {
        // Times are said with an offset, as Python says them.
        node["timestamp"] = back["timestamp"].clone();
        assert_eq!(node, back);
    }
    assert_eq!(back["metadata"], state["metadata"]);
    assert_eq!(read(&back).archive, exported(&conversation, &store));
}

#[test]
fn what_replies_took_there_is_known_here() {
    let state: Value = serde_json::from_str(FACTS).unwrap();
    let (conversation, _) = stored(&read(&state).archive);
    let tree = block_on(conversation.tree()).unwrap();
    let mut took: Vec<_> = tree.nodes().filter_map(|node| Some((node.model()?, node.usage()))).collect();
    took.sort_by_key(|(model, _)| *model);
    assert_eq!(took, [("gpt-4", Some(Usage::new(10, 2))), ("llama3", Some(Usage::new(10, 3)))]);
    // What it cost there stays where it was.
    let answer = block_on(conversation.path(chat_node(&conversation, "0.0"))).unwrap().pop().unwrap();
    assert_eq!(answer.metadata["cost_usd"], json!(0.00042));
}

fn chat_node(conversation: &Conversation, position: &str) -> Option<alloquy_core::NodeId> {
    block_on(conversation.resolve(position)).unwrap()
}

#[test]
fn a_branch_that_is_renamed_on_either_side_has_the_new_name_on_both() {
    let state: Value = serde_json::from_str(FACTS).unwrap();
    let (conversation, store) = stored(&read(&state).archive);
    let labels = || {
        block_on(conversation.branches()).unwrap().into_iter().map(|branch| branch.label).collect::<Vec<_>>()
    };
    assert_eq!(labels(), [Some("short".to_owned()), None, None]);
    block_on(conversation.label(chat_node(&conversation, "0.0"), Some("shorter"))).unwrap();
    block_on(conversation.label(chat_node(&conversation, "0.1"), Some("long"))).unwrap();
    let back = written(&exported(&conversation, &store));
    assert_eq!(
        (&back["nodes"][1]["branch_name"], &back["nodes"][2]["branch_name"]),
        (&json!("shorter"), &json!("long"))
    );
    let mut own = Node::new(None, Message::user("Hi"));
    own.label = Some("born so".to_owned());
    let id = own.id;
    let record = ConversationRecord::new("own".parse().unwrap(), Preface::default());
    let mut there = written(&Archive::new(record, vec![own.clone()]).unwrap());
    assert_eq!(there["nodes"][0]["branch_name"], "born so");
    there["nodes"][0]["branch_name"] = json!("renamed there");
    let (conversation, store) = stored(&read(&there).archive);
    assert_eq!(exported(&conversation, &store).nodes, [own]);
    assert_eq!(
        block_on(conversation.annotations()).unwrap().label(&exported(&conversation, &store).nodes[0]),
        Some("renamed there")
    );
    there["nodes"][0]["branch_name"] = Value::Null;
    let (conversation, _) = stored(&read(&there).archive);
    assert!(
        block_on(conversation.branches())
            .unwrap()
            .iter()
            .all(|branch| branch.leaf == id && branch.label.is_none())
    );
}

#[test]
fn a_usage_that_was_changed_elsewhere_counts_and_is_told() {
    let mut own = Node::new(None, Message::assistant("Hello"));
    let facts = json!({"model": "m", "usage": {"prompt": 3, "reused": 2, "generated": 4, "thinking": 1}, "finish": "stop"});
    own.reply = Some(serde_json::from_value(facts).unwrap());
    let record = ConversationRecord::new("own".parse().unwrap(), Preface::default());
    let archive = Archive::new(record, vec![own]).unwrap();
    let mut there = written(&archive);
    assert_eq!(
        there["nodes"][0]["metadata"]["usage"],
        json!({"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7})
    );
    assert_eq!(read(&there), ReadArchive { archive, repairs: Vec::new() });
    there["nodes"][0]["metadata"]["usage"]["prompt_tokens"] = json!(30);
    let changed = read(&there);
    assert_eq!(changed.archive.nodes[0].usage().unwrap().prompt, 30);
    assert_eq!(changed.repairs.len(), 1, "{:?}", changed.repairs);
}

/// Values that a fact may have, right and wrong.
fn value() -> impl Strategy<Value = Value> {
    let usage = (any::<u32>(), any::<u32>(), any::<u16>());
    prop_oneof![
        Just(Value::Null),
        any::<u32>().prop_map(Value::from),
        "[a-z]{0,3}".prop_map(Value::from),
        prop_oneof![Just("stop"), Just("length"), Just("max_tokens"), Just("context_full")].prop_map(Value::from),
        usage.prop_map(|(prompt, reply, total)| {
            json!({"prompt_tokens": prompt, "completion_tokens": reply, "total_tokens": total})
        }),
        usage.prop_map(|(prompt, reply, _)| {
            json!({"prompt_tokens": prompt, "completion_tokens": reply, "total_tokens": u64::from(prompt) + u64::from(reply)})
        }),
        usage.prop_map(|(prompt, reply, cached)| {
            json!({"prompt": prompt, "reused": cached, "generated": reply, "thinking": 0})
        }),
    ]
}

fn facts() -> impl Strategy<Value = Map<String, Value>> {
    let names = prop_oneof![
        Just("usage"),
        Just("model"),
        Just("finish"),
        Just("finish_reason"),
        Just("label"),
        Just("prompt_name"),
        Just("system_prompt"),
        Just("system_prompt_override"),
        Just("template"),
        Just("cost_usd"),
        Just("alloquy"),
        Just("dataknobs"),
    ];
    prop::collection::vec((names, value()), 0..6)
        .prop_map(|facts| facts.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

type Said = (bool, Map<String, Value>, prop::sample::Index, Option<String>);

fn said() -> impl Strategy<Value = Vec<Said>> {
    let label = prop::option::of("[a-z]{0,3}");
    prop::collection::vec((any::<bool>(), facts(), any::<prop::sample::Index>(), label), 0..8)
}

fn message(reply: bool) -> Message {
    if reply { Message::assistant("Yes") } else { Message::user("No") }
}

proptest! {
    #[test]
    fn facts_made_here_come_back(
        said in said(),
        owned in prop::collection::vec((any::<bool>(), prop::option::of("[a-z]{0,3}")), 8),
        head in any::<prop::sample::Index>(),
    ) {
        let mut nodes: Vec<Node> = Vec::new();
        let mut labels = Map::new();
        for ((reply, metadata, above, label), (is_own, model)) in said.into_iter().zip(owned) {
            let parent = above.index(nodes.len() + 1).checked_sub(1).map(|place| nodes[place].id);
            let mut node = Node::new(parent, message(reply));
            // As the host's own metadata, and as version 0.1 stored a reply.
            if let (false, true) = (is_own, reply) {
                let line = json!({"id": node.id, "parent": parent, "message": node.message, "metadata": metadata});
                node = serde_json::from_value(line).unwrap();
            } else {
                node.metadata = metadata;
                node.label = label.clone();
                node.reply = model.map(|name| Box::new(ReplyFacts::new(name)));
            }
            labels.extend(label.map(|label| (node.id.to_string(), label.into())));
            nodes.push(node);
        }
        let mut record = ConversationRecord::new("own".parse().unwrap(), Preface::default());
        record.metadata.insert("alloquy".to_owned(), json!({"labels": labels}));
        record.head = nodes.get(head.index(nodes.len() + 1)).map(|node| node.id);
        let mut archive = Archive::new(record, nodes).unwrap();
        archive.nodes = archive.tree().unwrap().walk().map(|(_, node)| node.clone()).collect();
        let there = written(&archive);
        let back = read(&there);
        prop_assert!(back.repairs.is_empty(), "{:?}: {there}", back.repairs);
        let mut back = back.archive;
        back.nodes = back.tree().unwrap().walk().map(|(_, node)| node.clone()).collect();
        prop_assert_eq!(back, archive, "{}", there);
    }

    #[test]
    fn facts_told_there_come_back(said in said()) {
        let mut nodes = Vec::new();
        for (place, (reply, metadata, _, branch)) in said.into_iter().enumerate() {
            let name = vec!["0"; place].join(".");
            let role = if reply { "assistant" } else { "user" };
            nodes.push(json!({"message": {"role": role, "content": "Yes"}, "node_id": name, "prompt_name": branch,
                "timestamp": format!("2025-03-04T05:06:{place:02}"), "branch_name": branch, "metadata": metadata}));
        }
        let names: Vec<_> = nodes.iter().map(|node| node["node_id"].clone()).collect();
        let edges: Vec<_> = names.windows(2).map(|pair| json!([pair[0], pair[1]])).collect();
        let state = json!({"schema_version": "1.1.0", "conversation_id": "theirs", "nodes": nodes, "edges": edges,
            "current_node_id": names.last().cloned().unwrap_or("".into()), "metadata": {},
            "created_at": "2025-03-04T05:06:00", "updated_at": "2025-03-04T05:06:59"});
        let here = read(&state).archive;
        prop_assert_eq!(written(&here), state);
    }
}
