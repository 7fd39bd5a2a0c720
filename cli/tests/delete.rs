//! Deleting conversations: by id, by conditions, by age; what is asked, what stays.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod program;
mod shared;
#[cfg(unix)]
mod terminal;

use std::time::{Duration, SystemTime};

use alloquy::core::media::Digest;
use alloquy::core::store::ConversationRecord;
use alloquy::core::{Message, Node, NodeId, Owner, Preface};
use alloquy::engine::Engine as _;
use alloquy::engine::decoder::{Snapshot, SnapshotIdentity};
use alloquy::storage::SnapshotFolder;
use alloquy_testing::ScriptedEngine;
use pollster::block_on;
use program::{Program, Ran};
use serde_json::json;

const DAY: Duration = Duration::from_secs(86_400);

/// A store with four conversations of 1, 10, 40 and 400 days ago.
fn program() -> Program {
    let program = Program::new();
    block_on(async {
        let store = alloquy::storage::open(&program.store()).await.unwrap();
        for (name, days, text) in [
            ("new", 1, "Green tea?"),
            ("ten", 10, "Black tea?"),
            ("forty", 40, "Coffee?"),
            ("old", 400, "Tea!"),
        ] {
            let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_millis() as u64;
            let then = SystemTime::UNIX_EPOCH + Duration::from_millis(now) - days * DAY;
            let mut record = ConversationRecord::new(name.parse().unwrap(), Preface::default());
            record.created = then;
            record.metadata =
                json!({"title": format!("about {name}"), "days": days}).as_object().unwrap().clone();
            let milliseconds = then.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_millis() as u64;
            let id = NodeId::of_import(milliseconds, 0, Digest::of(name.as_bytes()));
            store.create(&Owner::local(), &record).await.unwrap();
            let node = Node::new(None, Message::user(text)).with_id(id);
            store.append(&Owner::local(), &record.id, &[node]).await.unwrap();
        }
        store.close().await.unwrap();
    });
    program
}

/// Returns the names of the conversations, the last updated first.
fn names(program: &Program) -> Vec<String> {
    let listed = program.run(&["conversations"]).ok().out;
    listed.lines().map(|line| line.split('\t').next().unwrap().to_owned()).collect()
}

fn delete(program: &Program, arguments: &[&str]) -> Ran {
    program.run(&[&["delete", "--yes"], arguments].concat())
}

#[test]
fn ids_are_deleted_all_or_none() {
    let program = program();
    let refused = delete(&program, &["ten", "nowhere"]);
    assert_eq!((refused.code, refused.out.as_str()), (Some(1), ""));
    let error = "error: nothing was deleted: conversation \"nowhere\" does not exist; `alloquy conversations` lists those that do";
    assert_eq!(refused.errors(), [error]);
    assert_eq!(names(&program), ["new", "ten", "forty", "old"]);
    let similar = delete(&program, &["fort"]);
    assert!(similar.errors()[0].ends_with("did you mean \"forty\"?"), "{similar:?}");
    let gone = delete(&program, &["ten", "old", "ten"]).ok();
    assert_eq!((gone.out.as_str(), gone.err.as_str()), ("ten\nold\n", "deleted 2 conversations\n"));
    assert_eq!(names(&program), ["new", "forty"]);
    assert_eq!(program.run(&["rm", "-y", "new"]).ok().out, "new\n");
}

#[test]
fn conditions_and_ages_combine() {
    let remaining = |arguments: &[&str]| {
        let program = program();
        delete(&program, arguments).ok();
        names(&program).join(" ")
    };
    assert_eq!(remaining(&["--older-than", "30d"]), "new ten");
    assert_eq!(remaining(&["--older-than", "1w"]), "new");
    assert_eq!(remaining(&["--before", "2020-01-01"]), "new ten forty old");
    assert_eq!(remaining(&["--before", "2999-01-01", "--older-than", "300d"]), "new ten forty");
    assert_eq!(remaining(&["--older-than", "2d", "--where", "days<=40"]), "new old");
    assert_eq!(remaining(&["--containing", "tea"]), "forty");
    assert_eq!(remaining(&["--containing", "tea", "--older-than", "30d"]), "new ten forty");
    assert_eq!(remaining(&["--where", "title=about ten"]), "new forty old");
    // The list accepts the same conditions.
    let listed = program().run(&["conversations", "--older-than", "30d"]).ok().out;
    assert_eq!(listed.lines().count(), 2, "{listed}");
}

#[test]
fn what_is_not_said_is_not_deleted() {
    let program = program();
    for (arguments, said) in [
        (&[][..], "name the conversations to delete, or a condition"),
        (&["new", "--older-than", "1d"], "not both"),
        (&["--older-than", "3 months"], "such as 30d"),
        (&["--before", "yesterday"], "is not a date"),
    ] {
        let refused = delete(&program, arguments);
        assert_eq!(refused.code, Some(2), "{arguments:?}");
        assert!(refused.err.contains(said), "{arguments:?}: {}", refused.err);
    }
    let nothing = delete(&program, &["--where", "days=7"]).ok();
    assert_eq!(
        (nothing.out.as_str(), nothing.err.as_str()),
        ("", "no conversation meets these conditions\n")
    );
    // Without a terminal it says what it would delete.
    let unasked = program.run(&["delete", "--older-than", "30d"]);
    assert_eq!((unasked.code, unasked.out.as_str()), (Some(2), ""));
    assert!(unasked.err.contains("2 conversations will be deleted:"), "{}", unasked.err);
    assert!(unasked.err.contains("about forty") && unasked.err.contains("about old"), "{}", unasked.err);
    assert!(unasked.errors()[0].contains("--yes deletes without asking"), "{unasked:?}");
    assert_eq!(names(&program).len(), 4);
    // A store that is not there is not made.
    let none = format!("sqlite:{}", program.path("none.db").display());
    assert_eq!(delete(&program, &["tea", "--store", &none]).code, Some(1));
    assert!(!program.path("none.db").exists());
}

#[test]
fn json_has_the_deleted_ids_and_flags_are_variables() {
    let program = program().variable("ALLOQUY_YES", "1").variable("ALLOQUY_OLDER_THAN", "30d");
    let deleted = program.run(&["delete", "--json"]).ok().events().remove(0);
    assert_eq!(deleted, json!({"deleted": ["forty", "old"]}));
    let program = program.variable("ALLOQUY_BEFORE", "2020-01-01");
    assert_eq!(program.run(&["delete", "--json"]).ok().events(), [json!({"deleted": []})]);
}

#[test]
fn the_saved_cache_goes_with_its_conversation() {
    let program = program();
    let folder = SnapshotFolder::beside(&program.store()).unwrap().unwrap();
    let engine = ScriptedEngine::new([]);
    let identity = SnapshotIdentity::new(Digest::of(b"model"), Digest::of(b"template"));
    let snapshot = Snapshot::take(identity, &[], &*engine.open().unwrap()).unwrap();
    let owner = Owner::local();
    let [ten, old] = ["ten", "old"].map(|name| name.parse().unwrap());
    for name in [&ten, &old] {
        folder.write(&owner, name, &snapshot).unwrap();
    }
    delete(&program, &["ten"]).ok();
    assert!(folder.open(&owner, &ten).unwrap().is_none());
    assert!(folder.open(&owner, &old).unwrap().is_some());
    delete(&program, &["--older-than", "300d"]).ok();
    assert!(folder.open(&owner, &old).unwrap().is_none());
}

#[test]
fn the_snapshot_of_the_server_goes_with_its_conversation() {
    let program = program();
    let folder = SnapshotFolder::new(program.path("served"));
    let engine = ScriptedEngine::new([]);
    let identity = SnapshotIdentity::new(Digest::of(b"model"), Digest::of(b"template"));
    let snapshot = Snapshot::take(identity, &[], &*engine.open().unwrap()).unwrap();
    let owner = Owner::local();
    let [ten, old, new] = ["ten", "old", "new"].map(|name| name.parse().unwrap());
    for name in [&ten, &old, &new] {
        folder.write(&owner, name, &snapshot).unwrap();
    }
    // The program does not know a place that is named to the server alone.
    delete(&program, &["ten"]).ok();
    assert!(folder.open(&owner, &ten).unwrap().is_some());
    let place = program.path("served").display().to_string();
    program.write("config.toml", &format!("snapshots = {place:?}\n"));
    delete(&program, &["old", "--config", "config.toml"]).ok();
    assert!(folder.open(&owner, &old).unwrap().is_none());
    let program = program.variable("ALLOQUY_SNAPSHOTS", "sqlite:chats.db");
    let deleted = delete(&program, &["forty"]).ok();
    assert!(
        deleted.err.contains("was not removed") && deleted.err.contains("sqlite:chats.db"),
        "{}",
        deleted.err
    );
    let program = program.variable("ALLOQUY_SNAPSHOTS", place);
    delete(&program, &["new"]).ok();
    assert!(folder.open(&owner, &new).unwrap().is_none());
}

#[cfg(unix)]
#[test]
fn a_person_is_shown_what_goes_and_asked() {
    let program = program();
    let run = |answer: &str| {
        let mut terminal = terminal::Terminal::start(program.command(&["delete", "--where", "days>=40"]));
        terminal.wait_for(1, "[N]o: ");
        terminal.type_in(answer);
        let status = terminal.end();
        (status.code(), terminal.text())
    };
    let (code, shown) = run("\r");
    assert_eq!(code, Some(0), "{shown}");
    assert!(shown.contains("2 conversations will be deleted:") && shown.contains("about forty"), "{shown}");
    assert!(shown.contains("nothing was deleted"), "{shown}");
    assert_eq!(names(&program).len(), 4);
    let (code, shown) = run("y\r");
    assert!(code == Some(0) && shown.contains("deleted 2 conversations"), "{shown}");
    assert_eq!(names(&program), ["new", "ten"]);
}
