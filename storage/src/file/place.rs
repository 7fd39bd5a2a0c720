//! Where in the folder the files of one owner stand. Knows paths.

use std::path::{Path, PathBuf};

use alloquy_core::Owner;

use super::disk;
use super::lock::{Guard, Hold};
use super::name::file_name;
use crate::failure::Failure;

/// The folders of one owner. Those of [`Owner::local`] stand at the root, where they stood before there were owners.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Place {
    pub(super) conversations: PathBuf,
    pub(super) blobs: PathBuf,
    locks: PathBuf,
    lock: PathBuf,
}

impl Place {
    pub(super) fn of(root: &Path, owner: &Owner) -> Self {
        match *owner == Owner::local() {
            true => Self::at(root),
            false => Self::at(&root.join(OWNERS).join(file_name(owner.as_str()))),
        }
    }

    pub(super) fn at(folder: &Path) -> Self {
        Self {
            conversations: folder.join("conversations"),
            blobs: folder.join("blobs"),
            locks: folder.join("locks"),
            lock: folder.join("lock"),
        }
    }

    /// Makes the folders that are not there.
    pub(super) fn create(&self) -> Result<(), Failure> {
        for folder in [&self.blobs, &self.locks, &self.conversations] {
            if !folder.is_dir() {
                disk::create_folders(folder)?;
            }
        }
        Ok(())
    }

    /// The lock of what stands in a log.
    pub(super) fn lock_of(&self, log: &str) -> PathBuf {
        self.locks.join(log)
    }

    /// The lock of the blobs.
    pub(super) fn blob_lock(&self) -> &Path {
        &self.lock
    }

    /// Removes what interrupted writers left of logs, unless somebody is writing them now.
    pub(super) fn sweep(&self) -> Result<(), Failure> {
        for (log, left) in disk::leftovers(&self.conversations)? {
            if let Some(_guard) = Guard::attempt(&self.lock_of(&log), Hold::Alone)? {
                disk::remove(&left)?;
            }
        }
        Ok(())
    }
}

/// Where the folders of owners stand.
pub(super) const OWNERS: &str = "owners";
