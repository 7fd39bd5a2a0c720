//! Reading and writing files so that what was written is on the disk. Knows bytes and paths.

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

/// The operating system's files. Every operation of a store on them passes [`Disk::call`], where tests make it fail.
#[derive(Clone, Debug, Default)]
pub(super) struct Disk {
    pub(super) durability: Durability,
    pub(super) faults: Option<Arc<dyn DiskFaults>>,
}

/// Says in the error what was tried with which path.
fn tried<T>(action: &'static str, path: &Path, outcome: io::Result<T>) -> Result<T, Failure> {
    outcome.map_err(|source| Failure::Disk { action, path: path.to_owned(), source })
}

/// Tells a missing file from a failure.
fn found<T>(outcome: io::Result<T>) -> io::Result<Option<T>> {
    match outcome {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        outcome => outcome.map(Some),
    }
}

/// The endings of files on their way in and out.
const UNFINISHED: &str = "new";
const DELETED: &str = "deleted";

impl Disk {
    fn call<T>(&self, call: DiskCall<'_>, make: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        match self.fault(call) {
            None => make(),
            Some(DiskFault::Before) => Err(failed()),
            Some(DiskFault::HalfDone) => make().and_then(|_| Err(failed())),
        }
    }

    fn fault(&self, call: DiskCall<'_>) -> Option<DiskFault> {
        self.faults.as_ref().and_then(|faults| faults.fault(call))
    }

    /// Reads a file from an offset to its end; `None` when there is no such file.
    pub(super) fn read_from(&self, path: &Path, offset: u64) -> Result<Option<Vec<u8>>, Failure> {
        let read = || {
            let Some(mut file) = found(File::open(path))? else { return Ok(None) };
            let mut bytes = Vec::new();
            file.seek(SeekFrom::Start(offset))?;
            file.read_to_end(&mut bytes)?;
            Ok(Some(bytes))
        };
        tried("read", path, self.call(DiskCall::Read(path), read))
    }

    /// Writes bytes at an offset, where they become the end of the file: what stands there is a torn line. After an
    /// error the file ends at the offset again.
    pub(super) fn append_at(&self, path: &Path, offset: u64, bytes: &[u8]) -> Result<(), Failure> {
        let mut file = tried("open", path, self.open(path))?;
        let written = self.write_at(&mut file, path, offset, bytes);
        if written.is_err() {
            tried("take back what was written to", path, self.truncate(&file, path, offset))?;
        }
        tried("append to", path, written)
    }

    fn write_at(&self, file: &mut File, path: &Path, offset: u64, bytes: &[u8]) -> io::Result<()> {
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
                file.write_all(half).and_then(|()| Err(failed()))
            }
        }
    }

    fn truncate(&self, file: &File, path: &Path, length: u64) -> io::Result<()> {
        self.call(DiskCall::Truncate(path), || file.set_len(length))
    }

    /// Waits for a line of a log, where lines are waited for.
    fn sync_line(&self, file: &File, path: &Path) -> io::Result<()> {
        match self.durability {
            Durability::PowerLoss => self.call(DiskCall::Sync(path), || file.sync_data()),
            Durability::Crash => Ok(()),
        }
    }

    /// Waits until the lines of a log are on the disk, whoever wrote them.
    pub(super) fn sync_lines(&self, path: &Path) -> Result<(), Failure> {
        // Some systems let only writers wait.
        tried("sync", path, self.open(path).and_then(|file| self.sync_line(&file, path)))
    }

    /// Waits until a log is on the disk with its name and all its lines, where lines are waited for.
    pub(super) fn sync_name(&self, path: &Path) -> Result<(), Failure> {
        match self.durability {
            Durability::PowerLoss => self.sync_whole(path),
            Durability::Crash => Ok(()),
        }
    }

    /// Writes a file that is there whole or not at all. After an error there is none, unless the disk refuses even that.
    /// Writers take turns.
    pub(super) fn create_whole(&self, path: &Path, bytes: &[u8]) -> Result<(), Failure> {
        self.replace_whole(path, bytes).inspect_err(|_| {
            // Whether this succeeds or not, the error that comes out says that the file is not safe.
            let _ = self.remove(path);
        })
    }

    /// Writes a file that has its place and not its name yet, and does not wait for the disk.
    pub(super) fn write_unfinished(&self, path: &Path, bytes: &[u8]) -> Result<(), Failure> {
        let unfinished = path.with_extension(UNFINISHED);
        let write = || {
            let mut file = self.call(DiskCall::Create(&unfinished), || private::create(&unfinished))?;
            self.write(&mut file, &unfinished, bytes)
        };
        tried("write", &unfinished, write()).inspect_err(|_| {
            // One that stays is among the leftovers.
            let _ = self.remove(&unfinished);
        })
    }

    /// Waits for a file that was written so, and gives it its name, for which the folder is still to be waited for.
    pub(super) fn finish(&self, path: &Path) -> Result<(), Failure> {
        let unfinished = path.with_extension(UNFINISHED);
        let synced = self
            .open(&unfinished)
            .and_then(|file| self.call(DiskCall::Sync(&unfinished), || file.sync_all()));
        let finished =
            tried("sync", &unfinished, synced).and_then(|()| self.rename("create", &unfinished, path));
        finished.inspect_err(|_| {
            let _ = self.remove(&unfinished);
            let _ = self.remove(path);
        })
    }

    /// Writes a file in place of another; after an error the old one or the new one is there, each whole. Writers take
    /// turns.
    pub(super) fn replace_whole(&self, path: &Path, bytes: &[u8]) -> Result<(), Failure> {
        let unfinished = path.with_extension(UNFINISHED);
        let rights = tried("look at", path, self.rights(path))?;
        let written = self.write_new(&unfinished, bytes, rights);
        tried("write", &unfinished, written).inspect_err(|_| {
            // One that stays is among the leftovers.
            let _ = self.remove(&unfinished);
        })?;
        self.rename("create", &unfinished, path)?;
        self.sync_parent(path)
    }

    /// The rights of a file that is to be replaced, which its owner may have changed.
    fn rights(&self, path: &Path) -> io::Result<Option<fs::Permissions>> {
        let look = || found(fs::metadata(path).map(|metadata| metadata.permissions()));
        self.call(DiskCall::Look(path), look)
    }

    fn write_new(&self, path: &Path, bytes: &[u8], rights: Option<fs::Permissions>) -> io::Result<()> {
        let make = || {
            let file = private::create(path)?;
            rights.map_or(Ok(()), |rights| file.set_permissions(rights))?;
            Ok(file)
        };
        let mut file = self.call(DiskCall::Create(path), make)?;
        self.write(&mut file, path, bytes)?;
        self.call(DiskCall::Sync(path), || file.sync_all())
    }

    fn rename(&self, action: &'static str, from: &Path, to: &Path) -> Result<(), Failure> {
        tried(action, to, self.call(DiskCall::Rename(from, to), || fs::rename(from, to)))
    }

    /// Waits until a file that was written whole is on the disk with its name.
    pub(super) fn sync_whole(&self, path: &Path) -> Result<(), Failure> {
        let file = self.open(path);
        let synced = file.and_then(|file| self.call(DiskCall::Sync(path), || file.sync_data()));
        tried("sync", path, synced)?;
        self.sync_parent(path)
    }

    /// Deletes a file and says whether there was one.
    ///
    /// The file takes another name first, because that can be undone when the disk fails. Should it be left under that
    /// name, it is one of the [`leftovers`](Self::leftovers).
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
        // The file is gone by its name already.
        let _ = self.remove(&deleted);
        Ok(true)
    }

    /// Gives a file its name back, unless it has it; an older one that was deleted stays so.
    fn restore(&self, path: &Path, deleted: &Path) -> Result<(), Failure> {
        if !self.exists(path)? && self.exists(deleted)? {
            self.rename("restore", deleted, path)?;
            self.sync_parent(path)?;
        }
        Ok(())
    }

    /// Lists what interrupted writers left in a folder, each with the name of the log that it was to be or was.
    pub(super) fn leftovers(&self, folder: &Path) -> Result<Vec<(String, PathBuf)>, Failure> {
        let log = |path: PathBuf| {
            let extension = path.extension().and_then(|extension| extension.to_str())?;
            let name = path.with_extension(LOG).file_name()?.to_string_lossy().into_owned();
            matches!(extension, UNFINISHED | DELETED).then_some((name, path))
        };
        Ok(self.files(folder)?.into_iter().filter_map(log).collect())
    }

    /// Lists what is in a folder; nothing where there is none.
    pub(super) fn files(&self, folder: &Path) -> Result<Vec<PathBuf>, Failure> {
        let list = || {
            let Some(entries) = found(fs::read_dir(folder))? else { return Ok(Vec::new()) };
            entries.map(|entry| Ok(entry?.path())).collect()
        };
        tried("list", folder, self.call(DiskCall::List(folder), list))
    }

    /// Removes a file, if it is there.
    pub(super) fn remove(&self, path: &Path) -> Result<(), Failure> {
        let removed = self.call(DiskCall::Remove(path), || found(fs::remove_file(path)));
        tried("remove", path, removed).map(drop)
    }

    /// Says whether there is something at a path.
    pub(super) fn exists(&self, path: &Path) -> Result<bool, Failure> {
        tried("look for", path, self.call(DiskCall::Look(path), || path.try_exists()))
    }

    /// Returns when a file was written or touched last; `None` when there is no such file.
    pub(super) fn touched(&self, path: &Path) -> Result<Option<SystemTime>, Failure> {
        let time = || found(fs::metadata(path).and_then(|metadata| metadata.modified()));
        tried("look at", path, self.call(DiskCall::Look(path), time))
    }

    /// Says that a file was written now.
    pub(super) fn touch(&self, path: &Path) -> Result<(), Failure> {
        let now = |file: File| self.call(DiskCall::Touch(path), || file.set_modified(SystemTime::now()));
        tried("touch", path, self.open(path).and_then(now))
    }

    /// Creates the folder of a store where there is none, and returns its absolute path.
    pub(super) fn create_root(&self, path: &Path) -> Result<PathBuf, Failure> {
        let is_new = !path.is_dir();
        self.make_folder(path)?;
        let root = tried("open folder", path, self.call(DiskCall::Look(path), || path.canonicalize()))?;
        if is_new {
            // Only then: a folder that was given may stand in one that may not be read.
            self.sync_parent(&root)?;
        }
        Ok(root)
    }

    /// Creates a folder with those above it, where they are not there.
    pub(super) fn make_folder(&self, path: &Path) -> Result<(), Failure> {
        let made = self.call(DiskCall::CreateFolder(path), || private::make_folder(path));
        tried("create folder", path, made)
    }

    /// Creates a folder where there is none, and waits until its name is on the disk, also when it was there: whoever
    /// created it may have been stopped before that.
    pub(super) fn create_folder(&self, path: &Path) -> Result<(), Failure> {
        self.make_folder(path)?;
        self.sync_parent(path)
    }

    /// Waits until the names in the folder around a path are on the disk.
    fn sync_parent(&self, path: &Path) -> Result<(), Failure> {
        match path.parent() {
            Some(parent) => self.sync_folder(parent),
            None => Ok(()),
        }
    }

    #[cfg(unix)]
    pub(super) fn sync_folder(&self, path: &Path) -> Result<(), Failure> {
        let sync = || File::open(path).and_then(|folder| folder.sync_all());
        tried("sync folder", path, self.call(DiskCall::SyncFolder(path), sync))
    }

    /// Elsewhere folders cannot be opened as files; their names are written with the files.
    #[cfg(not(unix))]
    pub(super) fn sync_folder(&self, _: &Path) -> Result<(), Failure> {
        Ok(())
    }

    /// Opens the file of a lock, and makes it where there is none.
    pub(super) fn open_lock(&self, path: &Path) -> Result<File, Failure> {
        let open = || {
            let mut options = OpenOptions::new();
            private::open(options.read(true).write(true).create(true).truncate(false), path)
        };
        tried("open", path, self.call(DiskCall::Lock(path), open))
    }

    /// Opens the file of a lock that is there and may be read; `None` for any other.
    pub(super) fn open_lock_for_reading(&self, path: &Path) -> Option<File> {
        self.call(DiskCall::Lock(path), || File::open(path)).ok()
    }

    /// Says how long a file is and when it was written last; `None` when there is none.
    pub(super) fn stamp(&self, path: &Path) -> Result<Option<(u64, SystemTime)>, Failure> {
        let look = || found(fs::metadata(path).and_then(|found| Ok((found.len(), found.modified()?))));
        tried("look at", path, self.call(DiskCall::Look(path), look))
    }

    /// Returns the absolute path of the folder of a store that is there.
    pub(super) fn find_root(&self, path: &Path) -> Result<PathBuf, Failure> {
        let look = || found(path.canonicalize());
        let root = tried("open folder", path, self.call(DiskCall::Look(path), look))?;
        let root = root.ok_or(Failure::Absent { reason: "it does not exist" })?;
        if self.exists(&root.join(CONVERSATIONS))? {
            Ok(root)
        } else {
            Err(Failure::Absent { reason: "it holds no conversations" })
        }
    }

    /// Says whether a file that is open still has its name.
    #[cfg(unix)]
    pub(super) fn is_named(&self, file: &File, path: &Path) -> Result<bool, Failure> {
        use std::os::unix::fs::MetadataExt as _;
        let look = || Ok((found(fs::metadata(path))?, file.metadata()?));
        let (here, held) = tried("look at", path, self.call(DiskCall::Lock(path), look))?;
        Ok(here.is_some_and(|here| (here.dev(), here.ino()) == (held.dev(), held.ino())))
    }
}
