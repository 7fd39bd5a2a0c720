//! Search queries of words, phrases and prefixes, and their matches in a text.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::ops::Range;
use std::str::FromStr;

use super::snippet::SNIPPET_BYTES;
use super::tokens::{Token, tokens};
use crate::message::{Content, Message};
use crate::tree::Node;
use crate::{Error, ErrorKind, Result};

/// What a node must contain: all of these words, `"phrases in quotes"`, and prefixes of words (`begin*`).
///
/// Case, accents and compatibility forms do not matter. In scripts without spaces between words (Chinese, Japanese,
/// Thai, …) and in Korean, a part of a longer run matches too. Only the text of a message is searched; thinking, tool
/// calls and their results are not.
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

/// Tokens that must follow each other.
///
/// ```
/// use alloquy_core::search::SearchText;
///
/// let text: SearchText = "\"green tea\" cup*".parse()?;
/// let terms = text.terms();
/// assert_eq!(terms[0].tokens, ["green", "tea"]);
/// assert!(terms[1].is_prefix);
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SearchTerm {
    /// The tokens, as [`SearchText::index`] returns them.
    pub tokens: Vec<String>,
    /// Whether the last token is a prefix.
    pub is_prefix: bool,
}

impl SearchText {
    /// Returns the terms, all of which must match.
    pub fn terms(&self) -> &[SearchTerm] {
        &self.terms
    }

    /// Returns whether a text matches.
    pub fn is_in(&self, text: &str) -> bool {
        let mut finds = self.finds();
        self.walk(text, |recent| {
            for find in &mut finds {
                find.look(recent);
            }
            !finds.iter().all(|find| find.times > 0)
        });
        finds.iter().all(|find| find.times > 0)
    }

    /// Returns whether a node matches.
    pub fn matches(&self, node: &Node) -> bool {
        self.is_in(&text_of(&node.message))
    }

    /// Returns the text of a message that is searched: its text parts, one per line.
    pub fn searched(message: &Message) -> String {
        text_of(message).into_owned()
    }

    /// Returns the tokens of a message in their order, separated by spaces, for the index of a store. A token consists
    /// of ASCII letters and digits and of characters beyond ASCII.
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

    /// Finds the terms in a text; `None` unless all of them match.
    pub(super) fn find(&self, text: &str) -> Option<Found> {
        let mut finds = self.finds();
        let mut length = 0;
        self.walk(text, |recent| {
            length += 1;
            for find in &mut finds {
                find.look(recent);
            }
            true
        });
        let all = finds.iter().all(|find| find.times > 0);
        all.then(|| Found::of(finds, length))
    }

    fn finds(&self) -> Vec<Find<'_>> {
        self.terms.iter().map(|term| Find { term, times: 0, places: Vec::new() }).collect()
    }

    /// Calls `visit` with each token of a text and the tokens before it, as many as the longest term has, until it
    /// returns `false`.
    fn walk(&self, text: &str, mut visit: impl FnMut(&VecDeque<Token>) -> bool) {
        let longest = self.terms.iter().map(|term| term.tokens.len()).max().unwrap_or_default();
        let mut recent = VecDeque::with_capacity(longest + 1);
        for token in tokens(text) {
            recent.push_back(token);
            if recent.len() > longest {
                recent.pop_front();
            }
            if !visit(&recent) {
                return;
            }
        }
    }
}

/// Returns the text of a message that is searched. It is copied only if it has several parts.
pub(super) fn text_of(message: &Message) -> Cow<'_, str> {
    let mut texts = message.parts.iter().filter_map(|part| match &part.content {
        Content::Text(text) => Some(text.as_str()),
        _ => None,
    });
    let first = Cow::Borrowed(texts.next().unwrap_or_default());
    texts.fold(first, |before, text| before + "\n" + text)
}

/// A term and its matches in a text, as far as that was read.
struct Find<'a> {
    term: &'a SearchTerm,
    times: usize,
    /// The first matches: no more than a snippet shows.
    places: Vec<Range<usize>>,
}

impl Find<'_> {
    /// Records a match if the term ends with the last token.
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
    /// Parses one word or phrase; `None` if it has no word.
    fn of(text: &str, is_prefix: bool) -> Option<Self> {
        let mut tokens: Vec<_> = tokens(text).collect();
        let last = tokens.pop()?;
        let joins = tokens.last().is_some_and(|before| before.place.end == last.place.end);
        // In scripts without spaces, "東京" has the tokens "東京" and, as it ends a run, "京". A text such as "東京都" has
        // "東京", but not "京", so the last character of a typed run is dropped.
        let is_prefix = if last.ends_run { !joins } else { is_prefix };
        if !(last.ends_run && joins) {
            tokens.push(last);
        }
        Some(Self { tokens: tokens.into_iter().map(|token| token.text).collect(), is_prefix })
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

    /// Parses words, quoted phrases and `prefixes*`; a quote that is not closed ends with the text.
    fn from_str(text: &str) -> Result<Self> {
        let mut terms = Vec::new();
        for (number, piece) in text.split('"').enumerate() {
            match number % 2 {
                1 => terms.extend(SearchTerm::of(piece, false)),
                _ => terms.extend(piece.split_whitespace().filter_map(word)),
            }
        }
        if terms.is_empty() {
            let message = format!("there is no word to search for in {text:?}");
            return Err(Error::new(ErrorKind::Invalid, message));
        }
        Ok(Self { terms })
    }
}

fn word(word: &str) -> Option<SearchTerm> {
    match word.strip_suffix('*') {
        Some(beginning) => SearchTerm::of(beginning, true),
        None => SearchTerm::of(word, false),
    }
}

/// Where the terms match in a text.
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

/// Returns the weight of a term that occurs `times` times in a text of `length` tokens.
///
/// The weight is the term's part of BM25 (Robertson and Zaragoza 2009, k1 1.2, b 0.75) relative to a text of 100 tokens.
/// The part that depends on other texts is left out. So a score does not change while others write, and reveals nothing
/// of their texts.
fn weight(times: usize, length: usize) -> f64 {
    let times = times as f64;
    let length = length as f64;
    times * 2.2 / (times + 1.2 * (0.25 + 0.75 * length / 100.0))
}
