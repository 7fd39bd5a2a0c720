//! Writes the fixtures of the release that this is, once.
//!
//! `. .ci/servers && cargo test -p alloquy-storage --all-features --test stores write_the_fixtures -- --ignored`

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use alloquy_core::Media;
use alloquy_core::media::Digest;
use alloquy_core::prompt::PromptUnit;
use alloquy_core::store::{ConversationStore, ConversationStoreExt};
use alloquy_engine::decoder::{Snapshot, SnapshotIdentity};
use alloquy_engine::{CancelToken, Engine};
use alloquy_formats::archive::{self, ArchiveLimits};
use alloquy_storage::{BucketStore, FileStore, PostgresStore, SnapshotFolder, SqliteStore};
use alloquy_testing::{ScriptedEngine, ScriptedMedia};
use pollster::block_on;
use serde_json::{Value, json};

use super::description::{cost, described_archive, is_whole, snapshot};
use super::tee::Tee;
use super::{FORMS, folder, found, held, id, read, story};
use crate::me;
use crate::servers::postgres as urls;

/// What the schema is called in a dump.
pub(super) const SCHEMA: &str = "the_schema_of_this_fixture";

#[test]
#[ignore = "writes into the repository"]
fn write_the_fixtures() {
    let version = env!("CARGO_PKG_VERSION").rsplit_once('.').unwrap().0;
    let place = folder(version);
    assert!(!place.exists(), "{place:?} is here, and what a release wrote is never written again");
    let url = urls().expect("the fixtures need a PostgreSQL server")();
    fs::create_dir_all(place.join("archives")).unwrap();
    let mut expected = block_on(write_stores(&place, &url));
    fs::write(place.join("postgres.sql"), dump(&url)).unwrap();
    checkpoint(&place.join("chats.db"));
    expected["snapshot"] = write_snapshot(&place);
    fs::write(place.join("expected.json"), format!("{expected:#}\n")).unwrap();
}

/// Tells the story to every store, and returns what the first one holds then.
async fn write_stores(place: &Path, url: &str) -> Value {
    let first: Arc<dyn ConversationStore> = Arc::new(FileStore::open(place.join("files")).await.unwrap());
    let others: Vec<Arc<dyn ConversationStore>> = vec![
        Arc::new(SqliteStore::open(place.join("chats.db")).await.unwrap()),
        Arc::new(BucketStore::in_folder(place.join("objects")).await.unwrap()),
        Arc::new(PostgresStore::open(url).await.unwrap()),
    ];
    let store: Arc<dyn ConversationStore> = Arc::new(Tee { first, others });
    story::write(&store).await;
    let mut searches = json!({});
    for text in story::SEARCHES {
        searches[text] = found(&*store, text).await;
    }
    let (_, tree) = store.load(&me(), &id("harbour")).await.unwrap();
    let mut expected = json!({"owners": held(&*store).await, "searches": searches, "spending": cost(&tree)});
    for (form, name, conversation) in FORMS {
        let exported = store.export(&me(), &id(conversation)).await.unwrap();
        let text = archive::write(form, &exported, &ArchiveLimits::default()).unwrap().text;
        fs::write(place.join("archives").join(name), &text).unwrap();
        if !is_whole(form) {
            expected["archives"][name] = described_archive(form, &read(form, &text));
        }
    }
    expected
}

/// The statements that make a schema as it is, without what is psql's alone or of one server's version.
fn dump(url: &str) -> String {
    let (base, schema) = url.split_once("schema=").unwrap();
    let mut programs: Vec<_> =
        fs::read_dir("/usr/lib/postgresql").unwrap().map(|entry| entry.unwrap().path()).collect();
    programs.sort();
    let dumped = Command::new(programs.pop().unwrap().join("bin/pg_dump"))
        .args(["--inserts", "--no-owner", "--no-privileges", "--schema", schema])
        .arg(base.trim_end_matches(['?', '&']))
        .output()
        .unwrap();
    assert!(dumped.status.success(), "{}", String::from_utf8_lossy(&dumped.stderr));
    let text = String::from_utf8(dumped.stdout).unwrap().replace(schema, SCHEMA);
    let mut kept = String::new();
    for line in text.lines() {
        let is_left_out =
            ["\\", "--", "SET ", "SELECT pg_catalog.set_config"].iter().any(|start| line.starts_with(start));
        if !is_left_out && !line.is_empty() {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    kept
}

/// Puts everything into the one file that is kept.
fn checkpoint(database: &Path) {
    let connection = rusqlite::Connection::open(database).unwrap();
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
}

fn write_snapshot(place: &Path) -> Value {
    let shown = Media::new("image/png", b"an image".to_vec());
    let units = [PromptUnit::Token(104), PromptUnit::Media(shown), PromptUnit::Token(105)];
    let engine = ScriptedEngine::new([]).media(ScriptedMedia::default());
    let mut session = engine.open().unwrap();
    session.forward(&units, &CancelToken::default()).unwrap();
    let origin = SnapshotIdentity::new(Digest::of(b"model"), Digest::of(b"template"));
    let taken = Snapshot::take(origin, &units, &*session).unwrap();
    let written = SnapshotFolder::new(place.join("snapshots"));
    written.write(&me(), &id("harbour"), &taken).unwrap();
    snapshot(&Ok(taken))
}
