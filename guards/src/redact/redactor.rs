//! Finds and replaces matches, in a whole text or in one that arrives in pieces.

use std::collections::BTreeMap;
use std::sync::Arc;

use alloquy_core::{Error, Result};
use regex::Regex;
use serde_json::Value;

use super::Pattern;
use super::pattern::{Compiled, all_candidates, all_tails};

/// How often each pattern matched, by its name.
pub(super) type Counts = BTreeMap<String, usize>;

/// Removes what patterns match. Copies share the patterns.
///
/// The earliest match wins; of several that begin at the same place, that of the first pattern. A replacement is not read again.
///
/// ```
/// use alloquy_guards::redact::{Redactor, recognizers};
///
/// let redactor = Redactor::new([recognizers::email(), recognizers::card()])?;
/// assert_eq!(redactor.redact("Write to ann@example.org.")?, "Write to [email].");
///
/// // A stream shows what no later text can change.
/// let mut stream = redactor.stream();
/// assert_eq!(stream.push("Write to an")?, "Write to ");
/// assert_eq!(stream.push("n@example.org. ")?, "[email]. ");
/// assert_eq!(stream.finish()?, "");
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Redactor {
    patterns: Arc<Patterns>,
}

#[derive(Debug)]
struct Patterns {
    each: Vec<Compiled>,
    /// Matches wherever a pattern does, and perhaps elsewhere.
    candidates: Regex,
    /// Matches the end of a text where a match of any pattern may continue.
    tails: Regex,
}

impl Redactor {
    /// Compiles patterns.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](alloquy_core::ErrorKind::Invalid) for a pattern that is not a regular expression, that has no longest match, or that matches the empty
    /// text.
    pub fn new(patterns: impl IntoIterator<Item = Pattern>) -> Result<Self> {
        let mut each = Vec::new();
        for pattern in patterns {
            each.push(pattern.compile()?);
        }
        let candidates = all_candidates(&each)?;
        let tails = all_tails(&each)?;
        Ok(Self { patterns: Arc::new(Patterns { each, candidates, tails }) })
    }

    /// Compiles the recognizers with these names: `email`, `card`, `iban`, `key` and `phone`.
    ///
    /// ```
    /// use alloquy_guards::redact::Redactor;
    ///
    /// let redactor = Redactor::named(["email", "iban"])?;
    /// assert_eq!(redactor.redact("GB82 WEST 1234 5698 7654 32")?, "[iban]");
    /// assert!(Redactor::named(["mail"]).unwrap_err().to_string().contains("one of: email"));
    /// # Ok::<(), alloquy_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`](alloquy_core::ErrorKind::NotFound) for another name, with the names that there are.
    pub fn named<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<Self> {
        let patterns: Result<Vec<_>> = names.into_iter().map(super::recognizers::named).collect();
        Self::new(patterns?)
    }

    /// Redacts a whole text.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](alloquy_core::ErrorKind::Invalid) where a pattern [blocks](super::Strategy::Block).
    pub fn redact(&self, text: &str) -> Result<String> {
        self.counted(text, &mut Counts::new())
    }

    /// Begins to redact a text that arrives in pieces.
    pub fn stream(&self) -> Redaction {
        Redaction { redactor: self.clone(), held: String::new(), from: 0, searched: 0, counts: Counts::new() }
    }

    /// Returns the length of the longest match in bytes. A stream holds back no more, and no more than an eighth of it after it.
    pub fn longest(&self) -> usize {
        self.patterns.each.iter().map(|pattern| pattern.longest).max().unwrap_or(0)
    }

    /// Redacts a whole text, and adds the matches to `counts`.
    pub(super) fn counted(&self, text: &str, counts: &mut Counts) -> Result<String> {
        let mut stream = self.stream();
        let mut shown = stream.push(text)?;
        shown += &stream.finish()?;
        add_counts(counts, stream.counts);
        Ok(shown)
    }

    /// Redacts the strings of a JSON value, its keys, and numbers whose digits match, which become strings.
    pub(super) fn value(&self, value: &mut Value, counts: &mut Counts) -> Result<()> {
        match value {
            Value::String(text) => *text = self.counted(text, counts)?,
            Value::Number(number) => {
                let digits = number.to_string();
                let shown = self.counted(&digits, counts)?;
                if shown != digits {
                    *value = Value::String(shown);
                }
            }
            Value::Array(items) => {
                for item in items {
                    self.value(item, counts)?;
                }
            }
            Value::Object(fields) => self.fields(fields, counts)?,
            Value::Null | Value::Bool(_) => {}
        }
        Ok(())
    }

    /// Redacts the keys and values of an object.
    pub(super) fn fields(
        &self,
        fields: &mut serde_json::Map<String, Value>,
        counts: &mut Counts,
    ) -> Result<()> {
        for (key, mut value) in std::mem::take(fields) {
            self.value(&mut value, counts)?;
            let mut shown = self.counted(&key, counts)?;
            while fields.contains_key(&shown) {
                // Two keys may have the same replacement.
                shown.push('_');
            }
            fields.insert(shown, value);
        }
        Ok(())
    }

    /// Returns the error with its sentence redacted, because a sentence may quote a text. Its cause is removed if a match was found.
    pub(super) fn error(&self, error: Error) -> Error {
        let whole = error.whole();
        match self.redact(&whole) {
            Ok(shown) if shown == whole => error,
            Ok(shown) => Error::new(error.kind(), shown),
            Err(blocked) => Error::new(error.kind(), format!("the error cannot be shown: {blocked}")),
        }
    }

    /// Returns where the tail of `text` begins, after `from`, that more text may complete to a match.
    fn tail(&self, text: &str, from: usize) -> usize {
        // A tail is shorter than the longest match, so nothing before that length is searched.
        let earliest = text.ceil_char_boundary(text.len().saturating_sub(self.longest())).max(from);
        self.patterns.tails.find_at(text, earliest).map_or(text.len(), |found| found.start())
    }
}

pub(super) fn add_counts(counts: &mut Counts, more: Counts) {
    for (name, times) in more {
        *counts.entry(name).or_default() += times;
    }
}

/// Up to this length in bytes, a text that is held back is searched with each piece.
const SHORT: usize = 512;

/// A redaction of a text that arrives in pieces. Any pieces give what the whole text gives.
///
/// [`Redactor::stream`] begins one.
#[derive(Clone, Debug)]
pub struct Redaction {
    redactor: Redactor,
    /// What is not shown yet, after one character that was: the beginning of a word depends on it.
    held: String,
    /// Where the text begins that is not shown yet.
    from: usize,
    /// How long the text was that was held back when it was last searched.
    searched: usize,
    pub(super) counts: Counts,
}

/// A piece of the text that is decided.
#[derive(Debug)]
pub(super) enum Piece {
    /// It stays as it is.
    Kept(String),
    /// It is replaced.
    Replaced {
        /// How many bytes are removed.
        removed: usize,
        /// What replaces them.
        shown: String,
    },
}

impl Redaction {
    /// Receives more of the text, and returns what can be shown now.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](alloquy_core::ErrorKind::Invalid) where a pattern [blocks](super::Strategy::Block).
    pub fn push(&mut self, text: &str) -> Result<String> {
        Ok(joined(self.push_pieces(text)?))
    }

    /// Ends the text, and returns what was held back. The next piece begins another text.
    ///
    /// # Errors
    /// As [`Redaction::push`].
    pub fn finish(&mut self) -> Result<String> {
        Ok(joined(self.finish_pieces()?))
    }

    /// Returns how often each pattern matched so far.
    pub fn counts(&self) -> &BTreeMap<String, usize> {
        &self.counts
    }

    pub(super) fn push_pieces(&mut self, text: &str) -> Result<Vec<Piece>> {
        self.held.push_str(text);
        // A long tail is searched again when it has grown by an eighth, so that the time stays linear if pieces are short.
        let undecided = self.held.len().saturating_sub(self.from);
        if self.searched > SHORT && undecided < self.searched + self.searched / 8 {
            return Ok(Vec::new());
        }
        self.decide(false)
    }

    pub(super) fn finish_pieces(&mut self) -> Result<Vec<Piece>> {
        let pieces = self.decide(true)?;
        self.held.clear();
        self.from = 0;
        self.searched = 0;
        Ok(pieces)
    }

    /// Decides everything before the tail that more text may complete to a match; at the end of the text there is no tail.
    fn decide(&mut self, is_end: bool) -> Result<Vec<Piece>> {
        let redactor = self.redactor.clone();
        let length = self.held.len();
        let mut from = self.from;
        let mut tail = if is_end { length } else { redactor.tail(&self.held, from) };
        if tail == from {
            // A word is not finished: there is nothing to decide.
            self.searched = length - tail;
            return Ok(Vec::new());
        }
        let mut search = Search::new(&redactor, &self.held, from);
        let mut pieces = Vec::new();
        while let Some(found) = search.next(from, tail) {
            let Some(pattern) = redactor.patterns.each.get(found.pattern) else { break };
            keep(&mut pieces, &self.held, from, found.start);
            let removed = self.held.get(found.start..found.end).unwrap_or_default();
            *self.counts.entry(pattern.name.clone()).or_default() += 1;
            pieces.push(Piece::Replaced { removed: removed.len(), shown: pattern.replacement(removed)? });
            from = found.end;
            if from > tail {
                tail = redactor.tail(&self.held, from);
            }
        }
        keep(&mut pieces, &self.held, from, tail);
        let context = self.held.get(..tail).and_then(|shown| shown.char_indices().next_back());
        let context = context.map_or(0, |(place, _)| place);
        self.held.drain(..context);
        self.from = tail - context;
        self.searched = length - tail;
        Ok(pieces)
    }
}

fn keep(pieces: &mut Vec<Piece>, text: &str, from: usize, to: usize) {
    let kept = text.get(from..to).unwrap_or_default();
    if !kept.is_empty() {
        pieces.push(Piece::Kept(kept.to_owned()));
    }
}

fn joined(pieces: Vec<Piece>) -> String {
    let mut shown = String::new();
    for piece in pieces {
        match piece {
            Piece::Kept(text) | Piece::Replaced { shown: text, .. } => shown.push_str(&text),
        }
    }
    shown
}

/// A match that its pattern accepts.
#[derive(Clone, Copy, Debug)]
struct Found {
    pattern: usize,
    start: usize,
    end: usize,
}

/// The matches of all patterns in a text, each pattern read once.
struct Search<'a> {
    redactor: &'a Redactor,
    text: &'a str,
    /// No match begins before this place.
    first: usize,
    /// The next match of each pattern, as far as it is known.
    next: Vec<Next>,
}

#[derive(Clone, Copy, Debug)]
enum Next {
    /// Unknown.
    From,
    /// No match is left.
    None,
    /// The next match.
    At(usize, usize),
}

impl<'a> Search<'a> {
    fn new(redactor: &'a Redactor, text: &'a str, from: usize) -> Self {
        let candidate = redactor.patterns.candidates.find_at(text, from);
        let first = candidate.map_or(text.len(), |found| found.start());
        Self { redactor, text, first, next: Vec::new() }
    }

    /// Returns the first match that begins at `from` or later, and before `tail`. A match that begins in the tail may become longer, or a
    /// match that begins earlier may include it.
    fn next(&mut self, from: usize, tail: usize) -> Option<Found> {
        let from = from.max(self.first);
        if from >= tail {
            return None;
        }
        let patterns = &self.redactor.patterns.each;
        self.next.resize(patterns.len(), Next::From);
        let mut first: Option<Found> = None;
        for (index, (pattern, next)) in patterns.iter().zip(&mut self.next).enumerate() {
            let is_known = matches!(next, Next::None) || matches!(next, Next::At(start, _) if *start >= from);
            if !is_known {
                *next = find(pattern, self.text, from);
            }
            if let Next::At(start, end) = *next
                && first.is_none_or(|first| start < first.start)
            {
                first = Some(Found { pattern: index, start, end });
            }
        }
        first.filter(|first| first.start < tail)
    }
}

/// Returns the first match from a place that its pattern accepts.
fn find(pattern: &Compiled, text: &str, from: usize) -> Next {
    let mut place = from;
    while let Some(found) = pattern.matches.find_at(text, place) {
        if let Some(length) = pattern.accepted(text, found.start(), found.end()) {
            return Next::At(found.start(), found.start() + length);
        }
        // A match may begin inside of one that is not accepted.
        place = text.ceil_char_boundary(found.start() + 1);
    }
    Next::None
}
