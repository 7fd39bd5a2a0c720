//! A disk that fails when it is told to. Knows the operations on files, and no store.

use std::fmt;
use std::io;
use std::path::Path;

/// An operation on the file system that a store is about to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DiskCall<'a> {
    /// Looks whether a file is there, and how old it is.
    Look(&'a Path),
    /// Lists a folder.
    List(&'a Path),
    /// Reads a file.
    Read(&'a Path),
    /// Opens a file to write to it.
    Open(&'a Path),
    /// Creates a file, or empties it.
    Create(&'a Path),
    /// Writes bytes to a file.
    Write(&'a Path),
    /// Sets the length of a file.
    Truncate(&'a Path),
    /// Sets the time of a file.
    Touch(&'a Path),
    /// Waits until a file is on the disk.
    Sync(&'a Path),
    /// Waits until the names in a folder are on the disk.
    SyncFolder(&'a Path),
    /// Gives a file another name, in place of what has that name.
    Rename(&'a Path, &'a Path),
    /// Removes a file.
    Remove(&'a Path),
    /// Creates a folder with those above it.
    CreateFolder(&'a Path),
    /// Opens or looks at a lock.
    Lock(&'a Path),
}

/// How an operation fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskFault {
    /// Before it takes effect.
    Before,
    /// After it took effect, as far as anyone can see: a write is cut short, everything else is done.
    HalfDone,
}

/// Decides which operations fail; it hears of every one before it is made.
///
/// ```
/// use std::sync::Arc;
///
/// use alloquy_core::{Owner, Preface};
/// use alloquy_core::store::{ConversationRecord, ConversationStore, ConversationStoreExt};
/// use alloquy_storage::{DiskCall, DiskFault, DiskFaults, FileStore};
///
/// /// A disk on which no file gets its name.
/// #[derive(Debug)]
/// struct Nameless;
///
/// impl DiskFaults for Nameless {
///     fn fault(&self, call: DiskCall<'_>) -> Option<DiskFault> {
///         matches!(call, DiskCall::Rename(..)).then_some(DiskFault::Before)
///     }
/// }
///
/// # let folder = tempfile::tempdir()?;
/// # pollster::block_on(async {
/// let store = FileStore::open_faulty(folder.path(), Arc::new(Nameless)).await?;
/// let record = ConversationRecord::new("tea".parse()?, Preface::default());
/// assert!(store.create(&Owner::local(), &record).await.is_err());
/// assert!(!store.exists(&Owner::local(), &record.id).await?);
/// # Ok::<(), alloquy_core::Error>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait DiskFaults: fmt::Debug + Send + Sync {
    /// Says how an operation fails; `None` lets it happen.
    fn fault(&self, call: DiskCall<'_>) -> Option<DiskFault>;
}

/// The error of an operation that was told to fail.
pub(super) fn failed() -> io::Error {
    io::Error::other("the disk was told to fail")
}
