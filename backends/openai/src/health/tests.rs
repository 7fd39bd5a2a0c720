//! Rests double, and requests that fail together are one failure.
#![allow(clippy::unwrap_used)] // a test may panic

use std::time::{Duration, Instant};

use alloquy_core::{Error, ErrorKind};

use super::Health;
use crate::fault::Fault;

fn cut() -> Fault {
    Fault::passing(Error::new(ErrorKind::Backend, "the connection failed"))
}

fn busy(seconds: u64) -> Fault {
    let retry_after = Some(Duration::from_secs(seconds));
    Fault { retry_after, ..Fault::passing(Error::new(ErrorKind::Busy, "the server answered 429")) }
}

fn seconds(health: &Health, now: Instant) -> u64 {
    health.rest().unwrap().until.duration_since(now).as_secs()
}

#[test]
fn rests_double_until_a_request_succeeds() {
    let now = Instant::now();
    let mut health = Health::healthy();
    let mut rests = Vec::new();
    for _ in 0..8 {
        assert!(health.fail(health.rests, &cut(), now));
        rests.push(seconds(&health, now));
        health.checked(Ok(()), now);
        assert!(health.is_healthy());
    }
    assert_eq!(rests, [1, 2, 4, 8, 16, 32, 60, 60]);
    health.succeed();
    assert!(health.fail(health.rests, &cut(), now));
    assert_eq!(seconds(&health, now), 1);
    // Checks that fail double it too.
    health.checked(Err(cut()), now);
    assert_eq!(seconds(&health, now), 2);
}

#[test]
fn requests_that_fail_together_are_one_failure() {
    let now = Instant::now();
    let mut health = Health::healthy();
    let sent = health.rests;
    assert!(health.fail(sent, &cut(), now));
    for _ in 0..100 {
        assert!(!health.fail(sent, &cut(), now));
    }
    assert_eq!(seconds(&health, now), 1);
    health.checked(Ok(()), now);
    assert!(!health.fail(sent, &cut(), now), "it was sent before the rest");
    assert!(health.is_healthy());
}

#[test]
fn a_server_rests_as_long_as_it_wants() {
    let now = Instant::now();
    let mut health = Health::healthy();
    assert!(health.fail(0, &busy(7), now));
    assert_eq!((seconds(&health, now), health.rest().unwrap().is_outage), (7, false));
    assert!(!health.fail(0, &busy(9), now));
    assert!(!health.fail(0, &busy(3), now));
    assert_eq!((seconds(&health, now), health.rest().unwrap().is_outage), (9, false));
    assert!(!health.fail(0, &cut(), now));
    assert!(health.rest().unwrap().is_outage, "it was not only overloaded");
    let mut health = Health::healthy();
    assert!(health.fail(0, &busy(u64::MAX), now));
    assert_eq!(seconds(&health, now), 3600);
}

#[test]
fn another_model_is_a_refusal() {
    let now = Instant::now();
    let mut health = Health::healthy();
    health.checked(Err(Fault::lasting(Error::new(ErrorKind::Model, "another tokenizer"))), now);
    assert_eq!((seconds(&health, now), health.rest().unwrap().is_refused), (60, true));
    health.checked(Err(cut()), now);
    assert!(!health.rest().unwrap().is_refused);
}
