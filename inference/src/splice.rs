//! Replies in a prompt as the ids that they were sampled as. Knows no template and no session.
//!
//! A reply's text need not encode to the ids that were sampled. A session holds those, so a prompt that has others in their
//! place shares nothing behind them. Texts are compared as the bytes of their tokens, from control token to control token:
//! no token reaches across one, so what stands between two of them may be exchanged for other ids of the same text. Added
//! tokens that are blanks alone, as vocabularies like Gemma's have them for line breaks, are text like any other: what stands
//! before a reply joins with the blanks that it begins with.

use alloquy_core::Result;
use alloquy_core::prompt::{Prompt, Unit};
use alloquy_core::report::{CacheReport, MissReason};
use alloquy_core::tokenizer::{Piece, SpecialToken, TokenId, Tokenizer};

mod places;

use places::{Places, Stretch};

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
    /// Begins with a prompt that goes without earlier replies, or has them all.
    fn begun(lost: bool) -> Self {
        Self { end: 0, some_lost: lost, last_lost: lost }
    }

    fn note(&mut self, end: Option<usize>) {
        self.end = end.unwrap_or(self.end);
        self.last_lost = end.is_none();
        self.some_lost |= self.last_lost;
    }

    /// Says why not all that was computed for earlier replies is reused, where it is not.
    pub(crate) fn explain(self, mut report: CacheReport) -> CacheReport {
        report.miss = match report.miss {
            // A reply that is known to stand otherwise says more than that its words are there.
            respelled @ (Some(MissReason::Respelled) | None) => self.miss(report).or(respelled),
            known => known,
        };
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

/// Puts the ids of `replies`, which stand in the prompt in that order, into the places of their texts; `lost` says that
/// earlier ones were left out of the prompt.
///
/// What it costs does not grow faster than the prompt: a reply is looked for near the one before, and then by what was found
/// out about the whole prompt once.
///
/// # Errors
/// Those of the tokenizer.
pub(crate) fn splice<'r>(
    prompt: &mut Prompt,
    replies: impl Iterator<Item = &'r [TokenId]>,
    lost: bool,
    tokenizer: &dyn Tokenizer,
) -> Result<KnownReplies> {
    let mut replies = replies.filter(|reply| !reply.is_empty()).peekable();
    let mut known = KnownReplies::begun(lost);
    if replies.peek().is_none() {
        return Ok(known);
    }
    let mut splicing = Splicing::new(&prompt.units, tokenizer);
    for reply in replies {
        known.note(splicing.place(reply)?);
    }
    let exchanges = splicing.exchanges;
    if !exchanges.is_empty() {
        prompt.units = exchanged(std::mem::take(&mut prompt.units), exchanges);
    }
    Ok(known)
}

/// Ids that stand in the place of others.
struct Exchange {
    start: usize,
    end: usize,
    ids: Vec<TokenId>,
}

/// Puts ids into their places, which ascend.
fn exchanged(units: Vec<Unit>, exchanges: Vec<Exchange>) -> Vec<Unit> {
    let (mut all, mut rest, mut done) = (Vec::with_capacity(units.len()), units.into_iter(), 0);
    for Exchange { start, end, ids } in exchanges {
        all.extend(rest.by_ref().take(start - done));
        all.extend(ids.into_iter().map(Unit::Token));
        done = end;
        if end > start {
            rest.nth(end - start - 1);
        }
    }
    all.extend(rest);
    all
}

struct Splicing<'a> {
    places: Places<'a>,
    tokenizer: &'a dyn Tokenizer,
    /// The text behind the prompt's last control token: what stands before each reply ends like it.
    opening: Vec<u8>,
    /// Its ids, which are those of every prompt that ended with it.
    opening_ids: Vec<TokenId>,
    exchanges: Vec<Exchange>,
    /// How many units the exchanges so far have added and taken away.
    added: usize,
    taken: usize,
}

impl<'a> Splicing<'a> {
    fn new(units: &'a [Unit], tokenizer: &'a dyn Tokenizer) -> Self {
        let places = Places::new(units, tokenizer);
        let (opening, opening_ids) = places.last_stretch().unwrap_or_default();
        Self { places, tokenizer, opening, opening_ids, exchanges: Vec::new(), added: 0, taken: 0 }
    }

    /// Finds a reply, as it was sampled or as its text encodes, with the blanks at its end or without, and says where it
    /// ends once all is exchanged.
    fn place(&mut self, reply: &[TokenId]) -> Result<Option<usize>> {
        let mut end = self.places.verbatim(reply);
        match end {
            Some(end) => self.places.advance(end, reply),
            None => end = self.exchanged(reply)?,
        }
        if end.is_none()
            && let Some(trimmed) = self.trimmed(reply)?
        {
            end = self.exchanged(&trimmed)?;
        }
        Ok(end.map(|end| end + self.added - self.taken))
    }

    /// The reply without the blanks at its end, which many templates leave out; `None` where it has none, or nothing else.
    fn trimmed(&self, reply: &[TokenId]) -> Result<Option<Vec<TokenId>>> {
        let ordinary = |token: TokenId| match self.places.special(token) {
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

    /// Exchanges the ids of the reply's text for those that were sampled.
    fn exchanged(&mut self, reply: &[TokenId]) -> Result<Option<usize>> {
        let pieces = self.places.pieces(reply);
        let Some(pieces) = pieces else { return Ok(None) };
        let mut found = None;
        self.places.each_like(&pieces, &mut |index, places| {
            let opening = matches(places, &pieces, &self.opening);
            let Some(opening) = opening.filter(|_| self.places.borders_match(places, reply)) else {
                return false;
            };
            found = Some((index, opening.to_vec()));
            true
        });
        match found {
            Some((index, opening)) => self.exchange(index, pieces.len(), &opening, reply),
            None => Ok(None),
        }
    }

    fn exchange(
        &mut self,
        index: usize,
        count: usize,
        opening: &[u8],
        reply: &[TokenId],
    ) -> Result<Option<usize>> {
        let (first, last) = (self.places.stretch(index), self.places.stretch(index + count - 1));
        let (Some(first), Some(last)) = (first, last) else { return Ok(None) };
        let (start, end) = (first.start, last.end);
        let Some(mut ids) = self.encode_opening(&first, opening)? else { return Ok(None) };
        ids.extend_from_slice(reply);
        self.added += ids.len();
        self.taken += end - start;
        self.exchanges.push(Exchange { start, end, ids });
        self.places.advance(end, reply);
        Ok(Some(end))
    }

    /// Returns the ids of what stands before a reply, as they were when the reply was sampled: those of the prompt's end, or
    /// those that stand there where one of them ends with it, or what it encodes to behind its control token, and alone.
    fn encode_opening(&self, place: &Stretch<'_>, opening: &[u8]) -> Result<Option<Vec<TokenId>>> {
        if opening == self.opening {
            return Ok(Some(self.opening_ids.clone()));
        }
        if let Some(ids) = self.standing(place, opening.len()) {
            return Ok(Some(ids));
        }
        self.encode_behind(self.places.special_before(place), opening)
    }

    /// The first ids of a stretch that have so many bytes; `None` where no id ends there.
    fn standing(&self, place: &Stretch<'_>, length: usize) -> Option<Vec<TokenId>> {
        let mut ids = self.places.tokens(place.start, place.end)?;
        let mut end = 0;
        let count = ids.iter().take_while(|id| {
            end += self.tokenizer.bytes(**id).map_or(0, |bytes| bytes.len());
            end <= length
        });
        ids.truncate(count.count());
        (self.places.bytes(&ids)?.len() == length).then_some(ids)
    }

    /// Encodes text behind a control token; `None` where the ids do not spell it.
    fn encode_behind(&self, before: Option<&SpecialToken>, text: &[u8]) -> Result<Option<Vec<TokenId>>> {
        let Ok(text) = str::from_utf8(text) else { return Ok(None) };
        let before = before.map(|special| Piece::Text(&special.text));
        let pieces: Vec<_> = before.into_iter().chain([Piece::Literal(text)]).collect();
        let mut ids = self.tokenizer.encode(&pieces)?;
        ids.drain(..usize::from(before.is_some()).min(ids.len()));
        let is_exact = self.places.bytes(&ids).is_some_and(|bytes| bytes == text.as_bytes());
        Ok(is_exact.then_some(ids))
    }
}

/// Returns what stands before a reply in the first of `places`, when the texts of its `pieces` stand there.
fn matches<'p>(places: &'p [Stretch<'p>], pieces: &[Vec<u8>], opening: &[u8]) -> Option<&'p [u8]> {
    let (first, others) = places.split_first()?;
    let (begun, rest) = pieces.split_first()?;
    let before = first.text?.strip_suffix(begun.as_slice())?;
    let announced = match announcement(opening) {
        [] => before.trim_ascii().is_empty(),
        last => before.ends_with(last),
    };
    let follow = others.iter().zip(rest).all(|(place, piece)| place.text == Some(piece.as_slice()));
    let stands = follow && (announced || opening.ends_with(before));
    stands.then_some(before)
}

/// The last word of what stands before an answer. Before it a question may stand, where no control token parts the two.
fn announcement(opening: &[u8]) -> &[u8] {
    let blank = opening.trim_ascii_end().iter().rposition(u8::is_ascii_whitespace);
    blank.and_then(|blank| opening.get(blank + 1..)).unwrap_or(opening)
}
