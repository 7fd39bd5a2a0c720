//! Where snapshots are stored: one for each conversation. The stores themselves are in other crates.

use std::fmt::Debug;
use std::time::SystemTime;

use alloquy_core::prompt::PromptUnit;
use alloquy_core::{ConversationId, Owner, Result};

use super::snapshot::{Reading, Snapshot, SnapshotError, SnapshotIdentity, SnapshotSource};

/// Stores the snapshots of conversations, one for each. Its methods may block.
///
/// A snapshot only saves time: a store may lose one, and restoring one checks that it is whole. A name is an owner and a
/// conversation, so one owner never finds what another one has stored.
///
/// ```
/// use alloquy_core::{ConversationId, Owner, Result};
/// use alloquy_engine::decoder::{SavedSnapshot, Snapshot, SnapshotSource, SnapshotStore, SnapshotSummary};
///
/// /// Stores nothing.
/// #[derive(Debug)]
/// struct Nowhere;
///
/// impl SnapshotStore for Nowhere {
///     fn open(&self, _: &Owner, _: &ConversationId) -> Result<Option<SnapshotSource>> {
///         Ok(None)
///     }
///
///     fn summary(&self, _: &Owner, _: &ConversationId) -> Result<Option<SnapshotSummary>> {
///         Ok(None)
///     }
///
///     fn write(&self, _: &Owner, _: &ConversationId, snapshot: &Snapshot) -> Result<SavedSnapshot> {
///         Ok(SavedSnapshot::TooLarge { bytes: snapshot.bytes().len() as u64, quota: 0 })
///     }
///
///     fn remove(&self, _: &Owner, _: &ConversationId) -> Result<bool> {
///         Ok(false)
///     }
/// }
/// ```
pub trait SnapshotStore: Send + Sync + Debug {
    /// Opens the snapshot of a conversation, which counts as using it; `None` when there is none.
    ///
    /// # Errors
    /// [`ErrorKind::Store`](alloquy_core::ErrorKind::Store) when the snapshot exists but cannot be opened.
    fn open(&self, owner: &Owner, conversation: &ConversationId) -> Result<Option<SnapshotSource>>;

    /// Reads what the snapshot of a conversation has, without its state; `None` when there is none.
    ///
    /// # Errors
    /// As [`SnapshotStore::open`]. Damage is no error: [`SnapshotSummary::contents`] has it.
    fn summary(&self, owner: &Owner, conversation: &ConversationId) -> Result<Option<SnapshotSummary>>;

    /// Writes the snapshot of a conversation in place of the previous one.
    ///
    /// # Errors
    /// [`ErrorKind::Store`](alloquy_core::ErrorKind::Store); the previous snapshot is then unchanged.
    fn write(
        &self,
        owner: &Owner,
        conversation: &ConversationId,
        snapshot: &Snapshot,
    ) -> Result<SavedSnapshot>;

    /// Removes the snapshot of a conversation, and returns whether there was one.
    ///
    /// # Errors
    /// [`ErrorKind::Store`](alloquy_core::ErrorKind::Store).
    fn remove(&self, owner: &Owner, conversation: &ConversationId) -> Result<bool>;
}

/// What [`SnapshotStore::write`] did with a snapshot.
///
/// [`SnapshotStore`] has an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SavedSnapshot {
    /// It is stored.
    Kept {
        /// How many other snapshots were removed for it: the least recently used ones.
        evicted: usize,
    },
    /// It is larger than the quota and was not stored. The previous snapshot of the conversation was removed, because it is
    /// outdated.
    TooLarge {
        /// The size of the snapshot in bytes.
        bytes: u64,
        /// How many bytes all snapshots may have together, or this one alone.
        quota: u64,
    },
}

/// A stored snapshot without its state.
///
/// ```
/// use std::time::SystemTime;
/// use alloquy_engine::decoder::{SnapshotError, SnapshotSummary};
///
/// let damaged = SnapshotSummary::read(b"no snapshot".to_vec(), SystemTime::now());
/// assert_eq!((damaged.bytes, damaged.contents.unwrap_err()), (11, SnapshotError::Foreign));
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SnapshotSummary {
    /// Its size.
    pub bytes: u64,
    /// When it was written.
    pub saved: SystemTime,
    /// What it was computed of, or why that cannot be read. The state is not looked at, so its damage is found when it is restored.
    pub contents: Result<SnapshotContents, SnapshotError>,
}

/// What a snapshot was computed of.
///
/// [`SnapshotSummary`] has it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SnapshotContents {
    /// The model and the template.
    pub origin: SnapshotIdentity,
    /// The units that are computed.
    pub units: Vec<PromptUnit>,
}

impl SnapshotSummary {
    /// Reads the head of a snapshot, and nothing after it.
    pub fn read(source: impl Into<SnapshotSource>, saved: SystemTime) -> Self {
        let source = source.into();
        let bytes = source.length();
        let contents = Reading::of(source).map(|reading| SnapshotContents {
            origin: *reading.origin(),
            units: reading.beginning().units.clone(),
        });
        Self { bytes, saved, contents }
    }
}
