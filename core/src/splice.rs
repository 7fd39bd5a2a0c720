//! Replies in a prompt as the ids that they were sampled as. Knows no template and no session.
//!
//! A reply's text need not encode to the ids that were sampled. A session holds those, so a prompt that has others in their
//! place shares nothing behind them. Texts are compared as the bytes of their tokens, from control token to control token:
//! no token reaches across one, so what stands between two of them may be exchanged for other ids of the same text. Added
//! tokens that are blanks alone, as vocabularies like Gemma's have them for line breaks, are text like any other: what stands
//! before a reply joins with the blanks that it begins with.

use std::collections::{HashMap, VecDeque};

use crate::prompt::{Prompt, Unit};
use crate::tokenizer::{Piece, SpecialToken, TokenId, Tokenizer};
use crate::{CacheReport, MissReason, Result};

/// What is known of the earlier replies of a prompt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct KnownReplies {
    /// Where the last one ends whose ids stand in the prompt.
    end: usize,
    /// Whether one does not stand there as it was said.
    some_lost: bool,
    /// Whether the last one does not. Those before it were computed as they stand here when it was asked for.
    last_lost: bool,
}

impl KnownReplies {
    fn note(&mut self, end: Option<usize>) {
        self.end = end.unwrap_or(self.end);
        self.last_lost = end.is_none();
        self.some_lost |= self.last_lost;
    }

    /// Says why not all that was computed for earlier replies is reused, where it is not.
    pub(crate) fn explain(self, report: CacheReport) -> CacheReport {
        let miss = match report.miss {
            // A reply that is known to stand otherwise says more than that its words are there.
            respelled @ (Some(MissReason::Respelled) | None) => self.miss(report).or(respelled),
            known => known,
        };
        let report = CacheReport { miss, ..report };
        tracing::debug!(?report, "prompt");
        report
    }

    fn miss(self, report: CacheReport) -> Option<MissReason> {
        // The last token of a reply that was cut off was never computed.
        let computed = self.end.min(report.prompt).saturating_sub(1);
        // Beyond the prompt a session may hold another answer to it.
        let differs = report.first_difference.is_some_and(|place| place < report.prompt);
        let is_short = report.reused < computed || self.last_lost && (differs || report.reused == 0);
        is_short.then_some(match differs {
            true if self.some_lost => MissReason::Rewritten,
            true => MissReason::Differs,
            false => MissReason::NotHeld,
        })
    }
}

/// Puts the ids of `replies`, which stand in the prompt in that order, into the places of their texts.
///
/// # Errors
/// Those of the tokenizer.
pub(crate) fn splice(
    prompt: &mut Prompt,
    replies: &[Vec<TokenId>],
    tokenizer: &dyn Tokenizer,
) -> Result<KnownReplies> {
    let mut splicing = Splicing::new(prompt, tokenizer);
    let mut known = KnownReplies::default();
    for reply in replies.iter().filter(|reply| !reply.is_empty()) {
        known.note(splicing.place(reply)?);
    }
    Ok(known)
}

struct Splicing<'a> {
    units: &'a mut Vec<Unit>,
    tokenizer: &'a dyn Tokenizer,
    specials: HashMap<TokenId, &'a SpecialToken>,
    /// The text behind the prompt's last control token: what stands before each reply ends like it.
    opening: Vec<u8>,
    /// Its ids, which are those of every prompt that ended with it.
    opening_ids: Vec<TokenId>,
    /// Where the next reply is looked for.
    from: usize,
    /// What stands behind there.
    stretches: VecDeque<Stretch>,
}

/// A stretch without control tokens and media.
#[derive(Clone, Debug)]
struct Stretch {
    start: usize,
    end: usize,
    /// `None` where a token has no bytes.
    text: Option<Vec<u8>>,
}

impl<'a> Splicing<'a> {
    fn new(prompt: &'a mut Prompt, tokenizer: &'a dyn Tokenizer) -> Self {
        let specials = tokenizer.specials().iter().filter(|special| !special.text.trim().is_empty());
        let specials = specials.map(|special| (special.id, special)).collect();
        let mut splicing = Self {
            units: &mut prompt.units,
            tokenizer,
            specials,
            opening: Vec::new(),
            opening_ids: Vec::new(),
            from: 0,
            stretches: VecDeque::new(),
        };
        splicing.stretches = splicing.cut();
        if let Some(Stretch { start, end, text: Some(text) }) = splicing.stretches.back().cloned() {
            splicing.opening_ids = splicing.tokens(start, end).unwrap_or_default();
            splicing.opening = text;
        }
        splicing
    }

    /// Cuts the prompt at its control tokens and media.
    fn cut(&self) -> VecDeque<Stretch> {
        let is_border = |(at, unit): (usize, &Unit)| self.is_border(unit).then_some(at);
        let borders = self.units.iter().enumerate().filter_map(is_border);
        let mut next = 0;
        let stretch = |end| {
            let start = std::mem::replace(&mut next, end + 1);
            Stretch { start, end, text: self.text(start, end) }
        };
        borders.chain([self.units.len()]).map(stretch).collect()
    }

    /// Finds a reply, as it was sampled or as its text encodes, with the blanks at its end or without, and says where it
    /// ends.
    fn place(&mut self, reply: &[TokenId]) -> Result<Option<usize>> {
        let mut end = self.verbatim(reply);
        match end {
            Some(end) => self.advance(end),
            None => end = self.exchanged(reply)?,
        }
        if end.is_none()
            && let Some(trimmed) = self.trimmed(reply)?
        {
            end = self.exchanged(&trimmed)?;
        }
        Ok(end)
    }

    /// The reply without the blanks at its end, which many templates leave out; `None` where it has none, or nothing else.
    fn trimmed(&self, reply: &[TokenId]) -> Result<Option<Vec<TokenId>>> {
        let ordinary = |token: TokenId| match self.special(token) {
            Some(_) => None,
            None => self.tokenizer.bytes(token),
        };
        let is_blank = |&token: &TokenId| ordinary(token).is_some_and(|bytes| bytes.trim_ascii().is_empty());
        let kept = reply.len() - reply.iter().rev().take_while(|token| is_blank(token)).count();
        let Some((last, before)) = reply.get(..kept).and_then(<[_]>::split_last) else { return Ok(None) };
        let bytes = ordinary(*last).unwrap_or_default();
        let ending = bytes.trim_ascii_end();
        if ending.len() == bytes.len() {
            return Ok((kept < reply.len()).then(|| [before, &[*last]].concat()));
        }
        // The last token has blanks of its own.
        let ending = self.encode_behind(None, ending)?;
        Ok(ending.map(|ending| [before, &ending].concat()))
    }

    /// Where the reply stands as it was sampled: best behind a token like the prompt's last.
    fn verbatim(&self, reply: &[TokenId]) -> Option<usize> {
        let is_token = |(unit, token): (&Unit, &TokenId)| *unit == Unit::Token(*token);
        let stands = |window: &[Unit]| window.iter().zip(reply).all(is_token);
        let rest = self.units.get(self.from..)?;
        let mut places = rest
            .windows(reply.len())
            .enumerate()
            .filter(|(_, window)| stands(window))
            .map(|(at, _)| at + self.from);
        let first = places.clone().next()?;
        let opened = |&at: &usize| at > 0 && self.units.get(at - 1) == self.units.last();
        Some(places.find(opened).unwrap_or(first) + reply.len())
    }

    /// Goes on looking behind a reply that stands there already.
    fn advance(&mut self, end: usize) {
        self.from = end;
        while self.stretches.front().is_some_and(|first| first.end < end) {
            self.stretches.pop_front();
        }
        let rest = self.stretches.front().filter(|first| first.start < end).map(|first| first.end);
        let text = rest.and_then(|rest| self.text(end, rest));
        if let (Some(first), Some(_)) = (self.stretches.front_mut(), rest) {
            (first.start, first.text) = (end, text);
        }
    }

    /// Exchanges the ids of the reply's text for those that were sampled.
    fn exchanged(&mut self, reply: &[TokenId]) -> Result<Option<usize>> {
        let borders = |token: &TokenId| self.special(*token).is_some();
        let pieces: Option<Vec<_>> =
            reply.split(borders).map(|piece| self.bytes(piece.iter().copied())).collect();
        let Some(pieces) = pieces else { return Ok(None) };
        let stretches = &*self.stretches.make_contiguous();
        let places = stretches.windows(pieces.len()).enumerate();
        let found =
            places.filter_map(|(index, places)| Some((index, matches(places, &pieces, &self.opening)?)));
        let found: Vec<_> = found.map(|(index, opening)| (index, opening.to_vec())).collect();
        let fits = |(index, _): &(usize, Vec<u8>)| self.borders_match(*index, pieces.len(), reply);
        match found.into_iter().find(fits) {
            Some((index, opening)) => self.exchange(index, pieces.len(), &opening, reply),
            None => Ok(None),
        }
    }

    /// Says whether the control tokens between the stretches are those of the reply.
    fn borders_match(&self, index: usize, count: usize, reply: &[TokenId]) -> bool {
        let places = || self.stretches.iter().skip(index).take(count);
        let said = reply.iter().filter(|token| self.special(**token).is_some());
        let mut between = places().zip(places().skip(1)).filter_map(|(left, right)| {
            (left.end + 1 == right.start).then(|| self.units.get(left.end)).flatten()
        });
        said.clone().all(|token| between.next() == Some(&Unit::Token(*token))) && between.next().is_none()
    }

    fn exchange(
        &mut self,
        index: usize,
        count: usize,
        opening: &[u8],
        reply: &[TokenId],
    ) -> Result<Option<usize>> {
        let last = self.stretches.get(index + count - 1).map(|last| last.end);
        let (Some(first), Some(last)) = (self.stretches.get(index), last) else { return Ok(None) };
        let Some(mut ids) = self.encode_opening(first, opening)? else { return Ok(None) };
        ids.extend_from_slice(reply);
        let (start, end) = (first.start, first.start + ids.len());
        self.units.splice(start..last, ids.into_iter().map(Unit::Token));
        self.stretches.drain(..index + count);
        for stretch in &mut self.stretches {
            // They stand behind what was exchanged.
            (stretch.start, stretch.end) = (stretch.start - last + end, stretch.end - last + end);
        }
        self.stretches.push_front(Stretch { start: end, end, text: Some(Vec::new()) });
        self.from = end;
        Ok(Some(end))
    }

    /// Returns the ids of what stands before a reply, as they were when the reply was sampled: those of the prompt's end, or
    /// those that stand there where one of them ends with it, or what it encodes to behind its control token, and alone.
    fn encode_opening(&self, place: &Stretch, opening: &[u8]) -> Result<Option<Vec<TokenId>>> {
        if opening == self.opening {
            return Ok(Some(self.opening_ids.clone()));
        }
        if let Some(ids) = self.standing(place, opening.len()) {
            return Ok(Some(ids));
        }
        let before = place.start.checked_sub(1).and_then(|border| self.units.get(border));
        let before = match before {
            Some(Unit::Token(token)) => self.special(*token),
            Some(Unit::Media(_)) | None => None,
        };
        self.encode_behind(before, opening)
    }

    /// The first ids of a stretch that have so many bytes; `None` where no id ends there.
    fn standing(&self, place: &Stretch, length: usize) -> Option<Vec<TokenId>> {
        let mut ids = self.tokens(place.start, place.end)?;
        let mut end = 0;
        let count = ids.iter().take_while(|id| {
            end += self.tokenizer.bytes(**id).map_or(0, |bytes| bytes.len());
            end <= length
        });
        ids.truncate(count.count());
        (self.bytes(ids.iter().copied())?.len() == length).then_some(ids)
    }

    /// Encodes text behind a control token; `None` where the ids do not spell it.
    fn encode_behind(&self, before: Option<&SpecialToken>, text: &[u8]) -> Result<Option<Vec<TokenId>>> {
        let Ok(text) = str::from_utf8(text) else { return Ok(None) };
        let before = before.map(|special| Piece::Text(&special.text));
        let pieces: Vec<_> = before.into_iter().chain([Piece::Literal(text)]).collect();
        let mut ids = self.tokenizer.encode(&pieces)?;
        ids.drain(..usize::from(before.is_some()).min(ids.len()));
        let is_exact = self.bytes(ids.iter().copied()).is_some_and(|bytes| bytes == text.as_bytes());
        Ok(is_exact.then_some(ids))
    }

    fn is_border(&self, unit: &Unit) -> bool {
        match unit {
            Unit::Token(token) => self.special(*token).is_some(),
            Unit::Media(_) => true,
        }
    }

    fn special(&self, token: TokenId) -> Option<&'a SpecialToken> {
        self.specials.get(&token).copied()
    }

    fn text(&self, start: usize, end: usize) -> Option<Vec<u8>> {
        self.bytes(self.tokens(start, end)?)
    }

    /// `None` where a picture or a sound stands among them.
    fn tokens(&self, start: usize, end: usize) -> Option<Vec<TokenId>> {
        let tokens = self.units.get(start..end)?.iter().map(|unit| match unit {
            Unit::Token(token) => Some(*token),
            Unit::Media(_) => None,
        });
        tokens.collect()
    }

    fn bytes(&self, tokens: impl IntoIterator<Item = TokenId>) -> Option<Vec<u8>> {
        let bytes: Option<Vec<_>> = tokens.into_iter().map(|token| self.tokenizer.bytes(token)).collect();
        Some(bytes?.concat())
    }
}

/// Returns what stands before a reply in the first of `places`, when the texts of its `pieces` stand there.
fn matches<'p>(places: &'p [Stretch], pieces: &[Vec<u8>], opening: &[u8]) -> Option<&'p [u8]> {
    let (first, others) = places.split_first()?;
    let (begun, rest) = pieces.split_first()?;
    let before = first.text.as_deref()?.strip_suffix(begun.as_slice())?;
    let announced = match announcement(opening) {
        [] => before.trim_ascii().is_empty(),
        last => before.ends_with(last),
    };
    let follow = others.iter().zip(rest).all(|(place, piece)| place.text.as_ref() == Some(piece));
    let stands = follow && (announced || opening.ends_with(before));
    stands.then_some(before)
}

/// The last word of what stands before an answer. Before it a question may stand, where no control token parts the two.
fn announcement(opening: &[u8]) -> &[u8] {
    let blank = opening.trim_ascii_end().iter().rposition(u8::is_ascii_whitespace);
    blank.and_then(|blank| opening.get(blank + 1..)).unwrap_or(opening)
}
