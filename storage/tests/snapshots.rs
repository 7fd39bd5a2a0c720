//! A folder of snapshots: one a conversation, those used last within a quota.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

use std::fs::{self, File};
use std::io::Read;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use alloquy_core::media::Digest;
use alloquy_core::prompt::PromptUnit;
use alloquy_core::{ConversationId, Owner};
use alloquy_engine::decoder::{Snapshot, SnapshotIdentity};
use alloquy_engine::{CancelToken, Engine};
use alloquy_storage::{SavedSnapshot, SnapshotFolder};
use alloquy_testing::ScriptedEngine;

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
