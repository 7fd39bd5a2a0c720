//! Finds the markers that begin and end thinking in the bytes of a reply.

use alloquy_engine::decoder::ThinkingRule;

/// The stage of a reply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Stage {
    /// The reply may begin with thinking or with the answer.
    Opening,
    /// The model thinks.
    Thinking,
    /// The model answers.
    #[default]
    Answer,
}

/// Reads the thinking of a reply as it is generated.
#[derive(Debug)]
pub(crate) struct ThinkingScanner {
    /// The text that begins thinking, without white space around it.
    pub(crate) start: String,
    /// The text that ends thinking, without white space around it.
    end: String,
    /// The white space that the model is trained to write before and after the end.
    pub(crate) around: (String, String),
    budget: Option<usize>,
    /// The number of tokens so far.
    pub(crate) tokens: usize,
    /// The last bytes, which may be the beginning of a marker.
    pub(crate) tail: Vec<u8>,
}

impl Stage {
    /// Returns the first stage of a reply under a rule.
    pub(crate) fn first(rule: &ThinkingRule) -> Self {
        if rule.is_open { Self::Thinking } else { Self::Opening }
    }
}

impl ThinkingScanner {
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

    /// Returns whether thinking has used all the tokens that it may have.
    pub(crate) fn is_over_budget(&self) -> bool {
        self.budget.is_some_and(|budget| self.tokens >= budget)
    }

    /// Adds bytes of the beginning of a reply, and returns its stage after them.
    pub(crate) fn opens(&mut self, said: &[u8]) -> Stage {
        self.tail.extend_from_slice(said);
        let text = self.tail.trim_ascii_start();
        if text.starts_with(self.start.as_bytes()) {
            self.tail.clear();
            return Stage::Thinking;
        }
        if self.start.as_bytes().starts_with(text) { Stage::Opening } else { Stage::Answer }
    }

    /// Adds the bytes of a token of thinking. If they end it, returns the bytes after the marker.
    pub(crate) fn push(&mut self, said: &[u8]) -> Option<Vec<u8>> {
        self.tokens += 1;
        self.tail.extend_from_slice(said);
        let end = self.end.as_bytes();
        let found = self.tail.windows(end.len().max(1)).position(|window| window == end);
        if let Some(at) = found {
            return Some(self.tail.split_off(at + end.len()));
        }
        // The marker may be spread over several tokens: `</` `think` `>`.
        let kept = self.end.len() + self.around.0.len();
        self.tail.drain(..self.tail.len().saturating_sub(kept));
        None
    }

    /// Returns the text that ends thinking here: the whole marker, or the rest of it after `</th`.
    pub(crate) fn ending(&self) -> String {
        let Self { end, around: (before, after), tail, .. } = self;
        for length in (1..end.len()).rev() {
            if let Some((begun, rest)) = end.split_at_checked(length)
                && tail.ends_with(begun.as_bytes())
            {
                return format!("{rest}{after}");
            }
        }
        if tail.ends_with(before.as_bytes()) {
            return format!("{end}{after}");
        }
        format!("{before}{end}{after}")
    }
}
