//! Places for running requests: a number of them for each owner, and a bounded queue before them.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use alloquy_core::Owner;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::error::{ApiError, ApiResult};
use crate::limits::RequestLimits;

/// The places of all owners.
#[derive(Debug, Default)]
pub(crate) struct Admissions {
    /// By owner and number of places: two keys of one owner may have different numbers.
    owners: Mutex<HashMap<(Owner, usize), Arc<Places>>>,
}

/// The places of one owner.
#[derive(Debug)]
struct Places {
    running: Arc<Semaphore>,
    waiting: AtomicUsize,
}

/// A place, until it is dropped.
#[derive(Debug)]
pub(crate) struct Admission {
    _permit: OwnedSemaphorePermit,
}

/// A request in the queue, until it is dropped.
struct Waiting<'a>(&'a AtomicUsize);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Admissions {
    /// Waits for a place of an owner, of which there are `running`.
    ///
    /// # Errors
    /// 429 where the queue is full, or where no place is free in time.
    pub(crate) async fn admit(
        &self,
        owner: &Owner,
        running: usize,
        limits: &RequestLimits,
    ) -> ApiResult<Admission> {
        let places = self.places(owner, running);
        if let Ok(permit) = Arc::clone(&places.running).try_acquire_owned() {
            return Ok(Admission { _permit: permit });
        }
        let before = places.waiting.fetch_add(1, Ordering::Relaxed);
        let _waiting = Waiting(&places.waiting);
        if before >= limits.waiting {
            let message = format!(
                "{running} requests of this owner run and {before} wait, which is the most: send fewer at once, or try again"
            );
            return Err(ApiError::busy(message, Duration::from_secs(1)));
        }
        let free = Arc::clone(&places.running).acquire_owned();
        match tokio::time::timeout(limits.waiting_time, free).await {
            Ok(Ok(permit)) => Ok(Admission { _permit: permit }),
            _ => {
                let message = format!(
                    "no place was free within {} seconds, since {running} requests of this owner run: try again later",
                    limits.waiting_time.as_secs()
                );
                Err(ApiError::busy(message, limits.waiting_time))
            }
        }
    }

    /// Returns how many requests have a place, and how many wait for one.
    pub(crate) fn counts(&self) -> (usize, usize) {
        let owners = self.owners.lock().unwrap_or_else(PoisonError::into_inner);
        let mut running = 0;
        let mut waiting = 0;
        for ((_, places), owner) in owners.iter() {
            running += places.saturating_sub(owner.running.available_permits());
            waiting += owner.waiting.load(Ordering::Relaxed);
        }
        (running, waiting)
    }

    /// Returns how many requests of an owner have one of its `running` places, and how many wait for one.
    pub(crate) fn counts_of(&self, owner: &Owner, running: usize) -> (usize, usize) {
        let owners = self.owners.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(places) = owners.get(&(owner.clone(), running)) else { return (0, 0) };
        let taken = running.saturating_sub(places.running.available_permits());
        (taken, places.waiting.load(Ordering::Relaxed))
    }

    /// Returns the places of an owner.
    fn places(&self, owner: &Owner, running: usize) -> Arc<Places> {
        // The map is valid even if a thread panicked while it held the lock.
        let mut owners = self.owners.lock().unwrap_or_else(PoisonError::into_inner);
        let places = owners.entry((owner.clone(), running)).or_insert_with(|| {
            let running = Arc::new(Semaphore::new(running.min(Semaphore::MAX_PERMITS)));
            Arc::new(Places { running, waiting: AtomicUsize::new(0) })
        });
        Arc::clone(places)
    }
}
