//! The places of a conversation where a prompt may begin, and those where the model was called.

use std::ops::Range;

use alloquy_core::message::MessagePath;

use crate::fitting::Cut;

/// The places of a path that matter for a shorter prompt.
pub(super) struct Exchanges {
    /// How many messages at the beginning always stay.
    pub(super) lead: usize,
    /// The lengths of the path at each call of the model, the current one last.
    pub(super) ends: Vec<usize>,
    /// The messages of the user after those that always stay.
    pub(super) questions: Vec<usize>,
}

impl Exchanges {
    /// Finds the places of a path of which system messages at the beginning and `keep` others stay.
    pub(super) fn new(path: &mut MessagePath, keep: usize) -> Self {
        let outline = path.outline();
        let lead = outline.system().saturating_add(keep).min(path.len());
        let answers = outline.answers();
        let asked = answers.get(answers.partition_point(|answer| *answer <= lead)..);
        let mut ends = asked.unwrap_or_default().to_vec();
        ends.push(path.len());
        let questions = outline.restarts();
        let questions = questions.get(questions.partition_point(|question| *question < lead)..);
        Self { lead, ends, questions: questions.unwrap_or_default().to_vec() }
    }

    /// Returns a cut with the number of calls before the reply at `place`; `None` where the path cannot continue at the cut.
    pub(super) fn known(&self, place: usize, cut: Cut) -> Option<(usize, Cut)> {
        let index = self.ends.binary_search(&place).ok()?;
        let is_possible = cut.start <= place && self.questions.binary_search(&cut.start).is_ok();
        is_possible.then_some((index, cut))
    }

    /// Returns how often the model was called, including this call.
    pub(super) fn asked(&self) -> usize {
        self.ends.len()
    }

    /// Returns the length of the path at a call of the model; the whole length for an index after the last call.
    pub(super) fn end(&self, index: usize) -> usize {
        self.ends.get(index).or(self.ends.last()).copied().unwrap_or_default()
    }

    /// Returns the messages of the user within a range.
    pub(super) fn questions(&self, within: Range<usize>) -> &[usize] {
        let from = self.questions.partition_point(|question| *question < within.start);
        let to = self.questions.partition_point(|question| *question < within.end);
        self.questions.get(from..to).unwrap_or_default()
    }
}
