//! The smallest parts of a document, which chunks are made of.

use unicode_segmentation::UnicodeSegmentation as _;

use super::count::Count;
use crate::Document;
use crate::document::lines::Cut;

/// A part of a document that is not cut: it ends here, has this many tokens, and the place after it is this good to cut.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unit {
    pub(super) end: usize,
    pub(super) tokens: usize,
    pub(super) cut: Cut,
}

/// Returns the units of a document: lines, sentences of long lines, words of long sentences, graphemes of long words.
pub(super) fn units(document: &Document, limit: usize, count: &Count) -> Vec<Unit> {
    let text = document.content();
    // So small that an overlap of some sentences is possible, and so large that a tokenizer sees words in their surroundings.
    let small = (limit / 8).max(1);
    let mut splitter = Splitter { text, count, units: Vec::new() };
    let mut start = 0;
    for line in document.lines() {
        splitter.split(start, line.end, line.cut, Part::Line, small);
        start = line.end;
    }
    whole_graphemes(text, splitter.units)
}

/// What a part of the text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Line,
    Sentence,
    Word,
    Grapheme,
}

struct Splitter<'a> {
    text: &'a str,
    count: &'a Count,
    units: Vec<Unit>,
}

impl Splitter<'_> {
    /// Adds a part of the text as units: as one if it is small, else as those of its own parts.
    fn split(&mut self, start: usize, end: usize, cut: Cut, part: Part, small: usize) {
        let Some(text) = self.text.get(start..end) else { return };
        let tokens = (self.count)(text);
        if tokens <= small || part == Part::Grapheme {
            // White space counts too, so that a limit of tokens is one of units: a million empty lines are many chunks.
            self.units.push(Unit { end, tokens: tokens.max(1), cut });
            return;
        }
        let (ends, inner, inner_cut) = match part {
            Part::Line => (sentence_ends(text), Part::Sentence, Cut::Sentence),
            Part::Sentence => (word_ends(text), Part::Word, Cut::Word),
            Part::Word | Part::Grapheme => (grapheme_ends(text), Part::Grapheme, Cut::Grapheme),
        };
        let mut from = start;
        for inner_end in ends {
            let to = start + inner_end;
            let cut = if to == end { cut } else { inner_cut };
            self.split(from, to, cut, inner, small);
            from = to;
        }
    }
}

fn sentence_ends(text: &str) -> Vec<usize> {
    text.split_sentence_bound_indices().map(|(start, sentence)| start + sentence.len()).collect()
}

/// Returns the ends of words with the white space after them.
fn word_ends(text: &str) -> Vec<usize> {
    let mut ends: Vec<usize> = Vec::new();
    for (start, word) in text.split_word_bound_indices() {
        let end = start + word.len();
        match ends.last_mut() {
            Some(last) if word.trim().is_empty() && word.len() <= 8 => *last = end,
            _ => ends.push(end),
        }
    }
    ends
}

fn grapheme_ends(text: &str) -> Vec<usize> {
    text.grapheme_indices(true).map(|(start, grapheme)| start + grapheme.len()).collect()
}

/// Joins units whose border is inside of a grapheme: a few scripts have word borders there, such as Thai before its vowel AM.
fn whole_graphemes(text: &str, units: Vec<Unit>) -> Vec<Unit> {
    let mut graphemes =
        text.grapheme_indices(true).map(|(start, grapheme)| start + grapheme.len()).peekable();
    let mut whole: Vec<Unit> = Vec::new();
    let mut tokens = 0;
    for unit in units {
        tokens += unit.tokens;
        while graphemes.next_if(|&end| end < unit.end).is_some() {}
        if graphemes.peek() == Some(&unit.end) {
            whole.push(Unit { tokens, ..unit });
            tokens = 0;
        }
    }
    whole
}
