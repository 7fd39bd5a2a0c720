//! Reads every byte of a folder and reports what is damaged or missing.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use alloquy_core::media::Digest;

use super::blobs;
use super::disk::Disk;
use super::folder::{Folder, is_damage};
use super::log::Log;
use super::place::{OWNERS, Place};
use super::questions::names;
use crate::failure::Failure;

/// What [`FileStore::fsck`](crate::FileStore::fsck) found in a folder.
///
/// ```
/// use std::io::Write;
/// use alloquy_core::store::{ConversationRecord, ConversationStore};
/// use alloquy_core::{Owner, Preface};
/// use alloquy_storage::{Defect, FileStore};
///
/// # let folder = tempfile::tempdir()?;
/// # pollster::block_on(async {
/// let store = FileStore::open(folder.path()).await?;
/// let record = ConversationRecord::new("tea".parse()?, Preface::default());
/// store.create(&Owner::local(), &record).await?;
///
/// // A write that a power failure interrupted.
/// let log = folder.path().join("conversations/tea.jsonl");
/// let mut log = std::fs::OpenOptions::new().append(true).open(log)?;
/// log.write_all(b"[{\"nodes\"")?;
///
/// let report = store.fsck().await?;
/// assert_eq!((report.conversations, report.findings.len()), (1, 1));
/// assert_eq!(report.findings[0].defect, Defect::Torn(9));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FsckReport {
    /// The number of readable conversations. A torn end does not count as damage.
    pub conversations: usize,
    /// The number of their nodes.
    pub nodes: usize,
    /// The number of intact blobs.
    pub blobs: usize,
    /// The defects, sorted by path.
    pub findings: Vec<FsckFinding>,
}

/// A defect of a file.
///
/// [`FsckReport`] has an example.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FsckFinding {
    /// The file.
    pub path: PathBuf,
    /// What is wrong with it.
    pub defect: Defect,
}

/// What is wrong with a file.
///
/// [`FsckReport`] has an example.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Defect {
    /// A log ends with this many bytes that were never acknowledged. The next writer truncates them.
    Torn(u64),
    /// The file cannot be read, although it was acknowledged.
    Damaged(String),
    /// A log refers to a blob that does not exist.
    MissingBlob(Digest),
}

impl Folder {
    pub(super) fn fsck(&mut self) -> Result<FsckReport, Failure> {
        let mut report = FsckReport::default();
        let mut places = vec![Place::at(&self.root)];
        for folder in self.disk.files(&self.root.join(OWNERS))? {
            if folder.is_dir() {
                places.push(Place::at(&folder));
            }
        }
        for place in places {
            let present = report.blobs(&self.disk, &place)?;
            for name in names(&self.disk, &place)? {
                report.log(&self.disk, &place.conversations.join(name), &present)?;
            }
        }
        report.findings.sort_by(|left, right| left.path.cmp(&right.path));
        Ok(report)
    }
}

impl FsckReport {
    /// Reads every blob and returns the digests of all.
    fn blobs(&mut self, disk: &Disk, place: &Place) -> Result<BTreeSet<Digest>, Failure> {
        let mut present = BTreeSet::new();
        for (digest, path) in blobs::all(disk, &place.blobs)? {
            match blobs::get(disk, &place.blobs, digest) {
                Ok(_) => self.blobs += 1,
                Err(failure) if is_damage(&failure) => self.found(path, Defect::Damaged(failure.to_string())),
                Err(failure) => return Err(failure),
            }
            present.insert(digest);
        }
        Ok(present)
    }

    fn log(&mut self, disk: &Disk, path: &Path, present: &BTreeSet<Digest>) -> Result<(), Failure> {
        let log = match Log::read(disk, path) {
            Ok(Some(log)) => log,
            // Deleted since its name was read.
            Ok(None) => return Ok(()),
            Err(failure) if is_damage(&failure) => {
                self.found(path.to_owned(), Defect::Damaged(failure.to_string()));
                return Ok(());
            }
            Err(failure) => return Err(failure),
        };
        self.conversations += 1;
        self.nodes += log.tree.len();
        let torn = log.torn()?;
        if torn > 0 {
            self.found(path.to_owned(), Defect::Torn(torn));
        }
        for &digest in log.media.difference(present) {
            self.found(path.to_owned(), Defect::MissingBlob(digest));
        }
        Ok(())
    }

    fn found(&mut self, path: PathBuf, defect: Defect) {
        self.findings.push(FsckFinding { path, defect });
    }
}
