//! Looks for changed files of an index again and again.
//!
//! Modification times and sizes are compared, with no notifications of the system: that works for every file system, also for those
//! of networks and containers, and needs no further dependency.

use std::collections::BTreeMap;
use std::thread::sleep;
use std::time::Duration;

use alloquy::core::{Error, ErrorKind};

use super::change::{print, pruned, read};
use super::opened::Opened;
use crate::context::Context;
use crate::failure::{Failure, one_line};
use crate::folders::{Folders, Listed, ListedFile};

/// A file is read when it has not changed for this time: a program may be writing it.
const PAUSE: Duration = Duration::from_millis(200);

/// An index whose files are watched.
pub(super) struct Watch {
    pub(super) opened: Opened,
    pub(super) folders: Folders,
    pub(super) every: Duration,
    pub(super) prune: bool,
    /// The files as they were read.
    pub(super) known: Listed,
}

impl Watch {
    /// Reads what changes, until Ctrl-C ends the program.
    pub(super) fn run(mut self, context: &Context) -> Result<(), Failure> {
        context.notes.say("watching for changes; Ctrl-C ends this");
        let mut is_failing = false;
        loop {
            sleep(self.every);
            match self.look(context) {
                Ok(()) => is_failing = false,
                // A folder may be away for a while, and another program may change the index.
                Err(Failure::Error(error)) if may_pass(&error) => {
                    if !is_failing {
                        context.notes.say(format_args!("trying again: {}", one_line(&error)));
                    }
                    is_failing = true;
                }
                Err(failure) => return Err(failure),
            }
        }
    }

    /// Reads what changed since the last look.
    fn look(&mut self, context: &Context) -> Result<(), Failure> {
        let seen = self.folders.list()?;
        if seen.files == self.known.files {
            return Ok(());
        }
        sleep(PAUSE);
        let mut now = self.folders.list()?;
        // A file that is still being written is read by a later look: the others do not wait for it.
        let unsettled = changed(&seen.files, &now.files);
        now.files.retain(|file| !unsettled.contains(file));
        if now.files == self.known.files {
            return Ok(());
        }
        let mut change = read(&self.opened, &changed(&self.known.files, &now.files), context.notes)?;
        if self.prune {
            change.removed += pruned(&self.opened, &self.folders)?;
        }
        for skipped in &now.skipped {
            if !self.known.skipped.contains(skipped) {
                change.skipped.push(skipped.clone());
            }
        }
        self.known = now;
        print(context, &change)
    }
}

/// Returns whether a later look may succeed.
fn may_pass(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Invalid | ErrorKind::Busy)
}

/// Returns the files that are new or not as they were.
fn changed(before: &[ListedFile], now: &[ListedFile]) -> Vec<ListedFile> {
    let before: BTreeMap<_, _> = before.iter().map(|file| (&file.name, file)).collect();
    now.iter().filter(|file| before.get(&file.name) != Some(file)).cloned().collect()
}
