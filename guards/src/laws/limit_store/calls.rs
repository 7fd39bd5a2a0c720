//! Calls of a store in a law, and rates for them.

use std::fmt::Debug;
use std::time::Duration;

use alloquy_core::Result;

use crate::laws::outcomes::must;
use crate::limits::{LimitStore, Period, Rate, Spent, Taken};

/// Returns a rate that allows so many calls at once, and the next one after minutes.
pub(super) fn hourly(calls: u32) -> Rate {
    valid(Rate::new(calls, Duration::from_secs(3600)))
}

pub(super) fn valid<T: Debug>(rate: Result<T>) -> T {
    must("creating a rate", rate)
}

/// Takes calls and returns the outcome.
pub(super) async fn taken(store: &dyn LimitStore, key: &str, rate: Rate, units: u32) -> Taken {
    must("take", store.take(key, rate, units).await)
}

/// Takes so many calls one by one, all of which must be allowed.
pub(super) async fn take_all(store: &dyn LimitStore, key: &str, rate: Rate, count: u32) {
    for number in 0..count {
        let outcome = taken(store, key, rate, 1).await;
        assert_eq!(outcome, Taken::Yes, "call {number} of {count} is below the limit");
    }
}

/// Returns whether the calls were refused for some time.
pub(super) fn is_wait(outcome: Taken) -> bool {
    matches!(outcome, Taken::Wait(wait) if !wait.is_zero())
}

/// Reserves units and returns the state of the budget.
pub(super) async fn reserved(
    store: &dyn LimitStore,
    key: &str,
    period: Period,
    most: u64,
    units: u64,
) -> Spent {
    let outcome = match period {
        Period::Turn => store.reserve_for_turn(key, most, units).await,
        Period::Day => store.reserve(key, true, most, units).await,
        Period::Always => store.reserve(key, false, most, units).await,
    };
    must("reserve", outcome)
}
