//! Counts the time that runs of graphs take.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The time that all runs of a model's graphs have taken together, in nanoseconds.
#[derive(Debug, Default)]
pub(crate) struct ComputeTime(AtomicU64);

impl ComputeTime {
    /// Calls `run` and adds the time that it took.
    pub(crate) fn counted<T>(&self, run: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let done = run();
        // 64 bits of nanoseconds are more than 500 years.
        let took = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.0.fetch_add(took, Ordering::Relaxed);
        done
    }

    /// Returns how long all runs have taken together.
    pub(crate) fn total(&self) -> Duration {
        Duration::from_nanos(self.0.load(Ordering::Relaxed))
    }
}
