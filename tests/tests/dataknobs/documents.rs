//! States and databases of earlier releases: what is made of them.

use std::path::Path;

use alloquy_core::store::{Archive, ConversationStoreExt};
use alloquy_core::{ConversationManager, Manager};
use alloquy_formats::archive::{self, ArchiveFormat, ArchiveLimits, ReadArchive, Repair};
use pollster::block_on;
use serde_json::{Value, json};

use crate::model::Provider;
use crate::outcome::Outcome;
use crate::session::here;
use crate::state::{self, compare, list};

/// Runs a state and what dataknobs makes of it.
pub(crate) fn run(case: &Value) -> Outcome {
    let limits = ArchiveLimits::default();
    let read = archive::read(ArchiveFormat::Dataknobs, &case["serialized"].to_string(), &limits);
    let read = read.and_then(|mut read| read.remove(0));
    let expected = &case["expect_after_load"];
    let fails = expected.get("error").is_some();
    match read {
        Err(_) if fails => Outcome::Agrees,
        Err(error) => Outcome::Differs { how: format!("cannot be read: {error:#}"), why: Vec::new() },
        Ok(read) if fails => {
            let mut why = reasons(&read.repairs);
            why.push("reads-on");
            let how = format!("is read, but expected {}", expected["error"]);
            match lost(&read.archive, &case["serialized"]).or_else(|| unreachable(&read.archive)) {
                None => Outcome::Differs { how, why },
                Some(how) => Outcome::Differs { how, why: Vec::new() },
            }
        }
        Ok(read) => judge(&read, &case["serialized"], expected),
    }
}

fn judge(read: &ReadArchive, serialized: &Value, expected: &Value) -> Outcome {
    if let Some(how) = lost(&read.archive, serialized).or_else(|| unreachable(&read.archive)) {
        return Outcome::Differs { how, why: Vec::new() };
    }
    let differences = differences(&read.archive, expected);
    if differences.is_empty() {
        return Outcome::Agrees;
    }
    let mut why = reasons(&read.repairs);
    why.extend((state::of(&read.archive)["edges"] != serialized["edges"]).then_some("order"));
    Outcome::Differs { how: differences.join("\n   "), why }
}

/// Whatever a state holds is in the tree, or in the metadata where no way leads to it.
fn lost(archive: &Archive, serialized: &Value) -> Option<String> {
    let aside = archive.record.metadata.get("dataknobs").map_or(0, |noted| list(noted, "orphans").len());
    let kept = archive.nodes.len() + aside;
    let all = list(serialized, "nodes").len();
    (kept != all).then(|| format!("of {all} nodes {kept} are left"))
}

/// Each node is found by its address through a chat, and so is the path to the head.
fn unreachable(archive: &Archive) -> Option<String> {
    let manager = Manager::new(Provider::new(&Value::Null));
    let state = state::of(archive);
    block_on(async {
        manager.store().import(manager.owner(), archive).await.unwrap();
        let chat = manager.open(&archive.record.id).await.unwrap();
        let tree = chat.tree().await.unwrap();
        for node in list(&state, "nodes") {
            let address = here(node["node_id"].as_str().unwrap()).unwrap();
            let found = chat.resolve(&address.to_string()).await.unwrap().map(|id| tree.node(id).unwrap());
            let depth = chat.path(address).await.unwrap().len();
            let name = found.map(|found| tree.position(Some(found.id)).unwrap().places().len());
            if name != Some(depth) {
                return Some(format!("{node} is not found where it stands"));
            }
        }
        let history: Vec<_> = chat.history().await.unwrap().iter().map(|node| node.id).collect();
        let path: Vec<_> = tree.path(archive.record.head).unwrap().iter().map(|node| node.id).collect();
        (history != path || history.len() != state::path(&state).len())
            .then(|| "the head is elsewhere".to_owned())
    })
}

fn differences(archive: &Archive, expected: &Value) -> Vec<String> {
    let found = state::stored(archive);
    let ids: Value = state::chronological(&found).into_iter().map(|node| node["node_id"].clone()).collect();
    [
        compare("to_dict", &expected["to_dict"], &found),
        compare("current_messages", &expected["current_messages"], &state::messages(&found)),
        compare("node_ids_by_tree_position", &expected["node_ids_by_tree_position"], &positions(&found)),
        compare("all_nodes_chronological", &expected["all_nodes_chronological"], &ids),
        again(archive, &found),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// What was written reads as the same.
fn again(archive: &Archive, found: &Value) -> Option<String> {
    let read = archive::read(ArchiveFormat::Dataknobs, &found.to_string(), &ArchiveLimits::default());
    let again = read.unwrap().remove(0).unwrap().archive;
    let further = archive.record.metadata["dataknobs"].get("orphans").is_some();
    (!further && state::of(&again) != *found).then(|| "does not read back as it was written".to_owned())
}

/// The position and the id of each node, breadth first.
fn positions(state: &Value) -> Value {
    let ids = list(state, "nodes").iter().map(|node| json!([node["node_id"], node["node_id"]]));
    ids.collect()
}

/// Which differences may be the reason, by what was mended.
fn reasons(repairs: &[Repair]) -> Vec<&'static str> {
    let reason = |mending: &Repair| match mending {
        Repair::Renumbered(_) | Repair::HeadMoved { .. } => Some("places"),
        Repair::Duplicate(_) => Some("twins"),
        Repair::NoNodes => Some("empty"),
        Repair::LooseEdge(..) | Repair::SecondParent(..) | Repair::Orphans(_) => Some("edges"),
        Repair::BadTime { .. } | Repair::TimeMoved(_) | Repair::NoCreation => Some("times"),
        Repair::Renamed { .. } => Some("names"),
        _ => None,
    };
    repairs.iter().filter_map(reason).collect()
}

/// Runs a database and the states that dataknobs finds in it.
pub(crate) fn run_database(path: &Path, case: &Value) -> Outcome {
    let file = path.with_file_name(case["file"].as_str().unwrap());
    let read = match read_database(&file) {
        Ok(read) => read,
        Err(error) => return Outcome::Differs { how: format!("{error:#}"), why: Vec::new() },
    };
    let found: Result<Vec<_>, _> =
        read.into_iter().map(|read| read.map(|read| state::stored(&read.archive))).collect();
    let expected: Vec<_> = list(case, "conversations").iter().map(|one| one["to_dict"].clone()).collect();
    match found {
        Ok(found) if found == expected => Outcome::Agrees,
        found => Outcome::Differs {
            how: format!("expected {expected:?}\n      found    {found:?}"),
            why: Vec::new(),
        },
    }
}

fn read_database(file: &Path) -> alloquy_core::Result<Vec<alloquy_core::Result<ReadArchive>>> {
    let bytes = std::fs::read(file).unwrap();
    let limits = ArchiveLimits::default();
    if alloquy_storage::is_sqlite(&bytes) {
        alloquy_storage::DataknobsDatabase::open(file, &limits).map(Iterator::collect)
    } else {
        archive::read(ArchiveFormat::Dataknobs, &String::from_utf8(bytes).unwrap(), &limits)
    }
}
