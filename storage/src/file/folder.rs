//! What each call does to the folder: which lock it takes, which log it reads and writes.

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

/// How often a log is read that changes meanwhile where there is no lock, and the pause before it is read again.
const LOOKS: usize = 50;
const PAUSE: Duration = Duration::from_millis(20);

/// A folder with `conversations`, `blobs`, `locks`, and the same again for each owner.
#[derive(Debug)]
pub(super) struct Folder {
    pub(super) root: PathBuf,
    pub(super) disk: Disk,
    patience: Duration,
    /// Nothing is changed, and nothing made.
    is_for_reading: bool,
    cache: Cache,
    /// Lines of lists, each with the end of the log that it was made from.
    pub(super) lines: HashMap<Place, HashMap<String, Line>>,
    /// Places where what interrupted writers left was looked for.
    swept: HashSet<Place>,
    /// Places whose names are on the disk.
    made: HashSet<Place>,
}

impl Folder {
    /// Opens a folder and creates what is not there. Nothing waits for a lock longer than `patience`.
    pub(super) fn open(root: &Path, disk: Disk, patience: Duration) -> Result<Self, Failure> {
        let root = disk.create_root(root)?;
        let mut folder = Self::at(root, disk, patience);
        let place = folder.place(&Owner::local())?;
        folder.make(&place)?;
        Ok(folder)
    }

    /// Opens a folder that is there, and makes nothing in it.
    pub(super) fn open_for_reading(root: &Path, disk: Disk, patience: Duration) -> Result<Self, Failure> {
        let root = disk.find_root(root)?;
        Ok(Self { is_for_reading: true, ..Self::at(root, disk, patience) })
    }

    fn at(root: PathBuf, disk: Disk, patience: Duration) -> Self {
        let (cache, lines) = (Cache::default(), HashMap::new());
        let (swept, made) = (HashSet::new(), HashSet::new());
        Self { root, disk, patience, is_for_reading: false, cache, lines, swept, made }
    }

    /// Refuses to change anything where only reading was asked for.
    pub(super) fn must_write(&self) -> Result<(), Failure> {
        if self.is_for_reading { Err(Failure::ForReading) } else { Ok(()) }
    }

    /// Returns where an owner's files stand.
    pub(super) fn place(&mut self, owner: &Owner) -> Result<Place, Failure> {
        let place = Place::of(&self.root, owner);
        if !self.is_for_reading && !self.swept.contains(&place) && self.disk.exists(&place.conversations)? {
            place.sweep(&self.disk)?;
            self.swept.insert(place.clone());
        }
        Ok(place)
    }

    /// Makes the folders of a place.
    pub(super) fn make(&mut self, place: &Place) -> Result<(), Failure> {
        if !(self.made.contains(place) && place.is_there(&self.disk)?) {
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
            // Whoever created it may have been stopped before it was safe, and whoever asks again relies on it.
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
        // What was written is another log now, and what it referred to may be collected.
        self.cache.take(&place.conversations.join(log_name(id)));
        self.collect_after_deletion(owner);
        Ok(())
    }

    /// Reads what a conversation's log says by now.
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
                // Somebody else deleted it meanwhile.
                Err(Failure::NoConversation(_)) => {}
                Err(failure) => return Err(PartialDeletion::error(deleted, failure.into()).into()),
            }
        }
        self.collect_after_deletion(owner);
        Ok(deleted)
    }

    fn remove(&mut self, owner: &Owner, id: &ConversationId) -> Result<(), Failure> {
        self.must_write()?;
        let (place, name) = (self.place(owner)?, log_name(id));
        let path = place.conversations.join(&name);
        if self.disk.exists(&path)? {
            let guard = self.alone(&place, &name)?;
            self.cache.take(&path);
            if self.disk.delete(&path)? {
                guard.remove(&self.disk);
                return Ok(());
            }
        }
        // Whoever deleted it may have been stopped before that was safe, and whoever asks again relies on it.
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

    /// Blobs that cannot be collected now are collected another time: the deletion itself is done.
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

    /// Changes a log that is up to date while no one else writes. A log that may be ahead of its file is forgotten.
    fn write<T>(
        &mut self,
        owner: &Owner,
        id: &ConversationId,
        change: impl FnOnce(&mut Log) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        self.must_write()?;
        let (place, name) = (self.place(owner)?, log_name(id));
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
        if let Ok(_) | Err(Failure::Core(_) | Failure::HeadMoved(_) | Failure::MetadataChanged(_)) = outcome {
            self.cache.keep(&path, log);
        }
        outcome
    }

    pub(super) fn alone(&mut self, place: &Place, name: &str) -> Result<Guard, Failure> {
        let lock = place.lock_of(name);
        match self.lock(&lock, Hold::Alone) {
            // A folder of an older format has no locks.
            Err(Failure::Disk { .. }) => self.make(place).and_then(|()| self.lock(&lock, Hold::Alone)),
            outcome => outcome,
        }
    }

    fn lock(&self, path: &Path, hold: Hold) -> Result<Guard, Failure> {
        Guard::wait(&self.disk, path, hold, self.patience)
    }

    /// Reads a log by its name; `None` when there is none.
    ///
    /// Catching up takes no lock. What looks damaged then may be a line that another process is cutting, so only a
    /// whole log that was read under the lock is called damaged.
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

    /// Reads a log under its lock where that is there, and makes none. Without one, what looks damaged is damage when the file
    /// stays as it is.
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

    /// Takes a log from memory and reads what was appended since; `None` unless it is known and still the same.
    fn caught_up(&mut self, path: &Path) -> Option<Log> {
        let mut log = self.cache.take(path)?;
        let current = log.catch_up().unwrap_or(false);
        current.then_some(log)
    }
}

/// Makes sure that a log is there, and that of this conversation: someone may have renamed or copied files.
pub(super) fn own<L: Borrow<Log>>(log: Option<L>, id: &ConversationId) -> Result<L, Failure> {
    let log = log.ok_or_else(|| Failure::NoConversation(id.clone()))?;
    let found = log.borrow().record.id.as_str();
    match found == id.as_str() {
        true => Ok(log),
        false => {
            let what = format!("the log of conversation {:?}", id.as_str());
            Err(Failure::damaged(what, format!("it holds conversation {found:?}")))
        }
    }
}

/// Says whether a failure is of one conversation's data, and not of the disk or of another writer.
pub(super) fn is_damage(failure: &Failure) -> bool {
    matches!(failure, Failure::Damaged { .. } | Failure::Newer { .. })
        || matches!(failure, Failure::Core(error) if Error::kind(error) == alloquy_core::ErrorKind::Corrupt)
}
