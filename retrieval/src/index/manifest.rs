//! What an owner's index consists of: a small file that is replaced as a whole.

use std::path::{Path, PathBuf};

use alloquy_core::media::Digest;
use alloquy_core::{Error, ErrorKind, Owner, Result};
use serde::{Deserialize, Serialize};

use super::files;

/// The version of the layout.
const VERSION: u32 = 1;

/// The segments of an owner's index.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Manifest {
    version: u32,
    pub(super) owner: Owner,
    pub(super) segments: Vec<SegmentEntry>,
}

/// A segment: files that never change, and which of their rows are no longer there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct SegmentEntry {
    /// The beginning of the names of its files.
    pub(super) name: String,
    pub(super) rows: usize,
    pub(super) passages: Digest,
    pub(super) words: Digest,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) vectors: Option<Digest>,
    /// Sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) removed: Vec<usize>,
}

impl SegmentEntry {
    pub(super) fn live(&self) -> usize {
        self.rows.saturating_sub(self.removed.len())
    }
}

impl Manifest {
    pub(super) fn new(owner: &Owner) -> Self {
        Self { version: VERSION, owner: owner.clone(), segments: Vec::new() }
    }

    /// Reads the manifest in a folder, with its bytes. Without a file it is empty.
    pub(super) fn read(folder: &Path, owner: &Owner) -> Result<(Self, Vec<u8>)> {
        let path = path(folder);
        let Some(bytes) = files::read(&path)? else { return Ok((Self::new(owner), Vec::new())) };
        let manifest: Self = serde_json::from_slice(&bytes).map_err(|error| {
            let message =
                format!("{} is damaged: restore it, or remove its folder and index again", path.display());
            Error::new(ErrorKind::Corrupt, message).with_source(error)
        })?;
        if manifest.version != VERSION {
            let message = format!(
                "{} has version {} of the layout, and this program reads {VERSION}: use a newer program, or index again in another folder",
                path.display(),
                manifest.version
            );
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        if manifest.owner != *owner {
            let message = format!(
                "{} is of owner {:?}, not of {owner:?}: was it copied?",
                path.display(),
                manifest.owner
            );
            return Err(Error::new(ErrorKind::Corrupt, message));
        }
        Ok((manifest, bytes))
    }

    pub(super) fn write(&self, folder: &Path) -> Result<()> {
        let bytes = serde_json::to_vec(self).map_err(|error| {
            Error::new(ErrorKind::Store, "the list of segments cannot be written as JSON").with_source(error)
        })?;
        files::replace_bytes(&path(folder), &bytes)?;
        files::sync_folder(folder)
    }
}

fn path(folder: &Path) -> PathBuf {
    folder.join("manifest.json")
}
