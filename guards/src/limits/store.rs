//! Where limits are counted.

use std::collections::HashMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use alloquy_core::Result;
use async_trait::async_trait;

use super::rate::{Rate, Taken};
use crate::clock::{Clock, SystemClock};

/// Counts what calls take. Several limits, and several processes, may share a store.
///
/// # Contract
/// Each method changes its key at once, as if no other caller ran. Time never goes back: after a clock was set back, the store
/// continues from the latest time that it has seen. A method that fails has changed nothing, or has taken and not given.
///
/// What has no effect any more may be forgotten: a key whose calls are available again, the budget of an earlier day, and the budget
/// of a turn that reserved nothing for a day. The budget of a key is always that of a day, of a turn, or without end.
///
/// `laws::limit_store`, with the feature `testing`, checks a store.
///
/// [`MemoryLimits`] has an example.
#[async_trait]
pub trait LimitStore: Send + Sync + Debug {
    /// Takes `units` calls under a rate.
    ///
    /// # Errors
    /// When the store is unavailable.
    async fn take(&self, key: &str, rate: Rate, units: u32) -> Result<Taken>;

    /// Gives back `units` calls that did not happen.
    ///
    /// # Errors
    /// When the store is unavailable.
    async fn give_back(&self, key: &str, rate: Rate, units: u32) -> Result<()>;

    /// Reserves `units` of a budget of `most` units, on the present day if `daily`, and otherwise for ever.
    ///
    /// # Errors
    /// When the store is unavailable.
    async fn reserve(&self, key: &str, daily: bool, most: u64, units: u64) -> Result<Spent>;

    /// Reserves `units` of the budget of a turn, of `most` units. A store may forget this budget a day after its last reservation, so
    /// that turns that ended take no space; the provided method keeps it for ever.
    ///
    /// # Errors
    /// When the store is unavailable.
    async fn reserve_for_turn(&self, key: &str, most: u64, units: u64) -> Result<Spent> {
        self.reserve(key, false, most, units).await
    }

    /// Replaces a reservation of a [`period`](Spent::period) by what was used. What was used may be more. The budget of another period
    /// does not change.
    ///
    /// # Errors
    /// When the store is unavailable.
    async fn settle(&self, key: &str, period: u64, reserved: u64, used: u64) -> Result<()>;

    /// Forgets a budget, so that it begins at 0.
    ///
    /// # Errors
    /// When the store is unavailable.
    async fn forget(&self, key: &str) -> Result<()>;
}

/// The state of a budget after a reservation.
///
/// [`LimitStore::reserve`] returns it.
///
/// ```
/// use alloquy_guards::limits::{LimitStore, MemoryLimits};
///
/// # pollster::block_on(async {
/// let store = MemoryLimits::default();
/// let first = store.reserve("ann", false, 100, 60).await?;
/// let second = store.reserve("ann", false, 100, 60).await?;
/// assert!(first.reserved && !second.reserved);
/// assert_eq!((second.before, second.resets), (60, None));
/// # Ok::<(), alloquy_core::Error>(())
/// # })?;
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spent {
    /// Whether the units were reserved.
    pub reserved: bool,
    /// The units that were used or reserved before.
    pub before: u64,
    /// The day since 1970 of a daily budget, and 0 for others.
    pub period: u64,
    /// The time until the budget begins at 0; `None` if it never does.
    pub resets: Option<Duration>,
}

/// Counts in memory, for one process. Copies share the counts.
///
/// ```
/// use std::time::Duration;
///
/// use alloquy_guards::limits::{LimitStore, MemoryLimits, Rate, Taken};
///
/// # pollster::block_on(async {
/// let store = MemoryLimits::default();
/// let rate = Rate::new(2, Duration::from_secs(60))?;
/// assert_eq!(store.take("ann", rate, 2).await?, Taken::Yes);
/// assert!(matches!(store.take("ann", rate, 1).await?, Taken::Wait(_)));
/// assert_eq!(store.take("bob", rate, 1).await?, Taken::Yes);
/// # Ok::<(), alloquy_core::Error>(())
/// # })?;
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct MemoryLimits {
    clock: Arc<dyn Clock>,
    counts: Arc<Mutex<Counts>>,
}

impl Default for MemoryLimits {
    fn default() -> Self {
        Self::with_clock(SystemClock::default())
    }
}

#[derive(Debug, Default)]
struct Counts {
    /// When the debt of each key ends (GCRA's theoretical arrival time).
    rates: HashMap<String, Duration>,
    budgets: HashMap<String, Count>,
    /// The latest time that was seen.
    now: Duration,
    /// The latest day that was seen, and the time of the day in seconds.
    today: (u64, u64),
    /// How many keys there may be until those without effect are removed.
    sweep: usize,
}

/// The state of a budget.
#[derive(Clone, Copy, Debug)]
struct Count {
    /// The day of a daily budget, and 0 for others.
    period: u64,
    units: u64,
    /// The day from which it has no effect.
    until: Option<u64>,
}

/// The seconds of a day.
const DAY: u64 = 86_400;

/// How many keys there are at least before those without effect are removed.
const FEW: usize = 1024;

impl MemoryLimits {
    /// Creates a store with a clock of the host's own.
    pub fn with_clock(clock: impl Clock + 'static) -> Self {
        Self { clock: Arc::new(clock), counts: Arc::default() }
    }

    /// Returns the counts at the present time, which is never before the time of the last call.
    fn counts(&self) -> MutexGuard<'_, Counts> {
        let elapsed = self.clock.elapsed();
        let since = self.clock.date().duration_since(std::time::UNIX_EPOCH).unwrap_or_default().as_secs();
        // Each change is one assignment, so the counts are valid even if a thread panicked with the lock.
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        counts.now = counts.now.max(elapsed);
        counts.today = counts.today.max((since / DAY, since % DAY));
        counts.sweep();
        counts
    }
}

impl Counts {
    /// Removes keys that have no effect any more, when their number has doubled.
    fn sweep(&mut self) {
        if self.rates.len() + self.budgets.len() < self.sweep.max(FEW) {
            return;
        }
        let now = self.now;
        let today = self.today.0;
        self.rates.retain(|_, end| *end > now);
        self.budgets.retain(|_, count| count.until.is_none_or(|until| today < until));
        self.sweep = 2 * (self.rates.len() + self.budgets.len());
    }

    /// Reserves units of a budget that has an effect until a day.
    fn reserve(&mut self, key: &str, period: u64, until: Option<u64>, most: u64, units: u64) -> Spent {
        let known = self.budgets.get(key).filter(|count| count.period == period);
        let before = known.map_or(0, |count| count.units);
        let after = before.checked_add(units).filter(|after| *after <= most);
        if let Some(units) = after {
            self.budgets.insert(key.to_owned(), Count { period, units, until });
        }
        Spent { reserved: after.is_some(), before, period, resets: None }
    }
}

#[async_trait]
impl LimitStore for MemoryLimits {
    async fn take(&self, key: &str, rate: Rate, units: u32) -> Result<Taken> {
        let mut counts = self.counts();
        let now = counts.now;
        let end = counts.rates.get(key).copied().unwrap_or_default();
        let (taken, end) = rate.take(now, end, units);
        if taken == Taken::Yes {
            counts.rates.insert(key.to_owned(), end);
        }
        Ok(taken)
    }

    async fn give_back(&self, key: &str, rate: Rate, units: u32) -> Result<()> {
        let mut counts = self.counts();
        if let Some(end) = counts.rates.get_mut(key) {
            *end = rate.give_back(*end, units);
        }
        Ok(())
    }

    async fn reserve(&self, key: &str, daily: bool, most: u64, units: u64) -> Result<Spent> {
        let mut counts = self.counts();
        let (today, second) = counts.today;
        if !daily {
            return Ok(counts.reserve(key, 0, None, most, units));
        }
        let mut spent = counts.reserve(key, today, Some(today + 1), most, units);
        spent.resets = Some(Duration::from_secs(DAY - second));
        Ok(spent)
    }

    async fn reserve_for_turn(&self, key: &str, most: u64, units: u64) -> Result<Spent> {
        let mut counts = self.counts();
        // A whole day passes before it is forgotten.
        let until = counts.today.0 + 2;
        Ok(counts.reserve(key, 0, Some(until), most, units))
    }

    async fn settle(&self, key: &str, period: u64, reserved: u64, used: u64) -> Result<()> {
        let mut counts = self.counts();
        // The budget of another day has no such reservation.
        if let Some(count) = counts.budgets.get_mut(key)
            && count.period == period
        {
            count.units = count.units.saturating_sub(reserved).saturating_add(used);
        }
        Ok(())
    }

    async fn forget(&self, key: &str) -> Result<()> {
        self.counts().budgets.remove(key);
        Ok(())
    }
}
