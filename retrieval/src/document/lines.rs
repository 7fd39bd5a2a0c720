//! The lines of a text, and where it is best cut.

use std::ops::Range;

/// A line, with its end of line, and how good a place to cut is after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) end: usize,
    pub(crate) cut: Cut,
}

/// How good a place to cut is, from worst to best.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Cut {
    Grapheme,
    Word,
    Sentence,
    /// A line within a block of code, or within brackets.
    InnerLine,
    Line,
    /// An empty line.
    Paragraph,
}

/// Returns the ends of lines: after an empty line a paragraph begins, unless it is in a block.
pub(super) fn prose_lines(text: &str, blocks: &[Range<usize>]) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut end = 0;
    let mut blocks = blocks.iter().peekable();
    for line in text.split_inclusive('\n') {
        end += line.len();
        while blocks.next_if(|block| block.end <= end).is_some() {}
        let is_inside = blocks.peek().is_some_and(|block| block.contains(&end));
        let cut = if is_inside {
            Cut::InnerLine
        } else if line.trim().is_empty() {
            Cut::Paragraph
        } else {
            Cut::Line
        };
        lines.push(Line { end, cut });
    }
    lines
}

/// Returns a text with single spaces.
pub(crate) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
