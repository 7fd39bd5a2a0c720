//! Injected failures of file operations, for tests.

use std::fmt;
use std::io;
use std::path::Path;

/// A file operation that a store is about to perform.
///
/// [`DiskFaults`] has an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DiskCall<'a> {
    /// Checks whether a file exists, and how old it is.
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
    /// Renames a file, and replaces the one that has the new name.
    Rename(&'a Path, &'a Path),
    /// Removes a file.
    Remove(&'a Path),
    /// Creates a folder and its parents.
    CreateFolder(&'a Path),
    /// Opens or looks at a lock.
    Lock(&'a Path),
}

/// How an operation fails.
///
/// [`DiskFaults`] has an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskFault {
    /// Before it takes effect.
    Before,
    /// After it took effect, as far as a later reader can see: a write stores half of its bytes, every other operation is
    /// complete.
    HalfDone,
}

/// Decides which operations fail. It is called before each one.
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
    /// Returns how an operation fails; `None` lets it succeed.
    fn fault(&self, call: DiskCall<'_>) -> Option<DiskFault>;
}

/// Returns the error of an injected failure.
pub(super) fn failed() -> io::Error {
    io::Error::other("the disk failed on purpose")
}
