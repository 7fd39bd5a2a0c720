//! Which conversations are kept in memory. Knows paths and sizes.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::log::Log;

/// The bytes of log whose conversations stay in memory; read, they take a few times as much.
const BYTES: u64 = 32 * 1024 * 1024;

/// How many conversations stay in memory at most.
const LOGS: usize = 512;

/// Keeps the logs that were used last.
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
    /// Takes a log out.
    pub(super) fn take(&mut self, path: &Path) -> Option<Log> {
        self.logs.remove(path).map(|kept| kept.log)
    }

    /// Keeps a log, and forgets others beyond the limits.
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
