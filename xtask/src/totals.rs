//! How many tests passed and failed, from what the test runner itself says.

use std::fmt;
use std::ops::AddAssign;

/// Sums of a test run.
///
/// ```
/// use xtask::Totals;
///
/// let printed = "test result: ok. 3 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.1s";
/// assert_eq!(Totals::of_cargo_test(printed).to_string(), "3 passed, 1 failed");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Tests, or cases, that passed.
    pub passed: usize,
    /// Those that did not.
    pub failed: usize,
    /// Those that were not run, where the runner counts them.
    pub skipped: Option<usize>,
}

impl Totals {
    /// Sums the `test result:` lines of cargo test.
    pub fn of_cargo_test(printed: &str) -> Self {
        let mut totals = Self::default();
        for line in result_lines(printed) {
            totals += Self {
                passed: number_before(line, " passed").unwrap_or_default(),
                failed: number_before(line, " failed").unwrap_or_default(),
                skipped: None,
            };
        }
        totals
    }

    /// Reads the last line of the form `N passed, M failed`, with or without `, K skipped` after it.
    pub fn of_last_line(printed: &str) -> Option<Self> {
        printed.lines().rev().find_map(|line| {
            let (passed, rest) = line.trim().split_once(", ")?;
            let (failed, skipped) = match rest.split_once(", ") {
                Some((failed, skipped)) => (failed, Some(number(skipped, " skipped")?)),
                None => (rest, None),
            };
            Some(Self { passed: number(passed, " passed")?, failed: number(failed, " failed")?, skipped })
        })
    }

    /// Returns how many there were.
    pub fn count(self) -> usize {
        self.passed + self.failed
    }
}

impl AddAssign for Totals {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped =
            self.skipped.map(|skipped| skipped + other.skipped.unwrap_or_default()).or(other.skipped);
    }
}

impl fmt::Display for Totals {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} passed, {} failed", self.passed, self.failed)?;
        self.skipped.map_or(Ok(()), |skipped| write!(formatter, ", {skipped} skipped"))
    }
}

/// The lines in which cargo test sums up a test program.
pub(crate) fn result_lines(printed: &str) -> impl Iterator<Item = &str> {
    printed.lines().filter(|line| line.starts_with("test result: "))
}

fn number(text: &str, word: &str) -> Option<usize> {
    text.strip_suffix(word)?.parse().ok()
}

fn number_before(line: &str, word: &str) -> Option<usize> {
    let (before, _) = line.split_once(word)?;
    before.rsplit(' ').next()?.parse().ok()
}
