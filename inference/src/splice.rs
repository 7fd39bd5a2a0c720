//! Replaces the ids of earlier replies in a prompt with the ids that were sampled.
//!
//! A template prints a reply as text, and that text may encode to other ids than were sampled. The KV cache was computed from the
//! sampled ids, so a prompt with other ids cannot use it from that reply on.
//!
//! [`splice`] finds each reply in the prompt, and replaces its ids with the sampled ones:
//!
//! ```text
//! encoded:  <user> Hi <end> <assistant> Hello  <end> <user> And you? <end> <assistant>
//! sampled:                              Hel lo
//! spliced:  <user> Hi <end> <assistant> Hel lo <end> <user> And you? <end> <assistant>
//! ```
//!
//! Texts are compared as the bytes of their tokens, one segment between two control tokens at a time. No token extends over a
//! control token, so the ids of a segment may be replaced with other ids of the same text. Added tokens that are white space,
//! such as Gemma's line breaks, count as text: the text before a reply joins with the white space at the reply's start.

use alloquy_core::Result;
use alloquy_core::prompt::{PlacedReply, Prompt, PromptUnit};
use alloquy_core::report::{CacheReport, MissReason};
use alloquy_core::tokenizer::{SpecialToken, TokenId, Tokenizer, TokenizerInput};

mod places;

use places::{Places, Segment};

/// The result of [`splice`]: where the earlier replies are in the prompt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct KnownReplies {
    /// The end of the last reply whose sampled ids are in the prompt.
    end: usize,
    /// Whether the sampled ids of any reply are missing from the prompt.
    some_lost: bool,
    /// Whether those of the last reply are missing. The prompt of that reply had the earlier replies as this prompt has them.
    last_lost: bool,
}

impl KnownReplies {
    /// Begins with a prompt that omits earlier replies (`lost`), or has all of them.
    fn begun(lost: bool) -> Self {
        Self { end: 0, some_lost: lost, last_lost: lost }
    }

    fn note(&mut self, end: Option<usize>) {
        self.end = end.unwrap_or(self.end);
        self.last_lost = end.is_none();
        self.some_lost |= self.last_lost;
    }

    /// Adds the reason why a part of the earlier replies was computed again.
    pub(crate) fn explain(self, mut report: CacheReport) -> CacheReport {
        // "A reply was rewritten" says more than "its text has other tokens now". Other reasons stay.
        if matches!(report.miss, Some(MissReason::Retokenized) | None) {
            report.miss = self.miss(report).or(report.miss);
        }
        tracing::debug!(?report, "prompt");
        report
    }

    fn miss(self, report: CacheReport) -> Option<MissReason> {
        // The last token of an interrupted reply was never computed.
        let computed = self.end.min(report.prompt).saturating_sub(1);
        // A difference after the prompt's end is another reply to the same prompt, and explains nothing.
        let differs = report.first_difference.is_some_and(|place| place < report.prompt);
        let is_short = report.cached < computed || self.last_lost && (differs || report.cached == 0);
        if !is_short {
            return None;
        }
        if !differs {
            return Some(MissReason::Evicted);
        }
        Some(if self.some_lost { MissReason::Rewritten } else { MissReason::Changed })
    }
}

/// Replaces the text of each of `replies` in the prompt with the ids that were sampled. Returns also where those are that were found.
///
/// Replies are in the order of the prompt. `lost` means that the prompt omits earlier ones. The cost is linear in the length of
/// the prompt: a reply is looked for near the reply before it, and then in indexes of the whole prompt that are built once.
///
/// # Errors
/// The errors of the tokenizer.
pub(crate) fn splice<'r>(
    prompt: &mut Prompt,
    replies: impl Iterator<Item = &'r [TokenId]>,
    lost: bool,
    tokenizer: &dyn Tokenizer,
) -> Result<(KnownReplies, Vec<PlacedReply>)> {
    let mut replies = replies.filter(|reply| !reply.is_empty()).peekable();
    let mut known = KnownReplies::begun(lost);
    if replies.peek().is_none() {
        return Ok((known, Vec::new()));
    }
    let mut placed = Vec::new();
    let mut splicing = Splicing::new(&prompt.units, tokenizer);
    for reply in replies {
        let found = splicing.place(reply)?;
        known.note(found.as_ref().map(|reply| reply.units.end));
        placed.extend(found);
    }
    let replacements = splicing.replacements;
    if !replacements.is_empty() {
        prompt.units = with_replacements(&prompt.units, replacements);
    }
    Ok((known, placed))
}

/// Ids that replace the units from `start` to `end` of the prompt.
struct Replacement {
    start: usize,
    end: usize,
    ids: Vec<TokenId>,
}

/// Applies replacements, which are in the order of their places and do not overlap.
fn with_replacements(units: &[PromptUnit], replacements: Vec<Replacement>) -> Vec<PromptUnit> {
    let mut all = Vec::with_capacity(units.len());
    let mut done = 0;
    for Replacement { start, end, ids } in replacements {
        all.extend_from_slice(units.get(done..start).unwrap_or_default());
        all.extend(ids.into_iter().map(PromptUnit::Token));
        done = end;
    }
    all.extend_from_slice(units.get(done..).unwrap_or_default());
    all
}

struct Splicing<'a> {
    places: Places<'a>,
    tokenizer: &'a dyn Tokenizer,
    /// The text after the prompt's last control token, such as `assistant\n`. The text before each reply ends like it.
    generation_prompt: Vec<u8>,
    /// Its ids, which are the same in every prompt that ends with it.
    generation_prompt_ids: Vec<TokenId>,
    replacements: Vec<Replacement>,
    /// The number of units that the replacements so far add.
    added: usize,
    /// The number of units that the replacements so far remove.
    removed: usize,
}

impl<'a> Splicing<'a> {
    fn new(units: &'a [PromptUnit], tokenizer: &'a dyn Tokenizer) -> Self {
        let places = Places::new(units, tokenizer);
        let (generation_prompt, generation_prompt_ids) = places.last_segment().unwrap_or_default();
        Self {
            places,
            tokenizer,
            generation_prompt,
            generation_prompt_ids,
            replacements: Vec::new(),
            added: 0,
            removed: 0,
        }
    }

    /// Finds a reply, and returns its place in the prompt after all replacements.
    fn place(&mut self, reply: &[TokenId]) -> Result<Option<PlacedReply>> {
        // The ids are there already.
        if let Some(end) = self.places.verbatim(reply) {
            self.places.advance(end, reply);
            return Ok(Some(self.placed(end, reply, false)));
        }
        // The text is there in other ids.
        if let Some(end) = self.replace_text(reply)? {
            return Ok(Some(self.placed(end, reply, true)));
        }
        // The text is there without the white space at its end.
        let Some(trimmed) = self.trimmed(reply)? else { return Ok(None) };
        let end = self.replace_text(&trimmed)?;
        Ok(end.map(|end| self.placed(end, &trimmed, true)))
    }

    /// Returns the place of a reply that ends at `end` of the prompt, after the replacements so far.
    fn placed(&self, end: usize, reply: &[TokenId], is_spliced: bool) -> PlacedReply {
        let end = self.spliced(end);
        PlacedReply::new(end.saturating_sub(reply.len())..end, is_spliced)
    }

    /// Converts a place of the prompt to the place after the replacements so far.
    fn spliced(&self, place: usize) -> usize {
        place + self.added - self.removed
    }

    /// Returns the reply without the blanks at its end, which many templates omit: `It` ` is` `.\n` becomes `It` ` is` `.`.
    /// Returns `None` if the reply has no blanks at its end, or nothing else.
    fn trimmed(&self, reply: &[TokenId]) -> Result<Option<Vec<TokenId>>> {
        let blanks = reply.iter().rev().take_while(|token| self.is_blank(**token)).count();
        let kept = reply.get(..reply.len() - blanks).unwrap_or_default();
        let Some((last, before)) = kept.split_last() else { return Ok(None) };
        let bytes = self.text_bytes(*last).unwrap_or_default();
        let text = bytes.trim_ascii_end();
        if text.len() == bytes.len() {
            return Ok((blanks > 0).then(|| kept.to_vec()));
        }
        // The last token has text and white space, such as `.\n`. The text alone is another token.
        let last = self.encode_after(None, text)?;
        Ok(last.map(|last| [before, &last].concat()))
    }

    /// Returns the bytes of a token; `None` for a control token.
    fn text_bytes(&self, token: TokenId) -> Option<Vec<u8>> {
        if self.places.special(token).is_some() {
            return None;
        }
        self.tokenizer.bytes(token)
    }

    fn is_blank(&self, token: TokenId) -> bool {
        self.text_bytes(token).is_some_and(|bytes| bytes.trim_ascii().is_empty())
    }

    /// Replaces the ids of the reply's text with those that were sampled, and returns where the text ends in the prompt.
    fn replace_text(&mut self, reply: &[TokenId]) -> Result<Option<usize>> {
        // A reply with control tokens of its own has a piece for each segment: `Look.<call>{...}` has two.
        let Some(pieces) = self.places.pieces(reply) else { return Ok(None) };
        let found = self.places.find_like(&pieces, |segments| {
            let before = text_before(segments, &pieces, &self.generation_prompt)?;
            self.places.borders_match(segments, reply).then(|| before.to_vec())
        });
        match found {
            Some((index, before)) => self.replace(index, pieces.len(), &before, reply),
            None => Ok(None),
        }
    }

    /// Replaces `count` segments, which have the text `before` and then the reply.
    fn replace(
        &mut self,
        index: usize,
        count: usize,
        before: &[u8],
        reply: &[TokenId],
    ) -> Result<Option<usize>> {
        let Some(first) = self.places.segment(index) else { return Ok(None) };
        let Some(last) = self.places.segment(index + count - 1) else { return Ok(None) };
        let start = first.start;
        let end = last.end;
        // The first segment is replaced from its start: a token may cover the end of `before` and the start of the reply.
        let Some(mut ids) = self.ids_before(&first, before)? else { return Ok(None) };
        ids.extend_from_slice(reply);
        self.added += ids.len();
        self.removed += end - start;
        self.replacements.push(Replacement { start, end, ids });
        self.places.advance(end, reply);
        Ok(Some(end))
    }

    /// Returns the ids that the text before a reply had when the reply was sampled.
    fn ids_before(&self, segment: &Segment<'_>, text: &[u8]) -> Result<Option<Vec<TokenId>>> {
        // The prompt of that reply ended like this one.
        if text == self.generation_prompt {
            return Ok(Some(self.generation_prompt_ids.clone()));
        }
        // One of the ids in the prompt ends with the text, so no token covers the reply's start.
        if let Some(ids) = self.leading_ids(segment, text.len()) {
            return Ok(Some(ids));
        }
        self.encode_after(self.places.special_before(segment), text)
    }

    /// Returns the ids of the first `length` bytes of a segment; `None` where no id ends there.
    fn leading_ids(&self, segment: &Segment<'_>, length: usize) -> Option<Vec<TokenId>> {
        let mut leading = Vec::new();
        let mut end = 0;
        for id in self.places.tokens(segment.start, segment.end)? {
            end += self.tokenizer.bytes(id).map_or(0, |bytes| bytes.len());
            if end > length {
                break;
            }
            leading.push(id);
        }
        (self.places.bytes(&leading)?.len() == length).then_some(leading)
    }

    /// Encodes a text that follows a control token; `None` where the ids do not decode to it.
    fn encode_after(&self, before: Option<&SpecialToken>, text: &[u8]) -> Result<Option<Vec<TokenId>>> {
        let Ok(text) = str::from_utf8(text) else { return Ok(None) };
        let mut pieces = Vec::new();
        if let Some(special) = before {
            pieces.push(TokenizerInput::Text(&special.text));
        }
        pieces.push(TokenizerInput::Literal(text));
        let mut ids = self.tokenizer.encode(&pieces)?;
        if before.is_some() && !ids.is_empty() {
            ids.remove(0);
        }
        let is_exact = self.places.bytes(&ids).is_some_and(|bytes| bytes == text.as_bytes());
        Ok(is_exact.then_some(ids))
    }
}

/// Returns the text before a reply in the first of `segments`, if the `pieces` of the reply follow it there.
fn text_before<'p>(
    segments: &'p [Segment<'p>],
    pieces: &[Vec<u8>],
    generation_prompt: &[u8],
) -> Option<&'p [u8]> {
    let (first, others) = segments.split_first()?;
    let (begun, rest) = pieces.split_first()?;
    // The segment `assistant\nHello` with the piece `Hello`: `assistant\n` is before it.
    let before = first.text?.strip_suffix(begun.as_slice())?;
    if !others.iter().zip(rest).all(|(segment, piece)| segment.text == Some(piece.as_slice())) {
        return None;
    }
    // `before` ends with the role, as the generation prompt does. It may have a whole question before that, where no control
    // token is between the two: `USER: Hi ASSISTANT:`.
    let role = last_word(generation_prompt);
    let has_role = if role.is_empty() { before.trim_ascii().is_empty() } else { before.ends_with(role) };
    (has_role || generation_prompt.ends_with(before)).then_some(before)
}

/// Returns the last word of a text with the blanks after it.
fn last_word(text: &[u8]) -> &[u8] {
    let blank = text.trim_ascii_end().iter().rposition(u8::is_ascii_whitespace);
    blank.and_then(|blank| text.get(blank + 1..)).unwrap_or(text)
}
