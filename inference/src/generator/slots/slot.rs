//! A session with the units that it holds.

use std::fmt;

use alloquy_core::Result;
use alloquy_engine::Session;

use super::cached_units::CachedUnits;

/// A session and the units that it holds. A generation takes it out while it runs; one whose call fails is never put back.
pub(crate) struct Slot {
    pub(crate) session: Box<dyn Session>,
    pub(crate) cached: CachedUnits,
    pub(super) used: u64,
    /// Whether the session that it was restored from held more units after these. Nothing was computed since.
    pub(super) was_longer: bool,
    /// How many of the bytes that its session has copied are counted.
    pub(super) counted: usize,
}

impl Slot {
    pub(crate) fn new(session: Box<dyn Session>, cached: CachedUnits) -> Self {
        Self { session, cached, used: 0, counted: 0, was_longer: false }
    }

    /// Returns a copy with a session of its own.
    pub(super) fn fork(&self) -> Result<Self> {
        let session = self.session.fork()?;
        Ok(Self { was_longer: self.was_longer, ..Self::new(session, self.cached.clone()) })
    }

    /// Returns where a prompt with this common prefix differs from what is held, or was held before a restart.
    pub(super) fn first_difference(&self, shared: usize) -> Option<usize> {
        (shared < self.cached.len() || self.was_longer).then_some(shared)
    }

    /// Returns how many bytes its session has copied that are not counted.
    pub(super) fn uncounted(&self) -> usize {
        self.session.copied().saturating_sub(self.counted)
    }
}

impl fmt::Debug for Slot {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Slot({} units)", self.cached.len())
    }
}
