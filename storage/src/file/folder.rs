//! The calls of the store: which lock each takes, and which log it reads and writes.

use std::borrow::Borrow;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use alloquy_core::media::Digest;
use alloquy_core::store::{BLOB_GRACE, ConversationRecord, HeadMove, PartialDeletion};
use alloquy_core::{ConversationId, Error, Node, NodeId, Owner, Query};
use serde_json::{Map, Value};

use super::blobs;
use super::cache::Cache;
use super::disk::Disk;
use super::lines::Line;
use super::lock::{Guard, Hold};
use super::log::Log;
use super::name::log_name;
use super::place::Place;
use crate::failure::Failure;

/// How often a log without a lock is read when it changes meanwhile, and the pause before it is read again.
const LOOKS: usize = 50;
const PAUSE: Duration = Duration::from_millis(20);

/// A folder with `conversations`, `blobs`, `locks`, and the same again for each owner.
#[derive(Debug)]
pub(super) struct Folder {
    pub(super) root: PathBuf,
    pub(super) disk: Disk,
    patience: Duration,
    /// Nothing is changed, and nothing is created.
    is_for_reading: bool,
    cache: Cache,
    /// Lines of lists, each with the end of the log from which it was made.
    pub(super) lines: HashMap<Place, HashMap<String, Line>>,
    /// Places that were cleared of the leftovers of interrupted writers.
    swept: HashSet<Place>,
    /// Places whose folders are created and whose names are on the disk.
    made: HashSet<Place>,
}

impl Folder {
    /// Opens a folder and creates what is missing. No call waits for a lock longer than `patience`.
    pub(super) fn open(root: &Path, disk: Disk, patience: Duration) -> Result<Self, Failure> {
        let root = disk.create_root(root)?;
        let mut folder = Self::at(root, disk, patience);
        let place = folder.place(&Owner::local())?;
        folder.make(&place)?;
        Ok(folder)
    }

    /// Opens an existing folder, and creates nothing in it.
    pub(super) fn open_for_reading(root: &Path, disk: Disk, patience: Duration) -> Result<Self, Failure> {
        let root = disk.find_root(root)?;
        Ok(Self { is_for_reading: true, ..Self::at(root, disk, patience) })
    }

    fn at(root: PathBuf, disk: Disk, patience: Duration) -> Self {
        Self {
            root,
            disk,
            patience,
            is_for_reading: false,
            cache: Cache::default(),
            lines: HashMap::new(),
            swept: HashSet::new(),
            made: HashSet::new(),
        }
    }

    /// Fails where the folder was opened for reading only.
    pub(super) fn must_write(&self) -> Result<(), Failure> {
        if self.is_for_reading { Err(Failure::ForReading) } else { Ok(()) }
    }

    /// Returns the place of an owner's files.
    pub(super) fn place(&mut self, owner: &Owner) -> Result<Place, Failure> {
        let place = Place::of(&self.root, owner);
        if !self.is_for_reading && !self.swept.contains(&place) && self.disk.exists(&place.conversations)? {
            place.sweep(&self.disk)?;
            self.swept.insert(place.clone());
        }
        Ok(place)
    }

    /// Creates the folders of a place.
    pub(super) fn make(&mut self, place: &Place) -> Result<(), Failure> {
        if !self.made.contains(place) || !place.is_there(&self.disk)? {
            place.create(&self.disk)?;
            self.made.insert(place.clone());
        }
        Ok(())
    }

    pub(super) fn create(&mut self, owner: &Owner, record: ConversationRecord) -> Result<(), Failure> {
        record.must_be_new(owner)?;
        self.must_write()?;
        let place = self.place(owner)?;
        self.make(&place)?;
        let name = log_name(&record.id);
        let path = place.conversations.join(&name);
        let _guard = self.alone(&place, &name)?;
        if self.disk.exists(&path)? {
            // Its creator may have been stopped before the log was on the disk. The caller relies on `Exists`.
            self.disk.sync_whole(&path)?;
            return Err(Failure::Exists(record.id));
        }
        let log = Log::create(&self.disk, &path, record)?;
        self.cache.keep(&path, log);
        Ok(())
    }

    pub(super) fn append(
        &mut self,
        owner: &Owner,
        id: &ConversationId,
        nodes: &[Node],
    ) -> Result<(), Failure> {
        self.write(owner, id, |log| log.append(nodes))
    }

    pub(super) fn set_head(
        &mut self,
        owner: &Owner,
        id: &ConversationId,
        from: Option<NodeId>,
        to: Option<NodeId>,
    ) -> Result<(), Failure> {
        self.write(owner, id, |log| log.set_head(from, to))
    }

    pub(super) fn append_and_move(
        &mut self,
        owner: &Owner,
        id: &ConversationId,
        nodes: &[Node],
        from: Option<NodeId>,
        to: Option<NodeId>,
    ) -> Result<HeadMove, Failure> {
        self.write(owner, id, |log| log.append_and_move(nodes, from, to))
    }

    pub(super) fn update_metadata(
        &mut self,
        owner: &Owner,
        id: &ConversationId,
        revision: u64,
        metadata: Map<String, Value>,
    ) -> Result<u64, Failure> {
        self.write(owner, id, |log| log.update_metadata(revision, metadata))
    }

    pub(super) fn prune(&mut self, owner: &Owner, id: &ConversationId, node: NodeId) -> Result<(), Failure> {
        self.write(owner, id, |log| log.prune(node))
    }

    pub(super) fn compact(&mut self, owner: &Owner, id: &ConversationId) -> Result<(), Failure> {
        self.write(owner, id, |log| log.compact())?;
        let place = self.place(owner)?;
        // The file is another log now, and the blobs of pruned nodes may be collected.
        self.cache.take(&place.conversations.join(log_name(id)));
        self.collect_after_deletion(owner);
        Ok(())
    }

    /// Returns the log of a conversation, up to date.
    pub(super) fn read(&mut self, owner: &Owner, id: &ConversationId) -> Result<&Log, Failure> {
        let place = self.place(owner)?;
        let log = self.read_named(&place, &log_name(id))?;
        own(log, id)
    }

    pub(super) fn delete(&mut self, owner: &Owner, id: &ConversationId) -> Result<(), Failure> {
        self.remove(owner, id)?;
        self.collect_after_deletion(owner);
        Ok(())
    }

    pub(super) fn delete_matching(
        &mut self,
        owner: &Owner,
        query: &Query,
    ) -> Result<Vec<ConversationId>, Failure> {
        query.must_be_filtered()?;
        self.must_write()?;
        let page = self.list(owner, query)?;
        let mut deleted = Vec::new();
        for id in page.conversations.into_iter().map(|summary| summary.record.id) {
            match self.remove(owner, &id) {
                Ok(()) => deleted.push(id),
                // Another caller deleted it meanwhile.
                Err(Failure::NoConversation(_)) => {}
                Err(failure) => return Err(PartialDeletion::error(deleted, failure.into()).into()),
            }
        }
        self.collect_after_deletion(owner);
        Ok(deleted)
    }

    fn remove(&mut self, owner: &Owner, id: &ConversationId) -> Result<(), Failure> {
        self.must_write()?;
        let place = self.place(owner)?;
        let name = log_name(id);
        let path = place.conversations.join(&name);
        if self.disk.exists(&path)? {
            let guard = self.alone(&place, &name)?;
            self.cache.take(&path);
            if self.disk.delete(&path)? {
                guard.remove(&self.disk);
                return Ok(());
            }
        }
        // Another process may have deleted it and been stopped before that was on the disk. The caller relies on it.
        if self.disk.exists(&place.conversations)? {
            self.disk.sync_folder(&place.conversations)?;
        }
        Err(Failure::NoConversation(id.clone()))
    }

    pub(super) fn put_blob(&mut self, owner: &Owner, bytes: &[u8]) -> Result<Digest, Failure> {
        self.must_write()?;
        let place = self.place(owner)?;
        self.make(&place)?;
        let _guard = self.lock(place.blob_lock(), Hold::Alone)?;
        blobs::put(&self.disk, &place.blobs, bytes)
    }

    pub(super) fn get_blob(&mut self, owner: &Owner, digest: Digest) -> Result<Option<Arc<[u8]>>, Failure> {
        let place = self.place(owner)?;
        blobs::get(&self.disk, &place.blobs, digest)
    }

    /// Collects blobs after a deletion. A failure is ignored, because the deletion is done: the next collection removes them.
    fn collect_after_deletion(&mut self, owner: &Owner) {
        let _ = self.collect_blobs(owner, BLOB_GRACE);
    }

    pub(super) fn collect_blobs(&mut self, owner: &Owner, grace: Duration) -> Result<usize, Failure> {
        self.must_write()?;
        let place = self.place(owner)?;
        if blobs::all(&self.disk, &place.blobs)?.is_empty() {
            return Ok(0);
        }
        let _guard = self.lock(place.blob_lock(), Hold::Alone)?;
        let (lines, damaged) = self.lines(&place)?;
        if let Some(damaged) = damaged.into_iter().next() {
            return Err(Failure::damaged(format!("conversation {:?}", damaged.name), damaged.reason));
        }
        let used: BTreeSet<Digest> = lines.into_iter().flat_map(|line| line.media).collect();
        blobs::collect(&self.disk, &place.blobs, &used, grace)
    }

    /// Changes a log under its lock, after reading what others have appended.
    fn write<T>(
        &mut self,
        owner: &Owner,
        id: &ConversationId,
        change: impl FnOnce(&mut Log) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        self.must_write()?;
        let place = self.place(owner)?;
        let name = log_name(id);
        let path = place.conversations.join(&name);
        if !self.disk.exists(&path)? {
            return Err(Failure::NoConversation(id.clone()));
        }
        let _guard = self.alone(&place, &name)?;
        let current = match self.caught_up(&path) {
            Some(log) => Some(log),
            None => Log::read(&self.disk, &path)?,
        };
        let mut log = own(current, id)?;
        log.name()?;
        let outcome = change(&mut log);
        // These errors leave the log as it was. After another one it may be ahead of its file, so it is not kept.
        if let Ok(_) | Err(Failure::Core(_) | Failure::HeadMoved(_) | Failure::MetadataChanged(_)) = outcome {
            self.cache.keep(&path, log);
        }
        outcome
    }

    pub(super) fn alone(&mut self, place: &Place, name: &str) -> Result<Guard, Failure> {
        let lock = place.lock_of(name);
        match self.lock(&lock, Hold::Alone) {
            // A folder of an older format has no folder for locks.
            Err(Failure::Disk { .. }) => {
                self.make(place)?;
                self.lock(&lock, Hold::Alone)
            }
            outcome => outcome,
        }
    }

    fn lock(&self, path: &Path, hold: Hold) -> Result<Guard, Failure> {
        Guard::wait(&self.disk, path, hold, self.patience)
    }

    /// Reads a log by its name; `None` when there is none.
    ///
    /// Catching up takes no lock. What looks damaged then may be a line that another process is truncating, so only a log
    /// that was read as a whole under the lock is reported as damaged.
    pub(super) fn read_named(&mut self, place: &Place, name: &str) -> Result<Option<&Log>, Failure> {
        let path = place.conversations.join(name);
        let current = match self.caught_up(&path) {
            Some(log) => Some(log),
            None if !self.disk.exists(&path)? => None,
            None if self.is_for_reading => self.read_quietly(place, name, &path)?,
            None => {
                let _guard = self.lock(&place.lock_of(name), Hold::Shared)?;
                Log::read(&self.disk, &path)?
            }
        };
        Ok(current.map(|log| &*self.cache.keep(&path, log)))
    }

    /// Reads a log under its lock where one exists, and creates none. Without a lock, a log that looks damaged is damaged
    /// when its file does not change meanwhile.
    fn read_quietly(&self, place: &Place, name: &str, path: &Path) -> Result<Option<Log>, Failure> {
        for _ in 0..LOOKS {
            let guard = Guard::wait_for_reading(&self.disk, &place.lock_of(name), self.patience)?;
            let before = self.disk.stamp(path)?;
            let read = Log::read(&self.disk, path);
            if read.is_ok() || guard.is_some() {
                return read;
            }
            std::thread::sleep(PAUSE);
            if self.disk.stamp(path)? == before {
                return read;
            }
        }
        Err(Failure::Restless)
    }

    /// Takes a log from the cache and reads what was appended since; `None` unless it is cached and still the same log.
    fn caught_up(&mut self, path: &Path) -> Option<Log> {
        let mut log = self.cache.take(path)?;
        match log.catch_up() {
            Ok(true) => Some(log),
            Ok(false) | Err(_) => None,
        }
    }
}

/// Returns the log of a conversation, or fails where there is none, or where a file was renamed or copied so that it holds
/// another conversation.
pub(super) fn own<L: Borrow<Log>>(log: Option<L>, id: &ConversationId) -> Result<L, Failure> {
    let log = log.ok_or_else(|| Failure::NoConversation(id.clone()))?;
    let found = log.borrow().record.id.as_str();
    if found != id.as_str() {
        let what = format!("the log of conversation {:?}", id.as_str());
        return Err(Failure::damaged(what, format!("it holds conversation {found:?}")));
    }
    Ok(log)
}

/// Returns whether a failure comes from the data of one conversation, and not from the disk or another writer.
pub(super) fn is_damage(failure: &Failure) -> bool {
    matches!(failure, Failure::Damaged { .. } | Failure::Newer { .. })
        || matches!(failure, Failure::Core(error) if Error::kind(error) == alloquy_core::ErrorKind::Corrupt)
}
