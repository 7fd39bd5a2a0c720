//! Reads and writes files so that acknowledged changes are on the disk.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use super::faults::{DiskCall, DiskFault, DiskFaults, failed};
use super::name::{CONVERSATIONS, LOG};
use crate::durability::Durability;
use crate::failure::Failure;
use crate::private;

/// The files of the operating system. Every operation goes through [`Disk::call`], where tests make it fail.
#[derive(Clone, Debug, Default)]
pub(super) struct Disk {
    pub(super) durability: Durability,
    pub(super) faults: Option<Arc<dyn DiskFaults>>,
}

/// Adds to an error what was tried with which path.
fn tried<T>(action: &'static str, path: &Path, outcome: io::Result<T>) -> Result<T, Failure> {
    outcome.map_err(|source| Failure::Disk { action, path: path.to_owned(), source })
}

/// Returns `None` for a missing file, which is not a failure.
fn found<T>(outcome: io::Result<T>) -> io::Result<Option<T>> {
    match outcome {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        outcome => outcome.map(Some),
    }
}

/// The extensions of files that are being written, and of files that are being deleted.
const UNFINISHED: &str = "new";
const DELETED: &str = "deleted";

impl Disk {
    fn call<T>(&self, call: DiskCall<'_>, operation: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        match self.fault(call) {
            None => operation(),
            Some(DiskFault::Before) => Err(failed()),
            Some(DiskFault::HalfDone) => {
                operation()?;
                Err(failed())
            }
        }
    }

    fn fault(&self, call: DiskCall<'_>) -> Option<DiskFault> {
        self.faults.as_ref().and_then(|faults| faults.fault(call))
    }

    /// Reads a file from an offset to its end; `None` when there is no such file.
    pub(super) fn read_from(&self, path: &Path, offset: u64) -> Result<Option<Vec<u8>>, Failure> {
        tried("read", path, self.call(DiskCall::Read(path), || read_from(path, offset)))
    }

    /// Writes bytes at an offset, where they become the end of the file and replace a torn line. After an error the file
    /// ends at the offset again.
    pub(super) fn append_at(&self, path: &Path, offset: u64, bytes: &[u8]) -> Result<(), Failure> {
        let mut file = tried("open", path, self.open(path))?;
        let written = self.write_at(&mut file, path, offset, bytes);
        if written.is_err() {
            tried("take back what was written to", path, self.truncate(&file, path, offset))?;
        }
        tried("append to", path, written)
    }

    fn write_at(&self, file: &mut File, path: &Path, offset: u64, bytes: &[u8]) -> io::Result<()> {
        // A longer file ends with a line that a stopped writer did not finish.
        if self.call(DiskCall::Look(path), || file.metadata())?.len() != offset {
            self.truncate(file, path, offset)?;
        }
        file.seek(SeekFrom::Start(offset))?;
        self.write(file, path, bytes)?;
        self.sync_line(file, path)
    }

    fn open(&self, path: &Path) -> io::Result<File> {
        self.call(DiskCall::Open(path), || OpenOptions::new().write(true).open(path))
    }

    fn write(&self, file: &mut File, path: &Path, bytes: &[u8]) -> io::Result<()> {
        match self.fault(DiskCall::Write(path)) {
            None => file.write_all(bytes),
            Some(DiskFault::Before) => Err(failed()),
            Some(DiskFault::HalfDone) => {
                let (half, _) = bytes.split_at(bytes.len() / 2);
                file.write_all(half)?;
                Err(failed())
            }
        }
    }

    fn truncate(&self, file: &File, path: &Path, length: u64) -> io::Result<()> {
        self.call(DiskCall::Truncate(path), || file.set_len(length))
    }

    /// Syncs a line of a log, unless only [`Durability::Crash`] is required.
    fn sync_line(&self, file: &File, path: &Path) -> io::Result<()> {
        match self.durability {
            Durability::PowerLoss => self.call(DiskCall::Sync(path), || file.sync_data()),
            Durability::Crash => Ok(()),
        }
    }

    /// Syncs the lines of a log, also those that another process wrote.
    pub(super) fn sync_lines(&self, path: &Path) -> Result<(), Failure> {
        // Some systems sync only files that are open for writing.
        tried("sync", path, self.open(path).and_then(|file| self.sync_line(&file, path)))
    }

    /// Syncs a log with its name and all its lines, unless only [`Durability::Crash`] is required.
    pub(super) fn sync_name(&self, path: &Path) -> Result<(), Failure> {
        match self.durability {
            Durability::PowerLoss => self.sync_whole(path),
            Durability::Crash => Ok(()),
        }
    }

    /// Writes a file that exists whole or not at all. After an error there is none, unless removing it fails too. The caller
    /// holds the lock.
    pub(super) fn create_whole(&self, path: &Path, bytes: &[u8]) -> Result<(), Failure> {
        self.replace_whole(path, bytes).inspect_err(|_| {
            // The caller gets the error that made the file unsafe, whether this succeeds or not.
            let _ = self.remove(path);
        })
    }

    /// Writes a file under a temporary name, without syncing it. [`finish`](Self::finish) gives it its name.
    pub(super) fn write_unfinished(&self, path: &Path, bytes: &[u8]) -> Result<(), Failure> {
        let unfinished = path.with_extension(UNFINISHED);
        let written = self.write_unsynced(&unfinished, bytes);
        if written.is_err() {
            // A file that stays is one of the leftovers.
            let _ = self.remove(&unfinished);
        }
        tried("write", &unfinished, written)
    }

    fn write_unsynced(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let mut file = self.call(DiskCall::Create(path), || private::create(path))?;
        self.write(&mut file, path, bytes)
    }

    /// Syncs a file that [`write_unfinished`](Self::write_unfinished) wrote, and gives it its name. The caller then syncs the
    /// folder.
    pub(super) fn finish(&self, path: &Path) -> Result<(), Failure> {
        let unfinished = path.with_extension(UNFINISHED);
        let file = self.open(&unfinished);
        let synced = file.and_then(|file| self.call(DiskCall::Sync(&unfinished), || file.sync_all()));
        let mut finished = tried("sync", &unfinished, synced);
        if finished.is_ok() {
            finished = self.rename("create", &unfinished, path);
        }
        if finished.is_err() {
            let _ = self.remove(&unfinished);
            let _ = self.remove(path);
        }
        finished
    }

    /// Writes a file in place of another. After an error the old or the new one is there, each whole. The caller holds the
    /// lock.
    pub(super) fn replace_whole(&self, path: &Path, bytes: &[u8]) -> Result<(), Failure> {
        let unfinished = path.with_extension(UNFINISHED);
        let rights = tried("look at", path, self.rights(path))?;
        let written = self.write_new(&unfinished, bytes, rights);
        tried("write", &unfinished, written).inspect_err(|_| {
            // A file that stays is one of the leftovers.
            let _ = self.remove(&unfinished);
        })?;
        self.rename("create", &unfinished, path)?;
        self.sync_parent(path)
    }

    /// Returns the permissions of a file that is to be replaced, which its owner may have changed.
    fn rights(&self, path: &Path) -> io::Result<Option<fs::Permissions>> {
        self.call(DiskCall::Look(path), || found(fs::metadata(path).map(|metadata| metadata.permissions())))
    }

    fn write_new(&self, path: &Path, bytes: &[u8], rights: Option<fs::Permissions>) -> io::Result<()> {
        let mut file = self.call(DiskCall::Create(path), || {
            let file = private::create(path)?;
            if let Some(rights) = rights {
                file.set_permissions(rights)?;
            }
            Ok(file)
        })?;
        self.write(&mut file, path, bytes)?;
        self.call(DiskCall::Sync(path), || file.sync_all())
    }

    fn rename(&self, action: &'static str, from: &Path, to: &Path) -> Result<(), Failure> {
        tried(action, to, self.call(DiskCall::Rename(from, to), || fs::rename(from, to)))
    }

    /// Syncs a file that was written whole, with its name.
    pub(super) fn sync_whole(&self, path: &Path) -> Result<(), Failure> {
        let file = self.open(path);
        let synced = file.and_then(|file| self.call(DiskCall::Sync(path), || file.sync_data()));
        tried("sync", path, synced)?;
        self.sync_parent(path)
    }

    /// Deletes a file and returns whether there was one.
    ///
    /// The file is renamed first, because that can be undone when the disk fails. A file that stays under the new name is
    /// one of the [`leftovers`](Self::leftovers).
    pub(super) fn delete(&self, path: &Path) -> Result<bool, Failure> {
        if !self.exists(path)? {
            return Ok(false);
        }
        let deleted = path.with_extension(DELETED);
        let gone = self.rename("delete", path, &deleted).and_then(|()| self.sync_parent(path));
        if let Err(failure) = gone {
            self.restore(path, &deleted)?;
            return Err(failure);
        }
        // The rename has deleted the file already.
        let _ = self.remove(&deleted);
        Ok(true)
    }

    /// Undoes the rename of a deletion, unless the file still has its name. An older deleted file stays deleted.
    fn restore(&self, path: &Path, deleted: &Path) -> Result<(), Failure> {
        if !self.exists(path)? && self.exists(deleted)? {
            self.rename("restore", deleted, path)?;
            self.sync_parent(path)?;
        }
        Ok(())
    }

    /// Lists the files that interrupted writers left in a folder, each with the name of its log: `tea.new` and `tea.deleted`
    /// belong to `tea.jsonl`.
    pub(super) fn leftovers(&self, folder: &Path) -> Result<Vec<(String, PathBuf)>, Failure> {
        let mut leftovers = Vec::new();
        for path in self.files(folder)? {
            if path.extension().is_some_and(|extension| extension == UNFINISHED || extension == DELETED)
                && let Some(log) = path.with_extension(LOG).file_name()
            {
                leftovers.push((log.to_string_lossy().into_owned(), path));
            }
        }
        Ok(leftovers)
    }

    /// Lists the entries of a folder; none where there is no such folder.
    pub(super) fn files(&self, folder: &Path) -> Result<Vec<PathBuf>, Failure> {
        tried("list", folder, self.call(DiskCall::List(folder), || entries(folder)))
    }

    /// Removes a file, if it exists.
    pub(super) fn remove(&self, path: &Path) -> Result<(), Failure> {
        let removed = self.call(DiskCall::Remove(path), || found(fs::remove_file(path)));
        tried("remove", path, removed)?;
        Ok(())
    }

    /// Returns whether a path exists.
    pub(super) fn exists(&self, path: &Path) -> Result<bool, Failure> {
        tried("look for", path, self.call(DiskCall::Look(path), || path.try_exists()))
    }

    /// Returns when a file was written or touched last; `None` when there is no such file.
    pub(super) fn touched(&self, path: &Path) -> Result<Option<SystemTime>, Failure> {
        Ok(self.stamp(path)?.map(|(_, written)| written))
    }

    /// Sets the time of a file to now.
    pub(super) fn touch(&self, path: &Path) -> Result<(), Failure> {
        let file = tried("touch", path, self.open(path))?;
        tried("touch", path, self.call(DiskCall::Touch(path), || file.set_modified(SystemTime::now())))
    }

    /// Creates the folder of a store where there is none, and returns its absolute path.
    pub(super) fn create_root(&self, path: &Path) -> Result<PathBuf, Failure> {
        let is_new = !path.is_dir();
        self.make_folder(path)?;
        let root = tried("open folder", path, self.call(DiskCall::Look(path), || path.canonicalize()))?;
        if is_new {
            // Only for a new folder: the parent of an existing one may be unreadable.
            self.sync_parent(&root)?;
        }
        Ok(root)
    }

    /// Creates a folder and its missing parents.
    pub(super) fn make_folder(&self, path: &Path) -> Result<(), Failure> {
        let made = self.call(DiskCall::CreateFolder(path), || private::make_folder(path));
        tried("create folder", path, made)
    }

    /// Creates a folder where there is none, and syncs its name. An existing one is synced too: its creator may have been
    /// stopped before that.
    pub(super) fn create_folder(&self, path: &Path) -> Result<(), Failure> {
        self.make_folder(path)?;
        self.sync_parent(path)
    }

    /// Syncs the names in the parent folder of a path.
    fn sync_parent(&self, path: &Path) -> Result<(), Failure> {
        match path.parent() {
            Some(parent) => self.sync_folder(parent),
            None => Ok(()),
        }
    }

    /// Syncs the names in a folder.
    #[cfg(unix)]
    pub(super) fn sync_folder(&self, path: &Path) -> Result<(), Failure> {
        let synced = self.call(DiskCall::SyncFolder(path), || File::open(path)?.sync_all());
        tried("sync folder", path, synced)
    }

    /// Elsewhere folders cannot be opened as files; their names are written with the files.
    #[cfg(not(unix))]
    pub(super) fn sync_folder(&self, _: &Path) -> Result<(), Failure> {
        Ok(())
    }

    /// Opens the file of a lock, and creates it where there is none.
    pub(super) fn open_lock(&self, path: &Path) -> Result<File, Failure> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let opened = self.call(DiskCall::Lock(path), || private::open(&mut options, path));
        tried("open", path, opened)
    }

    /// Opens the file of a lock that exists and may be read; `None` for any other.
    pub(super) fn open_lock_for_reading(&self, path: &Path) -> Option<File> {
        self.call(DiskCall::Lock(path), || File::open(path)).ok()
    }

    /// Returns the length of a file and when it was written last; `None` when there is no such file.
    pub(super) fn stamp(&self, path: &Path) -> Result<Option<(u64, SystemTime)>, Failure> {
        let looked = self.call(DiskCall::Look(path), || {
            let Some(metadata) = found(fs::metadata(path))? else { return Ok(None) };
            Ok(Some((metadata.len(), metadata.modified()?)))
        });
        tried("look at", path, looked)
    }

    /// Returns the absolute path of the folder of an existing store.
    pub(super) fn find_root(&self, path: &Path) -> Result<PathBuf, Failure> {
        let looked = self.call(DiskCall::Look(path), || found(path.canonicalize()));
        let root = tried("open folder", path, looked)?;
        let root = root.ok_or(Failure::Absent { reason: "it does not exist" })?;
        if self.exists(&root.join(CONVERSATIONS))? {
            Ok(root)
        } else {
            Err(Failure::Absent { reason: "it holds no conversations" })
        }
    }

    /// Returns whether an open file still has its name.
    #[cfg(unix)]
    pub(super) fn is_named(&self, file: &File, path: &Path) -> Result<bool, Failure> {
        use std::os::unix::fs::MetadataExt as _;
        let looked = self.call(DiskCall::Lock(path), || Ok((found(fs::metadata(path))?, file.metadata()?)));
        let (here, held) = tried("look at", path, looked)?;
        Ok(here.is_some_and(|here| (here.dev(), here.ino()) == (held.dev(), held.ino())))
    }
}

fn read_from(path: &Path, offset: u64) -> io::Result<Option<Vec<u8>>> {
    let Some(mut file) = found(File::open(path))? else { return Ok(None) };
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(offset))?;
    file.read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

fn entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let Some(found) = found(fs::read_dir(folder))? else { return Ok(Vec::new()) };
    let mut entries = Vec::new();
    for entry in found {
        entries.push(entry?.path());
    }
    Ok(entries)
}
