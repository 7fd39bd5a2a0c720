//! Stores that are opened for reading: everything is read, nothing is made or changed, also where nothing may be written.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use alloquy_core::store::{ConversationRecord, ConversationStore};
use alloquy_core::{ErrorKind, Preface, Query};
use alloquy_storage::{SqliteStore, open, open_for_reading};
use pollster::block_on;

use crate::calls::{CALLS, Call, Sample, seen};
use crate::formats::{copy, fixture};
use crate::servers::{buckets, postgres};
use crate::{Places, me, say};

/// The arguments of a child: the store, and whether it is to write.
const URL: &str = "ALLOQUY_READING_TEST_URL";
const WRITES: &str = "ALLOQUY_READING_TEST_WRITES";

/// Everything below a folder, with its rights, its size, and when it was written.
fn all(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let known = fs::metadata(&path).unwrap();
            let rights = known.permissions().mode();
            let written = known.modified().unwrap();
            found.push(format!("{} {rights:o} {} {written:?}", path.display(), known.len()));
            if known.is_dir() {
                folders.push(path);
            }
        }
    }
    found.sort();
    found
}

fn is_reading(call: Call) -> bool {
    matches!(call, Call::Load | Call::List | Call::Search | Call::GetBlob)
}

/// Reads everything that a writer sees, and is refused whatever would change something.
fn reads_all_and_changes_nothing(url: &str, sample: &Sample) {
    let written = block_on(async { seen(open(url).await.unwrap().as_ref(), sample).await });
    let store = block_on(open_for_reading(url)).unwrap();
    for call in CALLS {
        match block_on(call.make(store.as_ref(), sample)) {
            Ok(()) => assert!(is_reading(call), "{url}: {call:?}"),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Unsupported, "{url}: {call:?}: {error:#}");
                assert!(!is_reading(call) && error.to_string().contains("for reading"), "{error:#}");
            }
        }
    }
    assert_eq!(block_on(seen(store.as_ref(), sample)), written);
}

fn local(scheme: &str, path: &Path) -> String {
    format!("{scheme}:{}", path.display())
}

#[test]
fn reading_makes_nothing() {
    for scheme in ["file", "sqlite"] {
        let places = Places::new();
        let sample = Sample::new();
        let url = local(scheme, &places.next());
        let error = block_on(open_for_reading(&url)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound, "{error:#}");
        assert_eq!(all(places.folder.path()), <[String; 0]>::default(), "{scheme}");
        block_on(async { sample.write(open(&url).await.unwrap().as_ref()).await.unwrap() });
        reads_all_and_changes_nothing(&url, &sample);
        let before = all(places.folder.path());
        let store = block_on(open_for_reading(&url)).unwrap();
        block_on(seen(store.as_ref(), &sample));
        assert_eq!(all(places.folder.path()), before, "{scheme}, while it is open");
        drop(store);
        assert_eq!(all(places.folder.path()), before, "{scheme}");
    }
}

#[test]
fn servers_are_read() {
    let sample = Sample::new();
    if let Some(fresh) = postgres() {
        let url = fresh();
        let error = block_on(open_for_reading(&url)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound, "{error:#}");
        block_on(async { sample.write(open(&url).await.unwrap().as_ref()).await.unwrap() });
        reads_all_and_changes_nothing(&url, &sample);
    }
    if let Some(fresh) = buckets() {
        let url = fresh();
        block_on(async { sample.write(open(&url).await.unwrap().as_ref()).await.unwrap() });
        reads_all_and_changes_nothing(&url, &sample);
    }
}

#[test]
fn what_is_no_store_is_not_made_one() {
    let places = Places::new();
    let empty = places.next();
    let folder = places.next();
    fs::write(&empty, "").unwrap();
    fs::create_dir(&folder).unwrap();
    let before = all(places.folder.path());
    for url in [local("sqlite", &empty), local("file", &folder)] {
        let error = block_on(open_for_reading(&url)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound, "{error:#}");
    }
    assert_eq!(all(places.folder.path()), before);
}

#[test]
fn older_formats_are_read_and_stay_as_they_are() {
    let places = Places::new();
    let second = places.next();
    let first = places.next();
    let folder = places.next();
    fs::copy(fixture("format-2/chats.db"), &second).unwrap();
    let sql = fs::read_to_string(fixture("format-1/chats.sql")).unwrap();
    rusqlite::Connection::open(&first).unwrap().execute_batch(&sql).unwrap();
    copy(&fixture("format-1/files"), &folder);
    let before = all(places.folder.path());
    let query = Query::default().text("緑茶").unwrap();
    for url in [local("sqlite", &second), local("sqlite", &first), local("file", &folder)] {
        let store = block_on(open_for_reading(&url)).unwrap();
        assert_eq!(block_on(store.search(&me(), &query)).unwrap().hits.len(), 1, "{url}");
        assert_eq!(block_on(store.load(&me(), &"tea/green".parse().unwrap())).unwrap().1.len(), 4, "{url}");
    }
    assert_eq!(all(places.folder.path()), before);
}

/// A conversation of so many nodes, of which those from `hot` on stand in the log beside the database.
fn with_a_log(path: &Path, count: usize) -> SqliteStore {
    let store = block_on(SqliteStore::open(path)).unwrap();
    let record = ConversationRecord::new("tea".parse().unwrap(), Preface::default());
    block_on(store.create(&me(), &record)).unwrap();
    for _ in 0..count {
        block_on(store.append(&me(), &record.id, &[say(None, "green tea")])).unwrap();
    }
    store
}

fn count(store: &dyn ConversationStore) -> usize {
    block_on(store.load(&me(), &"tea".parse().unwrap())).unwrap().1.len()
}

#[test]
fn what_a_killed_writer_left_in_the_log_is_read() {
    let places = Places::new();
    let path = places.next();
    let copied = places.next();
    let store = with_a_log(&path, 5);
    fs::create_dir(&copied).unwrap();
    for ending in ["", "-wal"] {
        fs::copy(format!("{}{ending}", path.display()), copied.join(format!("chats.db{ending}"))).unwrap();
    }
    // Beside a living writer, too.
    let beside = block_on(open_for_reading(&local("sqlite", &path))).unwrap();
    assert_eq!(count(beside.as_ref()), 5);
    drop(store);
    let before = all(&copied);
    let reading = block_on(open_for_reading(&local("sqlite", &copied.join("chats.db")))).unwrap();
    assert_eq!(count(reading.as_ref()), 5);
    assert_eq!(all(&copied), before);
    // Whoever writes then is seen.
    let writing = block_on(SqliteStore::open(copied.join("chats.db"))).unwrap();
    block_on(writing.append(&me(), &"tea".parse().unwrap(), &[say(None, "more")])).unwrap();
    assert_eq!(count(reading.as_ref()), 6);
    drop(writing);
    assert_eq!(count(reading.as_ref()), 6);
}

#[test]
fn readers_beside_a_writer_that_comes_and_goes_see_whole_states() {
    let places = Places::new();
    let path = places.next();
    drop(with_a_log(&path, 1));
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let id = "tea".parse().unwrap();
            for _ in 0..60 {
                let store = block_on(SqliteStore::open(&path)).unwrap();
                for _ in 0..5 {
                    block_on(store.append(&me(), &id, &[say(None, "green tea"), say(None, "milk")])).unwrap();
                }
            }
            is_done.store(true, Ordering::Release);
        });
        let mut seen = 1;
        let mut looks = 0;
        let store = block_on(open_for_reading(&local("sqlite", &path))).unwrap();
        while !is_done.load(Ordering::Acquire) {
            let found = count(store.as_ref());
            assert!(found >= seen && found % 2 == 1, "{found} after {seen}");
            (seen, looks) = (found, looks + 1);
        }
        assert_eq!(count(store.as_ref()), 601);
        println!("{looks} looks beside 60 writers");
    });
}

/// Starts this program again as `command` says, and says whether it could be started.
fn child(command: &[&str], url: &str, writes: bool) -> Option<bool> {
    let program = std::env::current_exe().unwrap();
    let status = Command::new(command[0])
        .args(&command[1..])
        .arg(program)
        .args(["--exact", "reading::other_process", "--ignored", "--nocapture"])
        .env(URL, url)
        .env(WRITES, if writes { "yes" } else { "no" })
        .status();
    status.ok().map(|status| status.success())
}

/// Reads everything, or writes, in the name of another test.
#[test]
#[ignore = "the other tests start it as a process of its own"]
fn other_process() {
    let Ok(url) = std::env::var(URL) else {
        return println!("skipped: {URL} is not set, the other tests set it");
    };
    if std::env::var(WRITES).is_ok_and(|writes| writes == "yes") {
        let sample = Sample::new();
        let store = block_on(open(&url)).unwrap();
        block_on(sample.write(store.as_ref())).unwrap();
        return;
    }
    let store = block_on(open_for_reading(&url)).unwrap();
    let page = block_on(store.list(&me(), &Query::default())).unwrap();
    assert_eq!((page.conversations.len(), page.damaged.len()), (2, 0));
    let (record, tree) = block_on(store.load(&me(), &"tea".parse().unwrap())).unwrap();
    assert!(tree.path(record.head).unwrap().len() > 1);
    let hits = block_on(store.search(&me(), &Query::default().text("tea").unwrap())).unwrap();
    assert!(hits.hits.len() > 1);
    let record = ConversationRecord::new("new".parse().unwrap(), Preface::default());
    let written = block_on(async { open(&url).await?.create(&me(), &record).await });
    let error = written.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Store, "{error:#}");
    println!("writing is refused: {error:#}");
}

/// Fills both kinds of stores below a folder, and returns their URLs.
fn filled(folder: &Path) -> Vec<(&'static str, PathBuf)> {
    let sample = Sample::new();
    let stores = vec![("file", folder.join("chats")), ("sqlite", folder.join("chats.db"))];
    for (scheme, path) in &stores {
        block_on(async { sample.write(open(&local(scheme, path)).await.unwrap().as_ref()).await.unwrap() });
    }
    stores
}

#[test]
fn a_read_only_file_system_is_read() {
    let places = Places::new();
    let folder = places.next();
    fs::create_dir(&folder).unwrap();
    let mount = format!("mount --bind {0} {0} && mount -o remount,ro,bind {0}", folder.display());
    let alone = ["unshare", "--mount", "--map-root-user"];
    let probe = Command::new(alone[0]).args(&alone[1..]).args(["sh", "-c", &mount]).status();
    if !probe.is_ok_and(|status| status.success()) {
        return eprintln!("skipped: this machine lets nobody mount a folder read-only");
    }
    let script = format!("{mount} && exec \"$@\"");
    let stores = filled(&folder);
    // A writer that was killed leaves a log.
    let torn = folder.join("torn.db");
    fs::copy(&stores[1].1, &torn).unwrap();
    let writing = block_on(SqliteStore::open(&torn)).unwrap();
    block_on(writing.append(&me(), &"tea".parse().unwrap(), &[say(None, "more tea")])).unwrap();
    let hot = folder.join("hot.db");
    for ending in ["", "-wal"] {
        fs::copy(format!("{}{ending}", torn.display()), format!("{}{ending}", hot.display())).unwrap();
    }
    drop(writing);
    let before = all(&folder);
    for (scheme, path) in stores.iter().chain([&("sqlite", hot)]) {
        let command = [alone[0], alone[1], alone[2], "sh", "-c", &script, "sh"];
        assert_eq!(child(&command, &local(scheme, path), false), Some(true), "{path:?}");
    }
    assert_eq!(all(&folder), before);
}

#[test]
fn another_user_reads_what_it_may_read() {
    let places = Places::new();
    let folder = places.next();
    fs::create_dir(&folder).unwrap();
    let program = std::env::current_exe().unwrap();
    let nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
    fs::set_permissions(places.folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let probe = Command::new(nobody[0]).args(&nobody[1..]).arg(program).arg("--list").output();
    if !probe.is_ok_and(|output| output.status.success()) {
        return eprintln!("skipped: only root may become another user, who may run this test");
    }
    let stores = filled(&folder);
    let mut paths = vec![folder.clone()];
    while let Some(path) = paths.pop() {
        let is_folder = path.is_dir();
        let rights = if is_folder { 0o555 } else { 0o444 };
        fs::set_permissions(&path, fs::Permissions::from_mode(rights)).unwrap();
        if is_folder {
            paths.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
    }
    let before = all(&folder);
    for (scheme, path) in &stores {
        assert_eq!(child(&nobody, &local(scheme, path), false), Some(true), "{path:?}");
    }
    assert_eq!(all(&folder), before);
}

#[test]
fn what_is_made_is_private_whatever_the_umask() {
    let places = Places::new();
    for mask in ["000", "022", "077", "777"] {
        for (scheme, name) in [("file", "inner/chats"), ("sqlite", "chats.db")] {
            let folder = places.next();
            fs::create_dir(&folder).unwrap();
            fs::set_permissions(&folder, fs::Permissions::from_mode(0o750)).unwrap();
            let script = format!("umask {mask}; exec \"$@\"");
            let command = ["sh", "-c", &script, "sh"];
            assert_eq!(child(&command, &local(scheme, &folder.join(name)), true), Some(true));
            assert_eq!(fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o750, "it was there");
            let found = all(&folder);
            let private = |line: &&String| line.contains(" 100600 ") || line.contains(" 40700 ");
            let others: Vec<_> = found.iter().filter(|line| !private(line)).collect();
            assert!(!found.is_empty() && others.is_empty(), "umask {mask}: {others:#?}");
        }
    }
}

#[test]
fn objects_in_a_folder_are_private() {
    let places = Places::new();
    let folder = places.next();
    fs::create_dir(&folder).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
    let store = block_on(alloquy_storage::BucketStore::in_folder(&folder)).unwrap();
    let record = ConversationRecord::new("tea".parse().unwrap(), Preface::default());
    block_on(store.create(&me(), &record)).unwrap();
    let node = say(None, "green tea");
    block_on(store.append_and_move(&me(), &record.id, std::slice::from_ref(&node), None, Some(node.id)))
        .unwrap();
    block_on(store.put_blob(&me(), &b"no image".as_slice().into())).unwrap();
    assert_eq!(fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o755, "it was there");
    let found = all(&folder);
    let private = |line: &&String| line.contains(" 100600 ") || line.contains(" 40700 ");
    let others: Vec<_> = found.iter().filter(|line| !private(line)).collect();
    assert!(found.len() > 4 && others.is_empty(), "{others:#?}");
    assert_eq!(block_on(store.load(&me(), &record.id)).unwrap().1.len(), 1);
}

#[test]
fn files_beside_a_database_have_its_rights_and_logs_keep_theirs() {
    let places = Places::new();
    let path = places.next();
    let folder = places.next();
    let store = with_a_log(&path, 1);
    for ending in ["", "-wal", "-shm"] {
        let rights = fs::metadata(format!("{}{ending}", path.display())).unwrap().permissions().mode();
        assert_eq!(rights & 0o777, 0o600, "{ending}");
    }
    drop(store);
    let store = block_on(open(&local("file", &folder))).unwrap();
    let record = ConversationRecord::new("tea".parse().unwrap(), Preface::default());
    block_on(store.create(&me(), &record)).unwrap();
    let node = say(None, "green tea");
    block_on(store.append(&me(), &record.id, std::slice::from_ref(&node))).unwrap();
    let log = folder.join("conversations/tea.jsonl");
    fs::set_permissions(&log, fs::Permissions::from_mode(0o640)).unwrap();
    block_on(store.prune(&me(), &record.id, node.id)).unwrap();
    block_on(store.compact(&me(), &record.id)).unwrap();
    assert_eq!(fs::metadata(&log).unwrap().permissions().mode() & 0o777, 0o640, "compacted");
}
