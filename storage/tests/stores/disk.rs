//! The store of files on a disk that fails: at every operation, before and after it took effect, alone and with all that
//! follow.

use std::fs::{self, File, OpenOptions};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use alloquy_core::Preface;
use alloquy_core::store::{Archive, ConversationRecord, ConversationStore, ConversationStoreExt};
use alloquy_storage::{Defect, DiskCall, DiskFault, DiskFaults, FileStore};
use pollster::block_on;

use crate::calls::{CALLS, Call, Sample, delete_rubbish, seen, write_rubbish};
use crate::{Places, me, say};

/// Fails the operations of some numbers.
#[derive(Debug)]
struct Faults(Mutex<Plan>);

#[derive(Debug)]
struct Plan {
    made: usize,
    fails: Range<usize>,
    how: DiskFault,
}

impl Faults {
    fn none() -> Arc<Self> {
        Arc::new(Self(Mutex::new(Plan { made: 0, fails: 0..0, how: DiskFault::Before })))
    }

    /// Counts from here on.
    fn begin(&self, fails: Range<usize>, how: DiskFault) {
        *self.0.lock().unwrap() = Plan { made: 0, fails, how };
    }

    fn end(&self) -> usize {
        let mut plan = self.0.lock().unwrap();
        plan.fails = 0..0;
        plan.made
    }
}

impl DiskFaults for Faults {
    fn fault(&self, _: DiskCall<'_>) -> Option<DiskFault> {
        let mut plan = self.0.lock().unwrap();
        let number = plan.made;
        plan.made += 1;
        plan.fails.contains(&number).then_some(plan.how)
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}

/// A folder to copy for each failure, and what stands in it before and after a call.
struct Bench<'a> {
    places: &'a Places,
    sample: Sample,
    folder: PathBuf,
    /// A writer was stopped within a line.
    is_torn: bool,
    is_warm: bool,
}

impl Bench<'_> {
    fn fresh(&self) -> PathBuf {
        let folder = self.places.next();
        copy(&self.folder, &folder);
        let digest = self.sample.loose.digest().to_string();
        let loose = File::options().write(true).open(folder.join(format!("blobs/{digest:.2}/{digest}")));
        // Old enough to be collected with the next deletion.
        loose.unwrap().set_modified(SystemTime::now() - Duration::from_secs(7200)).unwrap();
        if self.is_torn {
            let mut log =
                OpenOptions::new().append(true).open(folder.join("conversations/tea.jsonl")).unwrap();
            std::io::Write::write_all(&mut log, b"[{\"nodes\":[").unwrap();
        }
        folder
    }

    fn open(&self, folder: &Path, faults: &Arc<Faults>) -> FileStore {
        let store = block_on(FileStore::open_faulty(folder, faults.clone())).unwrap();
        if self.is_warm {
            block_on(self.sample.warm(&store));
        }
        store
    }

    fn seen(&self, folder: &Path) -> Vec<String> {
        let store = block_on(FileStore::open(folder)).unwrap();
        block_on(seen(&store, &self.sample))
    }

    /// Makes a call with each of its operations failing, and returns how many failures that were.
    fn visit(&self, call: Call) -> usize {
        let folder = self.fresh();
        let before = self.seen(&folder);
        let faults = Faults::none();
        let store = self.open(&folder, &faults);
        faults.begin(0..0, DiskFault::Before);
        block_on(call.make(&store, &self.sample)).unwrap();
        let count = faults.end();
        drop(store);
        let after = self.seen(&folder);
        fs::remove_dir_all(&folder).unwrap();
        for number in 0..count {
            for how in [DiskFault::Before, DiskFault::HalfDone] {
                self.alone(call, number, how, &before, &after);
                self.and_all_that_follow(call, number, how, &before, &after);
            }
        }
        count
    }

    fn alone(&self, call: Call, number: usize, how: DiskFault, before: &[String], after: &[String]) {
        let folder = self.fresh();
        let faults = Faults::none();
        let store = self.open(&folder, &faults);
        faults.begin(number..number + 1, how);
        let outcome = block_on(call.make(&store, &self.sample));
        faults.end();
        let what = format!("{call:?}, operation {number} fails {how:?}, torn {}: {outcome:?}", self.is_torn);
        let expected = if outcome.is_ok() { after } else { before };
        assert_eq!(self.seen(&folder), expected, "all or nothing: {what}");
        assert_eq!(block_on(seen(&store, &self.sample)), expected, "the store knows what is there: {what}");
        let again = block_on(call.make(&store, &self.sample));
        assert!(
            again.as_ref().map_or_else(|error| outcome.is_ok() && call.is_done(error), |()| true),
            "{what}, then {again:?}"
        );
        assert_eq!(self.seen(&folder), after, "the same call completes it: {what}");
        if call == Call::Delete {
            block_on(self.sample.leaves_no_blobs(&store, &what));
        }
        self.is_audio(&store, &folder, &what);
    }

    /// The process ends here, or the disk is gone until it is opened again.
    fn and_all_that_follow(
        &self,
        call: Call,
        number: usize,
        how: DiskFault,
        before: &[String],
        after: &[String],
    ) {
        let folder = self.fresh();
        let faults = Faults::none();
        let store = self.open(&folder, &faults);
        faults.begin(number..usize::MAX, how);
        let outcome = block_on(call.make(&store, &self.sample));
        drop(store);
        let what = format!("{call:?}, operation {number} and all that follow fail {how:?}: {outcome:?}");
        let found = self.seen(&folder);
        assert!(found == after || found == before && outcome.is_err(), "all or nothing: {what}\n{found:#?}");
        let store = block_on(FileStore::open(&folder)).unwrap();
        let again = block_on(call.make(&store, &self.sample));
        assert!(
            again.as_ref().map_or_else(|error| found == after && call.is_done(error), |()| true),
            "{what}, then {again:?}"
        );
        assert_eq!(self.seen(&folder), after, "the same call completes it: {what}");
        if call == Call::Delete {
            block_on(self.sample.leaves_no_blobs(&store, &what));
        }
        self.is_audio(&store, &folder, &what);
    }

    fn is_audio(&self, store: &FileStore, folder: &Path, what: &str) {
        let report = block_on(store.fsck()).unwrap();
        let only_torn = report.findings.iter().all(|finding| matches!(finding.defect, Defect::Torn(_)));
        assert!(only_torn, "{what}: {:?}", report.findings);
        let left = fs::read_dir(folder.join("conversations")).unwrap().map(|entry| entry.unwrap().path());
        let left: Vec<_> =
            left.filter(|path| path.extension().is_some_and(|ending| ending != "jsonl")).collect();
        assert!(left.len() <= 1, "{what}: {left:?}");
        fs::remove_dir_all(folder).unwrap();
    }
}

fn bench(places: &Places, is_torn: bool, is_warm: bool) -> Bench<'_> {
    let sample = Sample::new();
    let folder = places.next();
    let store = block_on(FileStore::open(&folder)).unwrap();
    block_on(sample.write(&store)).unwrap();
    Bench { places, sample, folder, is_torn, is_warm }
}

#[test]
fn every_operation_may_fail() {
    let places = Places::new();
    for (is_torn, is_warm) in [(false, false), (true, true)] {
        let bench = bench(&places, is_torn, is_warm);
        let counts: Vec<_> = CALLS.iter().map(|&call| (call, bench.visit(call))).collect();
        let sum: usize = counts.iter().map(|(_, count)| count).sum();
        println!("torn {is_torn}, warm {is_warm}: {sum} operations, each failed in four ways: {counts:?}");
    }
}

#[test]
fn opening_may_fail() {
    let places = Places::new();
    let bench = bench(&places, true, false);
    let folder = bench.fresh();
    let faults = Faults::none();
    let before = bench.seen(&folder);
    for folder in [&folder, &places.next()] {
        faults.begin(0..0, DiskFault::Before);
        drop(block_on(FileStore::open_faulty(folder, faults.clone())).unwrap());
        for (number, how) in
            (0..faults.end()).flat_map(|number| [(number, DiskFault::Before), (number, DiskFault::HalfDone)])
        {
            faults.begin(number..usize::MAX, how);
            block_on(FileStore::open_faulty(folder, faults.clone())).unwrap_err();
            faults.end();
        }
    }
    assert_eq!(bench.seen(&folder), before);
}

#[test]
fn a_deletion_of_many_that_fails_midway_says_what_is_gone() {
    let places = Places::new();
    let bench = bench(&places, false, false);
    block_on(async { write_rubbish(&FileStore::open(&bench.folder).await.unwrap()).await });
    let delete = |fails: Range<usize>, how| {
        let folder = bench.fresh();
        let faults = Faults::none();
        let store = bench.open(&folder, &faults);
        faults.begin(fails, how);
        let mut made = 0;
        let end = || made = faults.end();
        block_on(delete_rubbish(&store, end, async || FileStore::open(&folder).await.unwrap()));
        fs::remove_dir_all(folder).unwrap();
        made
    };
    let count = delete(0..0, DiskFault::Before);
    for number in 0..count {
        delete(number..number + 1, DiskFault::Before);
        delete(number..number + 1, DiskFault::HalfDone);
    }
    println!("{count} operations of a deletion of three conversations");
}

/// Counts how often names are waited for.
#[derive(Debug, Default)]
struct Waits(AtomicUsize);

impl DiskFaults for Waits {
    fn fault(&self, call: DiskCall<'_>) -> Option<DiskFault> {
        self.0.fetch_add(usize::from(matches!(call, DiskCall::SyncFolder(_))), Ordering::Relaxed);
        None
    }
}

fn archive(number: usize) -> Archive {
    let record = ConversationRecord::new(format!("chat {number}").parse().unwrap(), Preface::default());
    Archive::new(record, vec![say(None, "green tea")]).unwrap()
}

#[test]
fn many_imports_wait_for_their_names_together() {
    let places = Places::new();
    let waits = Arc::new(Waits::default());
    let store = block_on(FileStore::open_faulty(places.next(), waits.clone())).unwrap();
    for number in 0..50 {
        block_on(store.import(&me(), &archive(number))).unwrap();
    }
    let alone = waits.0.swap(0, Ordering::Relaxed);
    let outcomes = block_on(store.import_all(&me(), (50..100).map(archive).collect()));
    assert!(outcomes.iter().all(Result::is_ok), "{outcomes:?}");
    let together = waits.0.load(Ordering::Relaxed);
    println!("50 imports wait {alone} times for names one by one, {together} times together");
    assert!(alone >= 50 && together * 10 < alone, "{alone} times one by one, {together} times together");
}
