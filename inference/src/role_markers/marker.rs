//! Finds texts that name a speaker.

use std::ops::Range;

use super::units::{Cutter, Unit};

/// The least number of signs of a marker without a word. A single bracket or colon is not a marker.
const SIGNS: usize = 3;

/// A marker: plain text and numbers, without white space around them.
#[derive(Clone, Debug)]
pub(super) struct Marker {
    text: String,
    pieces: Vec<Piece>,
    /// The index of the piece to look for: the first of the longest texts.
    anchor: usize,
    before: Border,
    after: Border,
}

/// A piece of a marker. A number counts the messages, so any number matches it.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    Number,
}

/// The text that must be next to a marker. The weakest demand is first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Border {
    /// Any text.
    Anything,
    /// White space, or the text's end.
    Space,
    /// A line break, with spaces before or after it, or the text's end.
    Line,
}

impl Marker {
    /// Returns the marker in `text` from `begins` on; `None` if it has no word, or if it has a control token of the model.
    ///
    /// Users cannot write control tokens, or are reported if a policy allows it. `is_first` means that `text` begins a prompt.
    pub(super) fn new(text: &str, begins: usize, is_first: bool, cutter: &Cutter<'_>) -> Option<Self> {
        let core = text.get(begins..)?;
        let lead = text.len() - core.trim_start().len();
        let core = core.trim();
        let parts = cutter.units(core);
        let is_said = parts.iter().any(|unit| unit.is_word() || unit.is_token) || parts.len() >= SIGNS;
        if !is_said || parts.iter().any(|unit| unit.is_known) {
            return None;
        }
        let pieces = pieces(core);
        let longest = pieces.iter().map(Piece::len).max().filter(|longest| *longest > 0)?;
        let anchor = pieces.iter().position(|piece| piece.len() == longest)?;
        let before = text.get(..lead)?;
        let rest = text.get(lead + core.len()..)?;
        let before = if is_between_brackets(core) {
            Border::Anything
        } else {
            border_before(&cutter.units(before), is_first)
        };
        // `USER:` ends with its colon. `User` could be the start of `Users`, so it needs the space that the template prints.
        let after = match rest.chars().next().filter(|_| core.ends_with(char::is_alphanumeric)) {
            Some('\n') => Border::Line,
            Some(_) => Border::Space,
            None => Border::Anything,
        };
        Some(Self { text: core.to_owned(), pieces, anchor, before, after })
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// The text to look for.
    pub(super) fn anchor(&self) -> &str {
        match self.pieces.get(self.anchor) {
            Some(Piece::Text(text)) => text,
            Some(Piece::Number) | None => "",
        }
    }

    /// Returns whether both are the same but for numbers and borders.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        self.pieces == other.pieces
    }

    /// Merges an equal marker: the weaker borders remain.
    pub(super) fn loosen(&mut self, other: &Self) {
        self.before = self.before.min(other.before);
        self.after = self.after.min(other.after);
    }

    /// Returns whether `other` is found at the end of this marker, wherever this one is found.
    pub(super) fn ends_with(&self, other: &Self) -> bool {
        if other.pieces.is_empty() || self.text.len() <= other.text.len() {
            return false;
        }
        let start = self.text.len() - other.text.len();
        self.text.is_char_boundary(start)
            && other.around(&self.text, other.anchored(start)) == Some(start..self.text.len())
    }

    /// Returns where the anchor is in a marker whose text begins at `start`.
    fn anchored(&self, start: usize) -> Range<usize> {
        let place = self.text.find(self.anchor()).unwrap_or(0);
        start + place..start + place + self.anchor().len()
    }

    /// Returns where the marker with this anchor is in `text`, if it is read as a marker there.
    pub(super) fn around(&self, text: &str, anchor: Range<usize>) -> Option<Range<usize>> {
        if text.get(anchor.clone())? != self.anchor() {
            return None;
        }
        let mut before = text.get(..anchor.start)?;
        for piece in self.pieces.iter().take(self.anchor).rev() {
            before = match piece {
                Piece::Text(piece) => before.strip_suffix(piece.as_str())?,
                Piece::Number => {
                    Some(before.trim_end_matches(is_digit)).filter(|rest| rest.len() < before.len())?
                }
            };
        }
        let mut rest = text.get(anchor.end..)?;
        for piece in self.pieces.iter().skip(self.anchor + 1) {
            rest = match piece {
                Piece::Text(piece) => rest.strip_prefix(piece.as_str())?,
                Piece::Number => {
                    Some(rest.trim_start_matches(is_digit)).filter(|left| left.len() < rest.len())?
                }
            };
        }
        let is_read = self.before.ends(before) && self.after.begins(rest);
        is_read.then_some(before.len()..text.len() - rest.len())
    }
}

impl Border {
    /// Returns whether the text before a marker ends with this border.
    fn ends(self, before: &str) -> bool {
        let line = before.trim_end_matches([' ', '\t', '\r']);
        match self {
            Self::Anything => true,
            Self::Space => before.is_empty() || before.ends_with(char::is_whitespace),
            Self::Line => line.is_empty() || line.ends_with('\n'),
        }
    }

    /// Returns whether the text after a marker begins with this border.
    fn begins(self, rest: &str) -> bool {
        let line = rest.trim_start_matches([' ', '\t', '\r']);
        match self {
            Self::Anything => true,
            Self::Space => rest.is_empty() || rest.starts_with(char::is_whitespace),
            Self::Line => line.is_empty() || line.starts_with('\n'),
        }
    }
}

/// Returns whether a marker has brackets, so that it is a marker at any place.
fn is_between_brackets(core: &str) -> bool {
    core.starts_with(['[', '<', '{', '|']) && core.ends_with([']', '>', '}', '|'])
}

/// Returns the border before a marker that follows these units.
///
/// At the start of a prompt and after a control token there is no text of users, so there the marker begins a line.
fn border_before(before: &[Unit<'_>], is_first: bool) -> Border {
    let is_silent = before.iter().all(|unit| unit.is_token || unit.is_white());
    match before.last() {
        Some(unit) if unit.is_token || unit.text == "\n" => Border::Line,
        Some(_) | None if is_first && is_silent => Border::Line,
        Some(unit) if unit.is_white() => Border::Space,
        Some(_) | None => Border::Anything,
    }
}

impl Piece {
    fn len(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Number => 0,
        }
    }
}

fn is_digit(symbol: char) -> bool {
    symbol.is_ascii_digit()
}

fn pieces(text: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    for run in text.split_inclusive(is_digit) {
        let words = run.trim_end_matches(is_digit);
        if !words.is_empty() {
            pieces.push(Piece::Text(words.to_owned()));
        }
        if words.len() < run.len() && pieces.last() != Some(&Piece::Number) {
            pieces.push(Piece::Number);
        }
    }
    pieces
}
