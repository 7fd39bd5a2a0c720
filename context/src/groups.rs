//! Turns of a conversation that are left out together: a question with everything up to the next one. Knows roles, calls and
//! results; counts nothing.

use alloquy_core::message::MessagePath;

/// The groups of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Groups {
    /// How many messages at the beginning always stay: system messages, and the groups that are pinned.
    pub(crate) lead: usize,
    /// Where the path may go on behind them, the last group's beginning last.
    restarts: Vec<usize>,
}

impl Groups {
    /// Looks at a path of which the first `pinned` groups stay. What stands before the first question is of its group.
    pub(crate) fn new(path: &mut MessagePath, pinned: usize) -> Self {
        let outline = path.outline();
        let later = outline.restarts().get(1..).unwrap_or_default();
        let lead = match pinned.checked_sub(1) {
            None => outline.system(),
            Some(later_groups) => later.get(later_groups).copied().unwrap_or(path.len()),
        };
        let restarts = later.get(later.partition_point(|start| *start <= lead)..);
        Self { lead, restarts: restarts.unwrap_or_default().to_vec() }
    }

    /// The places where the path may go on: at the lead, as it is, or behind it.
    pub(crate) fn places(&self) -> Vec<usize> {
        std::iter::once(self.lead).chain(self.restarts.iter().copied()).collect()
    }

    /// Says whether the path may go on at a place.
    pub(crate) fn is_place(&self, start: usize) -> bool {
        start == self.lead || self.restarts.binary_search(&start).is_ok()
    }

    /// The places behind the lead where the path may go on.
    pub(crate) fn restarts(&self) -> &[usize] {
        &self.restarts
    }
}
