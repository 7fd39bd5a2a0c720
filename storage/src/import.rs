//! Reads conversations from databases of dataknobs. `formats` parses the records.

use std::path::Path;

use alloquy_core::{Error, ErrorKind, Result};
use alloquy_formats::archive::{self, ArchiveFormat, ArchiveLimits, ArchiveSource, ReadArchive};
use rusqlite::{Connection, OpenFlags, OptionalExtension as _};

use crate::sqlite::reader::escaped;

/// The first bytes of every SQLite database.
const MAGIC: &[u8] = b"SQLite format 3\0";

/// Finds a table with states as JSON in `data`, as dataknobs creates it. Its name is `records` by default.
const TABLE: &str = "SELECT name FROM sqlite_schema AS tables WHERE type = 'table'
    AND EXISTS (SELECT 1 FROM pragma_table_info(tables.name) WHERE name = 'id')
    AND EXISTS (SELECT 1 FROM pragma_table_info(tables.name) WHERE name = 'data')
    ORDER BY name <> 'records', name LIMIT 1";

/// Returns whether a file that starts with these bytes is a SQLite database.
///
/// ```
/// assert!(alloquy_storage::is_sqlite(b"SQLite format 3\0..."));
/// assert!(!alloquy_storage::is_sqlite(b"{}"));
/// ```
pub fn is_sqlite(start: &[u8]) -> bool {
    start.starts_with(MAGIC)
}

/// The conversations of a SQLite database of dataknobs, read one after the other.
///
/// The database is not changed, and changes that others make meanwhile are not seen. A conversation that cannot be read is
/// an error, and the next one follows.
///
/// ```
/// use alloquy_formats::archive::ArchiveLimits;
/// use alloquy_storage::DataknobsDatabase;
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("chats.db");
/// # let database = rusqlite::Connection::open(&path)?;
/// # database.execute_batch("CREATE TABLE records (id TEXT PRIMARY KEY, data TEXT)")?;
/// # let state = r#"{"conversation_id": "tea", "nodes": [{"node_id": "", "message": {"role": "user"}}]}"#;
/// # database.execute("INSERT INTO records (id, data) VALUES (?, ?)", ["tea", state])?;
/// # drop(database);
/// // The database at this path has the conversation "tea".
/// let database = DataknobsDatabase::open(&path, &ArchiveLimits::default())?;
/// for read in database {
///     assert_eq!(read?.archive.record.id.to_string(), "tea");
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct DataknobsDatabase {
    database: Connection,
    place: String,
    select: String,
    limits: ArchiveLimits,
    count: usize,
    read: usize,
    /// The first row that was not read yet; `None` at the end.
    from: Option<i64>,
}

impl DataknobsDatabase {
    /// Opens a database.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] and [`ErrorKind::Invalid`] for a file that is not such a database or larger than `limits`, and
    /// [`ErrorKind::Store`] when reading fails.
    pub fn open(path: &Path, limits: &ArchiveLimits) -> Result<Self> {
        let place = format!("database {path:?}");
        let size = std::fs::metadata(path).map_err(|source| {
            Error::new(ErrorKind::NotFound, format!("{place} cannot be read")).with_source(source)
        })?;
        if size.len() > limits.bytes as u64 {
            let message = format!("{} bytes are more than the limit of {}", size.len(), limits.bytes);
            return Err(Error::new(ErrorKind::Invalid, message));
        }
        let (database, table) = open_table(path).map_err(|source| unreadable(&place, source))?;
        let Some(table) = table else {
            let message = format!("{place} has no table with the columns \"id\" and \"data\"");
            return Err(Error::new(ErrorKind::Invalid, message));
        };
        let table = table.replace('"', "\"\"");
        let count = format!("SELECT count(*) FROM \"{table}\"");
        let count: i64 =
            database.query_row(&count, [], |row| row.get(0)).map_err(|source| unreadable(&place, source))?;
        let select =
            format!("SELECT rowid, id, data FROM \"{table}\" WHERE rowid >= ?1 ORDER BY rowid LIMIT 1");
        let count = usize::try_from(count).unwrap_or(0);
        Ok(Self { database, place, select, limits: *limits, count, read: 0, from: Some(i64::MIN) })
    }

    fn row(&self, from: i64) -> rusqlite::Result<Option<(i64, String, String)>> {
        let mut select = self.database.prepare_cached(&self.select)?;
        select.query_row([from], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).optional()
    }
}

impl ArchiveSource for DataknobsDatabase {
    fn size(&self) -> usize {
        self.count
    }

    fn read_so_far(&self) -> usize {
        self.read
    }
}

impl Iterator for DataknobsDatabase {
    type Item = Result<ReadArchive>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.row(self.from?) {
            Ok(Some((row, id, data))) => {
                self.from = row.checked_add(1);
                self.read += 1;
                Some(read(&id, &data, &self.limits))
            }
            Ok(None) => {
                self.from = None;
                None
            }
            Err(source) => {
                self.from = None;
                Some(Err(unreadable(&self.place, source)))
            }
        }
    }
}

fn unreadable(place: &str, source: rusqlite::Error) -> Error {
    Error::new(ErrorKind::Store, format!("{place} cannot be read")).with_source(source)
}

/// Opens a database and returns the table that holds the conversations, if there is one.
fn open_table(path: &Path) -> rusqlite::Result<(Connection, Option<String>)> {
    let database = open(path)?;
    // The transaction stays open, so that all rows are of one state.
    database.execute_batch("BEGIN")?;
    let table = database.query_row(TABLE, [], |row| row.get(0)).optional()?;
    Ok((database, table))
}

/// Opens a database for reading. SQLite creates no file beside it, unless its write-ahead log still has content.
fn open(path: &Path) -> rusqlite::Result<Connection> {
    let log = path.with_file_name({
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push("-wal");
        name
    });
    if std::fs::metadata(log).is_ok_and(|log| log.len() > 0) {
        return Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY);
    }
    let escaped = escaped(path);
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
    Connection::open_with_flags(format!("file:{escaped}?immutable=1"), flags)
}

fn read(id: &str, data: &str, limits: &ArchiveLimits) -> Result<ReadArchive> {
    only_conversation(data, limits).map_err(|error| error.context(format_args!("record {id:?}")))
}

fn only_conversation(data: &str, limits: &ArchiveLimits) -> Result<ReadArchive> {
    let mut read = archive::read(ArchiveFormat::Dataknobs, data, limits)?;
    if read.len() != 1 {
        let message = format!("it holds {} conversations, not one", read.len());
        return Err(Error::new(ErrorKind::Invalid, message));
    }
    read.remove(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_is_read_and_stays_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("chats?.db");
        let state = r#"{"conversation_id": "tea", "nodes": [{"node_id": "", "message": {"role": "user"}}]}"#;
        let database = Connection::open(&path).unwrap();
        database
            .execute_batch("CREATE TABLE records (id TEXT PRIMARY KEY, data TEXT, metadata TEXT)")
            .unwrap();
        for (id, data) in [("tea", state), ("torn", "{")] {
            database.execute("INSERT INTO records (id, data) VALUES (?, ?)", [id, data]).unwrap();
        }
        drop(database);
        let before = std::fs::read(&path).unwrap();
        let mut archives = DataknobsDatabase::open(&path, &ArchiveLimits::default()).unwrap();
        assert_eq!((archives.size(), archives.read_so_far()), (2, 0));
        let read: Vec<_> =
            archives.by_ref().map(|read| read.map(|read| read.archive.record.id.to_string())).collect();
        assert_eq!((archives.read_so_far(), archives.next().is_none()), (2, true));
        assert_eq!(read[0].as_deref().unwrap(), "tea");
        assert_eq!(read[1].as_ref().unwrap_err().to_string(), "record \"torn\": the document is not JSON");
        assert_eq!(std::fs::read(&path).unwrap(), before);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        let small = ArchiveLimits { bytes: 10, ..ArchiveLimits::default() };
        assert_eq!(DataknobsDatabase::open(&path, &small).unwrap_err().kind(), ErrorKind::Invalid);
        assert_eq!(
            DataknobsDatabase::open(&folder.path().join("none"), &small).unwrap_err().kind(),
            ErrorKind::NotFound
        );
    }
}
