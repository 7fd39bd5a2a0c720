//! The lock of a file of keys, so that two processes that change it lose nothing.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use alloquy_core::{Error, ErrorKind, Result};

/// How long a process waits for another one. A change takes milliseconds.
const WAITING: Duration = Duration::from_secs(10);
/// How often it looks.
const PAUSE: Duration = Duration::from_millis(5);

/// The lock of a file, until it is dropped. It is on a file beside it, since the file itself is replaced by each change.
pub(super) struct KeyLock {
    _file: File,
}

impl KeyLock {
    /// Waits for the lock.
    ///
    /// # Errors
    /// [`ErrorKind::Busy`] where another process keeps it, and [`ErrorKind::Store`] where it cannot be created.
    pub(super) fn of(path: &Path) -> Result<Self> {
        let lock = beside(path);
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false);
        #[cfg(unix)]
        {
            use std::os::unix::fs::OpenOptionsExt as _;
            options.mode(0o600);
        }
        let file = options.open(&lock).map_err(|source| failed(&lock, source))?;
        let end = Instant::now() + WAITING;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Self { _file: file }),
                Err(TryLockError::Error(source)) => return Err(failed(&lock, source)),
                Err(TryLockError::WouldBlock) if Instant::now() >= end => return Err(busy(path)),
                Err(TryLockError::WouldBlock) => std::thread::sleep(PAUSE),
            }
        }
    }
}

/// Returns the path of the lock: `keys.json.lock` for `keys.json`.
fn beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    name.into()
}

fn busy(path: &Path) -> Error {
    let message = format!("another process changes the file of keys {path:?}: try again when it has ended");
    Error::new(ErrorKind::Busy, message)
}

fn failed(lock: &Path, source: std::io::Error) -> Error {
    Error::new(ErrorKind::Store, format!("the lock {lock:?} of the file of keys cannot be used"))
        .with_source(source)
}
