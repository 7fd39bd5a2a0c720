//! What acknowledged changes survive. Knows no store.

/// What an acknowledged change survives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Durability {
    /// Everything, as the contract of stores says: it is on the disk when the call returns.
    #[default]
    PowerLoss,
    /// The end of this process, however sudden, but no power failure, which may take what was acknowledged last. Saves
    /// each change the time of one `fsync`.
    ///
    /// A database stays whole in any case. A log in a folder may be damaged by a power failure where its file system
    /// wrote the end before the middle, which the store then says; creating, compacting and deleting wait for the disk
    /// all the same, so that no conversation is lost from its beginning.
    Crash,
}
