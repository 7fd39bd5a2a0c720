//! Imports whole conversations, with one sync of the folder for many. Each log is written under a temporary name first, so
//! that it is there whole or not at all.

use std::path::PathBuf;

use alloquy_core::Owner;
use alloquy_core::store::Archive;

use super::folder::{Folder, own};
use super::lock::{Guard, Hold};
use super::log;
use super::name::log_name;
use super::place::Place;
use crate::failure::Failure;

/// How many logs are written before the folder is synced. Each holds a lock until then.
const TOGETHER: usize = 100;

/// A log that is written but does not have its name yet.
struct Written {
    /// The index of its outcome.
    index: usize,
    path: PathBuf,
    _guard: Guard,
}

impl Folder {
    /// Imports conversations, each whole or not at all, and returns the outcome of each.
    pub(super) fn import_all(&mut self, owner: &Owner, archives: &[Archive]) -> Vec<Result<(), Failure>> {
        let mut outcomes = Vec::with_capacity(archives.len());
        let mut written = Vec::new();
        for archive in archives {
            let outcome = self.write_archive(owner, archive, &mut written, &mut outcomes);
            outcomes.push(outcome);
            if written.len() >= TOGETHER {
                self.finish(owner, &mut written, &mut outcomes);
            }
        }
        self.finish(owner, &mut written, &mut outcomes);
        outcomes
    }

    fn write_archive(
        &mut self,
        owner: &Owner,
        archive: &Archive,
        written: &mut Vec<Written>,
        outcomes: &mut [Result<(), Failure>],
    ) -> Result<(), Failure> {
        self.must_write()?;
        archive.must_be_whole()?;
        archive.new_record().must_be_new(owner)?;
        let place = self.place(owner)?;
        self.make(&place)?;
        let bytes = log::whole(archive)?;
        for blob in archive.blobs.values() {
            self.put_blob(owner, blob)?;
        }
        let name = log_name(&archive.record.id);
        let guard = match Guard::attempt(&self.disk, &place.lock_of(&name), Hold::Alone)? {
            Some(guard) => guard,
            None => {
                // An earlier log of this call holds it, or another process that may wait for an earlier log.
                self.finish(owner, written, outcomes);
                self.alone(&place, &name)?
            }
        };
        let path = place.conversations.join(&name);
        if self.disk.exists(&path)? {
            drop(guard);
            return self.complete(owner, &place, archive);
        }
        self.disk.write_unfinished(&path, &bytes)?;
        written.push(Written { index: outcomes.len(), path, _guard: guard });
        Ok(())
    }

    /// Completes an import that was killed, and refuses a conversation that exists for another reason.
    fn complete(&mut self, owner: &Owner, place: &Place, archive: &Archive) -> Result<(), Failure> {
        let id = &archive.record.id;
        let log = own(self.read_named(place, &log_name(id))?, id)?;
        if !archive.is_begun(&log.record, &log.tree)? {
            // Its creator may have been stopped before the log was on the disk. The caller relies on `Exists`.
            self.disk.sync_whole(&place.conversations.join(log_name(id)))?;
            return Err(Failure::Exists(id.clone()));
        }
        self.append(owner, id, &archive.nodes)?;
        self.set_head(owner, id, None, archive.record.head)
    }

    /// Syncs what was written, and gives each log its name.
    fn finish(&mut self, owner: &Owner, written: &mut Vec<Written>, outcomes: &mut [Result<(), Failure>]) {
        let mut named = Vec::with_capacity(written.len());
        for log in written.drain(..) {
            if let Err(failure) = self.disk.finish(&log.path) {
                if let Some(outcome) = outcomes.get_mut(log.index) {
                    *outcome = Err(failure);
                }
            } else {
                named.push(log);
            }
        }
        if named.is_empty() {
            return;
        }
        let synced = self.place(owner).and_then(|place| self.disk.sync_folder(&place.conversations));
        if let Err(failure) = synced {
            let reason = failure.to_string();
            for log in named {
                // The name may vanish, so the log is removed: a caller that gets an error finds nothing there.
                let _ = self.disk.remove(&log.path);
                if let Some(outcome) = outcomes.get_mut(log.index) {
                    *outcome = Err(Failure::Unnamed { path: log.path, reason: reason.clone() });
                }
            }
        }
    }
}
