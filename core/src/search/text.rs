//! Words, phrases and beginnings of words that a text is searched for, and where a text has them. Knows no store.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::ops::Range;
use std::str::FromStr;

use super::snippet::SNIPPET_BYTES;
use super::tokens::{Token, tokens};
use crate::message::{Content, Message};
use crate::tree::Node;
use crate::{Error, ErrorKind, Result};

/// What a text must hold, all of it in one node: words, `"phrases in quotes"`, and beginnings of words (`begin*`).
///
/// Case and accents do not count, and compatibility forms are the plain ones. In scripts without spaces between words
/// (Chinese, Japanese, Thai, …) and in Korean, what is searched for is found as a part of a longer run too. What is
/// searched is the text of a message; thoughts, calls and results of tools are not.
///
/// ```
/// use alloquy_core::search::SearchText;
///
/// let text: SearchText = "\"tasse thé\" vert*".parse()?;
/// assert!(text.is_in("Une TASSE THE, verte"));
/// assert!(!text.is_in("thé, tasse, vert"));
/// assert!("京都".parse::<SearchText>()?.is_in("東京都庁"));
/// assert!("…".parse::<SearchText>().is_err());
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchText {
    terms: Vec<SearchTerm>,
}

/// Tokens that must stand one behind the other.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SearchTerm {
    /// The tokens, as [`SearchText::index`] makes them of a text.
    pub tokens: Vec<String>,
    /// The last token is the beginning of one.
    pub is_prefix: bool,
}

impl SearchText {
    /// Returns what must be found, all of it.
    pub fn terms(&self) -> &[SearchTerm] {
        &self.terms
    }

    /// Says whether all of it is in a text.
    pub fn is_in(&self, text: &str) -> bool {
        let mut finds = self.finds();
        self.walk(text, |recent| {
            finds.iter_mut().for_each(|find| find.look(recent));
            !finds.iter().all(|find| find.times > 0)
        });
        finds.iter().all(|find| find.times > 0)
    }

    /// Says whether all of it is in a node.
    pub fn matches(&self, node: &Node) -> bool {
        self.is_in(&text_of(&node.message))
    }

    /// Returns the text of a message that is searched: that of its text parts, a line each.
    pub fn searched(message: &Message) -> String {
        text_of(message).into_owned()
    }

    /// Returns the tokens of a message, one behind the other and divided by spaces, for the index of a store. A token
    /// is of ASCII letters and digits and of characters beyond ASCII.
    pub fn index(message: &Message) -> String {
        let mut index = String::new();
        for token in tokens(&text_of(message)) {
            if !index.is_empty() {
                index.push(' ');
            }
            index.push_str(&token.text);
        }
        index
    }

    /// Finds the terms in a text; `None` unless all of them are there.
    pub(super) fn find(&self, text: &str) -> Option<Found> {
        let (mut finds, mut length) = (self.finds(), 0);
        self.walk(text, |recent| {
            length += 1;
            finds.iter_mut().for_each(|find| find.look(recent));
            true
        });
        let all = finds.iter().all(|find| find.times > 0);
        all.then(|| Found::of(finds, length))
    }

    fn finds(&self) -> Vec<Find<'_>> {
        self.terms.iter().map(|term| Find { term, times: 0, places: Vec::new() }).collect()
    }

    /// Shows the tokens of a text, each with as many before it as the longest term has, until `go_on` says no.
    fn walk(&self, text: &str, mut go_on: impl FnMut(&VecDeque<Token>) -> bool) {
        let longest = self.terms.iter().map(|term| term.tokens.len()).max().unwrap_or_default();
        let mut recent = VecDeque::with_capacity(longest + 1);
        for token in tokens(text) {
            recent.push_back(token);
            if recent.len() > longest {
                recent.pop_front();
            }
            if !go_on(&recent) {
                return;
            }
        }
    }
}

/// The text of a message that is searched; copied only where it is of several parts.
pub(super) fn text_of(message: &Message) -> Cow<'_, str> {
    let mut texts = message.parts.iter().filter_map(|part| match &part.content {
        Content::Text(text) => Some(text.as_str()),
        _ => None,
    });
    let first = Cow::Borrowed(texts.next().unwrap_or_default());
    texts.fold(first, |before, text| before + "\n" + text)
}

/// A term and where it stands in a text, as far as that was read.
struct Find<'a> {
    term: &'a SearchTerm,
    times: usize,
    /// The first places: no more than a snippet shows.
    places: Vec<Range<usize>>,
}

impl Find<'_> {
    /// Looks whether the term ends with the last token.
    fn look(&mut self, recent: &VecDeque<Token>) {
        let Some(before) = recent.len().checked_sub(self.term.tokens.len()) else { return };
        if !self.term.fits(recent.iter().skip(before)) {
            return;
        }
        self.times += 1;
        let ends = recent.get(before).zip(recent.back());
        let place = ends.map(|(first, last)| first.place.start..last.place.end);
        let shown = self.places.first().map_or(usize::MAX, |first| first.start.saturating_add(SNIPPET_BYTES));
        self.places.extend(place.filter(|place| place.start <= shown));
    }
}

impl SearchTerm {
    /// Reads one word or phrase; `None` when there is no word in it.
    fn of(text: &str, is_prefix: bool) -> Option<Self> {
        let mut tokens: Vec<_> = tokens(text).collect();
        let last = tokens.pop()?;
        let joins = tokens.last().is_some_and(|before| before.place.end == last.place.end);
        // Where a run goes on after what was typed, its last pair is there and its last character is none of its own.
        let term = match (last.ends_run, joins) {
            (true, true) => (tokens, false),
            (ends_run, _) => {
                tokens.push(last);
                (tokens, is_prefix || ends_run)
            }
        };
        Some(Self { tokens: term.0.into_iter().map(|token| token.text).collect(), is_prefix: term.1 })
    }

    fn fits<'a>(&self, window: impl Iterator<Item = &'a Token>) -> bool {
        let last = self.tokens.len().saturating_sub(1);
        let mut pairs = self.tokens.iter().zip(window).enumerate();
        pairs.all(|(index, (wanted, token))| {
            if self.is_prefix && index == last {
                token.text.starts_with(wanted.as_str())
            } else {
                token.text == *wanted
            }
        })
    }
}

impl FromStr for SearchText {
    type Err = Error;

    /// Reads words, quoted phrases and `beginnings*`; a quote that is not closed ends with the text.
    fn from_str(text: &str) -> Result<Self> {
        let mut terms = Vec::new();
        for (number, piece) in text.split('"').enumerate() {
            match number % 2 {
                1 => terms.extend(SearchTerm::of(piece, false)),
                _ => terms.extend(piece.split_whitespace().filter_map(word)),
            }
        }
        match terms.is_empty() {
            true => {
                Err(Error::new(ErrorKind::Invalid, format!("there is no word to search for in {text:?}")))
            }
            false => Ok(Self { terms }),
        }
    }
}

fn word(word: &str) -> Option<SearchTerm> {
    match word.strip_suffix('*') {
        Some(beginning) => SearchTerm::of(beginning, true),
        None => SearchTerm::of(word, false),
    }
}

/// Where the terms stand in a text.
pub(super) struct Found {
    pub(super) places: Vec<Range<usize>>,
    pub(super) score: f64,
}

impl Found {
    fn of(terms: Vec<Find<'_>>, length: usize) -> Self {
        let score = terms.iter().map(|find| weight(find.times, length)).sum();
        let mut places: Vec<_> = terms.into_iter().flat_map(|find| find.places).collect();
        places.sort_by_key(|place| (place.start, place.end));
        places.dedup();
        Self { places, score }
    }
}

/// How much a term that stands `times` times in a text of `length` tokens counts: the term's part of BM25 (Robertson and
/// Zaragoza 2009, k1 1.2, b 0.75) against a text of 100 tokens. The part that depends on other texts is left out, so
/// that a score stays what it is while others write, and tells nothing of what they wrote.
fn weight(times: usize, length: usize) -> f64 {
    let (times, length) = (times as f64, length as f64);
    times * 2.2 / (times + 1.2 * (0.25 + 0.75 * length / 100.0))
}
