//! Damage of many kinds, by the hundred: a damaged database or log gives an error or what was written, and nothing else.
//!
//! `ALLOQUY_DAMAGES` asks for more than a plain test run does.

use std::fs;
use std::ops::Range;

use alloquy_core::message::{ToolCall, ToolResult};
use alloquy_core::store::{ConversationRecord, ConversationStore};
use alloquy_core::tree::Tree;
use alloquy_core::{ConversationId, ErrorKind, Message, Node, Preface, Query, Role, ToolSpec};
use alloquy_storage::{BucketStore, Durability, FileStore, SqliteStore, open, open_for_reading};
use alloquy_testing::Draws;
use pollster::block_on;
use serde_json::{Value, json};

use crate::{Places, me, say};

/// What a conversation is when it is read.
type Contents = (ConversationRecord, Tree);

const NAMES: [&str; 3] = ["tea", "milk", "cups"];

/// How many questions with an answer a conversation has.
const TURNS: usize = 24;

fn damages() -> usize {
    std::env::var("ALLOQUY_DAMAGES").map_or(400, |count| count.parse().unwrap())
}

fn id(name: &str) -> ConversationId {
    name.parse().unwrap()
}

async fn load(store: &dyn ConversationStore, name: &str) -> alloquy_core::Result<Contents> {
    store.load(&me(), &id(name)).await
}

/// Writes a conversation, and returns what it was after each call.
async fn write(store: &dyn ConversationStore, name: &str) -> Vec<Contents> {
    let record = ConversationRecord::new(id(name), Preface::system("Be brief."));
    store.create(&me(), &record).await.unwrap();
    let mut states = vec![load(store, name).await.unwrap()];
    let mut head = None;
    for turn in 0..TURNS {
        let question = say(head, format!("question {turn} of {name}: {}", "word ".repeat(turn * 37 % 90)));
        let answer = Node::new(Some(question.id), Message::assistant(format!("answer {turn}")));
        let other = Node::new(Some(question.id), Message::assistant(format!("another {turn}")));
        let next = Some(answer.id);
        store.append(&me(), &record.id, &[question, answer, other]).await.unwrap();
        states.push(load(store, name).await.unwrap());
        store.set_head(&me(), &record.id, head, next).await.unwrap();
        states.push(load(store, name).await.unwrap());
        head = next;
    }
    states
}

fn flip_bits(bytes: &mut [u8], draws: &mut Draws) {
    for _ in 0..=draws.below(8) {
        bytes[draws.below(bytes.len())] ^= 1 << draws.below(8);
    }
}

/// A place and an end behind it.
fn range(length: usize, longest: usize, draws: &mut Draws) -> Range<usize> {
    let start = draws.below(length);
    start..(start + 1 + draws.below(longest)).min(length)
}

/// What came of it.
#[derive(Debug, Default)]
struct Tally {
    errors: usize,
    same: usize,
    shorter: usize,
    /// Lists and searches without an error that have less than there is, where everything can be loaded.
    unlisted: usize,
    unfound: usize,
}

async fn hits(store: &dyn ConversationStore) -> alloquy_core::Result<usize> {
    let query = Query::default().text("question")?;
    Ok(store.search(&me(), &query).await?.hits.len())
}

async fn listed(store: &dyn ConversationStore) -> alloquy_core::Result<usize> {
    let page = store.list(&me(), &Query::default()).await?;
    Ok(page.conversations.len() + page.damaged.len())
}

/// Where a page is.
fn place_of(number: usize, page: usize) -> Range<usize> {
    number * page..(number + 1) * page
}

/// Damages a database, page by page or byte by byte.
fn damage_pages(bytes: &mut Vec<u8>, draws: &mut Draws) -> String {
    let page = usize::from(u16::from_be_bytes([bytes[16], bytes[17]]));
    let one = draws.below(bytes.len() / page);
    let other = draws.below(bytes.len() / page);
    match draws.below(6) {
        0 => {
            flip_bits(bytes, draws);
            "bits flipped".to_owned()
        }
        1 => {
            bytes[place_of(one, page)].fill(0);
            format!("page {one} zeroed")
        }
        2 => {
            let first = bytes[place_of(one, page)].to_vec();
            let second = bytes[place_of(other, page)].to_vec();
            bytes[place_of(one, page)].copy_from_slice(&second);
            bytes[place_of(other, page)].copy_from_slice(&first);
            format!("pages {one} and {other} swapped")
        }
        3 => {
            bytes.copy_within(place_of(one, page), other * page);
            format!("page {one} in the place of {other} too")
        }
        4 => {
            let cut = draws.below(bytes.len());
            bytes.truncate(cut);
            format!("cut at {cut}")
        }
        _ => {
            let range = range(bytes.len(), 300, draws);
            bytes[range.clone()].fill_with(|| draws.below(256) as u8);
            format!("{range:?} overwritten")
        }
    }
}

impl Tally {
    /// Reads a damaged database; whatever is read has to be what was written.
    async fn read(&mut self, url: &str, is_reading: bool, written: &[Contents], what: &str) {
        let opened = if is_reading { open_for_reading(url).await } else { open(url).await };
        let Ok(store) = opened else {
            self.errors += 1;
            return;
        };
        let mut failed = 0;
        for (name, contents) in NAMES.into_iter().zip(written) {
            match load(store.as_ref(), name).await {
                Ok(found) => {
                    assert_eq!(found.0, contents.0, "{what}: the record of {name}");
                    assert!(found.1 == contents.1, "{what}: the {} nodes of {name}", found.1.len());
                }
                Err(_) => failed += 1,
            }
        }
        self.errors += usize::from(failed > 0);
        self.same += usize::from(failed == 0);
        if failed == 0 {
            let list = listed(store.as_ref()).await;
            let search = hits(store.as_ref()).await;
            self.unlisted += usize::from(list.is_ok_and(|found| found < NAMES.len()));
            self.unfound += usize::from(search.is_ok_and(|found| found < NAMES.len() * TURNS));
        }
    }
}

#[test]
fn a_damaged_database_gives_an_error_or_what_was_written() {
    let places = Places::new();
    let path = places.next();
    let store = block_on(SqliteStore::open_with(&path, Durability::Crash)).unwrap();
    let written: Vec<Contents> =
        NAMES.iter().filter_map(|name| block_on(write(&store, name)).pop()).collect();
    assert_eq!(block_on(hits(&store)).unwrap(), NAMES.len() * TURNS);
    // Closing puts the write-ahead log into the database.
    drop(store);
    let bytes = fs::read(&path).unwrap();
    let mut draws = Draws::default();
    let mut tally = Tally::default();
    for number in 0..damages() {
        let folder = places.next();
        let mut damaged = bytes.clone();
        let what = format!("database {number}, {}", damage_pages(&mut damaged, &mut draws));
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("chats.db"), damaged).unwrap();
        let url = format!("sqlite:{}", folder.join("chats.db").display());
        block_on(tally.read(&url, number % 2 == 1, &written, &what));
        fs::remove_dir_all(folder).unwrap();
    }
    println!("{} damaged databases of {} bytes: {tally:?}", damages(), bytes.len());
    assert!(tally.errors > 0 && tally.same > 0, "{tally:?}");
}

/// Damages a log; says how, and whether what is left may be what was there before its last call.
fn damage_lines(bytes: &[u8], draws: &mut Draws) -> (Vec<u8>, String, bool) {
    let mut lines: Vec<&[u8]> = bytes.split_inclusive(|&byte| byte == b'\n').collect();
    let last = lines.len() - 1;
    let one = draws.below(lines.len());
    let other = draws.below(lines.len());
    let mut damaged = bytes.to_vec();
    match draws.below(7) {
        0 => {
            flip_bits(&mut damaged, draws);
            (damaged, "bits flipped".to_owned(), false)
        }
        1 => {
            lines.insert(other, lines[one]);
            (lines.concat(), format!("line {one} at {other} too"), false)
        }
        2 => {
            lines.swap(one, other);
            (lines.concat(), format!("lines {one} and {other} swapped"), false)
        }
        3 => {
            lines.remove(one);
            (lines.concat(), format!("line {one} dropped"), one == last)
        }
        4 => {
            damaged.truncate(draws.below(bytes.len()));
            let what = format!("cut at {}", damaged.len());
            (damaged, what, true)
        }
        5 => {
            let longest = [64, bytes.len()][draws.below(2)];
            let zeros = range(bytes.len(), longest, draws);
            damaged[zeros.clone()].fill(0);
            (damaged, format!("{zeros:?} zeroed"), zeros.end > bytes.len() - lines[last].len())
        }
        _ => {
            let at = if draws.below(2) == 0 { bytes.len() } else { draws.below(bytes.len()) };
            let garbage: Vec<u8> = (0..=draws.below(64)).map(|_| draws.below(256) as u8).collect();
            let what = format!("{} bytes of garbage at {at}", garbage.len());
            damaged.splice(at..at, garbage);
            (damaged, what, false)
        }
    }
}

#[test]
fn a_damaged_log_gives_an_error_or_what_was_written() {
    let places = Places::new();
    let root = places.next();
    let store = block_on(FileStore::open_with(&root, Durability::Crash)).unwrap();
    let states = block_on(write(&store, "tea"));
    drop(store);
    let log = root.join("conversations/tea.jsonl");
    let bytes = fs::read(&log).unwrap();
    let mut draws = Draws::default();
    let mut tally = Tally::default();
    for number in 0..damages() {
        let (damaged, what, may_be_shorter) = damage_lines(&bytes, &mut draws);
        fs::write(&log, damaged).unwrap();
        let store = block_on(FileStore::open(&root)).unwrap();
        match block_on(load(&store, "tea")) {
            Err(_) => tally.errors += 1,
            Ok(found) if states.last() == Some(&found) => tally.same += 1,
            Ok(found) => {
                let is_earlier = may_be_shorter && states.contains(&found);
                assert!(is_earlier, "log {number}, {what}: it is another");
                tally.shorter += 1;
            }
        }
    }
    println!("{} damaged logs of {} bytes: {tally:?}", damages(), bytes.len());
    assert!(tally.errors > 0 && tally.same > 0 && tally.shorter > 0, "{tally:?}");
}

/// Nests so deep.
fn nested(levels: usize) -> Value {
    (0..levels).fold(
        json!("core"),
        |inner, level| if level % 2 == 0 { json!([inner]) } else { json!({ "in": inner }) },
    )
}

/// A conversation with something that nests: in its own metadata, in a tool's schema, or in a message of one of three kinds.
fn deep(name: &str, place: usize, levels: usize) -> (ConversationRecord, Node) {
    let mut record = ConversationRecord::new(id(name), Preface::default());
    let mut node = say(None, "deep");
    let call = ToolCall::new("call_0", "deep", nested(levels));
    match place {
        0 => drop(record.metadata.insert("deep".to_owned(), nested(levels))),
        1 => record.preface = Preface::default().tool(ToolSpec::new("deep", "nests", nested(levels))),
        2 => drop(node.metadata.insert("deep".to_owned(), nested(levels))),
        3 => node.message = Message::new(Role::Assistant, vec![alloquy_core::Content::ToolCall(call)]),
        _ => node.message = Message::tool(vec![ToolResult::ok(&call, nested(levels))]),
    }
    (record, node)
}

#[test]
fn what_nests_deep_reads_back_or_is_refused_before_it_is_written() {
    let places = Places::new();
    let root = places.next();
    let database = places.next();
    let objects = places.next();
    let files = block_on(FileStore::open_with(&root, Durability::Crash)).unwrap();
    let sqlite = block_on(SqliteStore::open_with(&database, Durability::Crash)).unwrap();
    let bucket = block_on(BucketStore::in_folder(&objects)).unwrap();
    let mut kept = 0;
    let mut refused = 0;
    for store in [&files as &dyn ConversationStore, &sqlite, &bucket] {
        for (place, levels) in (0..5).flat_map(|place| (96..=130).map(move |levels| (place, levels))) {
            let name = format!("{place} {levels}");
            let (record, node) = deep(&name, place, levels);
            let written = match block_on(store.create(&me(), &record)) {
                Ok(()) => block_on(store.append(&me(), &record.id, std::slice::from_ref(&node))),
                created => created,
            };
            match written {
                Ok(()) => kept += 1,
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Invalid, "{name}: {error:#}");
                    refused += 1;
                }
            }
        }
    }
    drop((files, sqlite, bucket));
    let files = block_on(FileStore::open(&root)).unwrap();
    let sqlite = block_on(SqliteStore::open(&database)).unwrap();
    let bucket = block_on(BucketStore::in_folder(&objects)).unwrap();
    let mut read = 0;
    for store in [&files as &dyn ConversationStore, &sqlite, &bucket] {
        let page = block_on(store.list(&me(), &Query::default())).unwrap();
        assert!(page.damaged.is_empty(), "{:?}", page.damaged);
        for summary in page.conversations {
            let name = summary.record.id.as_str().to_owned();
            let (place, levels) = name.split_once(' ').unwrap();
            let (record, node) = deep(&name, place.parse().unwrap(), levels.parse().unwrap());
            let (found, tree) = block_on(load(store, &name)).unwrap();
            assert_eq!((&found.metadata, &found.preface), (&record.metadata, &record.preface), "{name}");
            for known in tree.nodes() {
                assert_eq!((&known.message, &known.metadata), (&node.message, &node.metadata), "{name}");
                read += 1;
            }
        }
    }
    println!("{kept} nest deep and are kept, {refused} are refused");
    assert_eq!(read, kept, "what was taken in is there");
    assert!(kept > 0 && refused > 0);
}

/// A link in the folder leads to something damaged, or nowhere: what is outside of the folder stays as it is.
#[cfg(unix)]
#[test]
fn links_in_a_folder_change_nothing_outside_of_it() {
    use std::os::unix::fs::symlink;

    let places = Places::new();
    let root = places.next();
    let outside = places.next();
    let nowhere = places.next();
    let store = block_on(FileStore::open(&root)).unwrap();
    block_on(write(&store, "tea"));
    fs::write(&outside, "garbage\n").unwrap();
    symlink(&outside, root.join("conversations/milk.jsonl")).unwrap();
    symlink(&nowhere, root.join("conversations/cups.jsonl")).unwrap();
    let store = block_on(FileStore::open(&root)).unwrap();
    let page = block_on(store.list(&me(), &Query::default())).unwrap();
    assert_eq!((page.conversations.len(), page.damaged.len()), (1, 1), "{:?}", page.damaged);
    assert_eq!(block_on(load(&store, "milk")).unwrap_err().kind(), ErrorKind::Corrupt);
    let record = ConversationRecord::new(id("cups"), Preface::default());
    block_on(store.create(&me(), &record)).unwrap();
    block_on(store.append(&me(), &record.id, &[say(None, "Hello")])).unwrap();
    assert_eq!(block_on(load(&store, "cups")).unwrap().1.len(), 1);
    assert!(!nowhere.exists() && fs::read_to_string(&outside).unwrap() == "garbage\n");
}
