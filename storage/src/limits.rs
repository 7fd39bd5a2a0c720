//! What limits are in a database: numbers of 64 bits, and keys of one length.

use std::time::Duration;

use alloquy_core::media::Digest;
use alloquy_guards::limits::{Rate, Taken};

/// The seconds of a day.
#[cfg(feature = "sqlite")]
pub(crate) const DAY: i64 = 86_400;

/// Calls that are to be taken: each adds to a debt that time removes, and the debt has a limit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked {
    /// What the calls add to the debt, in nanoseconds.
    pub(crate) cost: i64,
    /// How large the debt may be, in nanoseconds.
    pub(crate) most: i64,
}

impl Asked {
    /// Returns what some calls need; `None` where they are more than a burst.
    pub(crate) fn of(rate: Rate, units: u32) -> Option<Self> {
        let most = rate.burst_size();
        if units > most {
            return None;
        }
        Some(Self { cost: cost(rate, units), most: cost(rate, most) })
    }

    /// Returns how long to wait until the calls fit, with a debt that refused them.
    pub(crate) fn wait(self, debt: i64) -> Taken {
        let wait = debt.saturating_sub(self.most.saturating_sub(self.cost));
        Taken::Wait(Duration::from_nanos(wait.unsigned_abs()))
    }
}

/// Returns the time of some calls in nanoseconds. 292 years are the longest debt.
pub(crate) fn cost(rate: Rate, units: u32) -> i64 {
    let nanoseconds = rate.interval().as_nanos().saturating_mul(units.into());
    i64::try_from(nanoseconds).unwrap_or(i64::MAX)
}

/// Returns the key of a row. A digest is short, and does not show the names of owners and conversations.
///
/// Digests are spread evenly: the rows that follow a new one are a random sample, in which rows without effect are removed.
pub(crate) fn row_key(key: &str) -> Vec<u8> {
    Digest::of(key.as_bytes()).as_bytes().to_vec()
}
