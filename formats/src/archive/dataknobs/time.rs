//! Times as Python writes them. Knows the calendar and offsets; no named time zones.

use std::fmt;

const DAY: i64 = 86_400;

/// A moment in ISO 8601: local time, or with an offset. Printed as Python prints it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Timestamp {
    /// Seconds since 1970 of the clock that the text shows.
    seconds: i64,
    micros: u32,
    /// Seconds that the clock is ahead of UTC; `None` when the text does not say.
    offset: Option<i64>,
}

impl Timestamp {
    /// A moment in UTC, written without an offset.
    pub(super) fn of_milliseconds(milliseconds: u64) -> Self {
        let seconds = i64::try_from(milliseconds / 1000).unwrap_or(i64::MAX);
        Self { seconds, micros: u32::try_from(milliseconds % 1000).unwrap_or_default() * 1000, offset: None }
    }

    /// Reads a date with or without a time and an offset.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let date = text.get(..10)?;
        let mut numbers = date.split('-');
        let year = number(numbers.next()?, 4)?;
        let month = number(numbers.next()?, 2)?;
        let day = number(numbers.next()?, 2)?;
        if numbers.next().is_some() || !(1..=12).contains(&month) || day < 1 || day > length(year, month) {
            return None;
        }
        let days = days(year, month, day);
        let Some(rest) = text.get(10..).filter(|rest| !rest.is_empty()) else {
            return Some(Self { seconds: days * DAY, micros: 0, offset: None });
        };
        let clock = rest.get(1..).filter(|_| rest.starts_with(['T', ' ', 't']))?;
        let (clock, offset) = split_offset(clock)?;
        let (seconds, micros) = time(clock)?;
        Some(Self { seconds: days * DAY + seconds, micros, offset })
    }

    /// Returns whether the text names an offset.
    pub(super) fn has_zone(&self) -> bool {
        self.offset.is_some()
    }

    /// Returns milliseconds since 1970; `None` before. A time without an offset counts as UTC.
    pub(super) fn milliseconds(&self) -> Option<u64> {
        let seconds = u64::try_from(self.seconds - self.offset.unwrap_or_default()).ok()?;
        Some(seconds * 1000 + u64::from(self.micros / 1000))
    }
}

fn number(digits: &str, length: usize) -> Option<i64> {
    let plain = digits.len() == length && digits.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| digits.parse().ok()).flatten()
}

fn split_offset(clock: &str) -> Option<(&str, Option<i64>)> {
    if let Some(clock) = clock.strip_suffix(['Z', 'z']) {
        return Some((clock, Some(0)));
    }
    let Some(at) = clock.find(['+', '-']) else {
        return Some((clock, None));
    };
    let (clock, offset) = clock.split_at_checked(at)?;
    let sign = if offset.starts_with('-') { -1 } else { 1 };
    let digits: String = offset.chars().skip(1).filter(|&digit| digit != ':').collect();
    let hours = number(digits.get(..2)?, 2)?;
    let minutes = digits.get(2..4).map_or(Some(0), |pair| number(pair, 2))?;
    let seconds = digits.get(4..6).map_or(Some(0), |pair| number(pair, 2))?;
    if hours >= 24 || minutes >= 60 {
        return None;
    }
    Some((clock, Some(sign * (hours * 3600 + minutes * 60 + seconds))))
}

fn time(clock: &str) -> Option<(i64, u32)> {
    let (whole, fraction) =
        clock.split_once(['.', ',']).map_or((clock, None), |(whole, rest)| (whole, Some(rest)));
    let mut parts = whole.split(':').map(|part| number(part, 2));
    let hours = parts.next()??;
    let minutes = parts.next().unwrap_or(Some(0))?;
    let seconds = parts.next().unwrap_or(Some(0))?;
    if parts.next().is_some() || hours > 23 || minutes > 59 || seconds > 59 {
        return None;
    }
    let micros = match fraction {
        None => 0,
        Some(digits) if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            format!("{digits:0<6}").get(..6)?.parse().ok()?
        }
        Some(_) => return None,
    };
    Some((hours * 3600 + minutes * 60 + seconds, micros))
}

/// Days since 1970 in the Gregorian calendar: Hinnant's `days_from_civil`, for years from 0 on.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let shifted = if month <= 2 { year - 1 } else { year };
    let era = shifted.div_euclid(400);
    let of_era = shifted.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

fn length(year: i64, month: i64) -> i64 {
    let (next_year, next_month) = if month == 12 { (year + 1, 1) } else { (year, month + 1) };
    days(next_year, next_month, 1) - days(year, month, 1)
}

/// The inverse: Hinnant's `civil_from_days`.
fn date(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * of_year + 2) / 153;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, of_year - (153 * shifted_month + 2) / 5 + 1)
}

impl fmt::Display for Timestamp {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = date(self.seconds.div_euclid(DAY));
        let clock = self.seconds.rem_euclid(DAY);
        let hours = clock / 3600;
        let minutes = clock / 60 % 60;
        let seconds = clock % 60;
        write!(formatter, "{year:04}-{month:02}-{day:02}T{hours:02}:{minutes:02}:{seconds:02}")?;
        if self.micros != 0 {
            write!(formatter, ".{:06}", self.micros)?;
        }
        let Some(offset) = self.offset else { return Ok(()) };
        let (sign, ahead) = if offset < 0 { ('-', -offset) } else { ('+', offset) };
        write!(formatter, "{sign}{:02}:{:02}", ahead / 3600, ahead / 60 % 60)?;
        match ahead % 60 {
            0 => Ok(()),
            seconds => write!(formatter, ":{seconds:02}"),
        }
    }
}
