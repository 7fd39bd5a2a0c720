//! Keeps the most recently used logs in memory.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::log::Log;

/// The most bytes of logs that are cached. In memory they take a few times as much.
const BYTES: u64 = 32 * 1024 * 1024;

/// The most logs that are cached.
const LOGS: usize = 512;

/// The logs that were used last.
#[derive(Debug, Default)]
pub(super) struct Cache {
    logs: HashMap<PathBuf, Kept>,
    clock: u64,
}

#[derive(Debug)]
struct Kept {
    log: Log,
    used: u64,
}

impl Cache {
    /// Takes a log out of the cache.
    pub(super) fn take(&mut self, path: &Path) -> Option<Log> {
        self.logs.remove(path).map(|kept| kept.log)
    }

    /// Puts a log into the cache, and drops others beyond the limits.
    pub(super) fn keep(&mut self, path: &Path, log: Log) -> &mut Log {
        self.clock += 1;
        let used = self.clock;
        while self.is_full(&log) {
            self.forget_oldest();
        }
        &mut self.logs.entry(path.to_owned()).insert_entry(Kept { log, used }).into_mut().log
    }

    fn is_full(&self, new: &Log) -> bool {
        let bytes: u64 = self.logs.values().map(|kept| kept.log.position.offset).sum();
        let full = self.logs.len() >= LOGS || bytes + new.position.offset > BYTES;
        full && !self.logs.is_empty()
    }

    fn forget_oldest(&mut self) {
        let oldest = self.logs.iter().min_by_key(|(_, kept)| kept.used);
        if let Some(path) = oldest.map(|(path, _)| path.clone()) {
            self.logs.remove(&path);
        }
    }
}
