//! The lock of an owner's folder.

use std::fs::{File, TryLockError};
use std::path::Path;

use alloquy_core::{Error, ErrorKind, Owner, Result};

use super::files;

/// The right to change an owner's folder, until it is dropped.
#[derive(Debug)]
pub(crate) struct Lock {
    file: File,
}

impl Lock {
    /// Locks an owner's folder against other changes.
    pub(crate) fn of(folder: &Path, owner: &Owner) -> Result<Self> {
        files::create_folder(folder)?;
        let path = folder.join("lock");
        let file = files::create(&path).map_err(|error| files::failed("opened", &path, error))?;
        match file.try_lock() {
            Ok(()) => Ok(Self { file }),
            Err(TryLockError::WouldBlock) => {
                let message = format!(
                    "the index of {owner:?} is being changed by another call or program: try again later"
                );
                Err(Error::new(ErrorKind::Busy, message))
            }
            Err(TryLockError::Error(error)) => Err(files::failed("locked", &path, error)),
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing the file is not enough: a program that another thread is starting has a copy of it for a moment, which keeps the
        // lock. Unlocking fails only for a file that is not open.
        let _ = self.file.unlock();
    }
}
