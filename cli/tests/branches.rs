//! What is done with branches of what is kept: places, copies, unions, labels, bookmarks, differences, costs.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod program;
mod shared;

use alloquy::core::report::{ReplyFacts, Usage};
use alloquy::core::store::ConversationRecord;
use alloquy::core::{Message, Node, NodeId, Owner, Preface};
use pollster::block_on;
use program::Program;
use serde_json::Value;

/// A store with one conversation: a question, and two answers of which the second stands.
fn program() -> Program {
    let program = Program::new();
    block_on(async {
        let store = alloquy::storage::open(&program.store()).await.unwrap();
        let owner = Owner::local();
        let record = ConversationRecord::new("tea".parse().unwrap(), Preface::default());
        let question = Node::new(None, Message::user("Tea?"));
        let answer = |text: &str, model: &str| {
            let mut node = Node::new(Some(question.id), Message::assistant(text));
            let mut facts = ReplyFacts::new(model);
            facts.usage = Some(Usage::new(1000, 100));
            node.reply = Some(Box::new(facts));
            node
        };
        let nodes = [question.clone(), answer("Green,\nplease", "gpt-4o"), answer("No", "my own")];
        store.create(&owner, &record).await.unwrap();
        store.append(&owner, &record.id, &nodes).await.unwrap();
        store.set_head(&owner, &record.id, None, Some(nodes[2].id)).await.unwrap();
    });
    program
}

fn object(program: &Program, arguments: &[&str]) -> Value {
    program.run(&[&["--json"], arguments].concat()).ok().events().remove(0)
}

fn out(program: &Program, arguments: &[&str]) -> String {
    program.redacted(&program.run(arguments).ok().out)
}

/// Takes the third of the values on each line away.
fn without_time(list: &str) -> String {
    let mut text = String::new();
    for line in list.lines() {
        let mut values: Vec<_> = line.split('\t').collect();
        values.remove(2);
        text += &format!("{}\n", values.join("\t"));
    }
    text
}

#[test]
fn labels_and_bookmarks_are_shown_and_lead_somewhere() {
    let program = program();
    assert_eq!(out(&program, &["label", "0.0", "the green one"]), "");
    out(&program, &["bookmark", "green", "0.0"]);
    out(&program, &["bookmark", "here"]);
    let drawn = out(&program, &["tree"]);
    insta::assert_snapshot!(drawn);
    insta::assert_snapshot!(without_time(&out(&program, &["branches"])));
    insta::assert_snapshot!(out(&program, &["bookmark"]));
    let gone = program.run(&["goto", "green"]).ok();
    assert_eq!((gone.out.as_str(), gone.err.as_str()), ("", "now at [0.0] assistant: Green, please\n"));
    let said = |arguments: &[&str]| program.redacted(&program.run(arguments).ok().err);
    assert_eq!(said(&["goto", ""]), "back at the start\n");
    let labelled = "[0.0] assistant: Green, please is labelled \"the green one\"\n";
    assert_eq!(said(&["label", "0.0", "the green one"]), labelled);
    assert_eq!(said(&["bookmark", "top", "0"]), "bookmark \"top\" is at [0] user: Tea?\n");
    assert_eq!(said(&["bookmark", "top", "--remove"]), "bookmark \"top\" is removed\n");
    out(&program, &["goto", "green"]);
    assert_eq!(out(&program, &["branches"]).lines().filter(|line| line.starts_with('*')).count(), 1);
    out(&program, &["label", "green"]);
    out(&program, &["bookmark", "green", "--remove"]);
    assert!(!out(&program, &["tree"]).contains("green"));
    let unknown = program.run(&["goto", "green"]);
    let said = "error: there is no \"green\": use an address such as 0.1, or a node's id";
    assert_eq!(unknown.errors(), [said]);
}

#[test]
fn a_head_above_several_branches_marks_none() {
    let program = program();
    program.run(&["goto", "0"]).ok();
    let listed = program.run(&["branches"]).ok();
    assert_eq!(listed.err, "you are at [0] user: Tea?, above several branches\n");
    assert!(listed.out.lines().count() == 2 && !listed.out.contains('*'), "{listed:?}");
    // All of it is below the head, and nothing is above it.
    assert_eq!(program.run(&["prune", "0.0"]).ok().err, "pruned [0.0] assistant: Green, please\n");
    assert!(program.run(&["branches"]).ok().out.starts_with('*'));
}

#[test]
fn a_branch_goes_unless_the_conversation_is_there() {
    let program = program();
    let refused = program.run(&["prune", "0.1"]);
    let elsewhere = "error: you are in that branch ([0.1]): go somewhere else first with `alloquy goto ADDRESS`; `alloquy delete tea` \
                     deletes the whole conversation";
    assert_eq!(refused.errors(), [elsewhere]);
    let whole = program.run(&["prune", "0"]);
    let nowhere = "error: you are in that branch ([0.1]), and there is no other: `alloquy delete tea` deletes the conversation";
    assert_eq!(whole.errors(), [nowhere]);
    let pruned = program.run(&["prune", "0.0", "--compact"]).ok();
    assert_eq!((pruned.out.as_str(), pruned.err.as_str()), ("", "pruned [0.0] assistant: Green, please\n"));
    assert_eq!(object(&program, &["branches"])["branches"].as_array().unwrap().len(), 1);
}

#[test]
fn a_copy_goes_its_own_way_and_comes_back() {
    let program = program();
    assert_eq!(out(&program, &["fork", "--at", "0.0", "--name", "copy", "--conversation", "tea"]), "copy\n");
    let copied = object(&program, &["tree", "--conversation", "copy"]);
    assert_eq!(copied["nodes"].as_array().unwrap().len(), 2);
    block_on(async {
        let store = alloquy::storage::open(&program.store()).await.unwrap();
        let above: NodeId = copied["nodes"][1]["id"].as_str().unwrap().parse().unwrap();
        let more = Node::new(Some(above), Message::user("And sugar"));
        store.append(&Owner::local(), &"copy".parse().unwrap(), &[more]).await.unwrap();
    });
    let merged = program.run(&["merge", "copy", "--conversation", "tea"]).ok();
    assert_eq!(
        (merged.out.as_str(), merged.err.as_str()),
        ("", "added 1 message of copy to tea, and pruned 0 messages\n")
    );
    insta::assert_snapshot!(out(&program, &["diff", "0.0.0", "0.1", "--conversation", "tea"]));
    let taken = program.run(&["fork", "--name", "copy", "--conversation", "tea"]);
    assert_eq!(taken.code, Some(1), "{taken:?}");
}

#[test]
fn a_cost_is_exact_or_unknown() {
    let program = program();
    insta::assert_snapshot!(out(&program, &["cost"]));
    let without = program.run(&["cost"]).ok().err;
    assert!(without.starts_with("no prices: give --prices FILE"), "{without}");
    assert_eq!(object(&program, &["cost", "--at", "0.0"])["total"], "0.0035");
    let table = "currency = \"EUR\"\n[[prices]]\nmodels = [\"*\"]\ninput = 0.1\noutput = \"0.3\"\n";
    program.write("prices.toml", table);
    assert_eq!(object(&program, &["cost", "--prices", "prices.toml"])["total"], "0.00026");
    program.write(
        "bad.toml",
        "currency = \"EUR\"\nprices = [{models = [\"*\"], input = \"-1\", output = \"1\"}]\n",
    );
    let bad = program.run(&["cost", "--prices", "bad.toml"]);
    assert!(
        bad.errors()[0].contains("table of prices \"bad.toml\"")
            && bad.errors()[0].contains("-1 is not from 0"),
        "{bad:?}"
    );
}

#[test]
fn every_flag_is_a_variable() {
    let at = program().variable("ALLOQUY_AT", "0.0").variable("ALLOQUY_NAME", "copy");
    assert_eq!(out(&at, &["fork"]), "copy\n");
    assert_eq!(object(&at, &["cost", "--conversation", "tea"])["total"], "0.0035");
    let prices = program();
    let file = prices.write("p.json", r#"{"currency": "EUR", "prices": []}"#);
    let prices = prices.variable("ALLOQUY_PRICES", file);
    assert_eq!(object(&prices, &["cost"])["cost"]["currency"], "EUR");
    let remove = program().variable("ALLOQUY_REMOVE", "1");
    assert_eq!(out(&remove, &["bookmark", "nothing"]), "");
    let compact = program().variable("ALLOQUY_COMPACT", "1");
    assert_eq!(compact.run(&["prune", "0.0"]).ok().err, "pruned [0.0] assistant: Green, please\n");
}
