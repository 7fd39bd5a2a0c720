//! The lock of a folder, between stores and processes. Released with its guard, or with its process.

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::disk::tried;
use crate::failure::Failure;

/// A file that is never written: locking the logs themselves would keep readers out on Windows, and would leave a
/// writer that waits with the lock of a log that is deleted meanwhile.
#[derive(Debug)]
pub(super) struct Lock {
    file: Rc<File>,
    path: PathBuf,
}

/// Holds a lock.
#[derive(Debug)]
pub(super) struct Guard(Rc<File>);

impl Lock {
    /// Opens the file, and creates it where there is none.
    pub(super) fn open(path: &Path) -> Result<Self, Failure> {
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
        Ok(Self { file: Rc::new(tried("open", path, file)?), path: path.to_owned() })
    }

    /// Waits until no one else reads under the lock or writes.
    pub(super) fn to_write(&self) -> Result<Guard, Failure> {
        tried("lock", &self.path, self.file.lock())?;
        Ok(Guard(Rc::clone(&self.file)))
    }

    /// Waits until no one else writes.
    pub(super) fn to_read(&self) -> Result<Guard, Failure> {
        tried("lock", &self.path, self.file.lock_shared())?;
        Ok(Guard(Rc::clone(&self.file)))
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        // Fails only for a file that is not open.
        let _ = self.0.unlock();
    }
}
