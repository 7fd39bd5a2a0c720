//! Short ids: what lists show is enough for every command.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod program;
mod shared;
#[cfg(unix)]
mod terminal;

use std::process::Command;

use program::Program;
use serde_json::Value;

const TALK: &str = r#"{"messages":[{"role":"user","content":"Green tea?"},{"role":"assistant","content":"Yes."},{"role":"user","content":"Hot?"}]}"#;
const OTHER: &str = r#"{"messages":[{"role":"user","content":"Coffee?"}]}"#;

/// A store with a conversation of a generated id, the copies of it, and one that was imported.
struct Store {
    program: Program,
    imported: String,
    copies: [String; 2],
}

fn store() -> Store {
    let program = Program::new();
    program.write("talk.jsonl", TALK);
    program.write("other.jsonl", OTHER);
    let imported = program.run(&["import", "talk.jsonl"]).ok().out.trim().to_owned();
    program.run(&["import", "other.jsonl"]).ok();
    let copies =
        [(); 2].map(|()| program.run(&["fork", "--conversation", &imported]).ok().out.trim().to_owned());
    Store { program, imported, copies }
}

fn nodes(program: &Program, conversation: &str) -> Vec<String> {
    let tree = program.run(&["tree", "--json", "--conversation", conversation]).ok().events().remove(0);
    let nodes = tree["nodes"].as_array().unwrap().iter();
    nodes.map(|node| node["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_part_of_an_id_is_enough_for_every_command() {
    let Store { program, imported, copies } = store();
    let [copy, other] = &copies;
    let end = &copy[28..];
    let node = &nodes(&program, copy)[1];
    let node_end = &node[28..];
    for arguments in [
        &["tree"][..],
        &["history"],
        &["branches"],
        &["cost"],
        &["goto", node_end],
        &["label", node_end, "short"],
        &["bookmark", "here", node_end],
        &["diff", node_end, "0"],
        &["undo"],
        &["fork", "--at", node_end],
        &["merge", &other[28..]],
        &["search", "hot"],
    ] {
        let ran = program.run(&[arguments, &["--conversation", end, "--json"]].concat()).ok();
        let value: &Value = &ran.events()[0];
        let id = &value["conversation"];
        // A search has no name, a copy has that of the copy, and a tree the whole record.
        let id = if id.is_object() { &id["id"] } else { id };
        let id = if arguments[0] == "fork" { &value["from"] } else { id };
        if arguments[0] == "search" {
            assert_eq!(value["hits"].as_array().unwrap().len(), 1, "{value}");
            assert_eq!(value["hits"][0]["conversation"], **copy, "{value}");
        } else {
            assert_eq!(*id, **copy, "{arguments:?}: {value}");
        }
    }
    program.run(&["goto", "0.0.0", "--conversation", end]).ok();
    assert!(program.run(&["export", end, "--to", "markdown"]).ok().out.contains("Green tea?"));
    assert!(program.run(&["tree", "--conversation", &imported[..12]]).ok().out.contains(&imported));
    assert_eq!(
        program.run(&["prune", &node[24..], "--conversation", &copy[..35]]).code,
        Some(1),
        "it is here"
    );
    assert_eq!(program.run(&["delete", end, "--yes"]).ok().out, format!("{copy}\n"));
}

#[test]
fn a_part_of_several_ids_lists_them() {
    let Store { program, copies, .. } = store();
    let shared = &copies[0][..8];
    let refused = program.run(&["tree", "--conversation", shared]);
    assert_eq!(refused.code, Some(1));
    let error = refused.errors()[0];
    assert!(error.starts_with("error: several conversations have an id with"), "{error}");
    for copy in &copies {
        assert!(error.contains(&format!("{} \"\"", &copy[28..])), "{error}");
    }
    // Where another name would begin a conversation, too.
    let asked = program.run(&["ask", "--conversation", shared, "Hello"]);
    assert!(asked.errors()[0].starts_with("error: several conversations"), "{asked:?}");
    let unknown = program.run(&["tree", "--conversation", "ffffffff"]);
    assert!(unknown.errors()[0].contains("conversation \"ffffffff\" does not exist"), "{unknown:?}");
    let node = program.run(&["goto", &nodes(&program, &copies[0])[0][..8], "--conversation", &copies[0]]);
    assert!(node.errors()[0].contains("is a part of 3 ids: "), "{node:?}");
    assert!(node.errors()[0].contains("(assistant: Yes.)"), "{node:?}");
}

#[test]
fn names_stay_whole() {
    let program = Program::new();
    program.write("talk.jsonl", TALK);
    let imported = program.run(&["import", "talk.jsonl"]).ok().out.trim().to_owned();
    for name in ["user-12", "cafe", "cafe-2"] {
        program.run(&["fork", "--conversation", &imported, "--name", name]).ok();
    }
    let refused = program.run(&["delete", "--yes", "user-1"]);
    assert!(refused.errors()[0].ends_with("did you mean \"user-12\"?"), "{refused:?}");
    assert_eq!(program.run(&["delete", "--yes", "cafe"]).ok().out, "cafe\n");
}

#[test]
fn messages_have_addresses_that_can_be_typed() {
    let Store { program, copies, .. } = store();
    let copy = ["--conversation", copies[0].as_str()];
    let error = |address: &str| {
        let ran = program.run(&[&["goto", address], &copy[..]].concat());
        assert_eq!(ran.code, Some(1));
        ran.errors()[0].to_owned()
    };
    assert_eq!(error("9.9"), "error: nothing at 9.9 (0 exists)");
    assert_eq!(error("0.0.0.0"), "error: nothing at 0.0.0.0 (0.0.0 is the last message there)");
    assert_eq!(
        error("nowhere"),
        "error: there is no \"nowhere\": use an address such as 0.1, or a node's id"
    );
    assert_eq!(error("ffffffff"), "error: no node's id begins or ends with \"ffffffff\"");
}

/// What a list shows at a terminal of 80 columns.
#[cfg(unix)]
fn shown(command: Command) -> String {
    let mut terminal = terminal::Terminal::start_with(command, 80);
    assert!(terminal.end().success(), "{}", terminal.text());
    terminal.text()
}

#[cfg(unix)]
#[test]
fn lists_fit_a_terminal_and_what_they_show_is_found() {
    let Store { program, imported, copies } = store();
    let long = format!("{}{}", "Why is the sky so very blue today? ".repeat(8), "お茶".repeat(40));
    let talk = serde_json::json!({"messages": [{"role": "user", "content": long}]});
    program.write("long.jsonl", &talk.to_string());
    program.run(&["import", "long.jsonl"]).ok();
    let listed = shown(program.command(&["conversations"]));
    assert!(listed.lines().all(|line| unicode_width::UnicodeWidthStr::width(line) <= 80), "{listed}");
    assert!(listed.contains("ID        UPDATED           MODEL  MESSAGES  TITLE"), "{listed}");
    assert!(
        listed.contains(&format!("{}  20", &imported[15..])) && listed.contains("Green tea?"),
        "{listed}"
    );
    assert_eq!(listed.lines().count(), 6);
    for line in listed.lines().skip(1) {
        let id = line.split_whitespace().next().unwrap();
        program.run(&["tree", "--conversation", id]).ok();
    }
    let hits = shown(program.command(&["search", "tea"]));
    assert!(hits.contains(&copies[0][28..]) && hits.contains("  user: Green tea?"), "{hits}");
    let node = hits.lines().nth(1).unwrap().split_whitespace().next().unwrap();
    let conversation = hits.lines().next().unwrap().split_whitespace().next().unwrap();
    program.run(&["goto", node, "--conversation", conversation]).ok();
    let branches = shown(program.command(&["branches", "--conversation", conversation]));
    assert!(branches.contains("ADDRESS  UPDATED") && branches.contains("0.0.0    20"), "{branches}");
}

#[test]
fn lists_in_a_pipe_have_whole_values_between_tabs() {
    let Store { program, copies, .. } = store();
    let listed = program.run(&["conversations"]).ok().out;
    let line = listed.lines().find(|line| line.starts_with(&copies[0])).unwrap();
    let values: Vec<_> = line.split('\t').collect();
    assert_eq!((values.len(), values[2], values[3], values[4]), (5, "", "3", "Green tea?"));
    assert!(values[1].len() == 20 && values[1].ends_with('Z'), "{line}");
    let branches = program.run(&["branches", "--conversation", &copies[0]]).ok().out;
    let values: Vec<_> = branches.trim_end().split('\t').collect();
    assert_eq!((values[0], values[4], values[5], values[6]), ("*", "3", "", "user: Hot?"));
    assert_eq!(values[1].len(), 36);
}

#[test]
fn switch_and_branch_are_other_words() {
    let Store { program, imported, .. } = store();
    let said = program.run(&["switch", "0", "--conversation", &imported]).ok().err;
    assert_eq!(said, "now at [0] user: Green tea?\n");
    let copied = program.run(&["branch", "--conversation", &imported]).ok();
    assert_eq!(copied.err, format!("copied conversation {imported} up to [0] user: Green tea?\n"));
    let undone = program.run(&["undo", "--conversation", &imported]).ok();
    assert_eq!(undone.err, "back at the start\n");
    let history = program.run(&["history", "--conversation", &imported, "--at", "0.0"]).ok();
    assert_eq!(history.out, "user: Green tea?\nassistant: Yes.\n");
    assert_eq!(program.run(&["history", "--conversation", &imported]).ok().out, "");
}
