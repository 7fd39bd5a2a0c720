//! A circuit breaker: leaves out a model that failed several times in a row.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// When a model is left out, and for how long.
///
/// ```
/// use std::time::Duration;
///
/// use alloquy_guards::fallback::BreakerPolicy;
///
/// let policy = BreakerPolicy { failures: 3, pause: Duration::from_secs(10) };
/// assert_ne!(policy, BreakerPolicy::default());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BreakerPolicy {
    /// After how many failures in a row; 0 never leaves it out.
    pub failures: u32,
    /// For how long. Then one call tries it, and the others wait for the outcome.
    pub pause: Duration,
}

impl Default for BreakerPolicy {
    /// After 5 failures, for 30 seconds.
    fn default() -> Self {
        Self { failures: 5, pause: Duration::from_secs(30) }
    }
}

/// The breaker of one model.
#[derive(Debug, Default)]
pub(super) struct Breaker {
    policy: BreakerPolicy,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Failures in a row.
    failures: u32,
    /// Until when the model is left out.
    until: Duration,
}

impl Breaker {
    pub(super) fn new(policy: BreakerPolicy) -> Self {
        Self { policy, state: Mutex::default() }
    }

    pub(super) fn policy(&self) -> BreakerPolicy {
        self.policy
    }

    /// Returns how long the model is left out; `None` if it may be tried. The call that may try it after a pause begins the next
    /// pause, so that the others do not try it too.
    pub(super) fn closes_in(&self, now: Duration) -> Option<Duration> {
        let mut state = self.state();
        if !self.is_open(&state) {
            return None;
        }
        let rest = state.until.saturating_sub(now);
        if !rest.is_zero() {
            return Some(rest);
        }
        state.until = now.saturating_add(self.policy.pause);
        None
    }

    pub(super) fn failed(&self, now: Duration) {
        let mut state = self.state();
        state.failures = state.failures.saturating_add(1);
        if self.is_open(&state) {
            state.until = now.saturating_add(self.policy.pause);
        }
    }

    pub(super) fn succeeded(&self) {
        *self.state() = State::default();
    }

    /// Notes that the model refused a request, which says that it works.
    pub(super) fn answered(&self) {
        self.succeeded();
    }

    fn is_open(&self, state: &State) -> bool {
        self.policy.failures > 0 && state.failures >= self.policy.failures
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Both numbers are valid at every moment.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
