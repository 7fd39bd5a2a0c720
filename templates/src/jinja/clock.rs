//! The clock that `strftime_now` reads.

use jiff::civil::DateTime;
use jiff::fmt::strtime::{BrokenDownTime, Config};

/// The time that a template prints with `strftime_now`.
///
/// ```
/// use alloquy_templates::NowSource;
///
/// let noon = jiff::civil::date(2024, 2, 29).at(12, 0, 0, 0);
/// assert_eq!(NowSource::Fixed(noon).now(), noon);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NowSource {
    /// The system's local time at each render, as in Hugging Face.
    ///
    /// A template that prints the date renders differently tomorrow; [`NowSource::fixed`] keeps today's date.
    #[default]
    System,
    /// Always this local time.
    Fixed(DateTime),
}

impl NowSource {
    /// Returns a clock that is fixed at the current time, for prompts that must not change.
    pub fn fixed() -> Self {
        Self::Fixed(Self::System.now())
    }

    /// Returns the local time, without a zone as Python's `datetime.now()`.
    pub fn now(self) -> DateTime {
        match self {
            Self::System => jiff::Zoned::now().datetime(),
            Self::Fixed(datetime) => datetime,
        }
    }
}

/// Formats `datetime` by a C library's conversion specifiers; unknown ones stay as they are.
pub(super) fn strftime(datetime: DateTime, format: &str) -> String {
    let lenient = Config::new().lenient(true);
    let mut text = String::new();
    // A lenient format fails only when its output fails, and a string never does.
    let _ = BrokenDownTime::from(datetime).format_with_config(&lenient, without_zone(format), &mut text);
    text
}

/// Removes `%Z` and `%z`, for which Python prints nothing if a time has no zone.
fn without_zone(format: &str) -> String {
    let mut kept = String::with_capacity(format.len());
    let mut characters = format.chars();
    while let Some(character) = characters.next() {
        match (character, characters.clone().next()) {
            ('%', Some('Z' | 'z')) => drop(characters.next()),
            ('%', Some(next)) => {
                kept.extend([character, next]);
                characters.next();
            }
            _ => kept.push(character),
        }
    }
    kept
}
