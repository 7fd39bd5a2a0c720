//! Tests of how long a request waits before it is sent again.

#![allow(clippy::unwrap_used)] // a test may panic

use std::time::Duration;

use alloquy_core::{Error, ErrorKind};

use super::{RemoteRetries, part};
use crate::fault::Fault;

fn fault(retry_after: Option<Duration>) -> Fault {
    let error = Error::new(ErrorKind::Busy, "of the test");
    Fault { error, is_passing: true, retry_after }
}

#[test]
fn waits_are_random_up_to_a_limit_that_doubles() {
    let retries = RemoteRetries { attempts: 100, ..RemoteRetries::default() };
    for (attempt, limit) in [(1, 250), (2, 500), (3, 1000), (7, 16_000), (8, 20_000), (99, 20_000)] {
        let mut waits = Vec::new();
        for _ in 0..200 {
            waits.push(retries.wait(&fault(None), attempt).unwrap());
        }
        let limit = Duration::from_millis(limit);
        assert!(waits.iter().all(|wait| *wait < limit), "attempt {attempt}");
        // The chance that all of 200 are in one half is less than 10^-60.
        let late = waits.iter().filter(|wait| **wait > limit / 2).count();
        assert!(late > 0 && late < 200, "attempt {attempt}: {late} of 200 in the second half");
    }
    assert_eq!(retries.wait(&fault(None), 100), None);
}

#[test]
fn a_wait_that_the_server_sets_is_kept() {
    let retries = RemoteRetries::default();
    for seconds in [0, 1, 20] {
        let asked = Duration::from_secs(seconds);
        assert_eq!(retries.wait(&fault(Some(asked)), 1), Some(asked));
    }
    assert_eq!(retries.wait(&fault(Some(Duration::from_secs(21))), 1), None);
}

#[test]
fn a_part_of_any_duration_is_one() {
    assert_eq!(part(Duration::MAX, 0), Duration::ZERO);
    assert!(part(Duration::from_secs(1), u64::MAX) <= Duration::from_secs(1));
    assert_eq!(part(Duration::from_secs(1), 1 << 63), Duration::from_millis(500));
    assert!(part(Duration::MAX, u64::MAX) > Duration::from_secs(500 * 365 * 24 * 3600));
}
