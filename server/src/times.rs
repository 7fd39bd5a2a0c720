//! Times as protocols have them.

use std::time::{SystemTime, UNIX_EPOCH};

use jiff::Timestamp;

/// Returns a time in seconds since 1970.
pub(crate) fn unix_seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// Returns a time as `2026-01-31T12:00:00.5Z`.
pub(crate) fn rfc3339(time: SystemTime) -> String {
    Timestamp::try_from(time).unwrap_or_default().to_string()
}

/// Returns the present time as [`rfc3339`] does.
pub(crate) fn now() -> String {
    Timestamp::now().to_string()
}

/// Returns a time that does not come.
pub(crate) fn until_forever() -> String {
    "9999-12-31T23:59:59Z".to_owned()
}
