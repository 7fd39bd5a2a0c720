//! Where replies may stand in a prompt: its stretches between control tokens, and where texts and tokens are found again.
//! Changes no prompt.

use std::cell::OnceCell;
use std::collections::HashMap;

use alloquy_core::prompt::Unit;
use alloquy_core::tokenizer::{SpecialToken, TokenId, Tokenizer};

/// So many units behind a reply are looked through for the next one before all of them are.
const NEAR_UNITS: usize = 512;

/// So many stretches behind a reply are looked through for the next one before all of them are.
const NEAR_STRETCHES: usize = 16;

/// How many bytes at the end of a text are looked up.
const ENDING: usize = 8;

/// A stretch without control tokens and media.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stretch<'p> {
    pub(super) start: usize,
    pub(super) end: usize,
    /// `None` where a token has no bytes.
    pub(super) text: Option<&'p [u8]>,
}

/// Where a stretch stands in the prompt.
struct Span {
    start: usize,
    end: usize,
    text: OnceCell<Option<Vec<u8>>>,
}

/// The places of a prompt behind the last reply that was found.
pub(super) struct Places<'a> {
    units: &'a [Unit],
    tokenizer: &'a dyn Tokenizer,
    /// By their numbers.
    specials: Vec<(TokenId, &'a SpecialToken)>,
    spans: Vec<Span>,
    /// Where the next reply is looked for, and the stretch in which that is.
    from: usize,
    first: usize,
    /// The text of that stretch from there on.
    rest: OnceCell<Option<Vec<u8>>>,
    /// The last token of the reply that ends there.
    said: Option<TokenId>,
    /// Where tokens stand behind one like the prompt's last.
    opened: OnceCell<HashMap<TokenId, Vec<usize>>>,
    /// Where each token stands.
    tokens: OnceCell<HashMap<TokenId, Vec<usize>>>,
    /// Which stretches have a text.
    texts: OnceCell<HashMap<Vec<u8>, Vec<usize>>>,
    /// Which stretches end with so many bytes.
    endings: [OnceCell<HashMap<Vec<u8>, Vec<usize>>>; ENDING],
}

impl<'a> Places<'a> {
    pub(super) fn new(units: &'a [Unit], tokenizer: &'a dyn Tokenizer) -> Self {
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
            said: None,
            opened: OnceCell::new(),
            tokens: OnceCell::new(),
            texts: OnceCell::new(),
            endings: Default::default(),
        };
        places.spans = places.cut();
        places
    }

    /// Cuts the prompt at its control tokens and media.
    fn cut(&self) -> Vec<Span> {
        let borders = self.units.iter().enumerate().filter(|(_, unit)| match unit {
            Unit::Token(token) => self.special(*token).is_some(),
            Unit::Media(_) => true,
        });
        let ends = borders.map(|(at, _)| at).chain([self.units.len()]);
        let mut start = 0;
        let mut spans = Vec::new();
        for end in ends {
            spans.push(Span { start, end, text: OnceCell::new() });
            start = end + 1;
        }
        spans
    }

    pub(super) fn special(&self, token: TokenId) -> Option<&'a SpecialToken> {
        let index = self.specials.binary_search_by_key(&token, |(id, _)| *id).ok()?;
        self.specials.get(index).map(|(_, special)| *special)
    }

    /// The text behind the prompt's last control token, and its ids.
    pub(super) fn last_stretch(&self) -> Option<(Vec<u8>, Vec<TokenId>)> {
        let last = self.spans.last()?;
        let ids = self.tokens(last.start, last.end)?;
        Some((self.bytes(&ids)?, ids))
    }

    /// The texts of a reply between its control tokens; `None` where a token has no bytes.
    pub(super) fn pieces(&self, reply: &[TokenId]) -> Option<Vec<Vec<u8>>> {
        reply.split(|token| self.special(*token).is_some()).map(|piece| self.bytes(piece)).collect()
    }

    /// Where the reply stands as it was sampled: best behind a token like the prompt's last.
    pub(super) fn verbatim(&self, reply: &[TokenId]) -> Option<usize> {
        let rest = self.units.get(self.from..)?;
        let near = rest.get(..NEAR_UNITS + reply.len()).unwrap_or(rest);
        let windows = near.windows(reply.len()).enumerate().filter(|(_, window)| is_spelled(window, reply));
        let mut places = windows.map(|(at, _)| at + self.from);
        let first = places.next();
        let opened = first.into_iter().chain(places).find(|at| self.is_opened(*at));
        if opened.is_some() || near.len() == rest.len() {
            return opened.or(first).map(|at| at + reply.len());
        }
        self.verbatim_anywhere(reply)
    }

    /// The same of the whole prompt, without going through it: by the places of tokens.
    fn verbatim_anywhere(&self, reply: &[TokenId]) -> Option<usize> {
        let at = self.opened_anywhere(reply).or_else(|| self.spelled_anywhere(reply))?;
        Some(at + reply.len())
    }

    /// The first place of the reply behind a token like the prompt's last.
    fn opened_anywhere(&self, reply: &[TokenId]) -> Option<usize> {
        let said = self.said.map(Unit::Token);
        if said.is_some() && said.as_ref() == self.units.last() && self.is_spelled_at(self.from, reply) {
            return Some(self.from);
        }
        let opened = self.opened.get_or_init(|| self.opened_places());
        let places = opened.get(reply.first()?)?;
        // What was said stands in for the unit before the first place.
        let next = if said.is_some() { self.from + 1 } else { self.from };
        let behind = places.partition_point(|place| *place < next);
        places.get(behind..)?.iter().copied().find(|place| self.is_spelled_at(*place, reply))
    }

    /// The first place of the reply, by the places of that of its tokens which stands in the prompt least often.
    fn spelled_anywhere(&self, reply: &[TokenId]) -> Option<usize> {
        let all = self.tokens.get_or_init(|| self.token_places());
        let mut rarest: Option<(usize, &[usize])> = None;
        for (offset, token) in reply.iter().enumerate() {
            let places = all.get(token)?;
            if rarest.is_none_or(|(_, fewest)| places.len() < fewest.len()) {
                rarest = Some((offset, places));
            }
        }
        let (offset, places) = rarest?;
        let behind = places.partition_point(|place| *place < self.from + offset);
        let mut candidates = places.get(behind..)?.iter().map(|place| place - offset);
        candidates.find(|at| self.is_spelled_at(*at, reply))
    }

    fn is_spelled_at(&self, at: usize, reply: &[TokenId]) -> bool {
        self.units.get(at..at + reply.len()).is_some_and(|window| is_spelled(window, reply))
    }

    /// Where tokens stand behind one like the prompt's last, by those tokens.
    fn opened_places(&self) -> HashMap<TokenId, Vec<usize>> {
        let mut places: HashMap<TokenId, Vec<usize>> = HashMap::new();
        for (before, pair) in self.units.windows(2).enumerate() {
            if let [opening, Unit::Token(token)] = pair
                && Some(opening) == self.units.last()
            {
                places.entry(*token).or_default().push(before + 1);
            }
        }
        places
    }

    fn token_places(&self) -> HashMap<TokenId, Vec<usize>> {
        let mut places: HashMap<TokenId, Vec<usize>> = HashMap::new();
        for (place, unit) in self.units.iter().enumerate() {
            if let Unit::Token(token) = unit {
                places.entry(*token).or_default().push(place);
            }
        }
        places
    }

    /// Says whether what stands before a place is what the prompt ends with.
    fn is_opened(&self, at: usize) -> bool {
        let said = self.said.filter(|_| at == self.from).map(Unit::Token);
        let before = said.as_ref().or_else(|| self.units.get(at.checked_sub(1)?));
        before.is_some() && before == self.units.last()
    }

    /// Goes on looking behind a reply that ends there.
    pub(super) fn advance(&mut self, end: usize, reply: &[TokenId]) {
        (self.from, self.said) = (end, reply.last().copied());
        while self.spans.get(self.first).is_some_and(|span| span.end < end) {
            self.first += 1;
        }
        self.rest = OnceCell::new();
    }

    /// A stretch by its number; of the one in which the last reply ends what stands behind it.
    pub(super) fn stretch(&self, index: usize) -> Option<Stretch<'_>> {
        let span = self.spans.get(index)?;
        if index == self.first && span.start < self.from {
            let text = self.rest.get_or_init(|| self.text(self.from, span.end));
            return Some(Stretch { start: self.from, end: span.end, text: text.as_deref() });
        }
        let text = span.text.get_or_init(|| self.text(span.start, span.end));
        Some(Stretch { start: span.start, end: span.end, text: text.as_deref() })
    }

    /// Looks at places behind the last reply, as many stretches as there are pieces, in their order until one is right. None
    /// is left out at which the pieces may stand.
    pub(super) fn each_like(
        &self,
        pieces: &[Vec<u8>],
        is_right: &mut dyn FnMut(usize, &[Stretch<'_>]) -> bool,
    ) {
        let mut look = |index: usize| {
            let places: Option<Vec<_>> =
                (index..index + pieces.len()).map(|index| self.stretch(index)).collect();
            places.is_some_and(|places| is_right(index, &places))
        };
        let far = (self.first + NEAR_STRETCHES).min(self.spans.len());
        if (self.first..far).any(&mut look) || far == self.spans.len() {
            return;
        }
        let longest = pieces.iter().enumerate().skip(1).max_by_key(|(_, piece)| piece.len());
        match (longest.filter(|(_, piece)| !piece.is_empty()), pieces.first()) {
            (Some((number, piece)), _) => {
                let known = self.texts.get_or_init(|| self.by_text()).get(piece.as_slice());
                let places = known.into_iter().flatten().filter_map(|place| place.checked_sub(number));
                places.filter(|index| *index >= far).any(look);
            }
            (None, Some(piece)) if !piece.is_empty() => {
                let length = piece.len().min(ENDING);
                let Some(endings) = self.endings.get(length - 1) else { return };
                let ending = piece.get(piece.len() - length..).unwrap_or_default();
                let known = endings.get_or_init(|| self.by_ending(length)).get(ending);
                known.into_iter().flatten().copied().filter(|index| *index >= far).any(look);
            }
            // Control tokens alone.
            _ => {
                (far..self.spans.len()).any(look);
            }
        }
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

    /// Says whether the control tokens between stretches are those of a reply.
    pub(super) fn borders_match(&self, places: &[Stretch<'_>], reply: &[TokenId]) -> bool {
        let said = reply.iter().filter(|token| self.special(**token).is_some());
        let mut between = places.iter().zip(places.iter().skip(1)).filter_map(|(left, right)| {
            (left.end + 1 == right.start).then(|| self.units.get(left.end)).flatten()
        });
        said.clone().all(|token| between.next() == Some(&Unit::Token(*token))) && between.next().is_none()
    }

    /// The control token before a stretch.
    pub(super) fn special_before(&self, place: &Stretch<'_>) -> Option<&'a SpecialToken> {
        if let Some(said) = self.said.filter(|_| place.start == self.from) {
            return self.special(said);
        }
        match place.start.checked_sub(1).and_then(|border| self.units.get(border)) {
            Some(Unit::Token(token)) => self.special(*token),
            Some(Unit::Media(_)) | None => None,
        }
    }

    fn text(&self, start: usize, end: usize) -> Option<Vec<u8>> {
        self.bytes(&self.tokens(start, end)?)
    }

    /// `None` where a picture or a sound stands among them.
    pub(super) fn tokens(&self, start: usize, end: usize) -> Option<Vec<TokenId>> {
        let tokens = self.units.get(start..end)?.iter().map(|unit| match unit {
            Unit::Token(token) => Some(*token),
            Unit::Media(_) => None,
        });
        tokens.collect()
    }

    pub(super) fn bytes(&self, tokens: &[TokenId]) -> Option<Vec<u8>> {
        let bytes: Option<Vec<_>> = tokens.iter().map(|token| self.tokenizer.bytes(*token)).collect();
        Some(bytes?.concat())
    }
}

fn is_spelled(window: &[Unit], reply: &[TokenId]) -> bool {
    window.iter().zip(reply).all(|(unit, token)| *unit == Unit::Token(*token))
}
