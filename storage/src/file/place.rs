//! Where in the folder the files of one owner stand. Knows paths.

use std::path::{Path, PathBuf};

use alloquy_core::Owner;

use super::disk::Disk;
use super::lock::{Guard, Hold};
use super::name::{CONVERSATIONS, file_name};
use crate::failure::Failure;

/// The folders of one owner. Those of [`Owner::local`] stand at the root, where they stood before there were owners.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Place {
    pub(super) conversations: PathBuf,
    pub(super) blobs: PathBuf,
    locks: PathBuf,
    lock: PathBuf,
    /// The folder of the owner, and those above it up to that of the store.
    around: Vec<PathBuf>,
}

impl Place {
    pub(super) fn of(root: &Path, owner: &Owner) -> Self {
        let mut place = match *owner == Owner::local() {
            true => Self::at(root),
            false => Self::at(&root.join(OWNERS).join(file_name(owner.as_str()))),
        };
        let above = place.around.iter().flat_map(|folder| folder.ancestors().skip(1));
        let above: Vec<_> = above.take_while(|above| above.starts_with(root)).map(Path::to_owned).collect();
        place.around.extend(above);
        place
    }

    pub(super) fn at(folder: &Path) -> Self {
        Self {
            conversations: folder.join(CONVERSATIONS),
            blobs: folder.join("blobs"),
            locks: folder.join("locks"),
            lock: folder.join("lock"),
            around: vec![folder.to_owned()],
        }
    }

    /// Says whether its folders are there.
    pub(super) fn is_there(&self, disk: &Disk) -> Result<bool, Failure> {
        Ok(disk.exists(&self.blobs)? && disk.exists(&self.locks)? && disk.exists(&self.conversations)?)
    }

    /// Makes the folders that are not there, and waits until the names of all are on the disk: whoever made the others
    /// may have been stopped before that.
    pub(super) fn create(&self, disk: &Disk) -> Result<(), Failure> {
        for folder in [&self.blobs, &self.locks, &self.conversations] {
            disk.make_folder(folder)?;
        }
        self.around.iter().try_for_each(|folder| disk.sync_folder(folder))
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
    pub(super) fn sweep(&self, disk: &Disk) -> Result<(), Failure> {
        for (log, left) in disk.leftovers(&self.conversations)? {
            if let Some(_guard) = Guard::attempt(disk, &self.lock_of(&log), Hold::Alone)? {
                disk.remove(&left)?;
            }
        }
        Ok(())
    }
}

/// Where the folders of owners stand.
pub(super) const OWNERS: &str = "owners";
