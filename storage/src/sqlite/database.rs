//! Opens the file of a database, and runs transactions in it.

use std::path::Path;

#[cfg(any(feature = "guards", feature = "retrieval"))]
use alloquy_core::{Error, ErrorKind};
use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior};

#[cfg(any(feature = "guards", feature = "retrieval"))]
use super::schema;
#[cfg(any(feature = "guards", feature = "retrieval"))]
use crate::durability::Durability;
use crate::failure::Failure;
use crate::private;

/// How many links that lead to links are followed, as in SQLite.
const LINKS: usize = 40;

/// What a database holds that is not one of conversations.
#[cfg(any(feature = "guards", feature = "retrieval"))]
#[derive(Clone, Copy, Debug)]
pub(super) struct Contents {
    /// What it holds, for errors.
    pub(super) what: &'static str,
    /// The number by which tools recognize it.
    pub(super) application: i64,
    pub(super) format: i64,
    /// The SQL that creates its tables.
    pub(super) tables: &'static str,
    /// How many bytes a page has.
    pub(super) page: i64,
}

/// Opens the database at a path, and creates an empty file where there is none.
pub(super) fn connect(path: &Path) -> rusqlite::Result<Connection> {
    // Without `SQLITE_OPEN_URI`, so that a path is a path, whatever it begins with.
    let flags =
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    make_private(path);
    Connection::open_with_flags(path, flags)
}

/// Creates the file of a new database, which SQLite would make readable by others. The files beside it get its permissions.
/// Where this fails, opening the database fails too and reports why.
fn make_private(path: &Path) {
    let mut target = path.to_owned();
    for _ in 0..LINKS {
        // SQLite creates the target of a link that leads nowhere.
        let Ok(link) = std::fs::read_link(&target) else { break };
        target = match target.parent() {
            Some(folder) => folder.join(link),
            None => link,
        };
    }
    let _ = private::create_new(&target);
}

/// Opens a database and prepares its tables. It refuses a database with other contents, before it changes anything.
#[cfg(any(feature = "guards", feature = "retrieval"))]
pub(super) fn open(path: &Path, contents: Contents, durability: Durability) -> Result<Connection, Failure> {
    let mut connection = connect(path)?;
    connection.busy_timeout(schema::PATIENCE)?;
    // In one transaction, because another process may prepare it now.
    transact(&mut connection, TransactionBehavior::Deferred, |unit| is_prepared(unit, contents))
        .map_err(schema::unwritable)?;
    schema::must_be_writable(&connection)?;
    schema::set_pragmas(&connection, durability, contents.page).map_err(schema::unwritable)?;
    prepare(&mut connection, contents).map_err(schema::unwritable)?;
    Ok(connection)
}

#[cfg(any(feature = "guards", feature = "retrieval"))]
fn prepare(connection: &mut Connection, contents: Contents) -> Result<(), Failure> {
    transact(connection, TransactionBehavior::Immediate, |transaction| {
        if is_prepared(transaction, contents)? {
            return Ok(());
        }
        transaction.execute_batch(contents.tables)?;
        transaction.pragma_update(None, "application_id", contents.application)?;
        Ok(transaction.pragma_update(None, "user_version", contents.format)?)
    })
}

/// Returns whether a database has the tables already. Fails for one with other contents, or of a newer format.
#[cfg(any(feature = "guards", feature = "retrieval"))]
fn is_prepared(connection: &Connection, contents: Contents) -> Result<bool, Failure> {
    let application = schema::number(connection, "PRAGMA application_id")?;
    let version = schema::number(connection, "PRAGMA user_version")?;
    if application == contents.application {
        if version == contents.format {
            return Ok(true);
        }
        let known = contents.format.unsigned_abs();
        return Err(Failure::Newer { what: "it".to_owned(), found: version.unsigned_abs(), known });
    }
    let is_empty = schema::number(connection, "SELECT count(*) FROM sqlite_schema")? == 0;
    if application == 0 && version == 0 && is_empty {
        return Ok(false);
    }
    let words = format!("it has other contents than {}: name another file", contents.what);
    Err(Error::new(ErrorKind::Unsupported, words).into())
}

/// Runs work in a transaction, and commits it unless the work fails.
pub(super) fn transact<T>(
    connection: &mut Connection,
    behavior: TransactionBehavior,
    work: impl FnOnce(&Transaction<'_>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let transaction = connection.transaction_with_behavior(behavior)?;
    let outcome = work(&transaction)?;
    transaction.commit()?;
    Ok(outcome)
}
