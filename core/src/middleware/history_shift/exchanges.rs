//! Where a conversation can be taken up, and where its model was asked. Knows roles; counts nothing.

use std::ops::Range;

use crate::chat_model::Request;
use crate::media::Digest;
use crate::message::{Message, Role};
use crate::middleware::groups::{digests, questions, written};

/// The places of a path that matter when it is to become shorter.
pub(super) struct Exchanges {
    /// How many messages at the beginning always stay.
    pub(super) lead: usize,
    /// The lengths that the path had when the model was asked, its own last.
    ends: Vec<usize>,
    /// The messages of the user behind what stays.
    questions: Vec<usize>,
}

impl Exchanges {
    /// Looks at a path of which system messages at the beginning and `keep` others stay.
    pub(super) fn new(path: &[Message], keep: usize) -> Self {
        let system = path.iter().take_while(|message| message.role == Role::System).count();
        let lead = system.saturating_add(keep).min(path.len());
        let behind = path.iter().enumerate().skip(lead + 1);
        let asked = behind.filter(|(_, message)| message.role == Role::Assistant);
        let mut ends: Vec<_> = asked.map(|(index, _)| index).collect();
        ends.push(path.len());
        Self { lead, ends, questions: questions(path, lead) }
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

    /// What tells one conversation from another at each of its ends: everything that was said up to there.
    pub(super) fn digests(&self, request: &Request, path: &[Message]) -> Vec<Digest> {
        digests(written(&request.preface), path, &self.ends)
    }
}
