//! What every store of limits must do.
//!
//! | suite | stores |
//! |---|---|
//! | [`all`] | all |
//! | [`threads_share_a_limit`] | those whose calls may be awaited on any thread |
//! | [`persistent`] | those that outlive the process |
//!
//! Waiting is done by the clock of the store, for a quarter of a second at most.

mod budgets;
mod rates;

use std::fmt::Debug;
use std::time::Duration;

use alloquy_core::Result;

pub use budgets::*;
pub use rates::*;

use super::outcomes::must;
use crate::limits::{LimitStore, Period, Rate, Spent, Taken};

/// Runs every law of a store. `open` opens a new empty store each time, which uses the clock of the system or of its server.
///
/// # Panics
/// When a law is broken, with a sentence that says which.
///
/// ```
/// use alloquy_guards::laws::limit_store;
/// use alloquy_guards::limits::MemoryLimits;
///
/// pollster::block_on(limit_store::all(async || MemoryLimits::default()));
/// limit_store::threads_share_a_limit(&MemoryLimits::default());
/// ```
pub async fn all<S: LimitStore>(open: impl AsyncFn() -> S) {
    a_burst_is_allowed_and_no_more(&open().await).await;
    waiting_helps(&open().await).await;
    a_refusal_takes_nothing(&open().await).await;
    more_than_a_burst_is_never_allowed(&open().await).await;
    what_is_given_back_may_be_taken(&open().await).await;
    giving_back_too_much_allows_no_more_than_a_burst(&open().await).await;
    keys_are_apart(&open().await).await;
    extreme_rates_are_counted(&open().await).await;
    callers_share_a_limit(&open().await).await;
    a_budget_is_used_exactly(&open().await).await;
    a_reservation_is_replaced_by_what_was_used(&open().await).await;
    units_are_exact_to_the_last(&open().await).await;
    a_budget_is_forgotten(&open().await).await;
    a_daily_budget_begins_with_the_day(&open().await).await;
    callers_share_a_budget(&open().await).await;
}

/// Runs every law of a store that outlives the process. `open` opens the same place each time, which is empty at first. Several stores
/// may be open there.
///
/// # Panics
/// When a law is broken, with a sentence that says which.
///
/// ```
/// use alloquy_guards::laws::limit_store;
/// use alloquy_guards::limits::MemoryLimits;
///
/// // Copies share their counts.
/// let limits = MemoryLimits::default();
/// pollster::block_on(limit_store::persistent(async || limits.clone()));
/// ```
pub async fn persistent<S: LimitStore>(open: impl AsyncFn() -> S) {
    let first = open().await;
    take_all(&first, "persistent", hourly(3), 2).await;
    must("reserve", first.reserve("persistent", Period::Always, 10, 6).await);
    let second = open().await;
    assert_eq!(taken(&second, "persistent", hourly(3), 1).await, Taken::Yes, "another handle takes the rest");
    assert!(is_wait(taken(&first, "persistent", hourly(3), 1).await), "handles share what is taken");
    drop(first);
    drop(second);
    let third = open().await;
    assert!(is_wait(taken(&third, "persistent", hourly(3), 1).await), "what was taken survives closing");
    let spent = reserved(&third, "persistent", Period::Always, 10, 5).await;
    assert_eq!((spent.reserved, spent.before), (false, 6), "what was reserved survives closing");
    assert!(reserved(&third, "persistent", Period::Always, 10, 4).await.reserved, "the rest is available");
}

/// Returns a rate that allows so many calls at once, and the next one after minutes.
fn hourly(calls: u32) -> Rate {
    valid(Rate::new(calls, Duration::from_secs(3600)))
}

fn valid<T: Debug>(rate: Result<T>) -> T {
    must("creating a rate", rate)
}

/// Takes calls and returns the outcome.
async fn taken(store: &dyn LimitStore, key: &str, rate: Rate, units: u32) -> Taken {
    must("take", store.take(key, rate, units).await)
}

/// Takes so many calls one by one, all of which must be allowed.
async fn take_all(store: &dyn LimitStore, key: &str, rate: Rate, count: u32) {
    for number in 0..count {
        let outcome = taken(store, key, rate, 1).await;
        assert_eq!(outcome, Taken::Yes, "call {number} of {count} is below the limit");
    }
}

/// Returns whether the calls were refused for some time.
fn is_wait(outcome: Taken) -> bool {
    matches!(outcome, Taken::Wait(wait) if !wait.is_zero())
}

/// Reserves units and returns the state of the budget.
async fn reserved(store: &dyn LimitStore, key: &str, period: Period, most: u64, units: u64) -> Spent {
    must("reserve", store.reserve(key, period, most, units).await)
}
