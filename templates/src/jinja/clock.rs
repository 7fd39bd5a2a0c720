//! The clock behind `strftime_now`. Knows dates; not templates.

use jiff::civil::DateTime;
use jiff::fmt::strtime::{BrokenDownTime, Config};

/// Where a template that asks for the date gets it from.
///
/// ```
/// use alloquy_templates::Clock;
///
/// let noon = jiff::civil::date(2024, 2, 29).at(12, 0, 0, 0);
/// assert_eq!(Clock::Fixed(noon).now(), noon);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Clock {
    /// The system's local time, read anew at every render, as Hugging Face does.
    ///
    /// A template that prints the date renders differently tomorrow; [`Clock::fixed`] keeps today's.
    #[default]
    System,
    /// Always this local time.
    Fixed(DateTime),
}

impl Clock {
    /// Stops the system's clock at this moment, for prompts that must stay the same.
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
    // Only an output that fails makes a lenient format fail, and a string's does not.
    let _ = BrokenDownTime::from(datetime).format_with_config(&lenient, without_zone(format), &mut text);
    text
}

/// Removes `%Z` and `%z`: a time without a zone prints nothing there in Python.
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
