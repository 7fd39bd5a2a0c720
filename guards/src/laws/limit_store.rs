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
mod calls;
mod rates;

pub use budgets::*;
pub use rates::*;

use self::calls::{hourly, is_wait, reserved, take_all, taken};
use super::outcomes::must;
use crate::limits::{LimitStore, Period, Taken};

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
    must("reserve", first.reserve("persistent", false, 10, 6).await);
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
