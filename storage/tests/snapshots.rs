//! A folder of snapshots: one a conversation, those used last within a quota.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

use std::fs::{self, File};
use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use alloquy_core::media::Digest;
use alloquy_core::prompt::PromptUnit;
use alloquy_core::{ConversationId, ErrorKind, Owner};
use alloquy_engine::decoder::snapshot::Beginning;
use alloquy_engine::decoder::{Snapshot, SnapshotError, SnapshotIdentity, SnapshotStore};
use alloquy_engine::{CancelToken, Engine};
use alloquy_storage::{SavedSnapshot, SnapshotBucket, SnapshotFolder, open_snapshots};
use alloquy_testing::ScriptedEngine;
use object_store::memory::InMemory;
use object_store::{ObjectStore, ObjectStoreExt};

fn id(name: &str) -> ConversationId {
    name.parse().unwrap()
}

/// A snapshot of a text.
fn snapshot(text: &str) -> Snapshot {
    let units: Vec<_> = text.bytes().map(|byte| PromptUnit::Token(byte.into())).collect();
    let mut session = ScriptedEngine::new([]).open().unwrap();
    session.forward(&units, &CancelToken::default()).unwrap();
    let origin = SnapshotIdentity::new(Digest::of(b"model"), Digest::of(b"template"));
    Snapshot::take(origin, &units, &*session).unwrap()
}

struct Folder {
    place: tempfile::TempDir,
    snapshots: SnapshotFolder,
}

impl Folder {
    fn new(quota: usize) -> Self {
        let place = tempfile::tempdir().unwrap();
        let snapshots = SnapshotFolder::new(place.path().join("snapshots")).quota(quota as u64);
        Self { place, snapshots }
    }

    fn write(&self, name: &str, snapshot: &Snapshot) -> SavedSnapshot {
        self.snapshots.write(&Owner::local(), &id(name), snapshot).unwrap()
    }

    fn read(&self, name: &str) -> Option<Vec<u8>> {
        let mut source = self.snapshots.open(&Owner::local(), &id(name)).unwrap()?;
        let mut bytes = Vec::new();
        source.read_to_end(&mut bytes).unwrap();
        assert_eq!(bytes.len() as u64, source.length());
        Some(bytes)
    }

    fn files(&self) -> Vec<PathBuf> {
        fs::read_dir(self.snapshots.path()).unwrap().map(|entry| entry.unwrap().path()).collect()
    }

    /// Everything that is there was used a minute earlier.
    fn let_time_pass(&self) {
        for path in self.files() {
            let before = fs::metadata(&path).unwrap().modified().unwrap();
            let file = File::options().append(true).open(&path).unwrap();
            file.set_modified(before - Duration::from_secs(60)).unwrap();
        }
    }
}

#[test]
fn a_conversation_has_one_snapshot_the_last() {
    let folder = Folder::new(1 << 20);
    assert_eq!(folder.read("tea"), None);
    for text in ["one", "one two"] {
        assert_eq!(folder.write("tea", &snapshot(text)), SavedSnapshot::Kept { evicted: 0 });
    }
    assert_eq!(folder.read("tea").as_deref(), Some(snapshot("one two").bytes()));
    assert_eq!(folder.files().len(), 1, "nothing unfinished stays");
    let other = "somebody".parse::<Owner>().unwrap();
    assert!(folder.snapshots.open(&other, &id("tea")).unwrap().is_none(), "another owner sees none of it");
    assert!(folder.snapshots.remove(&Owner::local(), &id("tea")).unwrap());
    assert!(!folder.snapshots.remove(&Owner::local(), &id("tea")).unwrap());
    assert_eq!(folder.read("tea"), None);
}

#[test]
fn those_not_used_for_the_longest_time_leave() {
    let one = snapshot("some text");
    let folder = Folder::new(3 * one.bytes().len());
    for name in ["a", "b", "c"] {
        folder.write(name, &one);
        folder.let_time_pass();
    }
    assert!(folder.read("a").is_some(), "reading is using");
    assert_eq!(folder.write("d", &one), SavedSnapshot::Kept { evicted: 1 });
    let left = ["a", "b", "c", "d"].map(|name| folder.read(name).is_some());
    assert_eq!(left, [true, false, true, true]);
}

#[test]
fn what_a_stopped_writer_left_goes_and_what_is_not_ours_stays() {
    let one = snapshot("some text");
    let folder = Folder::new(one.bytes().len() + 10);
    folder.write("a", &one);
    let left = folder.snapshots.path().join("left.1-0.part");
    let foreign = folder.snapshots.path().join("notes.txt");
    fs::write(&left, [0; 100]).unwrap();
    fs::write(&foreign, [0; 100]).unwrap();
    folder.let_time_pass();
    assert_eq!(folder.write("a", &one), SavedSnapshot::Kept { evicted: 1 });
    assert!(!left.exists() && foreign.exists() && folder.read("a").is_some());
}

#[test]
fn a_snapshot_larger_than_the_quota_is_not_kept_nor_an_older_one() {
    let small = snapshot("a");
    let large = snapshot(&"a".repeat(100));
    let folder = Folder::new(small.bytes().len());
    folder.write("a", &small);
    let (bytes, quota) = (large.bytes().len() as u64, small.bytes().len() as u64);
    assert_eq!(folder.write("a", &large), SavedSnapshot::TooLarge { bytes, quota });
    assert_eq!(folder.read("a"), None);
}

#[test]
fn a_folder_that_cannot_be_made_is_told() {
    let folder = Folder::new(1 << 20);
    fs::write(folder.place.path().join("snapshots"), "a file").unwrap();
    let error = folder.snapshots.write(&Owner::local(), &id("a"), &snapshot("a")).unwrap_err();
    assert!(error.to_string().starts_with("could not make"), "{error:#}");
}

#[test]
fn it_stands_beside_the_store() {
    let beside = |url: &str| SnapshotFolder::beside(url).unwrap().map(|folder| folder.path().to_owned());
    assert_eq!(beside("sqlite:/a/chats.db"), Some("/a/chats.db.snapshots".into()));
    assert_eq!(beside("file:/a/chats/?durability=crash"), Some("/a/chats.snapshots".into()));
    assert_eq!(beside("memory:"), None);
    assert!(SnapshotFolder::beside("nonsense").is_err());
}

#[cfg(unix)]
#[test]
fn nobody_else_may_read_one() {
    use std::os::unix::fs::PermissionsExt as _;

    let folder = Folder::new(1 << 20);
    folder.write("a", &snapshot("a"));
    let mode = fs::metadata(&folder.files()[0]).unwrap().permissions().mode();
    assert_eq!(mode & 0o077, 0, "{mode:o}");
    assert!(fs::metadata(&folder.files()[0]).unwrap().modified().unwrap() <= SystemTime::now());
}

/// A snapshot whose head a bucket reads in two requests.
fn long() -> Snapshot {
    let origin = SnapshotIdentity::new(Digest::of(b"model"), Digest::of(b"template"));
    let units = (0..60_000).map(PromptUnit::Token).collect();
    Snapshot::of_state(origin, Beginning { units, was_longer: false }, b"state")
}

/// What holds for each place, through the trait that hosts use.
fn keeps_one_a_conversation(place: &dyn SnapshotStore, limited: &dyn SnapshotStore) {
    let (ann, bob): (Owner, Owner) = ("ann".parse().unwrap(), "bob".parse().unwrap());
    let tea = id("tea");
    let read = |owner: &Owner| -> Option<Vec<u8>> {
        let mut source = place.open(owner, &tea).unwrap()?;
        let mut bytes = Vec::new();
        source.read_to_end(&mut bytes).unwrap();
        assert_eq!(bytes.len() as u64, source.length());
        Some(bytes)
    };
    assert_eq!(read(&ann), None);
    assert!(place.summary(&ann, &tea).unwrap().is_none());
    assert!(!place.remove(&ann, &tea).unwrap());
    for snapshot in [snapshot("green"), snapshot("black"), long()] {
        assert_eq!(place.write(&ann, &tea, &snapshot).unwrap(), SavedSnapshot::Kept { evicted: 0 });
        assert_eq!(read(&ann).as_deref(), Some(snapshot.bytes()));
        let summary = place.summary(&ann, &tea).unwrap().unwrap();
        assert_eq!(summary.bytes, snapshot.bytes().len() as u64);
        assert!(summary.saved <= SystemTime::now() + Duration::from_secs(60));
        let contents = summary.contents.unwrap();
        assert_eq!((&contents.origin, contents.units.as_slice()), (snapshot.origin(), snapshot.units()));
        assert_eq!(read(&bob), None, "another owner has none of this name");
    }
    // What is too large is not stored, and what was there before is outdated.
    let large = snapshot(&"x".repeat(1000));
    let bytes = large.bytes().len() as u64;
    assert_eq!(limited.write(&ann, &tea, &large).unwrap(), SavedSnapshot::TooLarge { bytes, quota: 500 });
    assert!(place.summary(&ann, &tea).unwrap().is_none());
    place.write(&ann, &tea, &large).unwrap();
    assert!(place.remove(&ann, &tea).unwrap());
    assert!(place.summary(&ann, &tea).unwrap().is_none());
}

#[test]
fn a_folder_and_a_bucket_keep_one_snapshot_a_conversation() {
    let place = tempfile::tempdir().unwrap();
    let folder = |quota| SnapshotFolder::new(place.path()).quota(quota);
    keeps_one_a_conversation(&folder(1 << 30), &folder(500));

    let objects = Arc::new(InMemory::new());
    let bucket = || pollster::block_on(SnapshotBucket::new(objects.clone(), "/some/prefix/")).unwrap();
    keeps_one_a_conversation(&bucket(), &bucket().largest(500));
}

#[test]
fn a_bucket_on_a_server_keeps_one_snapshot_a_conversation() {
    let Some(endpoint) = std::env::var("ALLOQUY_TEST_S3").ok().filter(|endpoint| !endpoint.is_empty()) else {
        eprintln!("skipped: ALLOQUY_TEST_S3 does not say where a server is");
        return;
    };
    let url = format!("s3://alloquy/{}?endpoint={endpoint}&region=us-east-1", alloquy_core::NodeId::new());
    let bucket = |quota| pollster::block_on(open_snapshots(&url, quota)).unwrap();
    keeps_one_a_conversation(&*bucket(None), &*bucket(Some(500)));
}

#[test]
fn objects_that_are_no_snapshots_are_named_and_not_read() {
    let objects = Arc::new(InMemory::new());
    let bucket = pollster::block_on(SnapshotBucket::new(objects.clone(), "")).unwrap();
    let whole = snapshot("green");
    bucket.write(&Owner::local(), &id("tea"), &whole).unwrap();
    let listed = pollster::block_on(objects.list_with_delimiter(None)).unwrap().objects.remove(0);
    let cut = whole.bytes()[..100].to_vec();
    for (bytes, expected) in [(Vec::new(), SnapshotError::Foreign), (b"tea".to_vec(), SnapshotError::Foreign)]
    {
        pollster::block_on(objects.put(&listed.location, bytes.into())).unwrap();
        let summary = bucket.summary(&Owner::local(), &id("tea")).unwrap().unwrap();
        assert_eq!(summary.contents.unwrap_err(), expected);
    }
    pollster::block_on(objects.put(&listed.location, cut.into())).unwrap();
    let summary = bucket.summary(&Owner::local(), &id("tea")).unwrap().unwrap();
    assert!(matches!(summary.contents, Err(SnapshotError::Cut { found: 100, .. })), "{summary:?}");
    // What is larger than allowed is an error before its bytes are read.
    pollster::block_on(objects.put(&listed.location, vec![0; 600].into())).unwrap();
    let error = bucket.largest(500).open(&Owner::local(), &id("tea")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Store, "{error:#}");
}

#[test]
fn a_place_is_a_folder_or_a_bucket() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("file");
    fs::write(&file, b"").unwrap();
    let folder = place.path().join("folder").display().to_string();
    let opened = |place: &str| pollster::block_on(open_snapshots(place, None));
    for named in [folder.clone(), format!("file:{folder}"), format!("file://{folder}")] {
        let snapshots = opened(&named).unwrap();
        snapshots.write(&Owner::local(), &id("tea"), &snapshot("green")).unwrap();
        assert!(SnapshotFolder::new(&folder).remove(&Owner::local(), &id("tea")).unwrap(), "{named}");
    }
    let file = file.display().to_string();
    for named in ["", "file:", "sqlite:chats.db", "memory:", "postgres://ann:secret@db/chats", "s3://", &file]
    {
        let error = opened(named).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{named}");
        assert!(!error.to_string().contains("secret"), "{error:#}");
    }
}
