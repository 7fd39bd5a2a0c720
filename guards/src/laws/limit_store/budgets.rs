//! Laws of budgets.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures::future::join_all;

use super::calls::reserved;
use crate::laws::outcomes::must;
use crate::limits::{LimitStore, Period, Spent};

/// The periods whose budgets do not depend on the day.
const TIMELESS: [Period; 2] = [Period::Turn, Period::Always];

/// A budget is used up to its last unit. A refused reservation uses nothing.
///
/// [`all`](super::all) has an example.
///
/// # Panics
/// When the law is broken.
pub async fn a_budget_is_used_exactly(store: &dyn LimitStore) {
    for period in TIMELESS {
        let key = format!("exact {period:?}");
        for (units, expected, before) in [
            (60, true, 0),
            (41, false, 60),
            (40, true, 60),
            (1, false, 100),
            (0, true, 100),
            (u64::MAX, false, 100),
        ] {
            let spent = reserved(store, &key, period, 100, units).await;
            let all = Spent { reserved: expected, before, period: 0, resets: None };
            assert_eq!(spent, all, "{units} more units of a budget of 100 with {before} used");
        }
        // The limit belongs to the call: the same budget may have another.
        assert!(reserved(store, &key, period, 101, 1).await.reserved, "a larger budget has a unit left");
    }
    let spent = reserved(store, "too much", Period::Always, 10, 11).await;
    assert_eq!((spent.reserved, spent.before), (false, 0), "the first reservation may be too large");
    assert_eq!(reserved(store, "too much", Period::Always, 10, 10).await.before, 0, "it used nothing");
}

/// A reservation is replaced by what was used, which may be less or more.
///
/// [`all`](super::all) has an example.
///
/// # Panics
/// When the law is broken.
pub async fn a_reservation_is_replaced_by_what_was_used(store: &dyn LimitStore) {
    for period in TIMELESS {
        let key = format!("settled {period:?}");
        must("settle of an unknown key", store.settle(&key, 0, 5, 7).await);
        assert_eq!(reserved(store, &key, period, 100, 50).await.before, 0, "an unknown key has used nothing");
        must("settle", store.settle(&key, 0, 50, 20).await);
        assert_eq!(reserved(store, &key, period, 100, 30).await.before, 20, "less was used than reserved");
        must("settle", store.settle(&key, 0, 30, 95).await);
        let spent = reserved(store, &key, period, 100, 1).await;
        assert_eq!((spent.reserved, spent.before), (false, 115), "more was used than the budget");
        must("settle of another day", store.settle(&key, 19_000, 100, 0).await);
        assert_eq!(reserved(store, &key, period, 100, 1).await.before, 115, "another day's changes nothing");
        must("settle", store.settle(&key, 0, 500, 10).await);
        assert_eq!(reserved(store, &key, period, 100, 1).await.before, 10, "no less than nothing was used");
    }
}

/// Units are counted exactly up to the largest number.
///
/// [`all`](super::all) has an example.
///
/// # Panics
/// When the law is broken.
pub async fn units_are_exact_to_the_last(store: &dyn LimitStore) {
    let most = u64::MAX;
    assert!(reserved(store, "large", Period::Always, most, most - 1).await.reserved, "all but one unit");
    let spent = reserved(store, "large", Period::Always, most, 2).await;
    assert_eq!((spent.reserved, spent.before), (false, most - 1), "two units are one more than is left");
    assert!(reserved(store, "large", Period::Always, most, 1).await.reserved, "the last unit is available");
    assert!(!reserved(store, "large", Period::Always, most, 1).await.reserved, "none is left");
    must("settle", store.settle("large", 0, most, most).await);
    must("settle", store.settle("large", 0, 0, most).await);
    assert_eq!(
        reserved(store, "large", Period::Always, most, 1).await.before,
        most,
        "a sum stays at the largest"
    );
}

/// A forgotten budget begins at 0, and others stay.
///
/// [`all`](super::all) has an example.
///
/// # Panics
/// When the law is broken.
pub async fn a_budget_is_forgotten(store: &dyn LimitStore) {
    must("forget of an unknown key", store.forget("forgotten").await);
    for key in ["forgotten", "kept"] {
        assert!(reserved(store, key, Period::Turn, 10, 10).await.reserved, "10 of 10 units");
    }
    must("forget", store.forget("forgotten").await);
    assert_eq!(reserved(store, "forgotten", Period::Turn, 10, 10).await.before, 0, "it begins at 0");
    assert_eq!(reserved(store, "kept", Period::Turn, 10, 10).await.before, 10, "other budgets stay");
}

/// A daily budget belongs to the present day, and says when the next begins.
///
/// [`all`](super::all) has an example.
///
/// # Panics
/// When the law is broken.
pub async fn a_daily_budget_begins_with_the_day(store: &dyn LimitStore) {
    let spent = reserved(store, "day", Period::Day, 10, 7).await;
    let today = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs() / 86_400;
    // The clocks of a server and of this machine may differ by hours at most.
    assert!(spent.period.abs_diff(today) <= 1, "day {} is not near day {today}", spent.period);
    let Some(resets) = spent.resets else { panic!("a daily budget begins again") };
    assert!(resets <= Duration::from_secs(86_400), "the next day begins within a day, not in {resets:?}");
    let again = reserved(store, "day", Period::Day, 10, 4).await;
    if again.period == spent.period {
        assert_eq!((again.reserved, again.before), (false, 7), "what was reserved today counts");
        must("settle of the day before", store.settle("day", spent.period - 1, 7, 0).await);
        assert!(!reserved(store, "day", Period::Day, 10, 4).await.reserved, "yesterday's changes nothing");
        must("settle", store.settle("day", spent.period, 7, 6).await);
        assert!(reserved(store, "day", Period::Day, 10, 4).await.reserved, "what was used today counts");
    }
}

/// Callers that run together reserve a budget exactly.
///
/// [`all`](super::all) has an example.
///
/// # Panics
/// When the law is broken.
pub async fn callers_share_a_budget(store: &dyn LimitStore) {
    let outcomes = join_all((0..40).map(|_| store.reserve("together", false, 100, 7))).await;
    let mut allowed = 0;
    for outcome in outcomes {
        if must("reserve", outcome).reserved {
            allowed += 1;
        }
    }
    assert_eq!(allowed, 14, "14 reservations of 7 fit into 100");
    let settled = join_all((0..14).map(|_| store.settle("together", 0, 7, 5))).await;
    for outcome in settled {
        must("settle", outcome);
    }
    assert_eq!(reserved(store, "together", Period::Always, 100, 1).await.before, 70, "14 of 5 are used");
}
