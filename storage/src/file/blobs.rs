//! Blobs: a file each, named by digest. Knows no conversation.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use alloquy_core::media::Digest;

use super::disk::Disk;
use crate::failure::Failure;

/// Writes bytes under their digest, unless they are there; writers take turns.
pub(super) fn put(disk: &Disk, folder: &Path, bytes: &[u8]) -> Result<Digest, Failure> {
    let digest = Digest::of(bytes);
    let path = path(folder, digest);
    // Also where the folder and the file are there: whoever made them may have been stopped before their names were on
    // the disk.
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

/// Removes what is not used and was put at least `grace` ago, and returns how many; writers take turns.
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
    let digest = |path: PathBuf| Some((path.file_name()?.to_str()?.parse().ok()?, path));
    let mut found = Vec::new();
    for inner in disk.files(folder)?.into_iter().filter(|inner| inner.is_dir()) {
        found.extend(disk.files(&inner)?.into_iter().filter_map(digest));
    }
    Ok(found)
}

/// `blobs/ba/ba7816bf…`: folders of a 256th each.
fn path(folder: &Path, digest: Digest) -> PathBuf {
    let name = digest.to_string();
    folder.join(format!("{name:.2}")).join(name)
}
