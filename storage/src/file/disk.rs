//! Reading and writing files so that what was written is on the disk. Knows bytes and paths.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::name::LOG;
use crate::failure::Failure;

/// Says in the error what was tried with which path.
pub(super) fn tried<T>(action: &'static str, path: &Path, outcome: io::Result<T>) -> Result<T, Failure> {
    outcome.map_err(|source| Failure::Disk { action, path: path.to_owned(), source })
}

/// Tells a missing file from a failure.
pub(super) fn found<T>(outcome: io::Result<T>) -> io::Result<Option<T>> {
    match outcome {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        outcome => outcome.map(Some),
    }
}

/// Reads a file from an offset to its end; `None` when there is no such file.
pub(super) fn read_from(path: &Path, offset: u64) -> Result<Option<Vec<u8>>, Failure> {
    let read = |mut file: File| {
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(offset))?;
        file.read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let file = tried("open", path, found(File::open(path)))?;
    tried("read", path, file.map(read).transpose())
}

/// Writes bytes at an offset, where they become the end of the file: what stands there is a torn line. After an
/// error the file ends at the offset again.
pub(super) fn append_at(path: &Path, offset: u64, bytes: &[u8]) -> Result<(), Failure> {
    let mut file = tried("open", path, OpenOptions::new().write(true).open(path))?;
    let written = write_at(&mut file, offset, bytes);
    if written.is_err() {
        tried("take back what was written to", path, file.set_len(offset))?;
    }
    tried("append to", path, written)
}

fn write_at(file: &mut File, offset: u64, bytes: &[u8]) -> io::Result<()> {
    if file.metadata()?.len() != offset {
        file.set_len(offset)?;
    }
    file.seek(SeekFrom::Start(offset))?;
    file.write_all(bytes)?;
    file.sync_data()
}

/// Waits until a file is on the disk, whoever wrote to it.
pub(super) fn sync(path: &Path) -> Result<(), Failure> {
    // Some systems let only writers wait.
    let file = OpenOptions::new().write(true).open(path);
    tried("sync", path, file.and_then(|file| file.sync_data()))
}

/// Writes a file that is there whole or not at all, and replaces one of the same name. Writers take turns.
pub(super) fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let unfinished = path.with_extension(UNFINISHED);
    tried("write", &unfinished, write_new(&unfinished, bytes))?;
    tried("create", path, fs::rename(&unfinished, path))?;
    sync_parent(path).inspect_err(|_| {
        // Whether this succeeds or not, the error that comes out says that the file is not safe.
        let _ = fs::remove_file(path);
    })
}

/// Waits until a file that [`write_whole`] wrote is on the disk with its name.
pub(super) fn sync_whole(path: &Path) -> Result<(), Failure> {
    sync(path)?;
    sync_parent(path)
}

/// The endings of files on their way in and out.
const UNFINISHED: &str = "new";
const DELETED: &str = "deleted";

fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Deletes a file and says whether there was one.
///
/// The file takes another name first, because that can be undone when the disk fails. Should it be left under that
/// name, it is one of the [`leftovers`].
pub(super) fn delete(path: &Path) -> Result<bool, Failure> {
    let deleted = path.with_extension(DELETED);
    if tried("delete", path, found(fs::rename(path, &deleted)))?.is_none() {
        return Ok(false);
    }
    if let Err(failure) = sync_parent(path) {
        tried("restore", path, fs::rename(&deleted, path))?;
        return Err(failure);
    }
    // The file is gone by its name already.
    let _ = fs::remove_file(&deleted);
    Ok(true)
}

/// Lists what interrupted writers left in a folder, each with the name of the log that it was to be or was.
pub(super) fn leftovers(folder: &Path) -> Result<Vec<(String, PathBuf)>, Failure> {
    let log = |path: PathBuf| {
        let extension = path.extension().and_then(|extension| extension.to_str())?;
        let name = path.with_extension(LOG).file_name()?.to_string_lossy().into_owned();
        matches!(extension, UNFINISHED | DELETED).then_some((name, path))
    };
    Ok(files(folder)?.into_iter().filter_map(log).collect())
}

/// Lists what is in a folder; nothing where there is none.
pub(super) fn files(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let Some(entries) = tried("list", folder, found(fs::read_dir(folder)))? else {
        return Ok(Vec::new());
    };
    entries.map(|entry| Ok(tried("list", folder, entry)?.path())).collect()
}

/// Removes a file, if it is there.
pub(super) fn remove(path: &Path) -> Result<(), Failure> {
    tried("remove", path, found(fs::remove_file(path))).map(drop)
}

/// Returns when a file was written or touched last; `None` when there is no such file.
pub(super) fn touched(path: &Path) -> Result<Option<SystemTime>, Failure> {
    let time = |metadata: fs::Metadata| metadata.modified();
    tried("look at", path, found(fs::metadata(path).and_then(time)))
}

/// Says that a file was written now.
pub(super) fn touch(path: &Path) -> Result<(), Failure> {
    let file = OpenOptions::new().write(true).open(path);
    tried("touch", path, file.and_then(|file| file.set_modified(SystemTime::now())))
}

/// Creates the folder of a store where there is none, and returns its absolute path.
pub(super) fn create_root(path: &Path) -> Result<PathBuf, Failure> {
    let is_new = !path.is_dir();
    tried("create folder", path, fs::create_dir_all(path))?;
    let root = tried("open folder", path, path.canonicalize())?;
    if is_new {
        // Only then: a folder that was given may stand in one that may not be read.
        sync_parent(&root)?;
    }
    Ok(root)
}

/// Creates a folder where there is none, and waits until its name is on the disk.
pub(super) fn create_folder(path: &Path) -> Result<(), Failure> {
    tried("create folder", path, fs::create_dir_all(path))?;
    sync_parent(path)
}

/// Creates a folder with those above it that are not there, and waits until their names are on the disk.
pub(super) fn create_folders(path: &Path) -> Result<(), Failure> {
    let missing: Vec<&Path> = path.ancestors().take_while(|folder| !folder.is_dir()).collect();
    tried("create folder", path, fs::create_dir_all(path))?;
    missing.into_iter().try_for_each(sync_parent)
}

/// Waits until the names in the folder around a path are on the disk.
fn sync_parent(path: &Path) -> Result<(), Failure> {
    match path.parent() {
        Some(parent) => sync_folder(parent),
        None => Ok(()),
    }
}

#[cfg(unix)]
pub(super) fn sync_folder(path: &Path) -> Result<(), Failure> {
    tried("sync folder", path, File::open(path).and_then(|folder| folder.sync_all()))
}

/// Elsewhere folders cannot be opened as files; their names are written with the files.
#[cfg(not(unix))]
pub(super) fn sync_folder(_: &Path) -> Result<(), Failure> {
    Ok(())
}
