//! The passages that an answer cites.

use alloquy::retrieval::{DocumentsUse, PassageName, citations};
use serde_json::{Value, json};

use crate::guards::Guards;

/// The passages that an answer cites.
#[derive(Debug, Default)]
pub(super) struct Sources {
    cited: Vec<Cited>,
    /// Numbers that no passage has.
    unknown: Vec<usize>,
    /// How many passages the model was shown.
    shown: usize,
}

/// A passage that an answer cites, as it is printed.
#[derive(Debug)]
struct Cited {
    number: usize,
    id: String,
    source: String,
    heading: Option<String>,
}

impl Sources {
    /// Finds the passages that an answer cites, each once, in the order of the answer.
    pub(super) fn of(used: &DocumentsUse, answer: &str, guards: &Guards) -> Self {
        let mut sources = Self { shown: used.passages.len(), ..Self::default() };
        let mut known = Vec::new();
        for citation in citations(answer) {
            if known.contains(&citation.number) {
                continue;
            }
            known.push(citation.number);
            match citation.of(&used.passages) {
                Some(passage) => sources.cited.push(Cited::of(citation.number, passage, guards)),
                None => sources.unknown.push(citation.number),
            }
        }
        sources
    }

    /// Returns the lines for people.
    pub(super) fn lines(&self) -> Vec<String> {
        if self.shown == 0 {
            return vec!["(no passage of the index fits this question)".to_owned()];
        }
        let mut lines = Vec::new();
        for Cited { number, source, heading, .. } in &self.cited {
            lines.push(match heading {
                Some(heading) => format!("[{number}] {source}: {heading}"),
                None => format!("[{number}] {source}"),
            });
        }
        for number in &self.unknown {
            lines.push(format!(
                "([{number}] is none of the {} passages that the model was shown)",
                self.shown
            ));
        }
        if lines.is_empty() {
            lines.push(format!(
                "(the answer cites none of the {} passages that the model was shown)",
                self.shown
            ));
        }
        lines
    }

    /// Returns the event for programs.
    pub(super) fn value(&self) -> Value {
        let mut cited = Vec::new();
        for Cited { number, id, source, heading } in &self.cited {
            cited.push(json!({"number": number, "id": id, "source": source, "heading": heading}));
        }
        json!({"cited": cited, "unknown": self.unknown, "shown": self.shown})
    }
}

impl Cited {
    fn of(number: usize, passage: &PassageName, guards: &Guards) -> Self {
        let source = passage.source.as_ref().unwrap_or(&passage.id);
        let heading = passage.heading.as_ref().map(|heading| guards.printable(heading));
        Self { number, id: passage.id.clone(), source: guards.printable(source), heading }
    }
}
