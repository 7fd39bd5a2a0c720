//! Whole conversations, many with one wait for their names. Each log is written under another name first, so that it is there
//! whole or not at all.

use std::path::PathBuf;

use alloquy_core::Owner;
use alloquy_core::store::Archive;

use super::folder::{Folder, own};
use super::lock::{Guard, Hold};
use super::log;
use super::name::log_name;
use super::place::Place;
use crate::failure::Failure;

/// How many logs are written before their names are waited for: each holds a lock until then.
const TOGETHER: usize = 100;

/// A log that is written and has no name yet.
struct Written {
    /// Whose outcome it decides.
    index: usize,
    path: PathBuf,
    _guard: Guard,
}

impl Folder {
    /// Brings conversations in, each whole or not at all, and says what became of each.
    pub(super) fn import_all(&mut self, owner: &Owner, archives: &[Archive]) -> Vec<Result<(), Failure>> {
        let (mut outcomes, mut written) = (Vec::with_capacity(archives.len()), Vec::new());
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
                // Held by one of those before, or by another process, which may wait for one of those before.
                self.finish(owner, written, outcomes);
                self.alone(&place, &name)?
            }
        };
        let path = place.conversations.join(&name);
        if self.disk.exists(&path)? {
            drop(guard);
            return self.go_on(owner, &place, archive);
        }
        self.disk.write_unfinished(&path, &bytes)?;
        written.push(Written { index: outcomes.len(), path, _guard: guard });
        Ok(())
    }

    /// Ends what an import that was killed has begun, and refuses what is there otherwise.
    fn go_on(&mut self, owner: &Owner, place: &Place, archive: &Archive) -> Result<(), Failure> {
        let id = &archive.record.id;
        let log = own(self.read_named(place, &log_name(id))?, id)?;
        if !archive.is_begun(&log.record, &log.tree)? {
            // Whoever created it may have been stopped before it was safe, and whoever asks again relies on it.
            self.disk.sync_whole(&place.conversations.join(log_name(id)))?;
            return Err(Failure::Exists(id.clone()));
        }
        self.append(owner, id, &archive.nodes)?;
        self.set_head(owner, id, None, archive.record.head)
    }

    /// Waits for what was written, and gives each log its name.
    fn finish(&mut self, owner: &Owner, written: &mut Vec<Written>, outcomes: &mut [Result<(), Failure>]) {
        let mut named = Vec::with_capacity(written.len());
        for log in written.drain(..) {
            match (self.disk.finish(&log.path), outcomes.get_mut(log.index)) {
                (Ok(()), _) => named.push(log),
                (Err(failure), Some(outcome)) => *outcome = Err(failure),
                (Err(_), None) => {}
            }
        }
        if named.is_empty() {
            return;
        }
        let synced = self.place(owner).and_then(|place| self.disk.sync_folder(&place.conversations));
        if let Err(failure) = synced {
            let reason = failure.to_string();
            for log in named {
                // A name that may vanish is none: whoever is told so finds nothing there.
                let _ = self.disk.remove(&log.path);
                if let Some(outcome) = outcomes.get_mut(log.index) {
                    *outcome = Err(Failure::Unnamed { path: log.path, reason: reason.clone() });
                }
            }
        }
    }
}
