//! Prepares a database: checks whose it is, creates or migrates its tables, and sets its durability.

use std::thread::sleep;
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, TransactionBehavior};

use super::migrate;
use crate::durability::Durability;
use crate::failure::Failure;

/// The bytes `Allq`, by which `file` and other tools recognize a conversation store.
const APPLICATION: i64 = 0x416c_6c71;

const FORMAT: i64 = 4;

/// The size of a page in bytes: the smallest that holds two usual messages.
pub(super) const PAGE: i64 = 1024;

/// How many bytes the write-ahead log may have before they are copied into the database: the default of SQLite with its
/// default pages.
const LOG: i64 = 4 * 1024 * 1024;

/// How long a writer waits for others. Writers poll, so many of them may keep one waiting far longer than a transaction takes.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

/// How long a connection waits that SQLite does not let wait.
const PAUSE: Duration = Duration::from_millis(5);

/// How much of a database is cached: 16 MiB, the index of a hundred thousand nodes. SQLite reads a negative number as KiB.
pub(super) const CACHE: i64 = -16_384;

/// What a database contains before it is prepared.
#[derive(PartialEq, Eq)]
pub(super) enum State {
    Empty,
    /// Tables of the first format: one owner, no words, no checksums.
    First,
    /// Tables of the second format: a list of nodes whose words were not indexed yet.
    Second,
    /// The current tables. Nodes have the facts of replies in `metadata`, which reading them lifts.
    Third,
    Current,
}

/// Prepares a connection. It refuses a database of another program, creates the tables in an empty one, and migrates one of
/// an older format, all at once or not at all.
pub(super) fn prepare(connection: &mut Connection, durability: Durability) -> Result<(), Failure> {
    connection.busy_timeout(PATIENCE)?;
    // Before the first pragma that writes, so that a refused database is not changed. In one transaction, because another
    // process may prepare it now.
    let look = connection.transaction()?;
    state(&look).map_err(unwritable)?;
    look.finish()?;
    must_be_writable(connection)?;
    set_pragmas(connection, durability, PAGE).map_err(unwritable)?;
    migrate(connection).map_err(unwritable)
}

/// Creates the tables, or migrates them to the newest format.
pub(super) fn migrate(connection: &mut Connection) -> Result<(), Failure> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    match state(&transaction)? {
        State::Current => return Ok(()),
        State::Empty => transaction.execute_batch(include_str!("schema.sql"))?,
        State::First => migrate::from_first(&transaction)?,
        State::Second => migrate::from_second(&transaction)?,
        // No row changes. The new number keeps out older programs, which would not see the new facts of nodes.
        State::Third => {}
    }
    transaction.pragma_update(None, "application_id", APPLICATION)?;
    transaction.pragma_update(None, "user_version", FORMAT)?;
    Ok(transaction.commit()?)
}

/// Fails for a database that may not be written: SQLite opens it for reading, and would fail at the first change.
pub(super) fn must_be_writable(connection: &Connection) -> Result<(), Failure> {
    if connection.is_readonly("main")? { Err(Failure::Unwritable) } else { Ok(()) }
}

/// Explains the error of a database beside which SQLite cannot create files.
pub(super) fn unwritable(failure: Failure) -> Failure {
    use rusqlite::ErrorCode::{CannotOpen, PermissionDenied, ReadOnly};
    match failure {
        Failure::Sqlite(error)
            if matches!(error.sqlite_error_code(), Some(CannotOpen | PermissionDenied | ReadOnly)) =>
        {
            Failure::Unwritable
        }
        other => other,
    }
}

/// Returns what the database contains. Fails for a database of another program or of a newer format.
pub(super) fn state(connection: &Connection) -> Result<State, Failure> {
    let application = number(connection, "PRAGMA application_id")?;
    let version = number(connection, "PRAGMA user_version")?;
    match (application, version) {
        (APPLICATION, FORMAT) => Ok(State::Current),
        (APPLICATION, 1) => Ok(State::First),
        (APPLICATION, 2) => Ok(State::Second),
        (APPLICATION, 3) => Ok(State::Third),
        (APPLICATION, newer) => Err(Failure::Newer {
            what: "it".to_owned(),
            found: newer.unsigned_abs(),
            known: FORMAT.unsigned_abs(),
        }),
        (0, 0) if number(connection, "SELECT count(*) FROM sqlite_schema")? == 0 => Ok(State::Empty),
        _ => Err(Failure::Foreign),
    }
}

pub(super) fn number(connection: &Connection, sql: &str) -> rusqlite::Result<i64> {
    connection.query_row(sql, [], |row| row.get(0))
}

/// Switches to the write-ahead log. Where two connections do so at once, each would wait for the other, so SQLite fails at once in place
/// of waiting. Then it is tried again.
///
/// The mode that is used may be another one: a database in memory has no log, and a file system without shared memory keeps the
/// rollback journal, which is as durable.
fn begin_log(connection: &Connection) -> rusqlite::Result<()> {
    let begun = Instant::now();
    loop {
        match connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get::<_, String>(0)) {
            Err(error)
                if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
                    && begun.elapsed() < PATIENCE =>
            {
                sleep(PAUSE);
            }
            mode => return mode.map(|_| ()),
        }
    }
}

/// Sets the pragmas of a connection:
///
/// * WAL: readers and the writer do not wait for each other.
/// * `synchronous` FULL: with NORMAL, a power failure loses the last acknowledged commits. NORMAL is used only where the
///   caller chose [`Durability::Crash`]. `fullfsync` is needed where `fsync` alone does not reach the disk (macOS).
/// * `ENABLE_QPSG`: without it, SQLite plans a join by the values of its parameters, and so compiles the statement again for
///   each call, which takes longer than the call.
/// * `page_size`: a turn writes half a dozen pages, whatever their size. It takes effect in an empty database only.
pub(super) fn set_pragmas(connection: &Connection, durability: Durability, page: i64) -> Result<(), Failure> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.pragma_update(None, "page_size", page)?;
    begin_log(connection)?;
    let synchronous = match durability {
        Durability::PowerLoss => "FULL",
        Durability::Crash => "NORMAL",
    };
    connection.pragma_update(None, "synchronous", synchronous)?;
    connection.pragma_update(None, "fullfsync", true)?;
    connection.pragma_update(None, "checkpoint_fullfsync", true)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    let page = number(connection, "PRAGMA page_size")?;
    connection.pragma_update(None, "wal_autocheckpoint", LOG / page.max(1))?;
    connection.pragma_update(None, "cache_size", CACHE)?;
    Ok(())
}
