//! Finds the texts of a model's control tokens in a text.

use std::collections::{BTreeSet, HashSet};
use std::fmt;

/// A set of texts to look for.
#[derive(Clone)]
pub(crate) struct Specials {
    texts: HashSet<String>,
    /// The texts in small letters.
    folded: HashSet<String>,
    /// The lengths of the texts in bytes, longest first.
    lengths: Vec<usize>,
    /// The bytes that a text may begin with.
    firsts: BTreeSet<u8>,
}

impl Specials {
    /// Collects the texts to look for.
    ///
    /// White space around a text is removed, so that a token at the edge of a message is found whether or not a template strips
    /// the message. Texts of white space are left out: vocabularies have added tokens for them that control nothing.
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

    /// Returns whether `text` is one of the texts.
    pub(crate) fn is_one(&self, text: &str) -> bool {
        self.texts.contains(text)
    }

    /// Returns the beginnings of `text` that are one of the texts, in any capitals; longest first.
    pub(crate) fn nearly_beginning<'t>(&self, text: &'t str) -> impl Iterator<Item = &'t str> {
        self.possible(text).filter(|start| self.folded.contains(&start.to_ascii_lowercase()))
    }

    /// Returns whether one of the texts could begin anywhere in `text`. This is a fast check of single bytes.
    pub(crate) fn may_begin_in(&self, text: &str) -> bool {
        text.bytes().any(|byte| self.firsts.contains(&byte))
    }

    fn possible<'t>(&self, text: &'t str) -> impl Iterator<Item = &'t str> {
        let possible = text.bytes().next().is_some_and(|byte| self.firsts.contains(&byte));
        let lengths = if possible { self.lengths.as_slice() } else { &[] };
        lengths.iter().filter_map(|&length| text.get(..length))
    }

    /// Returns the first place from `from` on where one of the texts begins, and the longest one that begins there.
    pub(crate) fn next_in<'t>(&self, text: &'t str, from: usize) -> Option<(usize, &'t str)> {
        let rest = text.get(from..).unwrap_or_default();
        for (start, _) in rest.char_indices() {
            if let Some(found) = self.beginning(rest.get(start..)?).next() {
                return Some((from + start, found));
            }
        }
        None
    }

    /// Returns the texts.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &str> {
        self.texts.iter().map(String::as_str)
    }
}

/// Returns whether `text` is white space. SentencePiece vocabularies write U+2581 for a space.
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
    fn capitals_are_ignored() {
        let specials = Specials::new(["[INST]", "<a>"]);
        let near = |text| specials.nearly_beginning(text).collect::<Vec<_>>();
        assert_eq!([near("[inst]"), near("<A>b")], [["[inst]"], ["<A>"]]);
        assert_eq!(specials.beginning("[inst]").next(), None);
    }

    #[test]
    fn the_first_and_longest_token_is_found() {
        let specials = Specials::new(["<end>", "<", "d>"]);
        assert_eq!(specials.next_in("é<end><", 0), Some((2, "<end>")));
        assert_eq!(specials.next_in("é<end><", 3), Some((5, "d>")));
        assert_eq!(specials.next_in("é<end><", 7), Some((7, "<")));
        assert_eq!(specials.next_in("é<end><", 8), None);
    }
}
