//! Locks between stores and processes: each is a file. A lock is released with its guard, or with its process.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::disk::Disk;
use crate::failure::Failure;

/// The first pause between two attempts, and the longest. Pauses double up to it.
const FIRST_PAUSE: Duration = Duration::from_micros(50);
const LONGEST_PAUSE: Duration = Duration::from_millis(5);

/// Holds a lock.
///
/// The file is separate from the log and stays empty. Locking the log itself would keep readers out on Windows. It would also
/// leave a waiting writer with the lock of a log that is deleted or replaced meanwhile.
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
    /// Waits for a lock, and creates its file where there is none.
    pub(super) fn wait(disk: &Disk, path: &Path, hold: Hold, patience: Duration) -> Result<Self, Failure> {
        let began = Instant::now();
        let mut pause = FIRST_PAUSE;
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

    /// Takes a lock that is free; `None` when it is held.
    pub(super) fn attempt(disk: &Disk, path: &Path, hold: Hold) -> Result<Option<Self>, Failure> {
        Self::taken(disk, disk.open_lock(path)?, path, hold)
    }

    /// Waits for a lock without creating its file; `None` where there is none, or none that may be read.
    pub(super) fn wait_for_reading(
        disk: &Disk,
        path: &Path,
        patience: Duration,
    ) -> Result<Option<Self>, Failure> {
        let began = Instant::now();
        let mut pause = FIRST_PAUSE;
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

    /// Returns whether the file is still the lock. Deleting a conversation removes its lock too, so a file that was opened
    /// before that is stale.
    #[cfg(unix)]
    fn is_current(&self, disk: &Disk) -> Result<bool, Failure> {
        disk.is_named(&self.file, &self.path)
    }

    #[cfg(not(unix))]
    fn is_current(&self, _: &Disk) -> Result<bool, Failure> {
        Ok(true)
    }

    /// Removes the file of the lock, where waiting stores can detect that. Elsewhere an empty file stays.
    #[cfg(unix)]
    pub(super) fn remove(self, disk: &Disk) {
        // A file that stays is a lock that no store holds, which is harmless.
        let _ = disk.remove(&self.path);
    }

    #[cfg(not(unix))]
    pub(super) fn remove(self, _: &Disk) {}
}

impl Drop for Guard {
    fn drop(&mut self) {
        // Unlocking fails only for a file that is not open.
        let _ = self.file.unlock();
    }
}
