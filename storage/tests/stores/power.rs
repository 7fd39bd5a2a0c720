//! The store of files when the power fails: at every operation, and after writers that were killed at every operation.
//!
//! The disk here keeps what was waited for and nothing else: bytes of a file since it was synced are lost, and so are
//! names since their folder was.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use alloquy_storage::{DiskCall, DiskFault, DiskFaults, FileStore};
use pollster::block_on;

use crate::Places;
use crate::calls::{Call, Sample, seen};

/// What the power leaves of names that nobody waited for.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Names {
    /// They are as they were.
    Lost,
    /// They are there already, with the bytes that were waited for.
    Kept,
}

/// Remembers what is on the disk, and ends the process at one of its operations.
#[derive(Debug)]
struct Power(Mutex<Disk>);

#[derive(Debug, Default)]
struct Disk {
    made: usize,
    fails: usize,
    files: usize,
    /// The files by their names, as programs see them and as they are on the disk.
    names: BTreeMap<PathBuf, usize>,
    kept: BTreeMap<PathBuf, usize>,
    folders: BTreeSet<PathBuf>,
    kept_folders: BTreeSet<PathBuf>,
    bytes: BTreeMap<usize, Vec<u8>>,
}

impl Power {
    /// Where nothing is but a folder.
    fn on(folder: &Path) -> Arc<Self> {
        let folders: BTreeSet<_> = [folder.to_owned()].into();
        let kept_folders = folders.clone();
        Arc::new(Self(Mutex::new(Disk { fails: usize::MAX, folders, kept_folders, ..Disk::default() })))
    }

    fn ends_at(&self, number: usize) {
        let mut disk = self.0.lock().unwrap();
        (disk.made, disk.fails) = (0, number);
    }

    fn goes_on(&self) -> usize {
        let mut disk = self.0.lock().unwrap();
        disk.fails = usize::MAX;
        disk.made
    }

    /// Writes what is left into another folder.
    fn fails(&self, root: &Path, to: &Path, names: Names) {
        let disk = self.0.lock().unwrap();
        let (folders, files) = match names {
            Names::Lost => (&disk.kept_folders, &disk.kept),
            Names::Kept => (&disk.folders, &disk.names),
        };
        let is_there = |path: &Path| {
            let mut above = path.ancestors().skip(1).take_while(|above| above.starts_with(root));
            path.starts_with(root) && above.all(|above| folders.contains(above))
        };
        for folder in folders.iter().filter(|folder| is_there(folder)) {
            fs::create_dir_all(to.join(folder.strip_prefix(root).unwrap())).unwrap();
        }
        for (path, file) in files.iter().filter(|(path, _)| is_there(path)) {
            let bytes = disk.bytes.get(file).map_or(&[][..], Vec::as_slice);
            fs::write(to.join(path.strip_prefix(root).unwrap()), bytes).unwrap();
        }
    }
}

impl DiskFaults for Power {
    fn fault(&self, call: DiskCall<'_>) -> Option<DiskFault> {
        let mut disk = self.0.lock().unwrap();
        disk.made += 1;
        if disk.made > disk.fails {
            return Some(DiskFault::Before);
        }
        disk.take(call);
        None
    }
}

impl Disk {
    /// Locks are files that may be lost.
    fn take(&mut self, call: DiskCall<'_>) {
        match call {
            DiskCall::Create(path) => {
                self.files += 1;
                let file = *self.names.entry(path.to_owned()).or_insert(self.files);
                self.bytes.remove(&file);
            }
            DiskCall::Rename(from, to) => {
                if let Some(file) = self.names.remove(from) {
                    self.names.insert(to.to_owned(), file);
                }
            }
            DiskCall::Remove(path) => drop(self.names.remove(path)),
            DiskCall::Sync(path) => {
                self.bytes.insert(self.names[path], fs::read(path).unwrap());
            }
            DiskCall::SyncFolder(path) => {
                let is_here = |name: &PathBuf| name.parent() == Some(path);
                self.kept.retain(|name, _| !is_here(name));
                let here = self.names.iter().filter(|(name, _)| is_here(name));
                self.kept.extend(here.map(|(name, &file)| (name.clone(), file)));
                self.kept_folders.extend(self.folders.iter().filter(|name| is_here(name)).cloned());
            }
            DiskCall::CreateFolder(path) => {
                self.folders.extend(path.ancestors().map(Path::to_owned));
            }
            _ => {}
        }
    }
}

/// One call after the other, each by a program that may have been started anew.
const STORY: [Call; 9] = [
    Call::Create,
    Call::CreateForNewOwner,
    Call::Append,
    Call::PutBlob,
    Call::SetHead,
    Call::UpdateMetadata,
    Call::Prune,
    Call::Compact,
    Call::Delete,
];

struct Story {
    sample: Sample,
    /// What is seen before the first call and after each.
    states: Vec<Vec<String>>,
}

impl Story {
    fn new(places: &Places) -> Self {
        let sample = Sample::new();
        let store = block_on(FileStore::open(places.next())).unwrap();
        block_on(sample.write(&store)).unwrap();
        let mut states = vec![block_on(seen(&store, &sample))];
        for call in STORY {
            block_on(call.make(&store, &sample)).unwrap();
            states.push(block_on(seen(&store, &sample)));
        }
        Self { sample, states }
    }

    /// Makes calls until one fails, and returns how many did not; one that is done already does not.
    fn go_on(&self, store: &FileStore, from: usize) -> usize {
        let is_acknowledged = |call: &&Call| match block_on(call.make(store, &self.sample)) {
            Ok(()) => true,
            Err(error) => call.is_done(&error),
        };
        from + STORY.iter().skip(from).take_while(is_acknowledged).count()
    }

    fn seen(&self, root: &Path) -> Vec<String> {
        block_on(async { seen(&FileStore::open(root).await.unwrap(), &self.sample).await })
    }

    /// Checks what is left when the power fails: everything acknowledged, and of the call after it all or nothing.
    fn survives(&self, power: &Power, places: &Places, root: &Path, acknowledged: usize, what: &str) {
        for names in [Names::Lost, Names::Kept] {
            let left = places.next();
            power.fails(root, &left, names);
            let found = self.seen(&left.join("store"));
            let expected = self.states.iter().skip(acknowledged).take(2).any(|state| *state == found);
            assert!(expected, "{what}, {acknowledged} acknowledged, names {names:?}: {found:#?}");
            fs::remove_dir_all(left).unwrap();
        }
    }
}

/// Makes a folder in which nothing is waited for yet but the sample.
fn begin(places: &Places, story: &Story) -> (PathBuf, Arc<Power>, FileStore) {
    fs::create_dir(places.next()).unwrap();
    let root = places.next();
    fs::create_dir(&root).unwrap();
    let root = root.canonicalize().unwrap();
    let power = Power::on(&root);
    let store = block_on(FileStore::open_faulty(root.join("store"), power.clone())).unwrap();
    block_on(story.sample.write(&store)).unwrap();
    power.ends_at(usize::MAX);
    (root, power, store)
}

#[test]
fn power_may_fail_at_every_operation() {
    let places = Places::new();
    let story = Story::new(&places);
    let (_, power, store) = begin(&places, &story);
    assert_eq!(story.go_on(&store, 0), STORY.len());
    let count = power.goes_on();
    for number in 0..=count {
        let (root, power, store) = begin(&places, &story);
        power.ends_at(number);
        let acknowledged = story.go_on(&store, 0);
        drop(store);
        let what = format!("the power fails at operation {number}");
        story.survives(&power, &places, &root, acknowledged, &what);
        // Instead a process is killed there; another one makes the same call and goes on, and then the power fails.
        power.goes_on();
        let store = block_on(FileStore::open_faulty(root.join("store"), power.clone())).unwrap();
        let what = format!(
            "a process is killed at operation {number}, another one goes on from call {acknowledged}"
        );
        assert_eq!(story.go_on(&store, acknowledged), STORY.len(), "{what}");
        story.survives(&power, &places, &root, STORY.len(), &what);
        drop(store);
        fs::remove_dir_all(root).unwrap();
    }
    println!(
        "{count} operations of {} calls, at each the power failed, or a process ended and the power failed later",
        STORY.len()
    );
}

/// An acknowledged call is durable, whatever an interrupted call did before it.
#[test]
fn what_is_said_to_be_done_is_kept() {
    let places = Places::new();
    let story = Story::new(&places);
    let again =
        [Call::Create, Call::CreateForNewOwner, Call::Append, Call::Prune, Call::Delete, Call::PutBlob];
    let pairs = again.into_iter().map(|call| (call, call)).chain([(Call::Compact, Call::Append)]);
    for (stopped, call) in pairs {
        for number in 0..40 {
            let (root, power, store) = begin(&places, &story);
            power.ends_at(number);
            let _ = block_on(stopped.make(&store, &story.sample));
            drop(store);
            power.goes_on();
            let store = block_on(FileStore::open_faulty(root.join("store"), power.clone())).unwrap();
            let said = block_on(call.make(&store, &story.sample));
            assert!(said.as_ref().map_or_else(|error| call.is_done(error), |()| true), "{said:?}");
            let found = block_on(seen(&store, &story.sample));
            let left = places.next();
            power.fails(&root, &left, Names::Lost);
            let what = format!("{stopped:?} ended at operation {number}, then {call:?}");
            assert_eq!(story.seen(&left.join("store")), found, "{what}");
            fs::remove_dir_all(left).unwrap();
            drop(store);
            fs::remove_dir_all(root).unwrap();
        }
    }
}
