//! The texts of a model's control tokens, and where they stand in a text. Knows no messages.

use std::collections::{BTreeSet, HashSet};
use std::fmt;

/// A set of texts to look for.
pub(crate) struct Specials {
    texts: HashSet<String>,
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
        let firsts = texts.iter().filter_map(|text| text.bytes().next()).collect();
        Self { texts, lengths: lengths.into_iter().rev().collect(), firsts }
    }

    /// Returns the texts that `text` begins with, longest first.
    pub(crate) fn beginning<'t>(&self, text: &'t str) -> impl Iterator<Item = &'t str> {
        let possible = text.bytes().next().is_some_and(|byte| self.firsts.contains(&byte));
        let lengths = if possible { self.lengths.as_slice() } else { &[] };
        lengths.iter().filter_map(|&length| text.get(..length)).filter(|start| self.texts.contains(*start))
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
}
