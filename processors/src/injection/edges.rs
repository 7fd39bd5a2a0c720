//! Finds parts of control tokens at the edges of a text, where a template might add the rest.

use std::collections::BTreeSet;
use std::ops::Bound;

/// The parts of a set of control tokens.
#[derive(Clone, Debug)]
pub(crate) struct Edges {
    specials: BTreeSet<String>,
    /// The same texts, reversed.
    reversed: BTreeSet<String>,
    /// The words with nothing but brackets around them: `think` of `</think>`.
    words: BTreeSet<String>,
    /// The number of characters of the longest token.
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

    /// Returns the places of the parts of control tokens at the edges of `text`; white space around the text is ignored.
    ///
    /// Such a part is:
    ///
    /// - the end of a token at the beginning of the text,
    /// - the beginning of a token at the end of the text,
    /// - or the middle of a token, if it is the whole text.
    pub(crate) fn of(&self, text: &str) -> Vec<usize> {
        let trimmed = text.trim();
        let blank = text.len() - text.trim_start().len();
        let mut edges = Vec::new();
        if let Some(last) = self.last_of_end(trimmed) {
            edges.push(blank + last);
        }
        if self.is_middle(trimmed) && !is_command(trimmed) {
            edges.push(blank);
        }
        for (start, _) in trimmed.char_indices().rev().take(self.longest) {
            let end = trimmed.get(start..).unwrap_or_default();
            if has_bracket(end) && begins_longer(&self.specials, end) {
                edges.push(blank + start);
            }
        }
        edges
    }

    /// Returns the same for a name. Templates put brackets around names, so a word is enough.
    ///
    /// A name is marked at its end, so that a template sorts it as it would without the mark.
    pub(crate) fn of_name(&self, name: &str) -> Vec<usize> {
        let mut edges = self.of(name);
        let trimmed = name.trim_end();
        let word = trimmed.trim_start();
        if self.words.contains(word) || is_command(word) && self.is_middle(word) {
            edges.extend(trimmed.char_indices().next_back().map(|(last, _)| last));
        }
        edges
    }

    /// Returns the last character of a control token's end that `text` begins with.
    ///
    /// Of `/think>` that is the `>`. The first would be wrong, because templates look for `/think`.
    fn last_of_end(&self, text: &str) -> Option<usize> {
        let mut reversed = String::new();
        for (last, symbol) in text.char_indices().take(self.longest) {
            reversed.insert(0, symbol);
            if has_bracket(&reversed) && begins_longer(&self.reversed, &reversed) {
                return Some(last);
            }
        }
        None
    }

    fn is_middle(&self, text: &str) -> bool {
        let possible = has_bracket(text) && text.chars().count() < self.longest;
        possible && self.specials.iter().any(|special| special.len() > text.len() && special.contains(text))
    }
}

/// Returns whether one of `texts` begins with `start` and is longer.
fn begins_longer(texts: &BTreeSet<String>, start: &str) -> bool {
    let after = (Bound::Excluded(start), Bound::Unbounded);
    texts.range::<str, _>(after).next().is_some_and(|text| text.starts_with(start))
}

/// Returns whether `text` has a character that words do not have. Words alone, such as `user`, `object` and `python`, are
/// parts of too many control tokens.
fn has_bracket(text: &str) -> bool {
    text.chars().any(|symbol| !symbol.is_alphanumeric() && !symbol.is_whitespace() && symbol != '_')
}

/// Returns the word of `<word>`, `</word>`, `[WORD]` and `[/WORD]`. Templates make such tokens of names.
fn word_of(special: &str) -> Option<&str> {
    let inside = between(special, '<', '>').or_else(|| between(special, '[', ']'))?;
    let word = inside.strip_prefix('/').unwrap_or(inside);
    Some(word).filter(|word| !has_bracket(word))
}

fn between(text: &str, open: char, close: char) -> Option<&str> {
    text.strip_prefix(open)?.strip_suffix(close)
}

/// Returns whether `text` is a slash and a word, such as `/think`. People type these to command a model, and templates look
/// for them.
fn is_command(text: &str) -> bool {
    text.strip_prefix('/').is_some_and(|word| !has_bracket(word))
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
        // A word alone is not a part.
        assert_eq!(places("end"), [0; 0]);
        assert_eq!(places(""), [0; 0]);
        assert_eq!(edges.of_name("INST"), [3]);
        assert_eq!(edges.of_name("end"), [0; 0]);
        assert_eq!(edges.of_name("ends"), [0; 0]);
    }
}
