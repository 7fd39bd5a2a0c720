//! Reads a database without creating files beside it, also while others write it.
//!
//! SQLite separates readers from writers by files beside the database. A reader may not be able to create them, and must not
//! leave any. So it uses those that writers have created. Elsewhere it reads the database without a lock, and checks
//! afterwards whether the files have changed: then it discards the answer and runs the query again.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, SystemTime};

use rusqlite::backup::Backup;
use rusqlite::{Connection, ErrorCode, OpenFlags, Transaction, TransactionBehavior};

use super::schema::{self, State};
use crate::failure::Failure;

/// How often a query runs on files that change meanwhile, and the pause before it runs again.
const LOOKS: u32 = 50;
const PAUSE: Duration = Duration::from_millis(20);

/// The clock of a file system advances in steps of at most this. A file that was written longer ago gets a new time when it
/// is written again.
const STEP: Duration = Duration::from_millis(20);

/// A database that is only read.
#[derive(Debug)]
pub(super) struct Reader {
    path: PathBuf,
    /// `None` only while it is opened again.
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
    /// Without a lock, as they were at the time of the stamp.
    Still(Stamp),
    /// Without a lock, together with the write-ahead log.
    StillWithLog(Stamp),
    /// From a copy in the newest format, made at the time of the stamp.
    Copy(Stamp),
}

impl Reader {
    /// Opens the database at a path.
    pub(super) fn open(path: &Path) -> Result<Self, Failure> {
        // SQLite names the files beside a database after the target of a link.
        let path = path.canonicalize().map_err(|source| unread(path, source))?;
        let mut reader = Self { path, opened: None };
        reader.attempt(&|_| Ok(()))?;
        Ok(reader)
    }

    /// Runs a query on one state of the database.
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
            // Reading files while they change may give any answer and any error.
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

    /// Returns whether the files do not change for longer than a step of their clock.
    fn is_settled(&self) -> bool {
        let before = Stamp::of(&self.path).ok();
        sleep(STEP);
        before == Stamp::of(&self.path).ok()
    }

    fn close(&mut self) {
        let Some(opened) = self.opened.take() else { return };
        if matches!(opened.view, View::StillWithLog(_)) && has_shared_memory(&self.path) {
            // A writer has opened the database since, perhaps in this process. Closing any file of it ends the locks of the
            // process on that file, so this connection is leaked instead.
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
                // The files of writers can be used only by a process that may write them.
                Err(error) if stamp.journal.is_none() && is_refusal(&error) => {}
                Err(error) => return Err(explained(error)),
            }
        }
        if stamp.log.as_ref().is_some_and(|log| log.length > 0) {
            let connection = with_log(path)?;
            let view = View::StillWithLog(stamp);
            return Ok(Self { connection, view });
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
        let connection = Connection::open_with_flags(format!("file:{}?immutable=1", escaped(path)), flags)?;
        Ok(Self { connection, view: View::Still(stamp) })
    }

    /// Copies a database of an older format into a temporary one in the newest format, which ends with the connection.
    fn copied(self, path: &Path) -> Result<Self, Failure> {
        let stamp = Stamp::of(path)?;
        let mut copy = Connection::open("")?;
        Backup::new(&self.connection, &mut copy)?.run_to_completion(1000, Duration::ZERO, None)?;
        schema::migrate(&mut copy)?;
        copy.pragma_update(None, "query_only", true)?;
        Ok(Self { connection: copy, view: View::Copy(stamp) })
    }

    /// Returns whether the files are as they were when they were opened.
    fn is_current(&self, path: &Path) -> bool {
        match &self.view {
            View::Shared => true,
            View::Still(stamp) | View::StillWithLog(stamp) | View::Copy(stamp) => {
                Stamp::of(path).is_ok_and(|now| now == *stamp)
            }
        }
    }
}

/// Opens a database with the locks that writers take.
fn shared(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(schema::PATIENCE)?;
    connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get::<_, i64>(0))?;
    Ok(connection)
}

/// Opens a database together with its write-ahead log, without the shared memory that SQLite would create beside it.
fn with_log(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    #[cfg(unix)]
    let connection = Connection::open_with_flags_and_vfs(path, flags, c"unix-none")?;
    #[cfg(not(unix))]
    let connection = Connection::open_with_flags(path, flags)?;
    // Keeps the index of the log in private memory. The VFS takes no lock.
    connection.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
    Ok(connection)
}

fn is_refusal(error: &rusqlite::Error) -> bool {
    use ErrorCode::{CannotOpen, PermissionDenied, ReadOnly, SystemIoFailure};
    matches!(error.sqlite_error_code(), Some(CannotOpen | PermissionDenied | ReadOnly | SystemIoFailure))
}

/// Explains a refusal where there is a journal: it has the pages that an unfinished change has overwritten, and only a process
/// that may write can restore them.
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

/// The sizes and times of the files: equal stamps mean that they were not written in between.
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
            if !looks.into_iter().flatten().any(Look::is_fresh) {
                return Ok(stamp);
            }
            sleep(STEP);
        }
        Self::now(path)
    }

    fn now(path: &Path) -> Result<Self, Failure> {
        let Some(database) = Look::at(path)? else {
            return Err(unread(path, std::io::ErrorKind::NotFound.into()));
        };
        Ok(Self {
            database,
            log: Look::at(&beside(path, "-wal"))?,
            journal: Look::at(&beside(path, "-journal"))?.filter(|journal| journal.length > 0),
        })
    }
}

impl Look {
    /// Returns whether the file was written within the last step of the clock. A time in the future comes from another clock
    /// and says nothing.
    fn is_fresh(&self) -> bool {
        self.written.elapsed().is_ok_and(|age| age < STEP)
    }

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

/// Returns the path of a file beside a database: `chats.db-wal` for `-wal`.
fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(ending);
    name.into()
}

/// Escapes a path for a URI, byte by byte.
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
