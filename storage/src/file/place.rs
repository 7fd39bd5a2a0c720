//! The paths of the files of one owner.

use std::path::{Path, PathBuf};

use alloquy_core::Owner;

use super::disk::Disk;
use super::lock::{Guard, Hold};
use super::name::{CONVERSATIONS, file_name};
use crate::failure::Failure;

/// The folders of one owner. Those of [`Owner::local`] are at the root, where they were before there were owners.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Place {
    pub(super) conversations: PathBuf,
    pub(super) blobs: PathBuf,
    locks: PathBuf,
    lock: PathBuf,
    /// The folder of the owner, and its parents up to the root of the store.
    around: Vec<PathBuf>,
}

impl Place {
    pub(super) fn of(root: &Path, owner: &Owner) -> Self {
        let mut place = if *owner == Owner::local() {
            Self::at(root)
        } else {
            Self::at(&root.join(OWNERS).join(file_name(owner.as_str())))
        };
        let mut folder = place.around.first().and_then(|folder| folder.parent()).map(Path::to_owned);
        while let Some(above) = folder.filter(|above| above.starts_with(root)) {
            folder = above.parent().map(Path::to_owned);
            place.around.push(above);
        }
        place
    }

    /// The place in a folder, without the folders around it.
    pub(super) fn at(folder: &Path) -> Self {
        Self {
            conversations: folder.join(CONVERSATIONS),
            blobs: folder.join("blobs"),
            locks: folder.join("locks"),
            lock: folder.join("lock"),
            around: vec![folder.to_owned()],
        }
    }

    /// Returns whether its folders exist.
    pub(super) fn is_there(&self, disk: &Disk) -> Result<bool, Failure> {
        Ok(disk.exists(&self.blobs)? && disk.exists(&self.locks)? && disk.exists(&self.conversations)?)
    }

    /// Creates the missing folders, and waits until the names of all are on the disk. The process that created the others may
    /// have been stopped before that.
    pub(super) fn create(&self, disk: &Disk) -> Result<(), Failure> {
        for folder in [&self.blobs, &self.locks, &self.conversations] {
            disk.make_folder(folder)?;
        }
        for folder in &self.around {
            disk.sync_folder(folder)?;
        }
        Ok(())
    }

    /// The lock of a log.
    pub(super) fn lock_of(&self, log: &str) -> PathBuf {
        self.locks.join(log)
    }

    /// The lock of the blobs.
    pub(super) fn blob_lock(&self) -> &Path {
        &self.lock
    }

    /// Removes the leftovers of interrupted writers, unless a store is writing that log now.
    pub(super) fn sweep(&self, disk: &Disk) -> Result<(), Failure> {
        for (log, left) in disk.leftovers(&self.conversations)? {
            if let Some(_guard) = Guard::attempt(disk, &self.lock_of(&log), Hold::Alone)? {
                disk.remove(&left)?;
            }
        }
        Ok(())
    }
}

/// The folder with the folders of owners.
pub(super) const OWNERS: &str = "owners";
