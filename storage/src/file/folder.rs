//! What each call does to the folder: which lock it takes, which log it reads and writes.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use alloquy_core::{ConversationId, ConversationRecord, ConversationSummary, Digest, Node, NodeId, Query};

use super::blobs;
use super::cache::Cache;
use super::disk::{self, tried};
use super::line::Position;
use super::lock::Lock;
use super::log::Log;
use super::name::{LOG, log_name};
use crate::failure::Failure;

/// A folder with `conversations`, `blobs` and `lock`.
#[derive(Debug)]
pub(super) struct Folder {
    conversations: PathBuf,
    blobs: PathBuf,
    lock: Lock,
    cache: Cache,
    /// Lines of the list, each with the end of the log that it was made from.
    summaries: HashMap<String, (Position, ConversationSummary)>,
}

impl Folder {
    /// Opens a folder, creates what is not there, and removes what interrupted writers left.
    pub(super) fn open(root: &Path) -> Result<Self, Failure> {
        let root = disk::create_root(root)?;
        let (conversations, blobs) = (root.join("conversations"), root.join("blobs"));
        let lock = Lock::open(&root.join("lock"))?;
        let _guard = lock.to_write()?;
        disk::create_folder(&conversations)?;
        disk::create_folder(&blobs)?;
        disk::sweep(&conversations)?;
        Ok(Self { conversations, blobs, lock, cache: Cache::default(), summaries: HashMap::new() })
    }

    pub(super) fn create(&mut self, record: ConversationRecord) -> Result<(), Failure> {
        if record.head.is_some() {
            return Err(Failure::HeadWithoutNodes(record.id));
        }
        let path = self.conversations.join(log_name(&record.id));
        let _guard = self.lock.to_write()?;
        match tried("look for", &path, path.try_exists())? {
            true => Err(Failure::Exists(record.id)),
            false => Log::create(&path, record),
        }
    }

    pub(super) fn append(&mut self, id: &ConversationId, nodes: &[Node]) -> Result<(), Failure> {
        self.write(id, |log| log.append(nodes))
    }

    pub(super) fn set_head(
        &mut self,
        id: &ConversationId,
        from: Option<NodeId>,
        to: Option<NodeId>,
    ) -> Result<(), Failure> {
        self.write(id, |log| log.set_head(from, to))
    }

    /// Reads what a conversation's log says by now.
    pub(super) fn read(&mut self, id: &ConversationId) -> Result<&Log, Failure> {
        let log = self.read_named(&log_name(id))?;
        own(log, id)
    }

    pub(super) fn list(&mut self, query: &Query) -> Result<Vec<ConversationSummary>, Failure> {
        let mut all = self.summaries()?;
        all.sort_by(|left, right| {
            let by_name = || left.record.id.cmp(&right.record.id);
            right.updated.cmp(&left.updated).then_with(by_name)
        });
        let page = all.into_iter().skip(query.offset);
        Ok(page.take(query.limit.unwrap_or(usize::MAX)).collect())
    }

    pub(super) fn count(&self) -> Result<usize, Failure> {
        Ok(self.names()?.len())
    }

    pub(super) fn delete(&mut self, id: &ConversationId) -> Result<(), Failure> {
        let name = log_name(id);
        let _guard = self.lock.to_write()?;
        self.cache.take(&name);
        match disk::delete(&self.conversations.join(name))? {
            true => Ok(()),
            false => Err(Failure::NoConversation(id.clone())),
        }
    }

    pub(super) fn put_blob(&self, bytes: &[u8]) -> Result<Digest, Failure> {
        let _guard = self.lock.to_write()?;
        blobs::put(&self.blobs, bytes)
    }

    pub(super) fn get_blob(&self, digest: Digest) -> Result<Option<Arc<[u8]>>, Failure> {
        blobs::get(&self.blobs, digest)
    }

    /// Changes a log that is up to date while no one else writes. A log that may be ahead of its file is forgotten.
    fn write(
        &mut self,
        id: &ConversationId,
        change: impl FnOnce(&mut Log) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let name = log_name(id);
        let _guard = self.lock.to_write()?;
        let current = match self.caught_up(&name) {
            Some(log) => Some(log),
            None => Log::read(&self.conversations.join(&name))?,
        };
        let mut log = own(current, id)?;
        let outcome = change(&mut log);
        if let Ok(()) | Err(Failure::Core(_) | Failure::HeadMoved(_)) = outcome {
            self.cache.keep(&name, log);
        }
        outcome
    }

    /// Reads a log by its name; `None` when there is none.
    ///
    /// Catching up takes no lock. What looks damaged then may be a line that another process is cutting, so only a
    /// whole log that was read under the lock is called damaged.
    fn read_named(&mut self, name: &str) -> Result<Option<&Log>, Failure> {
        let current = match self.caught_up(name) {
            Some(log) => Some(log),
            None => {
                let _guard = self.lock.to_read()?;
                Log::read(&self.conversations.join(name))?
            }
        };
        Ok(current.map(|log| &*self.cache.keep(name, log)))
    }

    /// Takes a log from memory and reads what was appended since; `None` unless it is known and still the same.
    fn caught_up(&mut self, name: &str) -> Option<Log> {
        let mut log = self.cache.take(name)?;
        let current = log.catch_up().unwrap_or(false);
        current.then_some(log)
    }

    fn summaries(&mut self) -> Result<Vec<ConversationSummary>, Failure> {
        let mut known = std::mem::take(&mut self.summaries);
        for name in self.names()? {
            let path = self.conversations.join(&name);
            let current = match known.remove(&name) {
                Some((end, summary)) if Log::ends_at(&path, &end)? => Some((end, summary)),
                // A conversation may have been deleted since its name was read.
                _ => self.read_named(&name)?.map(|log| (log.position.clone(), log.summary())),
            };
            self.summaries.extend(current.map(|current| (name, current)));
        }
        Ok(self.summaries.values().map(|(_, summary)| summary.clone()).collect())
    }

    fn names(&self) -> Result<Vec<String>, Failure> {
        let folder = &self.conversations;
        let mut names = Vec::new();
        for entry in tried("list", folder, fs::read_dir(folder))? {
            let path = tried("list", folder, entry)?.path();
            if path.extension().is_some_and(|extension| extension == LOG) {
                names.extend(path.file_name().map(|name| name.to_string_lossy().into_owned()));
            }
        }
        Ok(names)
    }
}

/// Makes sure that a log is there, and that of this conversation: someone may have renamed or copied files.
fn own<L: Borrow<Log>>(log: Option<L>, id: &ConversationId) -> Result<L, Failure> {
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
