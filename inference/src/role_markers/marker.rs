//! A text that says who speaks, and where in a text it is read so. Knows no template and no conversation.

use std::ops::Range;

use super::units::{Cutter, Unit};

/// How many signs make a marker without a word; a bracket or a colon says nothing.
const SIGNS: usize = 3;

/// A marker: plain text and numbers, without white space around them.
#[derive(Clone, Debug)]
pub(super) struct Marker {
    text: String,
    pieces: Vec<Piece>,
    /// Which of the pieces is looked for: the first of the longest texts.
    anchor: usize,
    before: Border,
    after: Border,
}

/// What a marker is made of: a number counts the messages and may be any.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    Number,
}

/// What must stand beside a marker, from what is asked least to what is asked most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Border {
    /// Whatever stands there.
    Anything,
    /// White space, or the text's end.
    Space,
    /// A line break, with spaces before or behind it, or the text's end.
    Line,
}

impl Marker {
    /// The marker that `text` has from `begins` on; `None` where that has no word, or has a control token of the
    /// model's: such a text cannot be written by anybody, or is reported where it is let through. `is_first` says that nothing stands
    /// before `text`.
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
        let (before, behind) = (text.get(..lead)?, text.get(lead + core.len()..)?);
        let before = if is_between_brackets(core) {
            Border::Anything
        } else {
            border_before(&cutter.units(before), is_first)
        };
        // What ends in a sign ends there; a word goes on unless something parts it from the next.
        let after = match behind.chars().next().filter(|_| core.ends_with(char::is_alphanumeric)) {
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

    /// Whether both are the same but for numbers and for what stands beside them.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        self.pieces == other.pieces
    }

    /// Asks for no more beside it than `other` does.
    pub(super) fn loosen(&mut self, other: &Self) {
        self.before = self.before.min(other.before);
        self.after = self.after.min(other.after);
    }

    /// Whether whoever finds this one finds `other` at its end.
    pub(super) fn ends_with(&self, other: &Self) -> bool {
        let length = match other.pieces.first() {
            Some(_) if self.text.len() > other.text.len() => other.text.len(),
            _ => return false,
        };
        let start = self.text.len() - length;
        self.text.is_char_boundary(start)
            && other.around(&self.text, other.anchored(start)) == Some(start..self.text.len())
    }

    /// Where the anchor stands in a marker whose text begins at `start`.
    fn anchored(&self, start: usize) -> Range<usize> {
        let place = self.text.find(self.anchor()).unwrap_or(0);
        start + place..start + place + self.anchor().len()
    }

    /// Returns where the marker stands in `text` whose anchor stands at `anchor`, if it is read as one there.
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
        let mut behind = text.get(anchor.end..)?;
        for piece in self.pieces.iter().skip(self.anchor + 1) {
            behind = match piece {
                Piece::Text(piece) => behind.strip_prefix(piece.as_str())?,
                Piece::Number => {
                    Some(behind.trim_start_matches(is_digit)).filter(|rest| rest.len() < behind.len())?
                }
            };
        }
        let is_read = self.before.ends(before) && self.after.begins(behind);
        is_read.then_some(before.len()..text.len() - behind.len())
    }
}

impl Border {
    /// Whether a text before a marker ends so.
    fn ends(self, before: &str) -> bool {
        let line = before.trim_end_matches([' ', '\t', '\r']);
        match self {
            Self::Anything => true,
            Self::Space => before.is_empty() || before.ends_with(char::is_whitespace),
            Self::Line => line.is_empty() || line.ends_with('\n'),
        }
    }

    /// Whether a text behind a marker begins so.
    fn begins(self, behind: &str) -> bool {
        let line = behind.trim_start_matches([' ', '\t', '\r']);
        match self {
            Self::Anything => true,
            Self::Space => behind.is_empty() || behind.starts_with(char::is_whitespace),
            Self::Line => line.is_empty() || line.starts_with('\n'),
        }
    }
}

/// Whether a marker is told from other text by itself, wherever it stands.
fn is_between_brackets(core: &str) -> bool {
    core.starts_with(['[', '<', '{', '|']) && core.ends_with([']', '>', '}', '|'])
}

/// What stands before a marker that comes behind these units. Nobody's text begins a prompt, and none has a control token
/// before it: there a marker begins a line.
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
