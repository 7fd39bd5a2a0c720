//! Normalizes text as SentencePiece does: by the rules of its file, with `▁` for spaces.

use super::super::prefixes::Prefixes;
use super::charsmap::CharsMap;

/// The character that is written for a space.
pub(super) const SPACE: &str = "▁";

/// What is done to a text, apart from what depends on its place.
#[derive(Debug)]
pub(super) struct Rules {
    pub(super) charsmap: CharsMap,
    pub(super) escape: bool,
    pub(super) remove_extra: bool,
}

/// What is done at the edges of a text, which may be a part of another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Edges {
    /// Whether a space is written before the first word.
    pub(in super::super) prefix: bool,
    /// Whether the spaces at the start are extra ones.
    pub(in super::super) start: bool,
    /// Whether the spaces at the end are extra ones.
    pub(in super::super) end: bool,
}

impl Edges {
    /// In the middle of a text, nothing is done.
    pub(in super::super) const NONE: Self = Self { prefix: false, start: false, end: false };
}

/// A normalized text. For each of its bytes, `places` has the byte of the original character.
#[derive(Debug, Default)]
pub(super) struct Normalized {
    pub(super) text: String,
    pub(super) places: Vec<usize>,
}

impl Normalized {
    fn push(&mut self, text: &str, place: usize) {
        self.text.push_str(text);
        self.places.resize(self.text.len(), place);
    }
}

impl Rules {
    /// Normalizes a text. `symbols` stay as they are.
    pub(super) fn normalize(&self, text: &str, symbols: &Prefixes, edges: Edges) -> Normalized {
        let mut normalized = Normalized::default();
        let mut place = 0;
        if self.remove_extra && edges.start {
            while let Some((length, written)) = self.next(text, place, symbols)
                && written == " "
            {
                place += length;
            }
        }
        if place == text.len() {
            return normalized;
        }
        let space = if self.escape { SPACE } else { " " };
        if edges.prefix {
            normalized.push(space, place);
        }
        let mut after_space = self.remove_extra && edges.start;
        while let Some((length, written)) = self.next(text, place, symbols) {
            let mut rest = written.as_ref();
            if after_space {
                rest = rest.trim_start_matches(' ');
            }
            if !rest.is_empty() {
                let escaped = if self.escape { rest.replace(' ', SPACE) } else { rest.to_owned() };
                normalized.push(&escaped, place);
                after_space = self.remove_extra && rest.ends_with(' ');
            }
            place += length;
        }
        if self.remove_extra && edges.end {
            let kept = normalized.text.trim_end_matches(space).len();
            normalized.text.truncate(kept);
            normalized.places.truncate(kept);
        }
        normalized
    }

    /// Returns the length of what is next in the text, and what is written for it; `None` at the end.
    fn next<'t>(&self, text: &'t str, place: usize, symbols: &Prefixes) -> Option<(usize, Written<'t>)> {
        let rest = text.get(place..)?;
        let first = rest.chars().next()?;
        if let Some((length, _)) = symbols.longest(rest.as_bytes()) {
            return Some((length, Written::Borrowed(rest.get(..length)?)));
        }
        if let Some((length, replacement)) = self.charsmap.longest(rest) {
            return Some((length, String::from_utf8_lossy(replacement).into_owned().into()));
        }
        let length = first.len_utf8();
        Some((length, Written::Borrowed(rest.get(..length)?)))
    }
}

type Written<'t> = std::borrow::Cow<'t, str>;
