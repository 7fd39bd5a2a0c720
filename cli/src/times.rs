//! Times as people read and write them: local dates, and ages such as `30d`.

use std::time::{Duration, SystemTime};

use alloquy::core::{Error, ErrorKind, Result};
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

/// Formats a time to the minute, in the time zone of this machine or of `TZ`.
pub(crate) fn local(time: SystemTime) -> String {
    let Ok(time) = Timestamp::try_from(time) else { return "-".to_owned() };
    time.to_zoned(TimeZone::system()).strftime("%Y-%m-%d %H:%M").to_string()
}

/// Formats a time to the second, in UTC, for programs.
pub(crate) fn utc(time: SystemTime) -> String {
    let Ok(time) = Timestamp::try_from(time) else { return "-".to_owned() };
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Reads an age: a whole number and a unit.
///
/// # Errors
/// [`ErrorKind::Invalid`], with the units.
pub(crate) fn age(text: &str) -> Result<Duration> {
    let (digits, unit) =
        text.split_at(text.find(|character: char| !character.is_ascii_digit()).unwrap_or(text.len()));
    let seconds = match unit {
        "min" => 60,
        "h" => 3600,
        "d" => 86_400,
        "w" => 604_800,
        _ => return Err(no_age(text)),
    };
    let count: u64 = digits.parse().map_err(|_| no_age(text))?;
    count.checked_mul(seconds).map(Duration::from_secs).ok_or_else(|| no_age(text))
}

fn no_age(text: &str) -> Error {
    let message = format!("{text:?} is not an age: use a whole number with min, h, d or w, such as 30d");
    Error::new(ErrorKind::Invalid, message)
}

/// Reads a date, which begins at midnight here, or a date with a time. A time with an offset, or with `Z`, is one of another
/// zone.
///
/// # Errors
/// [`ErrorKind::Invalid`], with an example.
pub(crate) fn date(text: &str) -> Result<SystemTime> {
    if let Ok(time) = text.parse::<Timestamp>() {
        return Ok(time.into());
    }
    let zoned = text.parse::<DateTime>().and_then(|time| time.to_zoned(TimeZone::system()));
    zoned.map(|zoned| zoned.timestamp().into()).map_err(|_| {
        let message = format!("{text:?} is not a date such as 2026-01-31 or \"2026-01-31 14:00\"");
        Error::new(ErrorKind::Invalid, message)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_have_a_unit() {
        let ages = ["0d", "45min", "12h", "30d", "2w"].map(|text| age(text).unwrap().as_secs());
        assert_eq!(ages, [0, 2700, 43_200, 2_592_000, 1_209_600]);
        for text in ["", "d", "30", "30 d", "3m", "-1d", "1.5d", "99999999999999999999d", "9999999999999999w"]
        {
            assert!(age(text).unwrap_err().to_string().contains("such as 30d"), "{text}");
        }
    }

    #[test]
    fn dates_are_of_this_zone_unless_they_name_one() {
        let moment = date("2026-01-31T14:00:00Z").unwrap();
        assert_eq!(utc(moment), "2026-01-31T14:00:00Z");
        assert_eq!(date("2026-01-31T15:00:00+01:00").unwrap(), moment);
        for text in ["2026-01-31 14:05", "2026-06-30 14:05"] {
            assert_eq!(local(date(text).unwrap()), text);
        }
        assert_eq!(local(date("2026-01-31").unwrap()), "2026-01-31 00:00");
        assert!(date("yesterday").is_err() && date("2026-02-30").is_err());
    }
}
