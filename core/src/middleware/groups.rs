//! Turns of a conversation that are left out together: a question with everything up to the next one. Knows roles, calls and
//! results; counts nothing.

use crate::message::MessagePath;

pub(super) use crate::message::written;

/// The groups of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Groups {
    /// How many messages at the beginning always stay: system messages, and the groups that are pinned.
    pub(super) lead: usize,
    /// Where the path may go on behind them, the last group's beginning last.
    restarts: Vec<usize>,
}

impl Groups {
    /// Looks at a path of which the first `pinned` groups stay. What stands before the first question is of its group.
    pub(super) fn new(path: &mut MessagePath, pinned: usize) -> Self {
        let length = path.len();
        path.outline(|outline, _| {
            let (system, later) = (outline.system(), outline.questions().get(1..).unwrap_or_default());
            let lead = match pinned.checked_sub(1) {
                None => system,
                Some(later_groups) => later.get(later_groups).copied().unwrap_or(length),
            };
            let restarts = later.get(later.partition_point(|start| *start <= lead)..);
            Self { lead, restarts: restarts.unwrap_or_default().to_vec() }
        })
    }

    /// The places where the path may go on: at the lead, as it is, or behind it.
    pub(super) fn places(&self) -> Vec<usize> {
        std::iter::once(self.lead).chain(self.restarts.iter().copied()).collect()
    }

    /// Says whether the path may go on at a place.
    pub(super) fn is_place(&self, start: usize) -> bool {
        start == self.lead || self.restarts.binary_search(&start).is_ok()
    }

    /// The places behind the lead where the path may go on.
    pub(super) fn restarts(&self) -> &[usize] {
        &self.restarts
    }
}
