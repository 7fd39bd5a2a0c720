//! The texts of a model's control tokens, and where they stand in a text. Knows no messages.

use std::collections::{BTreeSet, HashSet};
use std::fmt;

/// A set of texts to look for.
#[derive(Clone)]
pub(crate) struct Specials {
    texts: HashSet<String>,
    /// The texts without the difference between capitals and small letters.
    folded: HashSet<String>,
    /// The texts' lengths in bytes, longest first.
    lengths: Vec<usize>,
    /// The bytes that a text may begin with.
    firsts: BTreeSet<u8>,
}

impl Specials {
    /// Collects texts to look for, without the white space around them, so that what stands at the edge of a
    /// message is found whether or not a template strips it. White space alone is never one of them:
    /// vocabularies have added tokens for runs of it, and they control nothing.
    pub(crate) fn new<'a>(texts: impl IntoIterator<Item = &'a str>) -> Self {
        let texts = texts.into_iter().filter(|text| !is_blank(text));
        let texts: HashSet<String> = texts.map(|text| text.trim().to_owned()).collect();
        let lengths: BTreeSet<usize> = texts.iter().map(String::len).collect();
        let folded: HashSet<String> = texts.iter().map(|text| text.to_ascii_lowercase()).collect();
        let firsts = texts.iter().chain(&folded).filter_map(|text| text.bytes().next());
        let firsts = firsts.flat_map(|byte| [byte, byte.to_ascii_uppercase()]).collect();
        Self { texts, folded, lengths: lengths.into_iter().rev().collect(), firsts }
    }

    /// Returns the texts that `text` begins with, longest first.
    pub(crate) fn beginning<'t>(&self, text: &'t str) -> impl Iterator<Item = &'t str> {
        self.possible(text).filter(|start| self.texts.contains(*start))
    }

    /// Says whether `text` is one of the texts, whole.
    pub(crate) fn is_one(&self, text: &str) -> bool {
        self.texts.contains(text)
    }

    /// Returns what `text` begins with that is one of the texts, or would be in other capitals.
    pub(crate) fn nearly_beginning<'t>(&self, text: &'t str) -> impl Iterator<Item = &'t str> {
        self.possible(text).filter(|start| self.folded.contains(&start.to_ascii_lowercase()))
    }

    /// Says whether one of the texts could begin anywhere in `text`.
    pub(crate) fn may_begin_in(&self, text: &str) -> bool {
        text.bytes().any(|byte| self.firsts.contains(&byte))
    }

    fn possible<'t>(&self, text: &'t str) -> impl Iterator<Item = &'t str> {
        let possible = text.bytes().next().is_some_and(|byte| self.firsts.contains(&byte));
        let lengths = if possible { self.lengths.as_slice() } else { &[] };
        lengths.iter().filter_map(|&length| text.get(..length))
    }

    /// Returns the first of the texts that begins in `text` at `from` or behind, the longest that begins there.
    pub(crate) fn next_in<'t>(&self, text: &'t str, from: usize) -> Option<(usize, &'t str)> {
        let rest = text.get(from..).unwrap_or_default();
        let starts = rest.char_indices().map(|(start, _)| from + start);
        let mut found = starts.filter_map(|start| Some((start, self.beginning(text.get(start..)?).next()?)));
        found.next()
    }

    /// Returns the texts.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &str> {
        self.texts.iter().map(String::as_str)
    }
}

/// U+2581 stands for a space in SentencePiece vocabularies.
fn is_blank(text: &str) -> bool {
    text.chars().all(|symbol| symbol.is_whitespace() || symbol == '\u{2581}')
}

impl fmt::Debug for Specials {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Specials({})", self.texts.len())
    }
}

#[cfg(test)]
mod tests {
    use super::Specials;

    #[test]
    fn the_longest_comes_first() {
        let specials = Specials::new(["<a>", "\n<a>b", "<", "\n\n", "▁▁", ""]);
        let found = |text| specials.beginning(text).collect::<Vec<_>>();
        assert_eq!(found("<a>b"), ["<a>b", "<a>", "<"]);
        assert_eq!(found("\n\n"), [""; 0]);
        assert_eq!(found("▁▁"), [""; 0]);
        assert_eq!(found(""), [""; 0]);
        assert_eq!(found("é<"), [""; 0]);
    }

    #[test]
    fn capitals_are_near() {
        let specials = Specials::new(["[INST]", "<a>"]);
        let near = |text| specials.nearly_beginning(text).collect::<Vec<_>>();
        assert_eq!([near("[inst]"), near("<A>b")], [["[inst]"], ["<A>"]]);
        assert_eq!(specials.beginning("[inst]").next(), None);
    }

    #[test]
    fn the_next_is_the_first_and_then_the_longest() {
        let specials = Specials::new(["<end>", "<", "d>"]);
        assert_eq!(specials.next_in("é<end><", 0), Some((2, "<end>")));
        assert_eq!(specials.next_in("é<end><", 3), Some((5, "d>")));
        assert_eq!(specials.next_in("é<end><", 7), Some((7, "<")));
        assert_eq!(specials.next_in("é<end><", 8), None);
    }
}
