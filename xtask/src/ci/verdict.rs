//! The result of a check, and the totals of the test runner.

use crate::Totals;

/// How a successful check ended.
pub(super) enum Verdict {
    Passed,
    Skipped(&'static str),
}

/// The totals of the test runner, if it ran.
pub(super) type Tests = Option<Totals>;
