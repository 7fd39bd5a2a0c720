//! Documents that mean harm: nested a million deep, or trees that are none. Each is an error or a tree that says what was mended.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

use alloquy_core::store::{Archive, ConversationRecord};
use alloquy_core::{Error, ErrorKind, Message, Node, Preface, Result};
use alloquy_formats::archive::{self, ArchiveFormat, ArchiveLimits, ReadArchive};
use serde_json::{Value, json};

const DEEP: usize = 1_000_000;

fn read(format: ArchiveFormat, text: &str) -> Result<Vec<ReadArchive>> {
    archive::read(format, text, &ArchiveLimits::default())?.into_iter().collect()
}

fn refusal(format: ArchiveFormat, text: &str) -> Error {
    read(format, text).expect_err(format.as_str())
}

fn nested(open: &str, close: &str) -> String {
    [open.repeat(DEEP), "1".to_owned(), close.repeat(DEEP)].concat()
}

#[test]
fn documents_nested_a_million_deep_are_errors() {
    let mut count = 0;
    for (open, close) in [("[", "]"), ("{\"nodes\":", "}"), ("[{\"messages\":", "}]")] {
        let text = nested(open, close);
        for format in ArchiveFormat::ALL {
            let error = refusal(format, &text);
            assert_eq!(error.kind(), ErrorKind::Invalid, "{format}: {error:#}");
            count += 1;
        }
        let error = format!("{:#}", ArchiveFormat::recognized(&text).unwrap_err());
        assert!(error.contains("recursion limit exceeded"), "{error}");
    }
    println!("{count} documents, {DEEP} deep");
}

#[test]
fn what_nests_a_million_deep_inside_of_a_document_is_an_error() {
    let deep = nested("[", "]");
    let alloquy = format!(
        r#"{{"alloquy_conversation":1,"record":{{"id":"tea","created":0,"metadata":{{"a":{deep}}}}},"nodes":[]}}"#
    );
    let message = r#""message":{"role":"user","content":"Hi"}"#;
    let dataknobs = format!(
        r#"{{"conversation_id":"tea","nodes":[{{"node_id":"",{message},"metadata":{{"a":{deep}}}}}],"edges":[]}}"#
    );
    let openai = format!(r#"{{"messages":[{{"role":"user","content":"Hi","a":{deep}}}]}}"#);
    for (format, text) in [
        (ArchiveFormat::Alloquy, alloquy),
        (ArchiveFormat::Dataknobs, dataknobs),
        (ArchiveFormat::OpenAi, openai),
    ] {
        let error = refusal(format, &text);
        assert_eq!(error.kind(), ErrorKind::Invalid, "{format}");
        assert!(format!("{error:#}").contains("recursion limit exceeded"), "{format}: {error:#}");
    }
    let fenced = format!("## User\n\n```alloquy\n{deep}\n```\n\n");
    assert_eq!(refusal(ArchiveFormat::Markdown, &fenced).kind(), ErrorKind::Invalid);
}

/// A chain of four messages as a document of ours.
fn chain() -> Value {
    let mut nodes: Vec<Node> = Vec::new();
    for text in ["one", "two", "three", "four"] {
        nodes.push(Node::new(nodes.last().map(|node| node.id), Message::user(text)));
    }
    let mut record = ConversationRecord::new("tea".parse().unwrap(), Preface::default());
    record.head = nodes.last().map(|node| node.id);
    let archive = Archive::new(record, nodes).unwrap();
    let written = archive::write(ArchiveFormat::Alloquy, &archive, &ArchiveLimits::default()).unwrap();
    serde_json::from_str(&written.text).unwrap()
}

/// What is done to a document.
type Change = fn(&mut Value);

#[test]
fn trees_that_are_none_are_refused() {
    let changes: [(&str, Change); 6] = [
        ("its own parent", |document| document["nodes"][1]["parent"] = document["nodes"][1]["id"].clone()),
        ("a cycle", |document| document["nodes"][0]["parent"] = document["nodes"][3]["id"].clone()),
        ("an id twice", |document| document["nodes"][2]["id"] = document["nodes"][1]["id"].clone()),
        ("a head that is not there", |document| {
            document["record"]["head"] = "01990000-0000-7000-8000-000000000000".into();
        }),
        ("a parent that is not there", |document| {
            document["nodes"][1]["parent"] = "01990000-0000-7000-8000-000000000000".into();
        }),
        ("children before their parents", |document| document["nodes"].as_array_mut().unwrap().reverse()),
    ];
    assert!(read(ArchiveFormat::Alloquy, &chain().to_string()).is_ok());
    for (what, change) in changes {
        let mut document = chain();
        change(&mut document);
        let error = refusal(ArchiveFormat::Alloquy, &document.to_string());
        let kinds = [ErrorKind::Invalid, ErrorKind::NotFound, ErrorKind::Conflict];
        assert!(kinds.contains(&error.kind()), "{what}: {error:#}");
    }
}

/// A state of dataknobs whose messages say what they are called.
fn state(ids: &[&str], edges: &Value, head: &str) -> String {
    let mut nodes = Vec::new();
    for id in ids {
        nodes.push(json!({"node_id": id, "message": {"role": "user", "content": id}}));
    }
    json!({"conversation_id": "tea", "nodes": nodes, "edges": edges, "current_node_id": head}).to_string()
}

#[test]
fn trees_of_dataknobs_that_are_none_are_mended_aloud() {
    let whole = json!([["", "0"], ["0", "0.0"]]);
    let ids = ["", "0", "0.0"];
    let cases = [
        ("its own parent", state(&ids, &json!([["", "0"], ["0.0", "0.0"]]), "0")),
        ("a cycle", state(&ids, &json!([["0", "0.0"], ["0.0", "0"]]), "0")),
        ("a cycle of all", state(&ids, &json!([["", "0"], ["0", "0.0"], ["0.0", ""]]), "0")),
        ("an id twice", state(&["", "0", "0.0", "0"], &whole, "0")),
        ("a head that is not there", state(&ids, &whole, "7")),
        ("an edge to nowhere", state(&ids, &json!([["", "0"], ["0", "0.0"], ["0", "7"]]), "0")),
    ];
    for (what, text) in cases {
        match read(ArchiveFormat::Dataknobs, &text) {
            Ok(read) => {
                assert!(!read[0].repairs.is_empty(), "{what} is mended in silence");
                assert!(!read[0].archive.tree().unwrap().is_empty(), "{what}");
            }
            Err(error) => assert_eq!(error.kind(), ErrorKind::Invalid, "{what}: {error:#}"),
        }
    }
    let reversed = read(ArchiveFormat::Dataknobs, &state(&["0.0", "0", ""], &whole, "0.0")).unwrap();
    assert_eq!(reversed[0].archive.tree().unwrap().leaves().len(), 1, "children before their parents");
}
