//! Replies in a prompt as the ids that they were sampled as. Knows no template and no session.
//!
//! A reply's text need not encode to the ids that were sampled. A session holds those, so a prompt that has others in their
//! place shares nothing behind them. Texts are compared as the bytes of their tokens, from control token to control token:
//! no token reaches across one, so what stands between two of them may be exchanged for other ids of the same text.

use std::collections::HashMap;

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
        let report = CacheReport { miss: report.miss.or_else(|| self.miss(report)), ..report };
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
    /// Where the next reply is looked for.
    from: usize,
}

/// A stretch without control tokens and media.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    start: usize,
    end: usize,
}

impl<'a> Splicing<'a> {
    fn new(prompt: &'a mut Prompt, tokenizer: &'a dyn Tokenizer) -> Self {
        let specials = tokenizer.specials().iter().map(|special| (special.id, special)).collect();
        let mut splicing =
            Self { units: &mut prompt.units, tokenizer, specials, opening: Vec::new(), from: 0 };
        let borders = splicing.units.iter().rposition(|unit| splicing.is_border(unit));
        let start = borders.map_or(0, |border| border + 1);
        splicing.opening = splicing.text(Stretch { start, end: splicing.units.len() }).unwrap_or_default();
        splicing
    }

    /// Finds a reply, as it was sampled or as its text encodes, and says where it ends.
    fn place(&mut self, reply: &[TokenId]) -> Result<Option<usize>> {
        let end = match self.verbatim(reply) {
            Some(end) => Some(end),
            None => self.exchanged(reply)?,
        };
        self.from = end.unwrap_or(self.from);
        Ok(end)
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

    /// Exchanges the ids of the reply's text for those that were sampled.
    fn exchanged(&mut self, reply: &[TokenId]) -> Result<Option<usize>> {
        let borders = |token: &TokenId| self.special(*token).is_some();
        let pieces: Vec<_> = reply.split(borders).collect();
        let stretches = self.stretches();
        for (index, _) in stretches.iter().enumerate() {
            let Some(places) = stretches.get(index..index + pieces.len()) else { break };
            if let Some(opening) = self.matches(places, &pieces, reply) {
                return self.exchange(places, &opening, reply);
            }
        }
        Ok(None)
    }

    /// Returns what stands before the reply in the first of `places`, when its pieces stand there.
    fn matches(&self, places: &[Stretch], pieces: &[&[TokenId]], reply: &[TokenId]) -> Option<Vec<u8>> {
        let (first, others) = places.split_first()?;
        let said = |piece: &[TokenId]| self.bytes(piece.iter().copied());
        let begun = self.text(*first)?;
        let opening = begun.strip_suffix(said(pieces.first()?)?.as_slice())?;
        let is_opening = opening.ends_with(&self.opening) || self.opening.ends_with(opening);
        let rest = || others.iter().zip(pieces.iter().skip(1));
        let stands = is_opening && rest().all(|(place, piece)| self.text(*place) == said(piece));
        (stands && self.borders_match(places, reply)).then(|| opening.to_vec())
    }

    /// Says whether the control tokens between the stretches are those of the reply.
    fn borders_match(&self, places: &[Stretch], reply: &[TokenId]) -> bool {
        let said = reply.iter().filter(|token| self.special(**token).is_some());
        let mut between = places.windows(2).filter_map(|pair| match pair {
            [left, right] if left.end + 1 == right.start => self.units.get(left.end),
            _ => None,
        });
        said.clone().all(|token| between.next() == Some(&Unit::Token(*token))) && between.next().is_none()
    }

    fn exchange(&mut self, places: &[Stretch], opening: &[u8], reply: &[TokenId]) -> Result<Option<usize>> {
        let (Some(first), Some(last)) = (places.first(), places.last()) else { return Ok(None) };
        let Some(mut ids) = self.encode_opening(*first, opening)? else { return Ok(None) };
        ids.extend_from_slice(reply);
        let (start, end) = (first.start, first.start + ids.len());
        self.units.splice(start..last.end, ids.into_iter().map(Unit::Token));
        Ok(Some(end))
    }

    /// Encodes what stands before a reply, as it was when the reply was sampled: behind its control token, and alone.
    fn encode_opening(&self, place: Stretch, opening: &[u8]) -> Result<Option<Vec<TokenId>>> {
        let Ok(opening) = str::from_utf8(opening) else { return Ok(None) };
        let before = place.start.checked_sub(1).and_then(|border| self.units.get(border));
        let before = match before {
            Some(Unit::Token(token)) => self.special(*token),
            Some(Unit::Media(_)) | None => None,
        };
        let before = before.map(|special| Piece::Text(&special.text));
        let pieces: Vec<_> = before.into_iter().chain([Piece::Literal(opening)]).collect();
        let mut ids = self.tokenizer.encode(&pieces)?;
        ids.drain(..usize::from(before.is_some()).min(ids.len()));
        let is_exact = self.bytes(ids.iter().copied()).is_some_and(|bytes| bytes == opening.as_bytes());
        Ok(is_exact.then_some(ids))
    }

    /// The stretches behind the last reply that was found.
    fn stretches(&self) -> Vec<Stretch> {
        let is_border = |(at, unit): (usize, &Unit)| self.is_border(unit).then_some(at);
        let borders = self.units.iter().enumerate().skip(self.from).filter_map(is_border);
        let ends = borders.chain([self.units.len()]);
        let mut start = self.from;
        let stretch = |end| {
            let stretch = Stretch { start, end };
            start = end + 1;
            stretch
        };
        ends.map(stretch).collect()
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

    fn text(&self, stretch: Stretch) -> Option<Vec<u8>> {
        let tokens = self.units.get(stretch.start..stretch.end)?.iter().map(|unit| match unit {
            Unit::Token(token) => Some(*token),
            Unit::Media(_) => None,
        });
        self.bytes(tokens.collect::<Option<Vec<_>>>()?)
    }

    fn bytes(&self, tokens: impl IntoIterator<Item = TokenId>) -> Option<Vec<u8>> {
        let bytes: Option<Vec<_>> = tokens.into_iter().map(|token| self.tokenizer.bytes(token)).collect();
        Some(bytes?.concat())
    }
}
