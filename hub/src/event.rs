//! The events of a pull.

use std::ops::ControlFlow;
use std::time::Duration;

use crate::error::{HubError, Result};

/// A step of a pull.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum PullEvent<'a> {
    /// The files are known, and what is left to fetch of them.
    Begins {
        /// How many files are needed.
        files: usize,
        /// Their size in bytes.
        bytes: u64,
        /// How many bytes of them are in the cache already.
        cached: u64,
    },
    /// A file is fetched from here on. What an earlier try left of it is checked and kept.
    File {
        /// Its path in the repository.
        path: &'a str,
        /// Its size in bytes.
        bytes: u64,
        /// How many bytes of it are in the cache already.
        cached: u64,
    },
    /// So many bytes of the file have arrived, with those that were cached.
    Received {
        /// The file.
        path: &'a str,
        /// The bytes so far.
        bytes: u64,
        /// How many of them arrived in this pull.
        fetched: u64,
    },
    /// The server could not be reached, or asks to wait; the request is made again after a pause.
    Waiting {
        /// Why.
        reason: &'a str,
        /// How long the pause is.
        wait: Duration,
    },
    /// Another program is fetching the file; this one waits until it is done.
    Locked {
        /// The file.
        path: &'a str,
    },
    /// A file is complete and its digest is right.
    Checked {
        /// The file.
        path: &'a str,
    },
}

/// Receives events, and says whether to continue.
pub(crate) type Events<'a> = &'a mut dyn FnMut(PullEvent<'_>) -> ControlFlow<()>;

/// Reports an event to the caller; an error if the caller ends the pull.
pub(crate) fn tell(events: Events<'_>, event: PullEvent<'_>) -> Result<()> {
    if events(event).is_break() { Err(HubError::Cancelled) } else { Ok(()) }
}

/// Waits, and reports why.
pub(crate) fn pause(wait: Duration, reason: &str, events: Events<'_>) -> Result<()> {
    tell(events, PullEvent::Waiting { reason, wait })?;
    std::thread::sleep(wait);
    Ok(())
}
