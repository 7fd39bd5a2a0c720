//! What the addresses of one request may take, all together. Each of them is small and fast enough, and a request may have many.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// How much is fetched, for one piece of media or for all of a request, and how long that may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct FetchLimits {
    pub(super) bytes: usize,
    pub(super) time: Duration,
}

/// What the addresses of one request may still take. By default that is nothing.
#[derive(Debug, Default)]
pub(super) struct Allowance {
    /// When they must have answered; `None` for no end.
    until: Option<Instant>,
    bytes: AtomicUsize,
}

impl Allowance {
    /// Begins with these limits of all addresses together.
    pub(super) fn new(together: FetchLimits) -> Self {
        Self { until: Instant::now().checked_add(together.time), bytes: AtomicUsize::new(together.bytes) }
    }

    /// Returns the limits of the next piece, whose own limits are `each`; `None` where nothing is left.
    pub(super) fn next(&self, each: FetchLimits) -> Option<FetchLimits> {
        let time = self.until.map_or(Duration::MAX, |until| until.saturating_duration_since(Instant::now()));
        let bytes = self.bytes.load(Ordering::Relaxed);
        let is_left = bytes > 0 && !time.is_zero();
        is_left.then(|| FetchLimits { bytes: each.bytes.min(bytes), time: each.time.min(time) })
    }

    /// Notes the bytes of a piece, which is within the limits of [`Allowance::next`].
    pub(super) fn spend(&self, bytes: usize) {
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
    }
}
