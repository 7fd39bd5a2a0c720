//! A database that is only read: nothing is made beside it, whoever else writes it meanwhile. Knows its files and
//! connections to them, and no tables.
//!
//! SQLite keeps readers and writers apart by files beside the database, which a reader may not be able to make and is not to
//! leave behind. So where writers have made them, they are used. Elsewhere the files are read without a lock, and looked at
//! again afterwards: when they have changed, the answer is thrown away and the question is asked again.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, SystemTime};

use rusqlite::backup::Backup;
use rusqlite::{Connection, ErrorCode, OpenFlags, Transaction, TransactionBehavior};

use super::schema::{self, State};
use crate::failure::Failure;

/// How often a question is asked of files that change while they are read, and the pause before it is asked again.
const LOOKS: u32 = 50;
const PAUSE: Duration = Duration::from_millis(20);

/// Clocks of file systems move on in steps; a file that was written longer ago than this has a time of its own.
const STEP: Duration = Duration::from_millis(20);

/// A database that is only read.
#[derive(Debug)]
pub(super) struct Reader {
    path: PathBuf,
    /// `None` for a moment, when it is opened anew.
    opened: Option<Opened>,
}

#[derive(Debug)]
struct Opened {
    connection: Connection,
    view: View,
}

/// How the files are read.
#[derive(Clone, Debug, PartialEq, Eq)]
enum View {
    /// With the locks and the shared memory of writers.
    Shared,
    /// Without a lock, as they were then.
    Still(Stamp),
    /// Without a lock, and with what stands in the log beside the database.
    StillWithLog(Stamp),
    /// A copy in the newest format, of what was there then.
    Copy(Stamp),
}

impl Reader {
    /// Opens the database at a path.
    pub(super) fn open(path: &Path) -> Result<Self, Failure> {
        // SQLite names the files beside a database after where links lead.
        let path = path.canonicalize().map_err(|source| unread(path, source))?;
        let mut reader = Self { path, opened: None };
        reader.attempt(&|_| Ok(()))?;
        Ok(reader)
    }

    /// Asks a question of one state of the database.
    pub(super) fn ask<T>(
        &mut self,
        question: &impl Fn(&Transaction<'_>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        self.attempt(question)
    }

    fn attempt<T>(
        &mut self,
        question: &impl Fn(&Transaction<'_>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        for _ in 0..LOOKS {
            let outcome = self.asked(question);
            // What is read of files that change may be anything, errors of any kind included.
            match &self.opened {
                Some(opened) if opened.is_current(&self.path) => return outcome,
                None if outcome.is_err() && self.is_settled() => return outcome,
                _ => {}
            }
            self.close();
            sleep(PAUSE);
        }
        Err(Failure::Restless)
    }

    fn asked<T>(&mut self, question: &impl Fn(&Transaction<'_>) -> Result<T, Failure>) -> Result<T, Failure> {
        if self.opened.as_ref().is_some_and(|opened| !opened.is_current(&self.path)) {
            self.close();
        }
        let opened = match &mut self.opened {
            Some(opened) => opened,
            none => none.insert(Opened::at(&self.path)?),
        };
        let transaction = opened.connection.transaction_with_behavior(TransactionBehavior::Deferred)?;
        question(&transaction)
    }

    /// Says whether the files stay as they are for longer than their clock's steps.
    fn is_settled(&self) -> bool {
        let before = Stamp::of(&self.path).ok();
        sleep(STEP);
        before == Stamp::of(&self.path).ok()
    }

    fn close(&mut self) {
        let Some(opened) = self.opened.take() else { return };
        if matches!(opened.view, View::StillWithLog(_)) && has_shared_memory(&self.path) {
            // Somebody writes by now, perhaps in this process: its locks would end with this file that knows of none.
            std::mem::forget(opened.connection);
        }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.close();
    }
}

impl Opened {
    fn at(path: &Path) -> Result<Self, Failure> {
        let opened = Self::unprepared(path)?;
        opened.connection.busy_timeout(schema::PATIENCE)?;
        opened.connection.pragma_update(None, "query_only", true)?;
        // As for writers: the index of a hundred thousand nodes stays in memory.
        opened.connection.pragma_update(None, "cache_size", schema::CACHE)?;
        match schema::state(&opened.connection)? {
            State::Third | State::Current => Ok(opened),
            State::Empty => Err(Failure::Absent { reason: "nothing was ever stored in it" }),
            State::First | State::Second => opened.copied(path),
        }
    }

    fn unprepared(path: &Path) -> Result<Self, Failure> {
        let stamp = Stamp::of(path)?;
        if stamp.journal.is_some() || (stamp.log.is_some() && has_shared_memory(path)) {
            match shared(path) {
                Ok(connection) => return Ok(Self { connection, view: View::Shared }),
                // What writers left cannot be used here, by whoever may not write.
                Err(error) if stamp.journal.is_none() && is_refusal(&error) => {}
                Err(error) => return Err(explained(error)),
            }
        }
        if stamp.log.as_ref().is_some_and(|log| log.length > 0) {
            let (connection, view) = (with_log(path)?, View::StillWithLog(stamp));
            return Ok(Self { connection, view });
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
        let connection = Connection::open_with_flags(format!("file:{}?immutable=1", escaped(path)), flags)?;
        Ok(Self { connection, view: View::Still(stamp) })
    }

    /// Takes what is of an older format to the newest one, in a private database that ends with this connection.
    fn copied(self, path: &Path) -> Result<Self, Failure> {
        let stamp = Stamp::of(path)?;
        let mut copy = Connection::open("")?;
        Backup::new(&self.connection, &mut copy)?.run_to_completion(1000, Duration::ZERO, None)?;
        schema::migrate(&mut copy)?;
        copy.pragma_update(None, "query_only", true)?;
        Ok(Self { connection: copy, view: View::Copy(stamp) })
    }

    /// Says whether what it reads is what is there.
    fn is_current(&self, path: &Path) -> bool {
        match &self.view {
            View::Shared => true,
            View::Still(stamp) | View::StillWithLog(stamp) | View::Copy(stamp) => {
                Stamp::of(path).is_ok_and(|now| now == *stamp)
            }
        }
    }
}

/// Reads with the locks that writers take.
fn shared(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(schema::PATIENCE)?;
    connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get::<_, i64>(0))?;
    Ok(connection)
}

/// Reads a database together with its log and without shared memory, which is made beside it otherwise.
fn with_log(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    #[cfg(unix)]
    let connection = Connection::open_with_flags_and_vfs(path, flags, c"unix-none")?;
    #[cfg(not(unix))]
    let connection = Connection::open_with_flags(path, flags)?;
    // With no lock to take, this keeps in memory what is otherwise shared.
    connection.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
    Ok(connection)
}

fn is_refusal(error: &rusqlite::Error) -> bool {
    use ErrorCode::{CannotOpen, PermissionDenied, ReadOnly, SystemIoFailure};
    matches!(error.sqlite_error_code(), Some(CannotOpen | PermissionDenied | ReadOnly | SystemIoFailure))
}

/// A journal holds what half a change has overwritten, and who may not write cannot put it back.
fn explained(error: rusqlite::Error) -> Failure {
    if is_refusal(&error) { Failure::HalfWritten(error) } else { error.into() }
}

fn unread(path: &Path, source: std::io::Error) -> Failure {
    if source.kind() == std::io::ErrorKind::NotFound {
        Failure::Absent { reason: "it does not exist" }
    } else {
        Failure::Disk { action: "read", path: path.to_owned(), source }
    }
}

/// What tells files that were written from those that were not.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Stamp {
    database: Look,
    log: Option<Look>,
    journal: Option<Look>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Look {
    length: u64,
    written: SystemTime,
    #[cfg(unix)]
    file: (u64, u64),
}

impl Stamp {
    /// Looks at the files, once none of them was written within the last step of the clock.
    fn of(path: &Path) -> Result<Self, Failure> {
        for _ in 0..LOOKS {
            let stamp = Self::now(path)?;
            let looks = [Some(&stamp.database), stamp.log.as_ref(), stamp.journal.as_ref()];
            // A time to come is that of another clock, which tells nothing.
            let is_fresh = |look: &Look| look.written.elapsed().is_ok_and(|age| age < STEP);
            if !looks.into_iter().flatten().any(is_fresh) {
                return Ok(stamp);
            }
            sleep(STEP);
        }
        Self::now(path)
    }

    fn now(path: &Path) -> Result<Self, Failure> {
        let missing = || unread(path, std::io::ErrorKind::NotFound.into());
        Ok(Self {
            database: Look::at(path)?.ok_or_else(missing)?,
            log: Look::at(&beside(path, "-wal"))?,
            journal: Look::at(&beside(path, "-journal"))?.filter(|journal| journal.length > 0),
        })
    }
}

impl Look {
    /// Looks at a file without opening it: closing it again would end the locks that this process holds on it.
    fn at(path: &Path) -> Result<Option<Self>, Failure> {
        let found = match fs::metadata(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            found => found.map_err(|source| unread(path, source))?,
        };
        let written = found.modified().map_err(|source| unread(path, source))?;
        #[cfg(unix)]
        let file = {
            use std::os::unix::fs::MetadataExt as _;
            (found.dev(), found.ino())
        };
        Ok(Some(Self {
            length: found.len(),
            written,
            #[cfg(unix)]
            file,
        }))
    }
}

fn has_shared_memory(path: &Path) -> bool {
    beside(path, "-shm").exists()
}

/// The path of a file beside a database.
fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(ending);
    name.into()
}

/// Writes a path into a URI, byte by byte.
pub(crate) fn escaped(path: &Path) -> String {
    let mut escaped = String::new();
    for &byte in path.as_os_str().as_encoded_bytes() {
        if byte.is_ascii_alphanumeric() || b"/-_.".contains(&byte) {
            escaped.push(char::from(byte));
        } else {
            escaped.push_str(&format!("%{byte:02x}"));
        }
    }
    escaped
}
