//! Conversations as documents: every fixture, there and back, and through a store.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use alloquy_core::message::{ToolCall, ToolResult};
use alloquy_core::report::{FinishReason, ReplyFacts};
use alloquy_core::store::{
    Archive, ConversationRecord, ConversationStore, ConversationStoreExt, MemoryStore,
};
use alloquy_core::{
    Content, ConversationId, ErrorKind, Media, Message, Node, Owner, Preface, Role, ToolSpec,
};
use alloquy_formats::archive::{self, ArchiveFormat, ArchiveLimits, ReadArchive};
use alloquy_testing::{FaultStore, StoreCall};
use pollster::block_on;
use proptest::prelude::*;
use serde_json::{Value, json};

fn read(format: ArchiveFormat, text: &str) -> Vec<alloquy_core::Result<ReadArchive>> {
    archive::read(format, text, &ArchiveLimits::default()).unwrap()
}

fn only(format: ArchiveFormat, text: &str) -> ReadArchive {
    let mut read = read(format, text);
    assert_eq!(read.len(), 1);
    read.remove(0).unwrap()
}

fn written(format: ArchiveFormat, archive: &Archive) -> String {
    archive::write(format, archive, &ArchiveLimits::default()).unwrap().text
}

/// What a person sees of an archive.
fn shown(read: alloquy_core::Result<ReadArchive>) -> String {
    let ReadArchive { archive, repairs } = match read {
        Ok(read) => read,
        Err(error) => return format!("{:?}: {error:#}\n", error.kind()),
    };
    let mut text = String::new();
    writeln!(text, "{} at {:?}", archive.record.id, archive.record.created).unwrap();
    writeln!(text, "metadata {}", Value::Object(archive.record.metadata.clone())).unwrap();
    let tree = archive.tree().unwrap();
    for message in &archive.record.preface.messages {
        writeln!(text, "preface {}", json!(message)).unwrap();
    }
    for (_, node) in tree.walk() {
        let address = tree.position(Some(node.id)).unwrap();
        let head = archive.record.head == Some(node.id);
        let mark = if head { "*" } else { " " };
        let metadata = Value::Object(node.metadata.clone());
        write!(text, "{mark}{address} {} {metadata}", json!(node.message)).unwrap();
        let facts = json!({"prompt_name": node.prompt_name, "label": node.label, "reply": node.reply});
        for (name, fact) in facts.as_object().unwrap().iter().filter(|(_, fact)| !fact.is_null()) {
            write!(text, " {name} {fact}").unwrap();
        }
        writeln!(text).unwrap();
    }
    for repair in repairs {
        writeln!(text, "mended: {repair}").unwrap();
    }
    text
}

#[test]
fn every_document_says_what_it_holds_and_what_was_mended() {
    insta::glob!("fixtures/archive/*.*", |path| {
        let text = fs::read_to_string(path).unwrap();
        let format = ArchiveFormat::of(&text).unwrap();
        let name = path.file_stem().unwrap().to_str().unwrap();
        assert!(name.starts_with(format.as_str()), "{name} looks like {format}");
        let shown: String = read(format, &text).into_iter().map(shown).collect();
        // Times of formats that have none are those of reading.
        let dated = matches!(format, ArchiveFormat::Alloquy | ArchiveFormat::Dataknobs);
        let undated = |line: &str| format!("{}\n", line.split(" at SystemTime").next().unwrap());
        insta::assert_snapshot!(if dated { shown } else { shown.lines().map(undated).collect() });
    });
}

/// A conversation that uses whatever there is.
fn rich() -> Archive {
    let call = ToolCall::new("call_1", "weather", json!({"city": "Oslo", "days": 2.5}));
    let question = Node::new(None, Message::user("How is it in Oslo?").named("Ann"));
    let mut calls = Node::new(
        Some(question.id),
        Message::new(Role::Assistant, vec![Content::Thinking("Hm.".into()), Content::ToolCall(call.clone())]),
    );
    calls.tokens = vec![1, 2, 3];
    let result = Node::new(Some(calls.id), Message::tool(vec![ToolResult::error(&call, "no wind today")]));
    let mut answer = Node::new(Some(result.id), Message::assistant("## User\n\n```alloquy\nCold.\n"));
    answer.metadata =
        json!({"finish": "stop", "seed": "mine", "alloquy": "mine"}).as_object().unwrap().clone();
    let mut facts = ReplyFacts::new("m");
    facts.finish = Some(FinishReason::Length);
    facts.facts = json!({"alloquy.redaction": 2}).as_object().unwrap().clone();
    answer.reply = Some(Box::new(facts));
    answer.label = Some("first".to_owned());
    let image = Media::new("image/png", b"no image".to_vec());
    let other =
        Node::new(None, Message::new(Role::User, vec![Content::Text(String::new()), Content::Image(image)]));
    let preface = Preface::system("Be brief.").tool(ToolSpec::new("weather", "", json!({})));
    let mut record = ConversationRecord::new("rich".parse().unwrap(), preface);
    record.metadata = json!({"title": "Weather", "dataknobs": [1], "n": 1e-7}).as_object().unwrap().clone();
    record.head = Some(answer.id);
    Archive::new(record, vec![question, calls, result, answer, other]).unwrap()
}

fn sorted(mut archive: Archive) -> Archive {
    archive.nodes = archive.tree().unwrap().walk().map(|(_, node)| node.clone()).collect();
    archive
}

#[test]
fn trees_come_back_as_they_were() {
    for format in [ArchiveFormat::Alloquy, ArchiveFormat::Dataknobs] {
        let rich = sorted(rich());
        let text = written(format, &rich);
        let back = only(format, &text);
        assert_eq!(sorted(back.archive), rich, "{format}: {text}");
    }
}

/// Documents of every version are among the fixtures from the first day of the version on, and read without mending.
#[test]
fn the_version_that_is_written_has_its_fixture() {
    let text = written(ArchiveFormat::Alloquy, &rich());
    let version = &serde_json::from_str::<Value>(&text).unwrap()["alloquy_conversation"];
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/archive");
    for name in [format!("alloquy_{version}.jsonl"), format!("alloquy_{version}_whole.jsonl")] {
        let kept = fs::read_to_string(folder.join(&name)).unwrap();
        let kept = read(ArchiveFormat::Alloquy, kept.lines().next().unwrap()).remove(0).unwrap();
        assert_eq!(kept.repairs, [], "{name}");
        let again = written(ArchiveFormat::Alloquy, &kept.archive);
        assert_eq!(only(ArchiveFormat::Alloquy, &again), kept, "{name}");
    }
}

#[test]
fn a_path_of_text_comes_back_from_every_format() {
    for format in ArchiveFormat::ALL {
        let mut plain = rich();
        plain.record.preface.tools.clear();
        plain.nodes =
            vec![Node::new(None, Message::user("Hi")), Node::new(None, Message::assistant("Ho\n\n"))];
        plain.nodes[1].parent = Some(plain.nodes[0].id);
        plain.record.head = Some(plain.nodes[1].id);
        plain.blobs.clear();
        let back = only(format, &written(format, &plain)).archive;
        let said =
            |archive: &Archive| archive.nodes.iter().map(|node| node.message.clone()).collect::<Vec<_>>();
        assert_eq!(said(&back), said(&plain), "{format}");
        assert_eq!(back.record.preface.messages, plain.record.preface.messages);
    }
}

#[test]
fn what_is_left_out_is_said() {
    let rich = rich();
    let mut said = String::new();
    for format in ArchiveFormat::ALL {
        match archive::write(format, &rich, &ArchiveLimits::default()) {
            Ok(written) => {
                for omitted in &written.omitted {
                    writeln!(said, "{format}: {omitted}").unwrap();
                }
            }
            Err(error) => writeln!(said, "{format}: {:?}: {error:#}", error.kind()).unwrap(),
        }
    }
    insta::assert_snapshot!(said);
}

/// Older versions let names have characters that nobody sees, or that turn what follows around.
#[test]
fn a_name_that_cannot_be_seen_is_another_one_here() {
    let mut rich = rich();
    rich.record.id = "tea\u{202e}gpj".parse().unwrap();
    let state = json!({"conversation_id": "tea\u{202e}gpj", "nodes": []}).to_string();
    for (format, text) in
        [(ArchiveFormat::Alloquy, written(ArchiveFormat::Alloquy, &rich)), (ArchiveFormat::Dataknobs, state)]
    {
        let ReadArchive { archive, repairs } = only(format, &text);
        let name = archive.record.id.as_str();
        assert!(name.starts_with("import-") && name.len() == 23, "{name}");
        let said = format!("the conversation \"tea\\u{{202e}}gpj\" is called {name:?} now");
        assert!(repairs.iter().any(|repair| repair.to_string() == said), "{repairs:?}");
        block_on(MemoryStore::default().import(&Owner::local(), &archive)).unwrap();
        assert_eq!(only(format, &text).archive.record.id, archive.record.id, "the same each time");
    }
}

#[test]
fn what_was_read_twice_is_the_same() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/archive");
    for entry in fs::read_dir(folder).unwrap() {
        let text = fs::read_to_string(entry.unwrap().path()).unwrap();
        let ids = || -> Vec<String> {
            let read = read(ArchiveFormat::of(&text).unwrap(), &text).into_iter().flatten();
            read.map(|read| read.archive.record.id.to_string()).collect()
        };
        assert_eq!(ids(), ids());
    }
}

#[test]
fn an_import_lands_whole_or_not_at_all() {
    let owner = Owner::local();
    let rich = rich();
    for call in [StoreCall::PutBlob, StoreCall::Create, StoreCall::AppendAndMove] {
        let store = FaultStore::new(MemoryStore::default());
        store.fail(call, 0);
        assert_eq!(block_on(store.import(&owner, &rich)).unwrap_err().kind(), ErrorKind::Store, "{call:?}");
        assert!(!block_on(store.exists(&owner, &rich.record.id)).unwrap(), "{call:?}");
        block_on(store.import(&owner, &rich)).unwrap();
        assert_eq!(block_on(store.export(&owner, &rich.record.id)).unwrap(), sorted(rich.clone()));
        assert!(block_on(store.import(&owner, &rich)).unwrap_err().is_conflict());
    }
}

#[test]
fn an_import_that_was_killed_is_finished_by_the_next() {
    let owner = Owner::local();
    let rich = rich();
    let store = MemoryStore::default();
    let mut begun = rich.record.clone();
    begun.head = None;
    block_on(store.create(&owner, &begun)).unwrap();
    block_on(store.append(&owner, &begun.id, &rich.nodes[..2])).unwrap();
    block_on(store.import(&owner, &rich)).unwrap();
    assert_eq!(block_on(store.export(&owner, &rich.record.id)).unwrap(), sorted(rich.clone()));
}

#[test]
fn limits_hold_and_depth_is_none() {
    let mut nodes: Vec<Node> = Vec::new();
    for index in 0..5000 {
        let parent = nodes.last().map(|node| node.id);
        nodes.push(Node::new(parent, Message::user(index.to_string())));
    }
    let mut record = ConversationRecord::new("deep".parse().unwrap(), Preface::default());
    record.head = nodes.last().map(|node| node.id);
    let deep = Archive::new(record, nodes).unwrap();
    let text = written(ArchiveFormat::Alloquy, &deep);
    assert_eq!(only(ArchiveFormat::Alloquy, &text).archive, deep);
    let names: Vec<_> =
        (0..5000).map(|index| json!({"node_id": format!("n{index}"), "message": {"role": "user"}})).collect();
    let edges: Vec<_> =
        (1..5000).map(|index| json!([format!("n{}", index - 1), format!("n{index}")])).collect();
    let state = json!({"conversation_id": "deep", "nodes": names, "edges": edges}).to_string();
    assert_eq!(only(ArchiveFormat::Dataknobs, &state).archive.tree().unwrap().leaves().len(), 1);
    let limits = ArchiveLimits { bytes: text.len() - 1, nodes: 4999 };
    let refused = [
        archive::read(ArchiveFormat::Alloquy, &text, &limits).unwrap_err(),
        archive::read(ArchiveFormat::Dataknobs, &state, &limits).unwrap().remove(0).unwrap_err(),
        archive::write(ArchiveFormat::Dataknobs, &deep, &limits).unwrap_err(),
    ];
    refused.iter().for_each(|error| assert_eq!(error.kind(), ErrorKind::Invalid, "{error:#}"));
}

fn message() -> impl Strategy<Value = Message> {
    let texts = prop_oneof![".*", Just("## User".to_owned()), Just("\\## Tool\n```alloquy\n".to_owned())];
    let part = prop_oneof![
        4 => texts.clone().prop_map(Content::Text),
        1 => texts.prop_map(Content::Thinking),
        1 => ".{0,5}".prop_map(|id| Content::ToolCall(ToolCall::new(id, "now", json!({"n": 1})))),
    ];
    let spoken = (0..3usize, prop::collection::vec(part, 0..4), prop::option::of(".{1,5}"))
        .prop_map(|(role, parts, name)| Message { name, ..Message::new(Role::ALL[role], parts) });
    let results = prop::collection::vec((".{0,5}", ".{0,9}"), 1..3).prop_map(|results| {
        let result =
            |(id, text): (String, String)| ToolResult::ok(&ToolCall::new(id, "now", json!({})), text);
        Message::tool(results.into_iter().map(result).collect())
    });
    prop_oneof![5 => spoken, 1 => results]
}

fn archives() -> impl Strategy<Value = Archive> {
    let nodes = prop::collection::vec((message(), any::<prop::sample::Index>(), any::<bool>()), 0..12);
    let preface = prop::collection::vec(message(), 0..3);
    let seen = |id: &String| id.parse::<ConversationId>().unwrap().must_be_visible().is_ok();
    let id = "\\PC{1,20}".prop_filter("what nobody sees is called otherwise", seen);
    (nodes, preface, any::<prop::sample::Index>(), id).prop_map(|(said, messages, head, id)| {
        let mut nodes: Vec<Node> = Vec::new();
        for (message, above, first) in said {
            let parent = (!first && !nodes.is_empty()).then(|| above.get(&nodes).id);
            nodes.push(Node::new(parent, message));
        }
        let preface = Preface { messages, ..Preface::default() };
        let mut record = ConversationRecord::new(id.parse().unwrap(), preface);
        let place = head.index(nodes.len() + 1);
        record.head = nodes.get(place).map(|node| node.id);
        Archive::new(record, nodes).unwrap()
    })
}

proptest! {
    #[test]
    fn any_tree_comes_back(archive in archives()) {
        for format in [ArchiveFormat::Alloquy, ArchiveFormat::Dataknobs] {
            let back = only(format, &written(format, &archive));
            prop_assert_eq!(sorted(back.archive), sorted(archive.clone()), "{}", written(format, &archive));
        }
    }

    #[test]
    fn any_path_comes_back_from_markdown(archive in archives()) {
        let back = only(ArchiveFormat::Markdown, &written(ArchiveFormat::Markdown, &archive)).archive;
        let tree = archive.tree().unwrap();
        let path = tree.path(archive.record.head).unwrap();
        let wanted: Vec<_> = archive.record.preface.messages.iter().chain(path.into_iter().map(|node| &node.message)).collect();
        let found: Vec<_> = back.record.preface.messages.iter().chain(back.nodes.iter().map(|node| &node.message)).collect();
        prop_assert_eq!(found, wanted);
    }

    #[test]
    fn no_text_is_a_panic(text in ".*", json in "[\\[\\]{}:,\"a-z0-9]*") {
        for format in ArchiveFormat::ALL {
            let _ = archive::read(format, &text, &ArchiveLimits::default());
            let _ = archive::read(format, &json, &ArchiveLimits::default());
        }
    }
}
