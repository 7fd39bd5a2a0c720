//! What a check leaves: how it ended, and what the test runner said.

use crate::Totals;

/// How a check ended that found nothing wrong.
pub(super) enum Verdict {
    Passed,
    Skipped(&'static str),
}

/// What the test runner said, if it ran.
pub(super) type Tests = Option<Totals>;
