//! Locks between stores and processes: a file each, waited for with patience. Released with its guard, or with its
//! process. Knows no log.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::disk::Disk;
use crate::failure::Failure;

/// The pauses between two attempts: the first, and the longest, to which they double.
const FIRST_PAUSE: Duration = Duration::from_micros(50);
const LONGEST_PAUSE: Duration = Duration::from_millis(5);

/// Holds a lock.
///
/// The file is never written: locking the logs themselves would keep readers out on Windows, and would leave a writer
/// that waits with the lock of a log that is deleted or replaced meanwhile.
#[derive(Debug)]
pub(super) struct Guard {
    file: File,
    path: PathBuf,
}

/// How a lock is held.
#[derive(Clone, Copy, Debug)]
pub(super) enum Hold {
    /// By one writer, and no reader.
    Alone,
    /// By any number of readers.
    Shared,
}

impl Guard {
    /// Waits for a lock, and makes its file where there is none.
    pub(super) fn wait(disk: &Disk, path: &Path, hold: Hold, patience: Duration) -> Result<Self, Failure> {
        let (began, mut pause) = (Instant::now(), FIRST_PAUSE);
        loop {
            if let Some(guard) = Self::attempt(disk, path, hold)? {
                return Ok(guard);
            }
            if began.elapsed() >= patience {
                return Err(Failure::Held { what: format!("{path:?}"), waited: patience });
            }
            sleep(pause);
            pause = LONGEST_PAUSE.min(pause * 2);
        }
    }

    /// Takes a lock that nobody holds; `None` when somebody does.
    pub(super) fn attempt(disk: &Disk, path: &Path, hold: Hold) -> Result<Option<Self>, Failure> {
        Self::taken(disk, disk.open_lock(path)?, path, hold)
    }

    /// Waits for a lock without making its file; `None` where there is none, or none that may be read.
    pub(super) fn wait_for_reading(
        disk: &Disk,
        path: &Path,
        patience: Duration,
    ) -> Result<Option<Self>, Failure> {
        let (began, mut pause) = (Instant::now(), FIRST_PAUSE);
        while let Some(file) = disk.open_lock_for_reading(path) {
            if let Some(guard) = Self::taken(disk, file, path, Hold::Shared)? {
                return Ok(Some(guard));
            }
            if began.elapsed() >= patience {
                return Err(Failure::Held { what: format!("{path:?}"), waited: patience });
            }
            sleep(pause);
            pause = LONGEST_PAUSE.min(pause * 2);
        }
        Ok(None)
    }

    fn taken(disk: &Disk, file: File, path: &Path, hold: Hold) -> Result<Option<Self>, Failure> {
        let locked = match hold {
            Hold::Alone => file.try_lock(),
            Hold::Shared => file.try_lock_shared(),
        };
        match locked {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(source)) => {
                return Err(Failure::Disk { action: "lock", path: path.to_owned(), source });
            }
        }
        let guard = Self { file, path: path.to_owned() };
        Ok(guard.is_current(disk)?.then_some(guard))
    }

    /// Whoever deletes a conversation removes its lock too: what was opened before that is no lock any more.
    #[cfg(unix)]
    fn is_current(&self, disk: &Disk) -> Result<bool, Failure> {
        disk.is_named(&self.file, &self.path)
    }

    #[cfg(not(unix))]
    fn is_current(&self, _: &Disk) -> Result<bool, Failure> {
        Ok(true)
    }

    /// Removes the lock itself, where that can be told by those who wait for it; elsewhere an empty file stays.
    #[cfg(unix)]
    pub(super) fn remove(self, disk: &Disk) {
        // A lock that is left is as good as none.
        let _ = disk.remove(&self.path);
    }

    #[cfg(not(unix))]
    pub(super) fn remove(self, _: &Disk) {}
}

impl Drop for Guard {
    fn drop(&mut self) {
        // Fails only for a file that is not open.
        let _ = self.file.unlock();
    }
}
