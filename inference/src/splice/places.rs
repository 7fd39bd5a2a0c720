//! Finds replies in a prompt, in the segments between its control tokens, with indexes of texts and tokens.

use std::cell::OnceCell;
use std::collections::HashMap;

use alloquy_core::prompt::PromptUnit;
use alloquy_core::tokenizer::{SpecialToken, TokenId, Tokenizer};

/// The number of units after a reply that are searched for the next reply before the index of all units is used.
const NEAR_UNITS: usize = 512;

/// The number of segments after a reply that are searched for the next reply before the index of all segments is used.
const NEAR_STRETCHES: usize = 16;

/// How many bytes at the end of a text are indexed.
const ENDING: usize = 8;

/// A segment of the prompt without control tokens and media.
#[derive(Clone, Copy, Debug)]
pub(super) struct Segment<'p> {
    pub(super) start: usize,
    pub(super) end: usize,
    /// `None` where a token has no bytes.
    pub(super) text: Option<&'p [u8]>,
}

/// A segment whose text is decoded when it is first needed.
struct Span {
    start: usize,
    end: usize,
    text: OnceCell<Option<Vec<u8>>>,
}

/// The places of a prompt after the last reply that was found.
pub(super) struct Places<'a> {
    units: &'a [PromptUnit],
    tokenizer: &'a dyn Tokenizer,
    /// In the order of their ids.
    specials: Vec<(TokenId, &'a SpecialToken)>,
    spans: Vec<Span>,
    /// Where the last reply ends: the next one is searched from here on.
    from: usize,
    /// The index of the segment that has `from`.
    first: usize,
    /// The text of that segment after `from`.
    rest: OnceCell<Option<Vec<u8>>>,
    /// The last token of the reply that ends at `from`, as it was sampled.
    last_sampled: Option<TokenId>,
    /// Where each token follows a unit that equals the prompt's last one.
    after_last_unit: OnceCell<HashMap<TokenId, Vec<usize>>>,
    /// Where each token is.
    tokens: OnceCell<HashMap<TokenId, Vec<usize>>>,
    /// Which segments have a text.
    texts: OnceCell<HashMap<Vec<u8>, Vec<usize>>>,
    /// Which segments end with a text of one byte, of two, and so on.
    endings: [OnceCell<HashMap<Vec<u8>, Vec<usize>>>; ENDING],
}

impl<'a> Places<'a> {
    pub(super) fn new(units: &'a [PromptUnit], tokenizer: &'a dyn Tokenizer) -> Self {
        let specials = tokenizer.specials().iter().filter(|special| !special.text.trim().is_empty());
        let mut specials: Vec<_> = specials.map(|special| (special.id, special)).collect();
        specials.sort_unstable_by_key(|(id, _)| *id);
        let mut places = Self {
            units,
            tokenizer,
            specials,
            spans: Vec::new(),
            from: 0,
            first: 0,
            rest: OnceCell::new(),
            last_sampled: None,
            after_last_unit: OnceCell::new(),
            tokens: OnceCell::new(),
            texts: OnceCell::new(),
            endings: Default::default(),
        };
        places.spans = places.cut();
        places
    }

    /// Cuts the prompt at its control tokens and media.
    fn cut(&self) -> Vec<Span> {
        let mut start = 0;
        let mut spans = Vec::new();
        for (place, unit) in self.units.iter().enumerate() {
            let is_border = match unit {
                PromptUnit::Token(token) => self.special(*token).is_some(),
                PromptUnit::Media(_) => true,
            };
            if is_border {
                spans.push(Span { start, end: place, text: OnceCell::new() });
                start = place + 1;
            }
        }
        spans.push(Span { start, end: self.units.len(), text: OnceCell::new() });
        spans
    }

    pub(super) fn special(&self, token: TokenId) -> Option<&'a SpecialToken> {
        let index = self.specials.binary_search_by_key(&token, |(id, _)| *id).ok()?;
        self.specials.get(index).map(|(_, special)| *special)
    }

    /// Returns the text after the prompt's last control token, and its ids.
    pub(super) fn last_segment(&self) -> Option<(Vec<u8>, Vec<TokenId>)> {
        let last = self.spans.last()?;
        let ids = self.tokens(last.start, last.end)?;
        Some((self.bytes(&ids)?, ids))
    }

    /// Returns the texts of a reply between its control tokens; `None` where a token has no bytes.
    pub(super) fn pieces(&self, reply: &[TokenId]) -> Option<Vec<Vec<u8>>> {
        reply.split(|token| self.special(*token).is_some()).map(|piece| self.bytes(piece)).collect()
    }

    /// Returns where the reply ends in the prompt, if the prompt has it as it was sampled.
    pub(super) fn verbatim(&self, reply: &[TokenId]) -> Option<usize> {
        let rest = self.units.get(self.from..)?;
        let near = rest.get(..NEAR_UNITS + reply.len()).unwrap_or(rest);
        // A short reply such as `Yes` may also be in a question. A place after a unit like the prompt's last, such as
        // `<assistant>`, is better than the first place.
        let mut first = None;
        for (offset, window) in near.windows(reply.len()).enumerate() {
            let at = self.from + offset;
            if !is_spelled(window, reply) {
                continue;
            }
            if self.follows_last_unit(at) {
                return Some(at + reply.len());
            }
            first = first.or(Some(at));
        }
        if near.len() < rest.len() {
            first = self.after_last_unit(reply).or_else(|| self.anywhere(reply));
        }
        first.map(|at| at + reply.len())
    }

    /// Returns the first place of the reply after a unit that equals the prompt's last one.
    fn after_last_unit(&self, reply: &[TokenId]) -> Option<usize> {
        let sampled = self.last_sampled.map(PromptUnit::Token);
        if sampled.is_some() && sampled.as_ref() == self.units.last() && self.is_spelled_at(self.from, reply)
        {
            return Some(self.from);
        }
        let all = self.after_last_unit.get_or_init(|| self.places_after_last_unit());
        let places = all.get(reply.first()?)?;
        // The unit before the first place may be replaced with `last_sampled`, which was compared above.
        let next = if sampled.is_some() { self.from + 1 } else { self.from };
        let start = places.partition_point(|place| *place < next);
        places.get(start..)?.iter().copied().find(|place| self.is_spelled_at(*place, reply))
    }

    /// Returns the first place of the reply.
    fn anywhere(&self, reply: &[TokenId]) -> Option<usize> {
        let all = self.tokens.get_or_init(|| self.token_places());
        // Of the reply's tokens, the one with the fewest places leaves the fewest windows to compare.
        let mut rarest: Option<(usize, &[usize])> = None;
        for (offset, token) in reply.iter().enumerate() {
            let places = all.get(token)?;
            if rarest.is_none_or(|(_, fewest)| places.len() < fewest.len()) {
                rarest = Some((offset, places));
            }
        }
        let (offset, places) = rarest?;
        let start = places.partition_point(|place| *place < self.from + offset);
        let mut candidates = places.get(start..)?.iter().map(|place| place - offset);
        candidates.find(|at| self.is_spelled_at(*at, reply))
    }

    fn is_spelled_at(&self, at: usize, reply: &[TokenId]) -> bool {
        self.units.get(at..at + reply.len()).is_some_and(|window| is_spelled(window, reply))
    }

    fn places_after_last_unit(&self) -> HashMap<TokenId, Vec<usize>> {
        let mut places: HashMap<TokenId, Vec<usize>> = HashMap::new();
        for (before, pair) in self.units.windows(2).enumerate() {
            if let [unit, PromptUnit::Token(token)] = pair
                && Some(unit) == self.units.last()
            {
                places.entry(*token).or_default().push(before + 1);
            }
        }
        places
    }

    fn token_places(&self) -> HashMap<TokenId, Vec<usize>> {
        let mut places: HashMap<TokenId, Vec<usize>> = HashMap::new();
        for (place, unit) in self.units.iter().enumerate() {
            if let PromptUnit::Token(token) = unit {
                places.entry(*token).or_default().push(place);
            }
        }
        places
    }

    /// Returns whether the unit before a place equals the prompt's last one.
    fn follows_last_unit(&self, at: usize) -> bool {
        let sampled = self.last_sampled.filter(|_| at == self.from).map(PromptUnit::Token);
        let before = sampled.as_ref().or_else(|| self.units.get(at.checked_sub(1)?));
        before.is_some() && before == self.units.last()
    }

    /// Continues the search after a reply that ends there.
    pub(super) fn advance(&mut self, end: usize, reply: &[TokenId]) {
        self.from = end;
        self.last_sampled = reply.last().copied();
        while self.spans.get(self.first).is_some_and(|span| span.end < end) {
            self.first += 1;
        }
        self.rest = OnceCell::new();
    }

    /// Returns a segment by its index. The segment in which the last reply ends begins after that reply.
    pub(super) fn segment(&self, index: usize) -> Option<Segment<'_>> {
        let span = self.spans.get(index)?;
        if index == self.first && span.start < self.from {
            let text = self.rest.get_or_init(|| self.text(self.from, span.end));
            return Some(Segment { start: self.from, end: span.end, text: text.as_deref() });
        }
        let text = span.text.get_or_init(|| self.text(span.start, span.end));
        Some(Segment { start: span.start, end: span.end, text: text.as_deref() })
    }

    /// Calls `accept` with as many segments in a row as there are pieces, in the order of the prompt. Returns the index of the
    /// first segment that it accepts, and its result. Every segment where the pieces may be is tried.
    pub(super) fn find_like<T>(
        &self,
        pieces: &[Vec<u8>],
        accept: impl Fn(&[Segment<'_>]) -> Option<T>,
    ) -> Option<(usize, T)> {
        let far = (self.first + NEAR_STRETCHES).min(self.spans.len());
        for index in self.first..far {
            if let Some(found) = self.accepted(index, pieces.len(), &accept) {
                return Some((index, found));
            }
        }
        if far == self.spans.len() {
            return None;
        }
        // Every piece but the first is the whole text of a segment: the longest of them is looked up.
        let longest = pieces.iter().enumerate().skip(1).max_by_key(|(_, piece)| piece.len());
        if let Some((offset, piece)) = longest.filter(|(_, piece)| !piece.is_empty()) {
            let known = self.texts.get_or_init(|| self.by_text()).get(piece.as_slice())?;
            let places = known.iter().filter_map(|place| place.checked_sub(offset));
            return self.find_among(places.filter(|index| *index >= far), pieces.len(), accept);
        }
        // The first piece is the end of a segment: its last bytes are looked up.
        if let Some(piece) = pieces.first().filter(|piece| !piece.is_empty()) {
            let length = piece.len().min(ENDING);
            let ending = piece.get(piece.len() - length..).unwrap_or_default();
            let known = self.endings.get(length - 1)?.get_or_init(|| self.by_ending(length)).get(ending)?;
            return self.find_among(
                known.iter().copied().filter(|index| *index >= far),
                pieces.len(),
                accept,
            );
        }
        // A reply of control tokens alone.
        self.find_among(far..self.spans.len(), pieces.len(), accept)
    }

    fn find_among<T>(
        &self,
        mut indexes: impl Iterator<Item = usize>,
        count: usize,
        accept: impl Fn(&[Segment<'_>]) -> Option<T>,
    ) -> Option<(usize, T)> {
        indexes.find_map(|index| Some((index, self.accepted(index, count, &accept)?)))
    }

    fn accepted<T>(
        &self,
        index: usize,
        count: usize,
        accept: impl Fn(&[Segment<'_>]) -> Option<T>,
    ) -> Option<T> {
        let segments: Option<Vec<_>> = (index..index + count).map(|index| self.segment(index)).collect();
        accept(&segments?)
    }

    fn by_text(&self) -> HashMap<Vec<u8>, Vec<usize>> {
        self.by(<[u8]>::to_vec)
    }

    fn by_ending(&self, length: usize) -> HashMap<Vec<u8>, Vec<usize>> {
        self.by(|text| text.get(text.len().wrapping_sub(length)..).unwrap_or_default().to_vec())
    }

    fn by(&self, key: impl Fn(&[u8]) -> Vec<u8>) -> HashMap<Vec<u8>, Vec<usize>> {
        let mut places: HashMap<_, Vec<usize>> = HashMap::new();
        for (index, span) in self.spans.iter().enumerate() {
            if let Some(text) = span.text.get_or_init(|| self.text(span.start, span.end)) {
                places.entry(key(text)).or_default().push(index);
            }
        }
        places
    }

    /// Returns whether the control tokens between the segments are those of a reply.
    pub(super) fn borders_match(&self, segments: &[Segment<'_>], reply: &[TokenId]) -> bool {
        let mut between = Vec::new();
        for (left, right) in segments.iter().zip(segments.iter().skip(1)) {
            if left.end + 1 == right.start {
                between.extend(self.units.get(left.end));
            }
        }
        let sampled = reply.iter().filter(|token| self.special(**token).is_some());
        between.into_iter().cloned().eq(sampled.copied().map(PromptUnit::Token))
    }

    /// Returns the control token before a segment.
    pub(super) fn special_before(&self, segment: &Segment<'_>) -> Option<&'a SpecialToken> {
        if let Some(sampled) = self.last_sampled.filter(|_| segment.start == self.from) {
            return self.special(sampled);
        }
        match segment.start.checked_sub(1).and_then(|border| self.units.get(border)) {
            Some(PromptUnit::Token(token)) => self.special(*token),
            Some(PromptUnit::Media(_)) | None => None,
        }
    }

    fn text(&self, start: usize, end: usize) -> Option<Vec<u8>> {
        self.bytes(&self.tokens(start, end)?)
    }

    /// Returns the ids between two places; `None` where media are between them.
    pub(super) fn tokens(&self, start: usize, end: usize) -> Option<Vec<TokenId>> {
        let mut tokens = Vec::with_capacity(end.saturating_sub(start));
        for unit in self.units.get(start..end)? {
            match unit {
                PromptUnit::Token(token) => tokens.push(*token),
                PromptUnit::Media(_) => return None,
            }
        }
        Some(tokens)
    }

    /// Returns the text of tokens; `None` where one has no bytes.
    pub(super) fn bytes(&self, tokens: &[TokenId]) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        for token in tokens {
            bytes.extend(self.tokenizer.bytes(*token)?);
        }
        Some(bytes)
    }
}

fn is_spelled(window: &[PromptUnit], reply: &[TokenId]) -> bool {
    window.iter().zip(reply).all(|(unit, token)| *unit == PromptUnit::Token(*token))
}
