//! Lists and searches of what is kept: conditions, pages, owners, as flags and as variables.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod program;
mod shared;

use alloquy::core::store::ConversationRecord;
use alloquy::core::{Message, Node, Owner, Preface};
use pollster::block_on;
use program::Program;
use serde_json::{Value, json};

/// A store with three conversations of the local owner and one of Ann.
fn program() -> Program {
    let program = Program::new();
    block_on(async {
        let store = alloquy::storage::open(&program.store()).await.unwrap();
        let (local, ann): (Owner, Owner) = (Owner::local(), "ann".parse().unwrap());
        let said = [
            (&local, "green", 7, "A cup of green tea, please"),
            (&local, "black", 8, "Thé noir"),
            (&local, "work", 0, "Write a commit message"),
            (&ann, "green", 7, "My own green tea"),
        ];
        for (owner, name, score, text) in said {
            let mut record = ConversationRecord::new(name.parse().unwrap(), Preface::default());
            record.metadata =
                json!({"title": format!("about {name}"), "score": score}).as_object().unwrap().clone();
            store.create(owner, &record).await.unwrap();
            store.append(owner, &record.id, &[Node::new(None, Message::user(text))]).await.unwrap();
        }
    });
    program
}

fn names(program: &Program, arguments: &[&str]) -> Vec<String> {
    let arguments = [&["conversations", "--json", "--sort", "name"], arguments].concat();
    let listed: Value = program.run(&arguments).ok().events().remove(0);
    let conversations = listed["conversations"].as_array().unwrap();
    conversations.iter().map(|line| line["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_list_keeps_to_its_conditions() {
    let program = program();
    assert_eq!(names(&program, &[]), ["black", "green", "work"]);
    assert_eq!(names(&program, &["--where", "score>=7"]), ["black", "green"]);
    assert_eq!(names(&program, &["--where", "score>=7", "--where", "title=about green"]), ["green"]);
    assert_eq!(names(&program, &["--where", "!title"]), Vec::<String>::new());
    assert_eq!(names(&program, &["--containing", "THE"]), ["black"]);
    assert_eq!(names(&program, &["--owner", "ann"]), ["green"]);
    assert_eq!(names(&program, &["--owner", "nobody"]), Vec::<String>::new());
}

#[test]
fn a_list_goes_on_where_it_was_cut() {
    let program = program();
    let first = program.run(&["conversations", "--sort", "name", "--limit", "2"]).ok();
    assert_eq!(first.out.lines().count(), 2);
    assert!(first.err.starts_with("… there are more: --limit 4") && first.err.len() < 100, "{}", first.err);
    let first =
        program.run(&["conversations", "--sort", "name", "--limit", "2", "--json"]).ok().events().remove(0);
    let cursor = first["next"].as_str().unwrap();
    assert_eq!(names(&program, &["--after", cursor]), ["work"]);
    let wrong = program.run(&["conversations", "--after", cursor]);
    assert_eq!(wrong.errors(), ["error: the cursor is of a query in another order"]);
}

#[test]
fn a_search_says_where_who_and_what() {
    let program = program();
    let found = program.run(&["search", "green tea"]).ok().out;
    let values: Vec<_> = found.trim_end().split('\t').collect();
    assert_eq!((values[0], values[1].len(), values[2].len()), ("green", 36, 20), "{found}");
    assert_eq!(values[3..], ["user", "about green", "A cup of green tea, please"]);
    assert_eq!(program.run(&["search", "a*", "--conversation", "work"]).ok().out.lines().count(), 1);
    assert_eq!(program.run(&["search", "a*", "--conversation", "black"]).ok().out, "");
    let many = program.run(&["search", "a*", "--conversation", "work", "--limit", "1", "--json"]).ok();
    assert_eq!(many.events()[0]["hits"][0]["conversation"], "work");
    assert_eq!(program.run(&["search", "a*", "--conversation", "none"]).code, Some(1));
    let found: Value = program.run(&["search", "--json", "--newest", "the*"]).ok().events().remove(0);
    assert_eq!(found["hits"][0]["conversation"], "black");
    assert_eq!(found["hits"][0]["snippet"]["highlights"], json!([[0, 4]]));
    assert_eq!(
        (&found["owner"], &found["next"], &found["ranked"]),
        (&json!("local"), &json!(null), &json!("all"))
    );
    assert_eq!(program.run(&["search", "--owner", "ann", "own"]).ok().out.lines().count(), 1);
    assert_eq!(program.run(&["search", "\"tea green\""]).ok().out, "");
    assert_eq!(program.run(&["search", "?"]).errors(), ["error: there is no word to search for in \"?\""]);
}

#[test]
fn every_flag_is_a_variable() {
    let variables = [
        ("ALLOQUY_OWNER", "ann", 1),
        ("ALLOQUY_WHERE", "score=0", 1),
        ("ALLOQUY_CONTAINING", "the", 1),
        ("ALLOQUY_LIMIT", "2", 2),
        ("ALLOQUY_SORT", "created", 3),
    ];
    for (name, value, count) in variables {
        let ran = program().variable(name, value).run(&["conversations"]).ok();
        assert_eq!(ran.out.lines().count(), count, "{name}={value}");
    }
    let newest = program().variable("ALLOQUY_NEWEST", "1").run(&["search", "a"]).ok().out;
    assert!(newest.starts_with("work"), "{newest}");
    let bad = program().variable("ALLOQUY_AFTER", "nowhere").run(&["conversations"]);
    assert_eq!(bad.code, Some(2), "{bad:?}");
}
