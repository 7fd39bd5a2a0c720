//! The groups of a conversation that are left out together: a question with everything up to the next one.

use alloquy_core::message::MessagePath;

/// The groups of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Groups {
    /// How many messages at the beginning always stay: system messages, and the groups that are pinned.
    pub(crate) lead: usize,
    /// Where the path may continue after them: the beginnings of the groups, the last group's last.
    restarts: Vec<usize>,
}

impl Groups {
    /// Finds the groups of a path, of which the first `pinned` stay. Messages before the first question belong to its group.
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

    /// Returns the places where the path may continue: right after the lead, with nothing left out, or at a later group.
    pub(crate) fn places(&self) -> Vec<usize> {
        std::iter::once(self.lead).chain(self.restarts.iter().copied()).collect()
    }

    /// Returns whether the path may continue at a place.
    pub(crate) fn is_place(&self, start: usize) -> bool {
        start == self.lead || self.restarts.binary_search(&start).is_ok()
    }

    /// Returns the places after the lead where the path may continue.
    pub(crate) fn restarts(&self) -> &[usize] {
        &self.restarts
    }
}
