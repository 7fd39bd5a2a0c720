//! Opens the store that a URL names.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use alloquy_core::store::{ConversationStore, MemoryStore};
use alloquy_core::{Error, ErrorKind, Result};

use crate::durability::Durability;

/// Opens the store that a URL names, and creates it where there is none.
///
/// | URL | store |
/// |---|---|
/// | `memory:` | [`MemoryStore`] |
/// | `file:PATH` | files in the folder `PATH` |
/// | `sqlite:PATH` | the SQLite database `PATH` |
/// | `sqlite::memory:` | a SQLite database in memory |
/// | `postgres://USER:PASSWORD@HOST/DATABASE` | the PostgreSQL database of that URL, see `PostgresStore` |
/// | `s3://BUCKET/PREFIX` | objects in a bucket of S3, see `BucketStore` |
/// | `PATH.db`, `PATH.sqlite`, `PATH.sqlite3` | the SQLite database at that path |
///
/// A path is used as it is, without percent-decoding. A `//` before it is dropped, so that `sqlite:///var/chats.db` is
/// `/var/chats.db`. `?durability=crash` or `?durability=power-loss` may follow it and sets the [`Durability`]. A path that
/// contains a `?` cannot be given as a URL: open it with `FileStore::open` or `SqliteStore::open`.
///
/// ```
/// use alloquy_core::{Owner, Query};
///
/// # pollster::block_on(async {
/// let store = alloquy_storage::open("sqlite::memory:").await?;
/// assert_eq!(store.count(&Owner::local(), &Query::default()).await?, 0);
/// assert!(alloquy_storage::open("chats").await.is_err());
/// # Ok::<(), alloquy_core::Error>(())
/// # })?;
/// # Ok::<(), alloquy_core::Error>(())
/// ```
///
/// # Errors
/// [`ErrorKind::Invalid`] for a URL of no known form, [`ErrorKind::Unsupported`] for a store without its feature or of a
/// newer version, and the errors of the store's own `open`.
pub async fn open(url: &str) -> Result<Arc<dyn ConversationStore>> {
    match place(url)? {
        Place::Memory => Ok(Arc::new(MemoryStore::default())),
        Place::Folder(path, durability) => folder(path, durability).await,
        Place::Database(path, durability) => database(path, durability).await,
        Place::DatabaseInMemory => database_in_memory().await,
        Place::Server(url) => server(&url).await,
        Place::Bucket(url) => bucket(&url).await,
    }
}

/// Opens the store that a URL names for reading only.
///
/// Calls that change something are refused. Opening creates neither the store nor a lock nor any other file. So it works
/// on read-only files: a backup, a snapshot of a disk, a store of another user.
///
/// `memory:` and `sqlite::memory:` open a new, empty store each time, which can be written.
///
/// ```
/// use alloquy_core::ErrorKind;
///
/// # let folder = tempfile::tempdir()?;
/// # let url = format!("sqlite:{}", folder.path().join("none.db").display());
/// # pollster::block_on(async {
/// let error = alloquy_storage::open_for_reading(&url).await.unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::NotFound);
/// # });
/// assert_eq!(std::fs::read_dir(folder.path())?.count(), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As [`open`](open()), and [`ErrorKind::NotFound`] for a store that does not exist.
pub async fn open_for_reading(url: &str) -> Result<Arc<dyn ConversationStore>> {
    match place(url)? {
        Place::Memory | Place::DatabaseInMemory => open(url).await,
        Place::Folder(path, _) => folder_for_reading(path).await,
        Place::Database(path, _) => database_for_reading(path).await,
        Place::Server(url) => server_for_reading(&url).await,
        Place::Bucket(url) => bucket_for_reading(&url).await,
    }
}

/// Opens the counts of limits in the database of a store, where its URL is that of a PostgreSQL database. Several programs with one
/// store count together there. For other stores it returns `None`.
///
/// ```
/// # pollster::block_on(async {
/// assert!(alloquy_storage::open_limits("sqlite:chats.db").await?.is_none());
/// # Ok::<(), alloquy_core::Error>(())
/// # })?;
/// # Ok::<(), alloquy_core::Error>(())
/// ```
///
/// # Errors
/// [`ErrorKind::Invalid`] for a URL of no known form, and those of [`PostgresLimits::open`](crate::PostgresLimits::open).
#[cfg(all(feature = "postgres", feature = "guards"))]
pub async fn open_limits(url: &str) -> Result<Option<crate::PostgresLimits>> {
    match place(url)? {
        Place::Server(url) => Ok(Some(crate::PostgresLimits::open(&url).await?)),
        _ => Ok(None),
    }
}

pub(crate) enum Place {
    Memory,
    Folder(PathBuf, Durability),
    Database(PathBuf, Durability),
    DatabaseInMemory,
    Server(String),
    Bucket(String),
}

/// Parses a URL.
pub(crate) fn place(url: &str) -> Result<Place> {
    match url.split_once(':') {
        Some(("memory", "")) => Ok(Place::Memory),
        Some(("sqlite", ":memory:")) => Ok(Place::DatabaseInMemory),
        Some(("postgres" | "postgresql", rest)) if rest.starts_with("//") => {
            Ok(Place::Server(url.to_owned()))
        }
        Some(("s3", rest)) if rest.starts_with("//") => Ok(Place::Bucket(url.to_owned())),
        Some(("file", rest)) => {
            let (path, durability) = path(url, rest)?;
            Ok(Place::Folder(path, durability))
        }
        Some(("sqlite", rest)) => {
            let (path, durability) = path(url, rest)?;
            Ok(Place::Database(path, durability))
        }
        // One letter is a drive, as in `C:\chats.db`.
        Some((scheme, _)) if scheme.len() > 1 && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric()) => {
            Err(unknown(url))
        }
        _ if is_database(Path::new(url)) => Ok(Place::Database(url.into(), Durability::default())),
        _ => Err(unknown(url)),
    }
}

/// Parses what follows the scheme of a URL: `chats` or `///var/chats?durability=crash`.
fn path(url: &str, rest: &str) -> Result<(PathBuf, Durability)> {
    let (path, parameters) = rest.split_once('?').unwrap_or((rest, ""));
    let path = path.strip_prefix("//").unwrap_or(path);
    if path.is_empty() {
        return Err(unknown(url));
    }
    Ok((PathBuf::from(path), durability(url, parameters)?))
}

/// Parses the parameters after the `?` of a path; the last one counts.
fn durability(url: &str, parameters: &str) -> Result<Durability> {
    let mut durability = Durability::default();
    for parameter in parameters.split('&').filter(|parameter| !parameter.is_empty()) {
        durability = match parameter {
            "durability=power-loss" => Durability::PowerLoss,
            "durability=crash" => Durability::Crash,
            other => {
                let valid = "durability=power-loss or durability=crash";
                let message = format!("{other:?} is no parameter of {url:?}, use {valid}");
                return Err(Error::new(ErrorKind::Invalid, message));
            }
        };
    }
    Ok(durability)
}

fn is_database(path: &Path) -> bool {
    let extension = path.extension().map(|extension| extension.to_string_lossy().to_ascii_lowercase());
    matches!(extension.as_deref(), Some("db" | "sqlite" | "sqlite3"))
}

fn unknown(url: &str) -> Error {
    let forms = "memory:, file:PATH, sqlite:PATH, sqlite::memory:, postgres://USER:PASSWORD@HOST/DATABASE, s3://BUCKET/PREFIX, or a path \
        that ends in .db, .sqlite or .sqlite3";
    Error::new(ErrorKind::Invalid, format!("{:?} names no store, use one of: {forms}", shown(url)))
}

/// Returns a URL for an error message, without the part that may hold a password.
fn shown(url: &str) -> String {
    if let Some((scheme, rest)) = url.split_once("://")
        && let Some((_, host)) = rest.rsplit_once('@')
    {
        return format!("{scheme}://…@{host}");
    }
    url.to_owned()
}

#[cfg(feature = "file")]
async fn folder(path: PathBuf, durability: Durability) -> Result<Arc<dyn ConversationStore>> {
    Ok(Arc::new(crate::FileStore::open_with(path, durability).await?))
}

#[cfg(feature = "sqlite")]
async fn database(path: PathBuf, durability: Durability) -> Result<Arc<dyn ConversationStore>> {
    Ok(Arc::new(crate::SqliteStore::open_with(path, durability).await?))
}

#[cfg(feature = "sqlite")]
async fn database_in_memory() -> Result<Arc<dyn ConversationStore>> {
    Ok(Arc::new(crate::SqliteStore::in_memory().await?))
}

#[cfg(feature = "postgres")]
async fn server(url: &str) -> Result<Arc<dyn ConversationStore>> {
    Ok(Arc::new(crate::PostgresStore::open(url).await?))
}

#[cfg(feature = "s3")]
async fn bucket(url: &str) -> Result<Arc<dyn ConversationStore>> {
    Ok(Arc::new(crate::BucketStore::open(url).await?))
}

#[cfg(not(feature = "s3"))]
async fn bucket(url: &str) -> Result<Arc<dyn ConversationStore>> {
    Err(left_out("s3", Path::new(&shown(url))))
}

#[cfg(not(feature = "postgres"))]
async fn server(url: &str) -> Result<Arc<dyn ConversationStore>> {
    Err(left_out("postgres", Path::new(&shown(url))))
}

#[cfg(not(feature = "file"))]
async fn folder(path: PathBuf, _: Durability) -> Result<Arc<dyn ConversationStore>> {
    Err(left_out("file", &path))
}

#[cfg(not(feature = "sqlite"))]
async fn database(path: PathBuf, _: Durability) -> Result<Arc<dyn ConversationStore>> {
    Err(left_out("sqlite", &path))
}

#[cfg(not(feature = "sqlite"))]
async fn database_in_memory() -> Result<Arc<dyn ConversationStore>> {
    Err(left_out("sqlite", Path::new(":memory:")))
}

#[cfg(feature = "file")]
async fn folder_for_reading(path: PathBuf) -> Result<Arc<dyn ConversationStore>> {
    Ok(Arc::new(crate::FileStore::open_for_reading(path).await?))
}

#[cfg(not(feature = "file"))]
async fn folder_for_reading(path: PathBuf) -> Result<Arc<dyn ConversationStore>> {
    Err(left_out("file", &path))
}

#[cfg(feature = "sqlite")]
async fn database_for_reading(path: PathBuf) -> Result<Arc<dyn ConversationStore>> {
    Ok(Arc::new(crate::SqliteStore::open_for_reading(path).await?))
}

#[cfg(not(feature = "sqlite"))]
async fn database_for_reading(path: PathBuf) -> Result<Arc<dyn ConversationStore>> {
    Err(left_out("sqlite", &path))
}

#[cfg(feature = "postgres")]
async fn server_for_reading(url: &str) -> Result<Arc<dyn ConversationStore>> {
    Ok(Arc::new(crate::PostgresStore::open_for_reading(url).await?))
}

#[cfg(not(feature = "postgres"))]
async fn server_for_reading(url: &str) -> Result<Arc<dyn ConversationStore>> {
    Err(left_out("postgres", Path::new(&shown(url))))
}

#[cfg(feature = "s3")]
async fn bucket_for_reading(url: &str) -> Result<Arc<dyn ConversationStore>> {
    Ok(Arc::new(crate::BucketStore::open_for_reading(url).await?))
}

#[cfg(not(feature = "s3"))]
async fn bucket_for_reading(url: &str) -> Result<Arc<dyn ConversationStore>> {
    Err(left_out("s3", Path::new(&shown(url))))
}

#[cfg(not(all(feature = "file", feature = "sqlite", feature = "postgres", feature = "s3")))]
fn left_out(feature: &str, path: &Path) -> Error {
    let message =
        format!("{path:?} needs the feature {feature:?} of alloquy-storage, which this build leaves out");
    Error::new(ErrorKind::Unsupported, message)
}
