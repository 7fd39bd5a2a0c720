//! Laws of rates.

use std::time::Duration;

use futures::future::join_all;

use super::calls::{hourly, is_wait, take_all, taken, valid};
use crate::laws::outcomes::must;
use crate::limits::{LimitStore, Rate, Taken};

/// A burst is allowed at once, and the next call after the interval of the rate.
///
/// [`all`](super::all) has an example.
///
/// # Panics
/// When the law is broken.
pub async fn a_burst_is_allowed_and_no_more(store: &dyn LimitStore) {
    let rate = hourly(3);
    take_all(store, "burst", rate, 3).await;
    match taken(store, "burst", rate, 1).await {
        Taken::Wait(wait) => {
            let interval = rate.interval();
            assert!(wait <= interval, "one more call waits for one interval at most, and not for {wait:?}");
            assert!(
                wait + Duration::from_secs(600) > interval,
                "{wait:?} is less than the rest of an interval"
            );
        }
        other => panic!("the call after the burst waits, and is not {other:?}"),
    }
    let both = hourly(2);
    assert_eq!(taken(store, "together", both, 2).await, Taken::Yes, "a burst may be taken together");
    assert!(is_wait(taken(store, "together", both, 1).await), "nothing is left after the burst");
}

/// Calls are allowed after the time that a refusal returned.
///
/// [`all`](super::all) has an example.
///
/// # Panics
/// When the law is broken.
pub async fn waiting_helps(store: &dyn LimitStore) {
    let rate = valid(Rate::new(1, Duration::from_millis(200)));
    take_all(store, "wait", rate, 1).await;
    // The machine may have paused for longer than the interval.
    let Taken::Wait(wait) = taken(store, "wait", rate, 1).await else { return };
    // Clocks of databases count whole microseconds.
    std::thread::sleep(wait + Duration::from_millis(1));
    assert_eq!(taken(store, "wait", rate, 1).await, Taken::Yes, "a call is allowed after {wait:?}");
}

/// A refused call does not make the next one wait longer.
///
/// [`all`](super::all) has an example.
///
/// # Panics
/// When the law is broken.
pub async fn a_refusal_takes_nothing(store: &dyn LimitStore) {
    let rate = hourly(2);
    take_all(store, "refused", rate, 1).await;
    for _ in 0..10 {
        assert!(is_wait(taken(store, "refused", rate, 2).await), "two calls are more than is left");
    }
    assert_eq!(taken(store, "refused", rate, 1).await, Taken::Yes, "refused calls took nothing");
    for _ in 0..10 {
        match taken(store, "refused", rate, 1).await {
            Taken::Wait(wait) => assert!(wait <= rate.interval(), "refusals add to the wait: {wait:?}"),
            other => panic!("nothing is left, but the outcome is {other:?}"),
        }
    }
}

/// More calls than a burst are never allowed, and take nothing.
///
/// [`all`](super::all) has an example.
///
/// # Panics
/// When the law is broken.
pub async fn more_than_a_burst_is_never_allowed(store: &dyn LimitStore) {
    let rate = hourly(2);
    for units in [3, u32::MAX] {
        assert_eq!(taken(store, "never", rate, units).await, Taken::Never, "{units} calls are more than 2");
    }
    take_all(store, "never", rate, 2).await;
    assert_eq!(taken(store, "never", rate, 3).await, Taken::Never, "waiting does not help");
}

/// What is given back may be taken again.
///
/// [`all`](super::all) has an example.
///
/// # Panics
/// When the law is broken.
pub async fn what_is_given_back_may_be_taken(store: &dyn LimitStore) {
    let rate = hourly(3);
    for _ in 0..3 {
        assert_eq!(taken(store, "back", rate, 3).await, Taken::Yes, "three calls are the burst");
        assert!(is_wait(taken(store, "back", rate, 1).await), "nothing is left");
        must("give_back", store.give_back("back", rate, 1).await);
        assert_eq!(taken(store, "back", rate, 1).await, Taken::Yes, "what was given back is available");
        assert!(is_wait(taken(store, "back", rate, 1).await), "no more than that is available");
        must("give_back", store.give_back("back", rate, 3).await);
    }
}

/// Giving back what was never taken allows no more than a burst.
///
/// [`all`](super::all) has an example.
///
/// # Panics
/// When the law is broken.
pub async fn giving_back_too_much_allows_no_more_than_a_burst(store: &dyn LimitStore) {
    let rate = hourly(2);
    must("give_back of an unknown key", store.give_back("excess", rate, 5).await);
    take_all(store, "excess", rate, 1).await;
    must("give_back", store.give_back("excess", rate, 2).await);
    must("give_back", store.give_back("excess", rate, u32::MAX).await);
    take_all(store, "excess", rate, 2).await;
    assert!(is_wait(taken(store, "excess", rate, 1).await), "a burst is the most that is available");
}

/// Each key is counted apart, whatever its characters and its length.
///
/// [`all`](super::all) has an example.
///
/// # Panics
/// When the law is broken.
pub async fn keys_are_apart(store: &dyn LimitStore) {
    let rate = hourly(1);
    let long = "x".repeat(10_000);
    let longer = "x".repeat(10_001);
    let keys =
        ["", " ", "a", "A", "a ", "a\0", "a\0b", "ä", "a\u{308}", "%", "'", "\"", "\\", &long, &longer];
    for key in keys {
        assert_eq!(taken(store, key, rate, 1).await, Taken::Yes, "key {:?} is its own", shown(key));
    }
    for key in keys {
        assert!(is_wait(taken(store, key, rate, 1).await), "key {:?} is counted", shown(key));
    }
}

/// Returns the start of a key.
fn shown(key: &str) -> String {
    key.chars().take(20).collect()
}

/// The fastest and the slowest rate are counted.
///
/// [`all`](super::all) has an example.
///
/// # Panics
/// When the law is broken.
pub async fn extreme_rates_are_counted(store: &dyn LimitStore) {
    let century = Duration::from_secs(100 * 366 * 86_400);
    let slow = valid(Rate::new(1, century));
    take_all(store, "slow", slow, 1).await;
    match taken(store, "slow", slow, 1).await {
        Taken::Wait(wait) => assert!(wait > century / 2, "the next call is after a century, not {wait:?}"),
        other => panic!("a second call within a century waits, and is not {other:?}"),
    }
    let fast = valid(Rate::new(u32::MAX, Duration::from_nanos(u32::MAX.into())));
    assert_eq!(taken(store, "fast", fast, u32::MAX).await, Taken::Yes, "a call takes a nanosecond");
    let huge = valid(valid(Rate::new(1, century)).burst(u32::MAX));
    assert_eq!(
        taken(store, "huge", huge, u32::MAX).await,
        Taken::Yes,
        "a burst may be as large as it can be"
    );
}

/// Callers that run together are allowed the limit exactly.
///
/// [`all`](super::all) has an example.
///
/// # Panics
/// When the law is broken.
pub async fn callers_share_a_limit(store: &dyn LimitStore) {
    let rate = hourly(13);
    let outcomes = join_all((0..40).map(|_| store.take("together", rate, 1))).await;
    let mut allowed = 0;
    for outcome in outcomes {
        if must("take", outcome) == Taken::Yes {
            allowed += 1;
        }
    }
    assert_eq!(allowed, 13, "callers that run together get the limit exactly");
}

/// Callers on several threads are allowed the limit exactly.
///
/// The law blocks its thread, so it is not in [`all`](super::all), which has an example.
///
/// # Panics
/// When the law is broken.
pub fn threads_share_a_limit(store: &dyn LimitStore) {
    let rate = hourly(70);
    let mut allowed = 0;
    std::thread::scope(|scope| {
        let threads: Vec<_> =
            (0..4).map(|_| scope.spawn(|| pollster::block_on(allowed_of(store, rate, 50)))).collect();
        for thread in threads {
            match thread.join() {
                Ok(count) => allowed += count,
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
    });
    assert_eq!(allowed, 70, "threads get the limit exactly");
}

/// Takes `count` calls one by one, and returns how many were allowed.
async fn allowed_of(store: &dyn LimitStore, rate: Rate, count: u32) -> u32 {
    let mut allowed = 0;
    for _ in 0..count {
        if taken(store, "threads", rate, 1).await == Taken::Yes {
            allowed += 1;
        }
    }
    allowed
}
