//! The time that limits and breakers use; tests set it.

use std::fmt;
use std::time::{Duration, Instant, SystemTime};

/// A clock: the date, and the time since some moment.
///
/// ```
/// use alloquy_guards::clock::{Clock, SystemClock};
///
/// let clock = SystemClock::default();
/// let before = clock.elapsed();
/// assert!(clock.elapsed() >= before);
/// ```
pub trait Clock: Send + Sync {
    /// Returns the date and the time. It may jump when a person or a time server sets it.
    fn date(&self) -> SystemTime;

    /// Returns the time since some moment, which is the same for the life of the clock.
    fn elapsed(&self) -> Duration;
}

impl fmt::Debug for dyn Clock {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Clock")
    }
}

/// The clock of the system. Its [`Clock::elapsed`] never goes back.
///
/// [`Clock`] has an example.
#[derive(Clone, Copy, Debug)]
pub struct SystemClock(Instant);

impl Default for SystemClock {
    fn default() -> Self {
        Self(Instant::now())
    }
}

impl Clock for SystemClock {
    fn date(&self) -> SystemTime {
        SystemTime::now()
    }

    fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}
