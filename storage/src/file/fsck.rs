//! Looking at every byte of a folder: what is whole, what is not. Changes nothing.

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
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FolderReport {
    /// Conversations that are whole, a torn end aside.
    pub conversations: usize,
    /// Their nodes.
    pub nodes: usize,
    /// Blobs that are whole.
    pub blobs: usize,
    /// What is not as it should be, by place.
    pub findings: Vec<Finding>,
}

/// Something in a folder that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// The file.
    pub path: PathBuf,
    /// What is wrong with it.
    pub flaw: Flaw,
}

/// What is wrong with a file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Flaw {
    /// A log ends with this many bytes that nobody was told about; the next writer cuts them off.
    Torn(u64),
    /// What was acknowledged cannot be read.
    Damaged(String),
    /// A log refers to a blob that is not there.
    MissingBlob(Digest),
}

impl Folder {
    pub(super) fn fsck(&mut self) -> Result<FolderReport, Failure> {
        let mut report = FolderReport::default();
        let owners = self.disk.files(&self.root.join(OWNERS))?;
        let places = owners.iter().filter(|folder| folder.is_dir()).map(|folder| Place::at(folder));
        for place in [Place::at(&self.root)].into_iter().chain(places) {
            let present = report.blobs(&self.disk, &place)?;
            for name in names(&self.disk, &place)? {
                report.log(&self.disk, &place.conversations.join(name), &present)?;
            }
        }
        report.findings.sort_by(|left, right| left.path.cmp(&right.path));
        Ok(report)
    }
}

impl FolderReport {
    /// Reads every blob and returns which there are.
    fn blobs(&mut self, disk: &Disk, place: &Place) -> Result<BTreeSet<Digest>, Failure> {
        let mut present = BTreeSet::new();
        for (digest, path) in blobs::all(disk, &place.blobs)? {
            match blobs::get(disk, &place.blobs, digest) {
                Ok(_) => self.blobs += 1,
                Err(failure) if is_damage(&failure) => self.found(path, Flaw::Damaged(failure.to_string())),
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
                self.found(path.to_owned(), Flaw::Damaged(failure.to_string()));
                return Ok(());
            }
            Err(failure) => return Err(failure),
        };
        self.conversations += 1;
        self.nodes += log.tree.len();
        let torn = log.torn()?;
        if torn > 0 {
            self.found(path.to_owned(), Flaw::Torn(torn));
        }
        for &digest in log.media.difference(present) {
            self.found(path.to_owned(), Flaw::MissingBlob(digest));
        }
        Ok(())
    }

    fn found(&mut self, path: PathBuf, flaw: Flaw) {
        self.findings.push(Finding { path, flaw });
    }
}
