//! The current time for ids and stored data, which is never before 1970: neither format can represent an earlier time.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use uuid::{ContextV7, Timestamp, Uuid};

/// Replaces a time before 1970. It is not 0, because at 0 the counter of ids would begin at 0 in every process.
const FIRST: Duration = Duration::from_millis(1);

/// Counts the ids of one moment, so that later ids sort higher.
static IDS: Mutex<ContextV7> = Mutex::new(ContextV7::new());

/// Returns the time.
pub(crate) fn now() -> SystemTime {
    SystemTime::UNIX_EPOCH + since_epoch(SystemTime::now())
}

/// Creates an id that sorts above every id created before in this process.
pub(crate) fn new_id() -> Uuid {
    // The counter is valid even if a thread panicked while it held the lock.
    let ids = IDS.lock().unwrap_or_else(PoisonError::into_inner);
    id_at(&ids, SystemTime::now())
}

fn id_at(ids: &ContextV7, time: SystemTime) -> Uuid {
    let since = since_epoch(time);
    Uuid::new_v7(Timestamp::from_unix(ids, since.as_secs(), since.subsec_nanos()))
}

fn since_epoch(time: SystemTime) -> Duration {
    time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or(FIRST).max(FIRST)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn ids_are_unique_and_sorted_even_if_the_clock_goes_back() {
        let year = Duration::from_secs(365 * 86_400);
        let epoch = SystemTime::UNIX_EPOCH;
        let before =
            [epoch - 60 * year, epoch - Duration::from_nanos(1), epoch, epoch + Duration::from_nanos(1)];
        let later = [epoch + 56 * year, epoch - year, epoch + 80 * year, epoch + 57 * year];
        let counter = ContextV7::new();
        let mut ids = Vec::new();
        for time in before.into_iter().chain(later) {
            ids.extend((0..1000).map(|_| id_at(&counter, time)));
        }
        assert!(ids.is_sorted(), "later ids sort higher, also when the clock goes back");
        assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), 8000);
        assert!(ids.iter().all(|id| id.get_version_num() == 7));
        assert_eq!(since_epoch(epoch - 60 * year), FIRST);
        assert!(now() > epoch);
    }
}
