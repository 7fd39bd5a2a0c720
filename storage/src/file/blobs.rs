//! Blobs: each is a file that is named by its digest.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use alloquy_core::media::Digest;

use super::disk::Disk;
use crate::failure::Failure;

/// Writes bytes under their digest, unless they are there. The caller holds the lock.
pub(super) fn put(disk: &Disk, folder: &Path, bytes: &[u8]) -> Result<Digest, Failure> {
    let digest = Digest::of(bytes);
    let path = path(folder, digest);
    // Existing folders and files are synced too: their creator may have been stopped before their names were on the disk.
    disk.create_folder(path.parent().unwrap_or(folder))?;
    match disk.read_from(&path, 0)? {
        Some(known) if known == bytes => {
            disk.touch(&path)?;
            disk.sync_whole(&path)?;
        }
        Some(_) => disk.replace_whole(&path, bytes)?,
        None => disk.create_whole(&path, bytes)?,
    }
    Ok(digest)
}

/// Reads the bytes under a digest; `None` when there are none.
pub(super) fn get(disk: &Disk, folder: &Path, digest: Digest) -> Result<Option<Arc<[u8]>>, Failure> {
    let path = path(folder, digest);
    match disk.read_from(&path, 0)? {
        Some(bytes) if Digest::of(&bytes) != digest => {
            Err(Failure::damaged(format!("{path:?}"), "its bytes have another digest"))
        }
        bytes => Ok(bytes.map(Arc::from)),
    }
}

/// Removes blobs that are unused and were put at least `grace` ago, and returns how many. The caller holds the lock.
pub(super) fn collect(
    disk: &Disk,
    folder: &Path,
    used: &BTreeSet<Digest>,
    grace: Duration,
) -> Result<usize, Failure> {
    let mut removed = 0;
    for (digest, path) in all(disk, folder)? {
        let age = disk.touched(&path)?.map(|put| put.elapsed().unwrap_or_default());
        if !used.contains(&digest) && age.is_some_and(|age| age >= grace) {
            removed += usize::from(disk.delete(&path)?);
        }
    }
    Ok(removed)
}

/// Lists the blobs with their files.
pub(super) fn all(disk: &Disk, folder: &Path) -> Result<Vec<(Digest, PathBuf)>, Failure> {
    let mut found = Vec::new();
    for inner in disk.files(folder)?.into_iter().filter(|inner| inner.is_dir()) {
        for path in disk.files(&inner)? {
            let name = path.file_name().and_then(|name| name.to_str());
            if let Some(digest) = name.and_then(|name| name.parse().ok()) {
                found.push((digest, path));
            }
        }
    }
    Ok(found)
}

/// Returns the path of a blob, such as `blobs/ba/ba7816bf…`: each inner folder has a 256th of them.
fn path(folder: &Path, digest: Digest) -> PathBuf {
    let name = digest.to_string();
    folder.join(format!("{name:.2}")).join(name)
}
