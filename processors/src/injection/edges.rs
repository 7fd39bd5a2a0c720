//! Parts of control tokens at the edges of a text, to which a template might add what is missing. Knows no messages.

use std::collections::BTreeSet;
use std::ops::Bound;

/// The parts of a set of control tokens.
#[derive(Clone, Debug)]
pub(crate) struct Edges {
    specials: BTreeSet<String>,
    /// The same, spelled from the end.
    reversed: BTreeSet<String>,
    /// The words that nothing but brackets stands around: `think` of `</think>`.
    words: BTreeSet<String>,
    /// How many characters the longest has.
    longest: usize,
}

impl Edges {
    pub(crate) fn new<'a>(specials: impl Iterator<Item = &'a str>) -> Self {
        let specials: BTreeSet<String> = specials.map(str::to_owned).collect();
        let reversed = specials.iter().map(|special| special.chars().rev().collect()).collect();
        let words = specials.iter().filter_map(|special| word_of(special)).map(str::to_owned).collect();
        let longest = specials.iter().map(|special| special.chars().count()).max().unwrap_or_default();
        Self { specials, reversed, words, longest }
    }

    /// Returns where parts stand at the edges of `text`, white space aside: the end of a control token at its
    /// beginning, a beginning at its end, or a middle that is all of it.
    pub(crate) fn of(&self, text: &str) -> Vec<usize> {
        let trimmed = text.trim();
        let blank = text.len() - text.trim_start().len();
        let mut edges: Vec<_> = self.last_of_end(trimmed).map(|last| blank + last).into_iter().collect();
        if self.is_middle(trimmed) && !is_command(trimmed) {
            edges.push(blank);
        }
        let last = trimmed.char_indices().rev().map(|(start, _)| start).take(self.longest);
        let begun = last.filter(|start| trimmed.get(*start..).is_some_and(|end| self.is_begun_by(end)));
        edges.extend(begun.map(|start| blank + start));
        edges
    }

    /// As [`Edges::of`], for a name: templates put brackets around names, and a word is enough to be completed. Marked
    /// at its end, it is sorted as it was.
    pub(crate) fn of_name(&self, name: &str) -> Vec<usize> {
        let mut edges = self.of(name);
        let trimmed = name.trim_end();
        let word = trimmed.trim_start();
        if self.words.contains(word) || is_command(word) && self.is_middle(word) {
            edges.extend(trimmed.char_indices().next_back().map(|(last, _)| last));
        }
        edges
    }

    fn is_begun_by(&self, text: &str) -> bool {
        is_telling(text) && begins_longer(&self.specials, text)
    }

    /// Returns where the last character of a control token's end stands that `text` begins with. Its last, not its
    /// first: templates look for the `/think` of `/think>`.
    fn last_of_end(&self, text: &str) -> Option<usize> {
        let mut reversed = String::new();
        let mut ends = text.char_indices().take(self.longest).map(|(last, symbol)| {
            reversed.insert(0, symbol);
            (last, is_telling(&reversed) && begins_longer(&self.reversed, &reversed))
        });
        ends.find(|(_, is_end)| *is_end).map(|(last, _)| last)
    }

    fn is_middle(&self, text: &str) -> bool {
        let possible = is_telling(text) && text.chars().count() < self.longest;
        possible && self.specials.iter().any(|special| special.len() > text.len() && special.contains(text))
    }
}

/// Says whether one of `texts` begins with `start` and goes on.
fn begins_longer(texts: &BTreeSet<String>, start: &str) -> bool {
    let after = (Bound::Excluded(start), Bound::Unbounded);
    texts.range::<str, _>(after).next().is_some_and(|text| text.starts_with(start))
}

/// Words alone are parts of control tokens far too often to say anything: `user`, `object`, `python`.
fn is_telling(text: &str) -> bool {
    text.chars().any(|symbol| is_bracket(symbol) && !symbol.is_whitespace())
}

/// Returns the word of `<word>`, `</word>`, `[WORD]` and `[/WORD]`, which templates make of names.
fn word_of(special: &str) -> Option<&str> {
    let angled = special.strip_prefix('<').and_then(|rest| rest.strip_suffix('>'));
    let squared = || special.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let inside = angled.or_else(squared)?;
    let word = inside.strip_prefix('/').unwrap_or(inside);
    Some(word).filter(|word| !is_telling(word))
}

/// Anything but what words are made of.
fn is_bracket(symbol: char) -> bool {
    !symbol.is_alphanumeric() && symbol != '_'
}

/// A slash and a word, such as `/think`, is what people type to command a model, and templates look for it.
fn is_command(text: &str) -> bool {
    text.strip_prefix('/').is_some_and(|word| !is_telling(word))
}

#[cfg(test)]
mod tests {
    use super::Edges;

    #[test]
    fn parts_are_found_at_the_edges_alone() {
        let edges = Edges::new(["<|end|>", "[INST]"].into_iter());
        let places = |text| edges.of(text);
        assert_eq!(places("a <|e"), [2]);
        assert_eq!(places(" nd|> a "), [4]);
        assert_eq!(places("|end|"), [0]);
        assert_eq!(places("3 <"), [2]);
        assert_eq!(places("a <| b"), [0; 0]);
        assert_eq!(places("<|end|>"), [0; 0]);
        assert_eq!(Edges::new(["</end>"].into_iter()).of("/end"), [0; 0]);
        assert_eq!(Edges::new(["</end>"].into_iter()).of_name("/end"), [3]);
        assert_eq!(Edges::new(["</end>"].into_iter()).of_name(" end"), [3]);
        // A word is no part worth looking at.
        assert_eq!(places("end"), [0; 0]);
        assert_eq!(places(""), [0; 0]);
        assert_eq!(edges.of_name("INST"), [3]);
        assert_eq!(edges.of_name("end"), [0; 0]);
        assert_eq!(edges.of_name("ends"), [0; 0]);
    }
}
