//! Where a reply begins and ends thinking, told from its bytes. Knows no grammar and no sampler.

use alloquy_engine::decoder::ThinkingRule;

/// What is being said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Nothing yet: a thought may begin.
    Opening,
    /// A thought.
    Thinking,
    /// The answer.
    #[default]
    Answer,
}

/// What is known of a thought while it is thought.
#[derive(Debug)]
pub(crate) struct Thoughts {
    /// The text that begins a thought, without white space around it.
    pub(crate) start: String,
    /// The text that ends it, likewise.
    end: String,
    /// The white space that the model is trained to write before and behind that.
    pub(crate) around: (String, String),
    budget: Option<usize>,
    /// How many tokens were thought.
    pub(crate) tokens: usize,
    /// The last bytes, as many as a marker can have.
    pub(crate) tail: Vec<u8>,
}

impl Stage {
    /// What a reply begins with under a rule.
    pub(crate) fn first(rule: &ThinkingRule) -> Self {
        if rule.is_open { Self::Thinking } else { Self::Opening }
    }
}

impl Thoughts {
    pub(crate) fn new(rule: &ThinkingRule) -> Self {
        let before = rule.end.len() - rule.end.trim_start().len();
        let after = rule.end.trim_end().len();
        let around = (
            rule.end.get(..before).unwrap_or_default().to_owned(),
            rule.end.get(after..).unwrap_or_default().to_owned(),
        );
        let start = rule.start.trim().to_owned();
        let end = rule.end.trim().to_owned();
        Self { start, end, around, budget: rule.budget, tokens: 0, tail: Vec::new() }
    }

    pub(crate) fn is_spent(&self) -> bool {
        self.budget.is_some_and(|budget| self.tokens >= budget)
    }

    /// Takes what opens the reply and says what it turns out to be.
    pub(crate) fn opens(&mut self, said: &[u8]) -> Stage {
        self.tail.extend_from_slice(said);
        let text = self.tail.trim_ascii_start();
        if text.starts_with(self.start.as_bytes()) {
            self.tail.clear();
            return Stage::Thinking;
        }
        match self.start.as_bytes().starts_with(text) {
            true => Stage::Opening,
            false => Stage::Answer,
        }
    }

    /// Takes more of the thought; returns what stands behind its end, once it ends.
    pub(crate) fn push(&mut self, said: &[u8]) -> Option<Vec<u8>> {
        self.tokens += 1;
        self.tail.extend_from_slice(said);
        let end = self.end.as_bytes();
        let found = self.tail.windows(end.len().max(1)).position(|window| window == end);
        if let Some(at) = found {
            return Some(self.tail.split_off(at + end.len()));
        }
        let kept = self.end.len() + self.around.0.len();
        self.tail.drain(..self.tail.len().saturating_sub(kept));
        None
    }

    /// What is left to write so that the thought ends here.
    pub(crate) fn ending(&self) -> String {
        let Self { end, around: (before, after), tail, .. } = self;
        let begun = (1..end.len()).rev().find(|&length| {
            end.is_char_boundary(length)
                && end.get(..length).is_some_and(|begun| tail.ends_with(begun.as_bytes()))
        });
        let before = match begun {
            None if !tail.ends_with(before.as_bytes()) => before.as_str(),
            _ => "",
        };
        format!("{before}{}{after}", end.get(begun.unwrap_or(0)..).unwrap_or_default())
    }
}
