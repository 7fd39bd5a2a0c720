//! A number of calls for each time.

use std::time::Duration;

use alloquy_core::{Error, ErrorKind, Result};

/// A number of calls for each time, and how many may be at once.
///
/// The calls are spread by the generic cell rate algorithm (GCRA, ITU-T I.371): each call adds one interval to a debt that time
/// removes, and the debt may be as long as a burst. So no window begins at once for all.
///
/// ```
/// use std::time::Duration;
///
/// use alloquy_guards::limits::Rate;
///
/// let rate = Rate::new(60, Duration::from_secs(60))?.burst(5)?;
/// assert!(rate.burst(0).is_err() && Rate::new(0, Duration::from_secs(60)).is_err());
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// The time of one call in nanoseconds.
    interval: u64,
    burst: u32,
}

impl Rate {
    /// Creates a rate of `calls` for each `time`, all of which may be at once.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for no calls, no time, more calls than nanoseconds, or more than a century.
    pub fn new(calls: u32, time: Duration) -> Result<Self> {
        let nanoseconds = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let interval = nanoseconds.checked_div(u64::from(calls)).unwrap_or(0);
        if interval == 0 || time > CENTURY {
            let words = format!(
                "{calls} calls in {time:?} are not a rate: at least 1 call in 1ns, at most a century"
            );
            return Err(Error::new(ErrorKind::Invalid, words));
        }
        Ok(Self { interval, burst: calls })
    }

    /// Sets how many calls may be at once.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for no calls.
    pub fn burst(mut self, calls: u32) -> Result<Self> {
        if calls == 0 {
            return Err(Error::new(ErrorKind::Invalid, "a burst of 0 calls allows none: at least 1"));
        }
        self.burst = calls;
        Ok(self)
    }

    /// Returns the time after which one more call is allowed.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use alloquy_guards::limits::Rate;
    ///
    /// let rate = Rate::new(60, Duration::from_secs(120))?;
    /// assert_eq!((rate.interval(), rate.burst_size()), (Duration::from_secs(2), 60));
    /// # Ok::<(), alloquy_core::Error>(())
    /// ```
    pub fn interval(self) -> Duration {
        Duration::from_nanos(self.interval)
    }

    /// Returns how many calls may be at once.
    ///
    /// [`Rate::interval`] has an example.
    pub fn burst_size(self) -> u32 {
        self.burst
    }

    /// Returns a text that differs for each rate.
    pub(super) fn name(self) -> String {
        format!("rate {} {}", self.interval, self.burst)
    }

    /// Returns the time that some calls add to the debt.
    fn time_of(self, calls: u32) -> Duration {
        Duration::from_nanos(self.interval.saturating_mul(u64::from(calls)))
    }

    /// Decides about calls, for a [`LimitStore`](super::LimitStore) of your own. Returns the decision, and when the debt ends then.
    ///
    /// A store keeps for each key when its debt ends; that of a new key has ended. Both times count from the same moment, such as
    /// 1970, and `now` never goes back.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use alloquy_guards::limits::{Rate, Taken};
    ///
    /// let rate = Rate::new(1, Duration::from_secs(60))?;
    /// let now = Duration::from_secs(1000);
    /// let (taken, end) = rate.take(now, Duration::ZERO, 1);
    /// assert_eq!((taken, end), (Taken::Yes, Duration::from_secs(1060)));
    /// let wait = Duration::from_secs(60);
    /// assert_eq!(rate.take(now, end, 1), (Taken::Wait(wait), end));
    /// assert_eq!(rate.give_back(end, 1), now);
    /// # Ok::<(), alloquy_core::Error>(())
    /// ```
    pub fn take(self, now: Duration, end: Duration, calls: u32) -> (Taken, Duration) {
        let end = end.max(now);
        if calls > self.burst {
            return (Taken::Never, end);
        }
        let after = end.saturating_add(self.time_of(calls));
        let allowed = now.saturating_add(self.time_of(self.burst));
        let wait = after.saturating_sub(allowed);
        if wait.is_zero() { (Taken::Yes, after) } else { (Taken::Wait(wait), end) }
    }

    /// Returns when the debt ends after calls were given back, for a store of your own. [`Rate::take`] has an example.
    pub fn give_back(self, end: Duration, calls: u32) -> Duration {
        end.saturating_sub(self.time_of(calls))
    }
}

const CENTURY: Duration = Duration::from_secs(100 * 366 * 86_400);

/// Whether calls were taken.
///
/// [`LimitStore::take`](super::LimitStore::take) returns it, and [`MemoryLimits`](super::MemoryLimits) has an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// They were.
    Yes,
    /// They were not; they will be available after this time.
    Wait(Duration),
    /// They were not, and never will be: they are more than the burst of the rate.
    Never,
}
