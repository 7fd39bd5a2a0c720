//! How many event streams each owner holds open. They hold no model, so they have a limit of their own.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use alloquy_core::Owner;

use crate::error::{ApiError, ApiResult};

/// The open event streams of all owners. Copies share them.
#[derive(Clone, Debug, Default)]
pub(crate) struct HeldStreams(Arc<Mutex<HashMap<Owner, usize>>>);

/// An open event stream, until it is dropped.
#[derive(Debug)]
pub(crate) struct HeldStream {
    all: HeldStreams,
    owner: Owner,
}

impl HeldStreams {
    /// Counts one more stream of an owner, of which there may be `most`.
    ///
    /// # Errors
    /// 429 where there are as many already.
    pub(crate) fn hold(&self, owner: &Owner, most: usize) -> ApiResult<HeldStream> {
        let mut counts = self.counts();
        let count = counts.entry(owner.clone()).or_default();
        if *count >= most {
            let message = format!(
                "this owner has {count} event streams open, which is the most: close one of them, or listen to all conversations in \
                 one stream at /v1/alloquy/events"
            );
            return Err(ApiError::busy(message, Duration::from_secs(1)));
        }
        *count += 1;
        Ok(HeldStream { all: self.clone(), owner: owner.clone() })
    }

    fn counts(&self) -> MutexGuard<'_, HashMap<Owner, usize>> {
        // The counts are valid even if a thread panicked while it held the lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for HeldStream {
    fn drop(&mut self) {
        let mut counts = self.all.counts();
        let Some(count) = counts.get_mut(&self.owner) else { return };
        *count = count.saturating_sub(1);
        if *count == 0 {
            counts.remove(&self.owner);
        }
    }
}
