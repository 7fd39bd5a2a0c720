//! Where a conversation can be taken up, and where its model was asked. Knows roles; counts nothing.

use std::ops::Range;

use alloquy_core::message::MessagePath;

use crate::fitting::Cut;

/// The places of a path that matter when it is to become shorter.
pub(super) struct Exchanges {
    /// How many messages at the beginning always stay.
    pub(super) lead: usize,
    /// The lengths that the path had when the model was asked, its own last.
    pub(super) ends: Vec<usize>,
    /// The messages of the user behind what stays.
    pub(super) questions: Vec<usize>,
}

impl Exchanges {
    /// Looks at a path of which system messages at the beginning and `keep` others stay.
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

    /// What was decided when the model gave the reply at a place, by how often it was asked before; `None` where it says that the
    /// path went on where it cannot.
    pub(super) fn known(&self, place: usize, cut: Cut) -> Option<(usize, Cut)> {
        let index = self.ends.binary_search(&place).ok()?;
        let can_go_on = cut.start <= place && self.questions.binary_search(&cut.start).is_ok();
        can_go_on.then_some((index, cut))
    }

    /// How often the model was asked, this time counted.
    pub(super) fn asked(&self) -> usize {
        self.ends.len()
    }

    /// The length of the path when the model was asked; the whole one's for what lies behind the last time.
    pub(super) fn end(&self, index: usize) -> usize {
        self.ends.get(index).or(self.ends.last()).copied().unwrap_or_default()
    }

    /// The messages of the user within a range.
    pub(super) fn questions(&self, within: Range<usize>) -> &[usize] {
        let from = self.questions.partition_point(|question| *question < within.start);
        let to = self.questions.partition_point(|question| *question < within.end);
        self.questions.get(from..to).unwrap_or_default()
    }
}
