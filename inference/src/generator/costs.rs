//! How long the runs of a model take: those for one token, and those for a token with a draft.

use std::collections::VecDeque;
use std::time::Duration;

/// How many runs for one token count: the last ones, because runs take longer as the context fills.
const REMEMBERED: usize = 5;

/// How many of them must have been measured. The first run of a process is slower than the others.
const LEAST: usize = 3;

/// What one more token of a draft is assumed to cost until it was measured, in runs for one token.
const ASSUMED: f64 = 0.25;

/// The weight of a new measurement.
const WEIGHT: f64 = 0.3;

/// How much longer than expected a run may take. A longer one was disturbed, and counts as this.
const DISTURBED: f64 = 4.0;

/// The times of a model's runs, in seconds.
#[derive(Clone, Debug, Default)]
pub(super) struct Costs {
    plain: VecDeque<f64>,
    /// By the number of tokens of the draft, minus one.
    drafted: Vec<Option<f64>>,
}

impl Costs {
    /// Returns how long a run for one token takes: the median; `None` before it is known.
    pub(super) fn plain(&self) -> Option<f64> {
        if self.plain.len() < LEAST {
            return None;
        }
        let mut times: Vec<_> = self.plain.iter().copied().collect();
        times.sort_by(f64::total_cmp);
        times.get(times.len() / 2).copied()
    }

    /// Returns how long a run with a draft of this many tokens takes, in the same unit as `plain`. A length that was not
    /// measured yet is assumed from those that were.
    pub(super) fn drafted(&self, tokens: usize, plain: f64) -> f64 {
        let mut known = 0;
        let mut time = plain;
        for (index, measured) in self.drafted.iter().enumerate() {
            let Some(measured) = *measured else { continue };
            if index + 1 == tokens {
                return measured;
            }
            let is_nearer = known == 0 || index < tokens;
            if is_nearer {
                known = index + 1;
                time = measured;
            }
        }
        let each = if known == 0 { ASSUMED * plain } else { (time - plain).max(0.0) / known as f64 };
        plain + each * tokens as f64
    }

    /// Notes a run for one token.
    pub(super) fn note_plain(&mut self, took: Duration) {
        if self.plain.len() == REMEMBERED {
            self.plain.pop_front();
        }
        self.plain.push_back(took.as_secs_f64());
    }

    /// Notes a run with a draft, and returns the time that it counts as.
    pub(super) fn note_drafted(&mut self, tokens: usize, took: Duration) -> f64 {
        let took = took.as_secs_f64();
        let Some(index) = tokens.checked_sub(1) else { return took };
        if self.drafted.len() <= index {
            self.drafted.resize(index + 1, None);
        }
        let Some(known) = self.drafted.get_mut(index) else { return took };
        let counted = known.map_or(took, |known| took.min(known * DISTURBED));
        *known = Some(known.map_or(counted, |known| known + WEIGHT * (counted - known)));
        counted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_that_was_not_measured_is_assumed() {
        let mut costs = Costs::default();
        assert_eq!(costs.plain(), None);
        for milliseconds in [90, 10, 10] {
            costs.note_plain(Duration::from_millis(milliseconds));
        }
        assert_eq!(costs.plain(), Some(0.01));
        assert!((costs.drafted(4, 0.01) - 0.02).abs() < 1e-9);
        costs.note_drafted(2, Duration::from_millis(12));
        assert!((costs.drafted(2, 0.01) - 0.012).abs() < 1e-9);
        assert!((costs.drafted(4, 0.01) - 0.014).abs() < 1e-9);
        assert!((costs.drafted(1, 0.01) - 0.011).abs() < 1e-9);
        costs.note_drafted(4, Duration::from_millis(20));
        assert!((costs.drafted(8, 0.01) - 0.03).abs() < 1e-9);
        // A disturbed run.
        assert!((costs.note_drafted(4, Duration::from_secs(9)) - 0.08).abs() < 1e-9);
    }
}
