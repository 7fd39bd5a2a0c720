//! Whose database it is, which version its tables have, and how durable it is.

use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, TransactionBehavior};

use super::migrate;
use crate::durability::Durability;
use crate::failure::Failure;

/// The bytes `Allq`: `file` and other tools tell a conversation store by it.
const APPLICATION: i64 = 0x416c_6c71;

const FORMAT: i64 = 4;

/// Bytes of a page. The smallest that holds two usual messages.
const PAGE: i64 = 1024;

/// How many bytes the write-ahead log gathers before they go to the database: as many as SQLite means with its pages.
const LOG: i64 = 4 * 1024 * 1024;

/// Writers wait for each other by polling, so a crowd of them may keep one waiting for long; this is far beyond any
/// transaction of this store.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

/// How much of a database stays in memory, in the sign and the unit of SQLite: 16 MiB, the index of a hundred thousand nodes.
pub(super) const CACHE: i64 = -16_384;

/// What a database holds before it is made ready.
#[derive(PartialEq, Eq)]
pub(super) enum State {
    Empty,
    /// Tables of the first format: one owner, no words, no checksums.
    First,
    /// A list of nodes whose words were not written.
    Second,
    /// The same tables. Nodes have the facts of replies in `metadata`, which is read as it is.
    Third,
    Current,
}

/// Makes a connection ready: refuses what is not ours, creates the tables in an empty database, and takes one of an
/// older format to this one, all at once or not at all.
pub(super) fn prepare(connection: &mut Connection, durability: Durability) -> Result<(), Failure> {
    connection.busy_timeout(PATIENCE)?;
    // Before the first pragma that writes, so that a refused database is left as it was.
    state(connection)?;
    must_be_writable(connection)?;
    set_pragmas(connection, durability).map_err(unwritable)?;
    migrate(connection).map_err(unwritable)
}

/// Makes the tables of the newest format, whatever there is.
pub(super) fn migrate(connection: &mut Connection) -> Result<(), Failure> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    match state(&transaction)? {
        State::Current => return Ok(()),
        State::Empty => transaction.execute_batch(include_str!("schema.sql"))?,
        State::First => migrate::from_first(&transaction)?,
        State::Second => migrate::from_second(&transaction)?,
        // No row changes: the number alone keeps programs out that would not see what nodes have by now.
        State::Third => {}
    }
    transaction.pragma_update(None, "application_id", APPLICATION)?;
    transaction.pragma_update(None, "user_version", FORMAT)?;
    Ok(transaction.commit()?)
}

/// SQLite opens what it may not write for reading alone, and says so with the first change.
fn must_be_writable(connection: &Connection) -> Result<(), Failure> {
    if connection.is_readonly("main")? { Err(Failure::Unwritable) } else { Ok(()) }
}

/// Says what it means when the database is there but the files beside it cannot be made.
fn unwritable(failure: Failure) -> Failure {
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

/// Says what the database holds; an error unless it is empty or ours.
pub(super) fn state(connection: &Connection) -> Result<State, Failure> {
    let number = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0));
    let application = number("PRAGMA application_id")?;
    let version = number("PRAGMA user_version")?;
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
        (0, 0) if number("SELECT count(*) FROM sqlite_schema")? == 0 => Ok(State::Empty),
        _ => Err(Failure::Foreign),
    }
}

/// * WAL: readers and the writer do not wait for each other.
/// * `synchronous` FULL: with NORMAL, a WAL loses the last commits when the power fails, and these were
///   acknowledged; it is for those who asked for it. `fullfsync` does the same where `fsync` alone does not reach the
///   disk (macOS).
/// * `ENABLE_QPSG`: without it SQLite looks at the values of parameters when it plans a statement that joins tables, and compiles
///   it anew for each call, which takes longer than the call.
/// * `page_size`: a turn writes half a dozen pages, whatever their size. It counts for databases that are empty.
fn set_pragmas(connection: &Connection, durability: Durability) -> Result<(), Failure> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.pragma_update(None, "page_size", PAGE)?;
    // Answers with the mode: a database in memory has no log, and a file system without shared memory keeps the
    // rollback journal, which is as durable.
    connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get::<_, String>(0))?;
    let synchronous = match durability {
        Durability::PowerLoss => "FULL",
        Durability::Crash => "NORMAL",
    };
    connection.pragma_update(None, "synchronous", synchronous)?;
    connection.pragma_update(None, "fullfsync", true)?;
    connection.pragma_update(None, "checkpoint_fullfsync", true)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    let page = connection.query_row("PRAGMA page_size", [], |row| row.get::<_, i64>(0))?;
    connection.pragma_update(None, "wal_autocheckpoint", LOG / page.max(1))?;
    connection.pragma_update(None, "cache_size", CACHE)?;
    Ok(())
}
