//! Words, phrases and beginnings of words that a text is searched for; what is found, and how well it fits.

mod tokens;

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::VecDeque;
use std::ops::Range;
use std::str::FromStr;

use self::tokens::{Token, tokens};
use crate::message::{Message, Part, Role};
use crate::query::{Cursor, RANKED, Rank, SearchScope};
use crate::store::{ConversationId, DamagedConversation};
use crate::tree::{Node, NodeId};
use crate::{Error, ErrorKind, Result};

/// What a text must hold, all of it in one node: words, `"phrases in quotes"`, and beginnings of words (`begin*`).
///
/// Case and accents do not count, and compatibility forms are the plain ones. In scripts without spaces between words
/// (Chinese, Japanese, Thai, …) and in Korean, what is searched for is found as a part of a longer run too. What is
/// searched is the text of a message; thoughts, calls and results of tools are not.
///
/// ```
/// use alloquy_core::SearchText;
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
    fn find(&self, text: &str) -> Option<Found> {
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
fn text_of(message: &Message) -> Cow<'_, str> {
    let mut texts = message.parts.iter().filter_map(|part| match &part.content {
        Part::Text(text) => Some(text.as_str()),
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
struct Found {
    places: Vec<Range<usize>>,
    score: f64,
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

/// A piece of a text around what was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snippet {
    /// The piece, as it stands in the text.
    pub text: String,
    /// What was found, in bytes of the piece.
    pub highlights: Vec<Range<usize>>,
    /// Where in the text the piece begins, in bytes.
    pub offset: usize,
    /// How long the text is, in bytes.
    pub length: usize,
}

/// How many characters of a text stand before the first thing found, and how many at most in all.
const BEFORE: usize = 40;
const SNIPPET: usize = 160;

/// How many bytes the characters of a snippet have at most.
const SNIPPET_BYTES: usize = 4 * SNIPPET;

impl Snippet {
    fn of(text: &str, places: &[Range<usize>]) -> Self {
        let first = places.first().map_or(0, |place| place.start);
        let before = text.get(..first).unwrap_or_default();
        let start = before.char_indices().rev().take(BEFORE).last().map_or(first, |(index, _)| index);
        let rest = text.get(start..).unwrap_or_default();
        let end = rest.char_indices().nth(SNIPPET).map_or(rest.len(), |(index, _)| index);
        let piece = rest.get(..end).unwrap_or_default();
        let inside = |place: &Range<usize>| {
            let place = place.start.checked_sub(start)?..place.end.checked_sub(start)?.min(end);
            (place.start < place.end).then_some(place)
        };
        Self {
            text: piece.to_owned(),
            highlights: places.iter().filter_map(inside).collect(),
            offset: start,
            length: text.len(),
        }
    }
}

/// A node in which a text was found.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SearchHit {
    /// The conversation.
    pub conversation: ConversationId,
    /// The node.
    pub node: NodeId,
    /// Who says it.
    pub role: Role,
    /// The piece around what was found.
    pub snippet: Snippet,
    /// How well it fits; it depends on nothing but the node and the query.
    pub score: f64,
}

/// One page of what a search found.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SearchPage {
    /// The hits in the order that was asked for.
    pub hits: Vec<SearchHit>,
    /// Where the next page begins; `None` after the last one.
    pub next: Option<Cursor>,
    /// Which hits were compared.
    pub ranked: Ranked,
    /// Conversations that could not be read and so were not searched.
    pub damaged: Vec<DamagedConversation>,
}

/// Which of all hits were compared by relevance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ranked {
    /// Every one.
    All,
    /// The newest ones, this many; there are more, which a search sorted by creation finds.
    Newest(usize),
}

/// A node that a store found for a search: what is shown of it, without its text, of which there may be much.
#[derive(Clone, Debug)]
pub struct Candidate {
    conversation: ConversationId,
    node: NodeId,
    mark: String,
    hit: Option<SearchHit>,
}

impl Candidate {
    /// Says whether the node holds what is searched for.
    pub fn is_hit(&self) -> bool {
        self.hit.is_some()
    }

    /// Orders candidates as stores without an index find them: the newest node first.
    pub fn newest_first(left: &Self, right: &Self) -> Ordering {
        right.node.cmp(&left.node).then_with(|| left.conversation.cmp(&right.conversation))
    }
}

impl SearchScope<'_> {
    /// Looks into a node that a store found, or may have found. By its mark the store finds the same place again; see
    /// [`SearchScope::until`].
    pub fn candidate(&self, conversation: &ConversationId, node: &Node, mark: String) -> Candidate {
        let text = text_of(&node.message);
        let hit = self.text.find(&text).map(|found| SearchHit {
            conversation: conversation.clone(),
            node: node.id,
            role: node.message.role,
            snippet: Snippet::of(&text, &found.places),
            score: found.score,
        });
        Candidate { conversation: conversation.clone(), node: node.id, mark, hit }
    }

    /// Makes the answer to a search of what a store found: newest first, from `until` on, at most `at_most`.
    pub fn page(&self, found: Vec<Candidate>) -> SearchPage {
        match self.is_by_relevance() {
            true => self.best(found),
            false => self.newest(found),
        }
    }

    fn newest(&self, mut found: Vec<Candidate>) -> SearchPage {
        let more = found.get(self.limit).map(|first| self.cursor(first.mark.clone(), None));
        found.truncate(self.limit);
        let hits = found.into_iter().filter_map(|candidate| candidate.hit).collect();
        SearchPage { hits, next: more, ranked: Ranked::All, damaged: Vec::new() }
    }

    fn best(&self, mut found: Vec<Candidate>) -> SearchPage {
        let ranked = if found.len() > RANKED { Ranked::Newest(RANKED) } else { Ranked::All };
        found.truncate(RANKED);
        let until = found.first().map(|newest| newest.mark.clone()).unwrap_or_default();
        let mut hits: Vec<_> = found.into_iter().filter_map(|candidate| candidate.hit).map(rank).collect();
        hits.sort_by(|left, right| better(&left.0, &right.0));
        if let Some(after) = self.after {
            hits.retain(|(rank, _)| better(after, rank).is_lt());
        }
        let last =
            self.limit.checked_sub(1).and_then(|last| hits.get(last)).filter(|_| hits.len() > self.limit);
        let next = last.map(|(rank, _)| self.cursor(until, Some(rank.clone())));
        hits.truncate(self.limit);
        let hits = hits.into_iter().map(|(_, hit)| hit).collect();
        SearchPage { hits, next, ranked, damaged: Vec::new() }
    }
}

fn rank(hit: SearchHit) -> (Rank, SearchHit) {
    (Rank { score: hit.score, node: hit.node, conversation: hit.conversation.clone() }, hit)
}

/// The higher score first, then the newer node.
fn better(left: &Rank, right: &Rank) -> Ordering {
    let scores = right.score.total_cmp(&left.score);
    scores.then(right.node.cmp(&left.node)).then_with(|| left.conversation.cmp(&right.conversation))
}
