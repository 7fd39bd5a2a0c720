//! What acknowledged changes survive.

/// What an acknowledged change survives.
///
/// [`FileStore::open_with`](crate::FileStore::open_with) and [`SqliteStore::open_with`](crate::SqliteStore::open_with) accept
/// it, and [`open`](crate::open()) reads it from a URL.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Durability {
    /// A power failure: the change is on the disk when the call returns. This is the contract of stores.
    #[default]
    PowerLoss,
    /// The end of this process, however sudden. A power failure may lose the last acknowledged changes. Each change saves
    /// the time of one `fsync`.
    ///
    /// A database stays whole in any case. A power failure may damage a log in a folder where its file system wrote the end
    /// before the middle; the store reports that. Creating, compacting and deleting wait for the disk nevertheless, so that
    /// no conversation is lost as a whole.
    Crash,
}
