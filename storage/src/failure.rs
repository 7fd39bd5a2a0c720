//! The errors of the stores, and their kinds.

use std::fmt::Display;

use alloquy_core::{ConversationId, Error, ErrorKind};

/// An error of a store. All stores share the messages, so that they fail alike.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error("conversation {:?} does not exist", .0.as_str())]
    NoConversation(ConversationId),
    #[error("conversation {:?} exists already", .0.as_str())]
    Exists(ConversationId),
    #[error("the head of conversation {:?} has moved", .0.as_str())]
    HeadMoved(ConversationId),
    #[error("the metadata of conversation {:?} has changed", .0.as_str())]
    MetadataChanged(ConversationId),
    #[cfg(feature = "file")]
    #[error("another store held {what} for more than {} seconds", .waited.as_secs_f32())]
    Held { what: String, waited: std::time::Duration },
    #[cfg(any(feature = "sqlite", feature = "postgres", feature = "object-store"))]
    #[error("node {0} was pruned")]
    Pruned(alloquy_core::NodeId),
    #[cfg(any(feature = "sqlite", feature = "postgres"))]
    #[error("the head is at node {0} or below it: move it before you prune")]
    PrunesHead(alloquy_core::NodeId),
    #[cfg(any(feature = "sqlite", feature = "postgres"))]
    #[error("node {0} does not exist")]
    NoNode(alloquy_core::NodeId),
    #[cfg(any(feature = "sqlite", feature = "postgres", feature = "object-store"))]
    #[error("node {0} exists with other content")]
    OtherContent(alloquy_core::NodeId),
    #[error("cannot be written as JSON that reads back the same")]
    NotJson(#[source] serde_json::Error),
    #[error("cannot be written as JSON that reads back the same, some value changes")]
    Inexact,
    #[error("{what} is damaged: {reason}")]
    Damaged { what: String, reason: String },
    #[error("{what} has format {found}, but this version reads formats up to {known}")]
    Newer { what: String, found: u64, known: u64 },
    #[cfg(any(feature = "sqlite", feature = "postgres"))]
    #[error("it is a database of another program, not a conversation store")]
    Foreign,
    #[error("the store was opened for reading only: open it for writing to change it")]
    ForReading,
    #[cfg(any(feature = "file", feature = "sqlite", feature = "postgres"))]
    #[error("{reason}")]
    Absent { reason: &'static str },
    #[cfg(any(feature = "file", feature = "sqlite"))]
    #[error("it changed each time that it was read")]
    Restless,
    #[cfg(feature = "sqlite")]
    #[error(
        "it cannot be written, because the file, its folder or the file system is read-only here; it can still be read"
    )]
    Unwritable,
    #[cfg(feature = "sqlite")]
    #[error(
        "its writer was stopped within a change, which cannot be rolled back where the database is read-only: copy it, \
        together with the file that ends in -journal, to where it may be written"
    )]
    HalfWritten(#[source] rusqlite::Error),
    #[cfg(any(feature = "file", feature = "sqlite"))]
    #[error("cannot {action} {path:?}")]
    Disk { action: &'static str, path: std::path::PathBuf, source: std::io::Error },
    #[cfg(feature = "file")]
    #[error("the name of {path:?} is not on the disk: {reason}")]
    Unnamed { path: std::path::PathBuf, reason: String },
    #[cfg(feature = "sqlite")]
    #[error("SQLite error")]
    Sqlite(#[from] rusqlite::Error),
    #[cfg(feature = "postgres")]
    #[error(
        "the URL must be postgres://USER:PASSWORD@HOST:PORT/DATABASE, with `%40` and the like for signs within a name, and \
        parameters of libpq or schema=NAME behind a `?`"
    )]
    NotPostgres,
    #[cfg(feature = "postgres")]
    #[error("the database does not suit: {0}")]
    Unsuited(String),
    #[cfg(feature = "postgres")]
    #[error("cannot prepare encryption")]
    Encryption(#[source] rustls::Error),
    #[cfg(feature = "postgres")]
    #[error("cannot read root certificates from {path:?}: {reason}")]
    RootCertificate { path: std::path::PathBuf, reason: String },
    #[cfg(feature = "postgres")]
    #[error(
        "the certificate of the server is not trusted: name a file with the root certificate it goes back to as \
        sslrootcert=PATH in the URL, or let the system trust that one"
    )]
    Untrusted(#[source] tokio_postgres::Error),
    #[cfg(feature = "postgres")]
    #[error("every connection of the store was in use for too long")]
    NoConnection,
    #[cfg(feature = "postgres")]
    #[error("PostgreSQL error")]
    Postgres(#[from] tokio_postgres::Error),
    #[cfg(feature = "postgres")]
    #[error(
        "the connection was lost while the change was committed, and the server does not say what became of it"
    )]
    Unanswered(#[source] tokio_postgres::Error),
    #[cfg(feature = "object-store")]
    #[error(
        "conversation {:?} could not be changed for {} seconds: others were faster each time, or the object store lists \
        less than it holds", .id.as_str(), .waited.as_secs()
    )]
    Outrun { id: ConversationId, waited: std::time::Duration },
    #[cfg(feature = "object-store")]
    #[error("the object store refused")]
    Objects(#[from] object_store::Error),
    #[error("the thread of the store has ended")]
    Ended,
    #[error("the store is closed: open it again")]
    Closed,
    #[error(transparent)]
    Core(#[from] Error),
}

impl Failure {
    pub(crate) fn damaged(what: impl Into<String>, reason: impl Display) -> Self {
        let what = what.into();
        let reason = format!("{reason}");
        Self::Damaged { what, reason }
    }

    fn kind(&self) -> ErrorKind {
        match self {
            Self::NoConversation(_) => ErrorKind::NotFound,
            Self::Exists(_) | Self::HeadMoved(_) | Self::MetadataChanged(_) => ErrorKind::Conflict,
            Self::NotJson(_) | Self::Inexact => ErrorKind::Invalid,
            Self::Damaged { .. } => ErrorKind::Corrupt,
            Self::Newer { .. } => ErrorKind::Unsupported,
            Self::Ended | Self::Closed => ErrorKind::Store,
            Self::ForReading => ErrorKind::Unsupported,
            #[cfg(any(feature = "file", feature = "sqlite", feature = "postgres"))]
            Self::Absent { .. } => ErrorKind::NotFound,
            #[cfg(any(feature = "file", feature = "sqlite"))]
            Self::Restless => ErrorKind::Busy,
            #[cfg(feature = "sqlite")]
            Self::Unwritable | Self::HalfWritten(_) => ErrorKind::Store,
            #[cfg(any(feature = "file", feature = "sqlite"))]
            Self::Disk { .. } => ErrorKind::Store,
            #[cfg(feature = "file")]
            Self::Unnamed { .. } => ErrorKind::Store,
            #[cfg(feature = "file")]
            Self::Held { .. } => ErrorKind::Busy,
            Self::Core(error) => error.kind(),
            #[cfg(any(feature = "sqlite", feature = "postgres"))]
            Self::NoNode(_) => ErrorKind::NotFound,
            #[cfg(any(feature = "sqlite", feature = "postgres", feature = "object-store"))]
            Self::OtherContent(_) | Self::Pruned(_) => ErrorKind::Conflict,
            #[cfg(any(feature = "sqlite", feature = "postgres"))]
            Self::PrunesHead(_) => ErrorKind::Conflict,
            #[cfg(any(feature = "sqlite", feature = "postgres"))]
            Self::Foreign => ErrorKind::Unsupported,
            #[cfg(feature = "sqlite")]
            Self::Sqlite(source) => sqlite_kind(source),
            #[cfg(feature = "object-store")]
            Self::Outrun { .. } => ErrorKind::Busy,
            #[cfg(feature = "object-store")]
            Self::Objects(source) => objects_kind(source),
            #[cfg(feature = "postgres")]
            Self::NotPostgres | Self::RootCertificate { .. } => ErrorKind::Invalid,
            #[cfg(feature = "postgres")]
            Self::Unsuited(_) => ErrorKind::Unsupported,
            #[cfg(feature = "postgres")]
            Self::NoConnection => ErrorKind::Busy,
            #[cfg(feature = "postgres")]
            Self::Encryption(_) | Self::Unanswered(_) | Self::Untrusted(_) => ErrorKind::Store,
            #[cfg(feature = "postgres")]
            Self::Postgres(source) => postgres_kind(source),
        }
    }
}

#[cfg(feature = "sqlite")]
fn sqlite_kind(source: &rusqlite::Error) -> ErrorKind {
    use rusqlite::ErrorCode::{DatabaseBusy, DatabaseCorrupt, DatabaseLocked, NotADatabase, TooBig};
    match source {
        rusqlite::Error::FromSqlConversionFailure(..) | rusqlite::Error::InvalidColumnType(..) => {
            ErrorKind::Corrupt
        }
        other => match other.sqlite_error_code() {
            Some(DatabaseCorrupt | NotADatabase) => ErrorKind::Corrupt,
            Some(DatabaseBusy | DatabaseLocked) => ErrorKind::Busy,
            // The value is at fault: another try fails too.
            Some(TooBig) => ErrorKind::Invalid,
            _ => ErrorKind::Store,
        },
    }
}

#[cfg(feature = "postgres")]
fn postgres_kind(source: &tokio_postgres::Error) -> ErrorKind {
    use tokio_postgres::error::SqlState;
    match source.code() {
        Some(code) if *code == SqlState::LOCK_NOT_AVAILABLE => ErrorKind::Busy,
        Some(code) if code.code().starts_with("XX00") => ErrorKind::Corrupt,
        Some(code) if is_refused_content(code.code()) => ErrorKind::Invalid,
        _ => ErrorKind::Store,
    }
}

/// Returns whether an SQLSTATE means that PostgreSQL can never store a value.
///
/// Such a value is beyond a limit of the program (class 54), too long or too large for its type, or has characters that the
/// encoding lacks.
#[cfg(feature = "postgres")]
fn is_refused_content(state: &str) -> bool {
    state.starts_with("54") || matches!(state, "22001" | "22003" | "22008" | "22021" | "22P05")
}

#[cfg(feature = "object-store")]
fn objects_kind(source: &object_store::Error) -> ErrorKind {
    if is_too_large(source) { ErrorKind::Invalid } else { ErrorKind::Store }
}

/// Returns whether a server refuses an object for its size. The client passes the answer on as text only.
#[cfg(feature = "object-store")]
pub(crate) fn is_too_large(source: &object_store::Error) -> bool {
    let object_store::Error::Generic { source, .. } = source else { return false };
    let answer = source.to_string();
    let codes = ["<Code>EntityTooLarge</Code>", "<Code>MaxMessageLengthExceeded</Code>", "status code: 413"];
    codes.iter().any(|code| answer.contains(code))
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        let error = Error::new(failure.kind(), failure.to_string());
        match failure {
            Failure::Core(error) => error,
            #[cfg(any(feature = "file", feature = "sqlite"))]
            Failure::Disk { source, .. } => error.with_source(source),
            Failure::NotJson(source) => error.with_source(source),
            #[cfg(feature = "sqlite")]
            Failure::Sqlite(source) | Failure::HalfWritten(source) => error.with_source(source),
            #[cfg(feature = "object-store")]
            Failure::Objects(source) => error.with_source(source),
            #[cfg(feature = "postgres")]
            Failure::Postgres(source) | Failure::Unanswered(source) | Failure::Untrusted(source) => {
                error.with_source(source)
            }
            #[cfg(feature = "postgres")]
            Failure::Encryption(source) => error.with_source(source),
            _ => error,
        }
    }
}

/// Returns the outcome of each of `count` items that were written together: its own, or the error that all share.
#[cfg(any(feature = "file", feature = "sqlite", feature = "postgres"))]
pub(crate) fn outcomes(
    written: alloquy_core::Result<Vec<Result<(), Failure>>>,
    count: usize,
) -> Vec<alloquy_core::Result<()>> {
    match written {
        Ok(each) => each.into_iter().map(|outcome| Ok(outcome?)).collect(),
        Err(error) => (0..count).map(|_| Err(Error::new(error.kind(), format!("{error:#}")))).collect(),
    }
}

#[cfg(all(test, feature = "postgres"))]
mod tests {
    use super::is_refused_content;

    #[test]
    fn a_value_that_postgresql_can_never_store_is_invalid() {
        let refused = ["54000", "54001", "22001", "22021", "22P05"];
        let not_now = ["53100", "53200", "57P01", "08006", "40001", "22P02", "42P01"];
        for state in refused {
            assert!(is_refused_content(state), "{state}");
        }
        for state in not_now {
            assert!(!is_refused_content(state), "{state}");
        }
    }
}
