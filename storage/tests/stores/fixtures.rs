//! What this version writes is kept as a fixture from the first day of its format on, and is read for ever.
//!
//! `formats.rs` has the formats from before; these hold as long as a format is the newest, and stay when it no longer is.
//! `cargo test -p alloquy-storage --all-features --test stores write_the_missing_fixtures -- --ignored` writes those that
//! are missing, and only those.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use alloquy_core::query::Filter;
use alloquy_core::report::{FinishReason, ReplyFacts, Usage};
use alloquy_core::store::{ConversationRecord, ConversationStore, ConversationStoreExt};
use alloquy_core::tree::NodeStatus;
use alloquy_core::{Content, Media, Message, Node, Owner, Part, Preface, Query, Role, Source};
use alloquy_storage::{BucketStore, FileStore, PostgresStore, SqliteStore};
use pollster::block_on;
use serde_json::{Map, Value, json};

use crate::formats::{copy, fixture};
use crate::postgres::on_server;
use crate::servers::postgres as urls;
use crate::{Places, me, say};

fn ann() -> Owner {
    "ann".parse().unwrap()
}

fn object(value: Value) -> Map<String, Value> {
    let Value::Object(fields) = value else { panic!("{value} is no object") };
    fields
}

/// Nodes of every kind: a question with an image and a quotation, a reply with facts, one that was broken off, and one that will go with
/// what follows it.
fn said() -> [Node; 5] {
    let image = Media::new("image/png", b"no picture".to_vec());
    let quoted = Part::from(Content::Text("Assam is black.".into()));
    let quoted = quoted.from_source(Source::Retrieved { id: "page-7".into() });
    let asked = Part::from(Content::Text("緑茶 or black?".into()));
    let shown = vec![asked, Part::from(Content::Image(image)), quoted];
    let question = Node::new(None, Message::new(Role::User, shown));
    let mut reply = Node::new(Some(question.id), Message::assistant("Black, from Assam."));
    reply.tokens = vec![7, 8];
    let mut facts = ReplyFacts::new("m");
    let mut usage = Usage::new(12, 5);
    usage.cached = 4;
    facts.usage = Some(usage);
    facts.finish = Some(FinishReason::Stop);
    reply.reply = Some(Box::new(facts));
    reply.label = Some("first".to_owned());
    let mut cut = Node::new(Some(question.id), Message::assistant("Green, b"));
    cut.status = NodeStatus::Interrupted;
    let gone = say(Some(question.id), "Never mind.");
    let below = say(Some(gone.id), "What?");
    [question, reply, cut, gone, below]
}

async fn tell(store: &dyn ConversationStore, owner: &Owner, id: &str) -> [Node; 5] {
    let mut record = ConversationRecord::new(id.parse().unwrap(), Preface::system("Be brief."));
    record.metadata = object(json!({"title": "Tea"}));
    let nodes = said();
    store.create(owner, &record).await.unwrap();
    for media in nodes.iter().flat_map(|node| node.message.media()) {
        store.put_media(owner, media).await.unwrap();
    }
    store.append(owner, &record.id, &nodes).await.unwrap();
    store.set_head(owner, &record.id, None, Some(nodes[1].id)).await.unwrap();
    let labels = json!({"labels": {nodes[2].id.to_string(): "cut"}});
    let metadata = object(json!({"title": "Tea", "user": {"name": "ann"}, "alloquy": labels}));
    store.update_metadata(owner, &record.id, 0, &metadata).await.unwrap();
    store.prune(owner, &record.id, nodes[3].id).await.unwrap();
    nodes
}

/// Writes what a fixture holds.
async fn write(store: &dyn ConversationStore) {
    tell(store, &me(), "tea/green").await;
    tell(store, &me(), "compacted").await;
    store.compact(&me(), &"compacted".parse().unwrap()).await.unwrap();
    let empty = ConversationRecord::new("empty".parse().unwrap(), Preface::default());
    store.create(&me(), &empty).await.unwrap();
    tell(store, &ann(), "tea/green").await;
}

/// Reads all of it, and goes on.
async fn holds(store: &dyn ConversationStore) {
    for (owner, id) in [(me(), "tea/green"), (me(), "compacted"), (ann(), "tea/green")] {
        whole(store, &owner, id).await;
    }
    let listed = store.list(&me(), &Query::default()).await.unwrap().conversations;
    let mut counts: Vec<_> = listed.iter().map(|line| (line.record.id.as_str(), line.nodes)).collect();
    counts.sort_unstable();
    assert_eq!(counts, [("compacted", 3), ("empty", 0), ("tea/green", 3)]);
    let query = Query::default().filter(Filter::equals("user.name", "ann")).text("緑茶").unwrap();
    assert_eq!(store.search(&me(), &query).await.unwrap().hits.len(), 2);
    assert_eq!(store.search(&ann(), &query).await.unwrap().hits.len(), 1);
    let never = Query::default().text("\"Never mind\"").unwrap();
    assert_eq!(store.search(&me(), &never).await.unwrap().hits.len(), 0, "what was pruned is not found");
    goes_on(store).await;
}

async fn whole(store: &dyn ConversationStore, owner: &Owner, id: &str) {
    let (record, tree) = store.load(owner, &id.parse().unwrap()).await.unwrap();
    // One for the node that was pruned; compacting keeps it.
    assert_eq!((tree.len(), tree.tombstones().count(), record.revision), (3, 1, 1), "{owner:?} {id}");
    assert_eq!(record.preface, Preface::system("Be brief."));
    assert_eq!(record.metadata["user"], json!({"name": "ann"}));
    let path = tree.path(record.head).unwrap();
    let [question, reply] = path[..] else { panic!("{path:?}") };
    assert_eq!((reply.label.as_deref(), reply.model()), (Some("first"), Some("m")));
    assert_eq!((&reply.tokens[..], reply.usage().unwrap().cached), (&[7, 8][..], 4));
    assert!(reply.metadata.is_empty(), "{:?}", reply.metadata);
    let shown = question.message.media().next().unwrap();
    let bytes = store.get_media(owner, shown).await.unwrap().bytes().cloned();
    assert_eq!(bytes, Some(Arc::from(&b"no picture"[..])));
    let cut = tree.leaves().into_iter().map(|leaf| tree.node(leaf).unwrap()).find(|leaf| leaf.id != reply.id);
    let notes = alloquy_core::annotations::Annotations::of(&record).unwrap();
    assert_eq!(cut.map(|cut| (cut.status, notes.label(cut))), Some((NodeStatus::Interrupted, Some("cut"))));
}

/// Reads where a text of the question comes from, which no format has had before those of these fixtures.
async fn names_its_sources(store: &dyn ConversationStore) {
    let (_, tree) = store.load(&me(), &"tea/green".parse().unwrap()).await.unwrap();
    let question = tree.nodes().find(|node| node.parent.is_none()).unwrap();
    let page = Source::Retrieved { id: "page-7".into() };
    assert_eq!(question.message.parts.last().and_then(|part| part.source.clone()), Some(page));
}

async fn goes_on(store: &dyn ConversationStore) {
    let id = "tea/green".parse().unwrap();
    let (record, tree) = store.load(&me(), &id).await.unwrap();
    let pruned = tree.tombstones().next().unwrap();
    let again = say(record.head, "back again").with_id(pruned);
    assert!(
        store.append(&me(), &id, &[again]).await.is_err(),
        "the id of a pruned node is never taken again"
    );
    let next = say(record.head, "more");
    store.append(&me(), &id, std::slice::from_ref(&next)).await.unwrap();
    store.set_head(&me(), &id, record.head, Some(next.id)).await.unwrap();
    store.update_metadata(&me(), &id, 1, &Map::new()).await.unwrap();
    assert_eq!(store.collect_blobs(&me(), std::time::Duration::ZERO).await.unwrap(), 0);
    assert_eq!(store.load(&me(), &id).await.unwrap().1.len(), 4);
}

/// Opens a copy of a folder, reads all of it and adds to it.
fn folder_holds(name: &str) -> PathBuf {
    let root = Places::new().next();
    copy(&fixture(name), &root);
    block_on(async {
        let store = FileStore::open(&root).await.unwrap();
        holds(&store).await;
        assert_eq!(store.fsck().await.unwrap().findings, []);
        let again = FileStore::open(&root).await.unwrap();
        assert_eq!(again.load(&me(), &"tea/green".parse().unwrap()).await.unwrap().1.len(), 4);
    });
    root
}

/// The entries of a log.
fn entries(root: &Path, name: &str) -> Vec<Value> {
    let log = fs::read_to_string(root.join("conversations").join(name)).unwrap();
    log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()[0].clone()).collect()
}

#[test]
fn a_folder_of_the_second_format_is_read_and_announces_the_third() {
    let root = folder_holds("file-2");
    let kept = entries(&fixture("file-2"), "tea%2fgreen.jsonl");
    let now = entries(&root, "tea%2fgreen.jsonl");
    assert_eq!(now[..kept.len()], kept, "what was there is as it was");
    assert_eq!(now[kept.len()], json!({"format": 3}), "an older program stops before the first new nodes");
    assert!(now[kept.len() + 1].get("nodes").is_some());
    let announced = now.iter().filter(|entry| entry.get("format").is_some());
    assert_eq!(announced.count(), 1);
    assert_eq!(entries(&root, "empty.jsonl"), entries(&fixture("file-2"), "empty.jsonl"));
    block_on(async {
        let store = FileStore::open(&root).await.unwrap();
        store.compact(&me(), &"tea/green".parse().unwrap()).await.unwrap();
    });
    let compacted = entries(&root, "tea%2fgreen.jsonl");
    assert_eq!(compacted[0]["created"]["format"], 3, "a log that is written anew begins with the new format");
    assert!(compacted.iter().all(|entry| entry.get("format").is_none()));
}

#[test]
fn a_folder_of_the_third_format_is_read() {
    let root = folder_holds("file-3");
    block_on(async { names_its_sources(&FileStore::open(&root).await.unwrap()).await });
    assert!(entries(&root, "tea%2fgreen.jsonl").iter().all(|entry| entry.get("format").is_none()));
}

/// Written by a version that let names have characters that nobody sees: none that is new may, and these are found.
#[test]
fn conversations_whose_names_cannot_be_seen_are_read_and_deleted() {
    let root = Places::new().next();
    copy(&fixture("file-2-invisible"), &root);
    let hidden: Owner = "a\u{200b}n".parse().unwrap();
    let id = "tea\u{202e}gpj".parse().unwrap();
    block_on(async {
        let store = FileStore::open(&root).await.unwrap();
        for owner in [me(), hidden] {
            let listed = store.list(&owner, &Query::default()).await.unwrap().conversations;
            assert_eq!(listed.iter().map(|line| &line.record.id).collect::<Vec<_>>(), [&id]);
            let (record, tree) = store.load(&owner, &id).await.unwrap();
            assert_eq!(tree.len(), 2);
            let next = say(record.head, "more");
            store.append(&owner, &id, std::slice::from_ref(&next)).await.unwrap();
            store.set_head(&owner, &id, record.head, Some(next.id)).await.unwrap();
            assert_eq!(store.export(&owner, &id).await.unwrap().nodes.len(), 3);
            store.delete(&owner, &id).await.unwrap();
            assert!(!store.exists(&owner, &id).await.unwrap());
        }
    });
}

#[test]
fn a_database_of_the_second_format_is_read() {
    let places = Places::new();
    let path = places.next();
    fs::copy(fixture("sqlite-2.db"), &path).unwrap();
    block_on(async { holds(&SqliteStore::open(&path).await.unwrap()).await });
}

#[test]
fn a_database_of_the_third_format_is_read() {
    let places = Places::new();
    let path = places.next();
    fs::copy(fixture("sqlite-3.db"), &path).unwrap();
    block_on(async { holds(&SqliteStore::open(&path).await.unwrap()).await });
}

#[test]
fn a_database_of_the_fourth_format_is_read() {
    let places = Places::new();
    let path = places.next();
    fs::copy(fixture("sqlite-4.db"), &path).unwrap();
    block_on(async {
        let store = SqliteStore::open(&path).await.unwrap();
        names_its_sources(&store).await;
        holds(&store).await;
    });
}

#[test]
fn objects_of_every_format_are_read() {
    for name in ["objects-1", "objects-2"] {
        let root = Places::new().next();
        copy(&fixture(name), &root);
        block_on(async {
            let store = BucketStore::in_folder(&root).await.unwrap();
            if name == "objects-2" {
                names_its_sources(&store).await;
            }
            holds(&store).await;
        });
    }
}

#[test]
fn schemas_of_every_format_are_read() {
    let Some(fresh) = urls() else { return };
    for name in ["postgres-1.sql", "postgres-2.sql", "postgres-3.sql", "postgres-4.sql"] {
        let url = fresh();
        let schema = url.split_once("schema=").unwrap().1;
        let sql = fs::read_to_string(fixture(name)).unwrap();
        let sql = format!("CREATE SCHEMA \"{schema}\"; SET search_path TO \"{schema}\";\n{sql}");
        on_server(&url, async |client| client.batch_execute(&sql).await.unwrap());
        let query = Query::default().text("tea").unwrap();
        block_on(async {
            let found =
                PostgresStore::open_for_reading(&url).await.unwrap().search(&me(), &query).await.unwrap();
            let store = PostgresStore::open(&url).await.unwrap();
            assert_eq!(found.hits, store.search(&me(), &query).await.unwrap().hits);
            if name == "postgres-4.sql" {
                names_its_sources(&store).await;
            }
            holds(&store).await;
        });
    }
}

/// Names of the formats that are written now, each with the place of its fixture.
fn of_now(places: &Places) -> Vec<PathBuf> {
    let folder = places.next();
    let database = places.next();
    let objects = places.next();
    block_on(async {
        write(&FileStore::open(&folder).await.unwrap()).await;
        write(&SqliteStore::open(&database).await.unwrap()).await;
        write(&BucketStore::in_folder(&objects).await.unwrap()).await;
    });
    let log = fs::read_to_string(folder.join("conversations/empty.jsonl")).unwrap();
    let first: Value = serde_json::from_str(log.lines().next().unwrap()).unwrap();
    let format = rusqlite::Connection::open(&database)
        .unwrap()
        .query_row("PRAGMA user_version", [], |row| row.get::<_, i64>(0))
        .unwrap();
    let entry = fs::read_to_string(objects.join("local/log/empty/00000000000000000001")).unwrap();
    let entry: Value = serde_json::from_str(entry.lines().next().unwrap()).unwrap();
    [
        (folder, format!("file-{}", first[0]["created"]["format"])),
        (database, format!("sqlite-{format}.db")),
        (objects, format!("objects-{}", entry["format"])),
    ]
    .map(|(written, name)| {
        let kept = written.with_file_name(name);
        fs::rename(&written, &kept).unwrap();
        kept
    })
    .into()
}

/// The format of a schema, and the statements that make it as it is.
fn schema_of_now(url: &str) -> (i32, String) {
    block_on(async { write(&PostgresStore::open(url).await.unwrap()).await });
    on_server(url, async |client| {
        let version: i32 = client.query_one("SELECT version FROM format", &[]).await.unwrap().get(0);
        let mut sql = include_str!("../../src/postgres/schema.sql").to_owned();
        sql += include_str!("../../src/postgres/search_index.sql");
        sql += include_str!("../../src/postgres/blocks.sql");
        for table in ["format", "conversations", "metadata", "nodes", "tombstones", "blobs", "uses"] {
            let rows = format!("SELECT coalesce(json_agg(t), '[]')::text FROM {table} t");
            let rows: String = client.query_one(&rows, &[]).await.unwrap().get(0);
            sql += &format!(
                "\nINSERT INTO {table} OVERRIDING SYSTEM VALUE\nSELECT * FROM json_populate_recordset(NULL::{table}, $rows${rows}$rows$);\n"
            );
        }
        for (table, column) in [("conversations", "key"), ("nodes", "position")] {
            sql += &format!(
                "\nSELECT setval(pg_get_serial_sequence('{table}', '{column}'), (SELECT max({column}) FROM {table}));\n"
            );
        }
        (version, sql)
    })
}

#[test]
fn whatever_is_written_now_has_its_fixture() {
    let places = Places::new();
    for written in of_now(&places) {
        let kept = fixture(written.file_name().unwrap().to_str().unwrap());
        assert!(kept.exists(), "{kept:?} is missing: see the head of this file");
    }
    let Some(fresh) = urls() else { return };
    let (version, _) = schema_of_now(&fresh());
    assert!(
        fixture(&format!("postgres-{version}.sql")).exists(),
        "the fixture of format {version} is missing"
    );
}

#[test]
#[ignore = "writes into the repository"]
fn write_the_missing_fixtures() {
    let places = Places::new();
    for written in of_now(&places) {
        let kept = fixture(written.file_name().unwrap().to_str().unwrap());
        if !kept.exists() {
            keep(&written, &kept);
        }
    }
    let Some(fresh) = urls() else { return };
    let (version, sql) = schema_of_now(&fresh());
    let kept = fixture(&format!("postgres-{version}.sql"));
    if !kept.exists() {
        fs::write(kept, sql).unwrap();
    }
}

fn keep(written: &Path, kept: &Path) {
    if written.is_dir() {
        copy(written, kept);
    } else {
        fs::copy(written, kept).unwrap();
    }
}
