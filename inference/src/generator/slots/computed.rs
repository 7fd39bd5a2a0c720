//! What was computed, and may since be gone: by the hashes of its beginnings, as units and as text. Holds no units.

use std::collections::{HashMap, HashSet, VecDeque};

use alloquy_core::prompt::Unit;
use alloquy_core::tokenizer::{TokenId, Tokenizer};

use super::held::Held;

/// How many beginnings are remembered: those of some eight contexts of 32,768 units that share nothing, in about 16 MB.
const REMEMBERED: usize = 1 << 18;

/// What is known of a beginning.
#[derive(Clone, Copy, Debug)]
struct Known {
    text: Spelling,
    /// Whether something was computed behind it.
    went_on: bool,
}

/// The beginnings of all that was computed, as far back as there is room for.
#[derive(Debug, Default)]
pub(super) struct Computed {
    known: HashMap<u64, Known>,
    /// How many beginnings have a text.
    texts: HashMap<Spelling, usize>,
    /// In the order in which they came.
    order: VecDeque<u64>,
    /// The tokens that are no text.
    control: Option<HashSet<TokenId>>,
}

impl Computed {
    /// Remembers what a session holds. Costs what is not remembered yet.
    pub(super) fn note(&mut self, held: &Held, tokenizer: &dyn Tokenizer) {
        let control = || tokenizer.specials().iter().map(|special| special.id).collect();
        self.control.get_or_insert_with(control);
        let noted = self.noted(held.beginnings());
        let before = held.beginnings().get(..noted).and_then(|noted| self.known.get(noted.last()?));
        let mut text = before.map_or_else(Spelling::default, |known| known.text);
        let places = held.iter().zip(held.beginnings()).enumerate().skip(noted);
        for (place, (unit, beginning)) in places {
            let goes_on = place + 1 < held.len();
            match self.known.get_mut(beginning) {
                Some(known) => {
                    text = known.text;
                    known.went_on |= goes_on;
                }
                None => {
                    text = self.spelled(text, unit, tokenizer).unwrap_or_else(|other| other);
                    self.add(*beginning, Known { text, went_on: goes_on });
                }
            }
        }
        while self.order.len() > REMEMBERED {
            self.forget_the_oldest();
        }
    }

    /// How many leading units were noted with more behind them, so that all before them were, too.
    fn noted(&self, beginnings: &[u64]) -> usize {
        let went_on = |beginning: &u64| self.known.get(beginning).is_some_and(|known| known.went_on);
        beginnings.iter().rposition(went_on).map_or(0, |place| place + 1)
    }

    /// How many leading units were computed in this order, whether or not a session holds them still.
    pub(super) fn longest(&self, beginnings: &[u64]) -> usize {
        // Short beginnings are the oldest, and forgotten first: the longest one that is known counts.
        let known = |beginning: &u64| self.known.contains_key(beginning);
        beginnings.iter().rposition(known).map_or(0, |place| place + 1)
    }

    /// Says whether words that follow the longest beginning that is known were computed there in other tokens: up to where a
    /// token ends in both. Control tokens and media are no words.
    pub(super) fn is_respelled(&self, units: &[Unit], beginnings: &[u64], tokenizer: &dyn Tokenizer) -> bool {
        let longest = self.longest(beginnings);
        let mut text = self.of(beginnings, longest).map_or_else(Spelling::default, |known| known.text);
        for unit in units.iter().skip(longest) {
            let Ok(more) = self.spelled(text, unit, tokenizer) else { return false };
            if more != text && self.texts.contains_key(&more) {
                return true;
            }
            text = more;
        }
        false
    }

    /// Says whether something was computed behind the first `length` units.
    pub(super) fn went_on(&self, beginnings: &[u64], length: usize) -> bool {
        self.of(beginnings, length).is_some_and(|known| known.went_on)
    }

    /// What is known of the first `length` units.
    fn of(&self, beginnings: &[u64], length: usize) -> Option<Known> {
        self.known.get(beginnings.get(..length)?.last()?).copied()
    }

    fn add(&mut self, beginning: u64, known: Known) {
        self.known.insert(beginning, known);
        self.order.push_back(beginning);
        *self.texts.entry(known.text).or_default() += 1;
    }

    fn forget_the_oldest(&mut self) {
        let oldest = self.order.pop_front().and_then(|oldest| self.known.remove(&oldest));
        let Some(Known { text, .. }) = oldest else { return };
        if let Some(count) = self.texts.get_mut(&text) {
            *count -= 1;
            if *count == 0 {
                self.texts.remove(&text);
            }
        }
    }

    /// The text with one more unit; `Err` where the unit is no text, and stands there as itself.
    fn spelled(&self, text: Spelling, unit: &Unit, tokenizer: &dyn Tokenizer) -> Result<Spelling, Spelling> {
        match unit {
            Unit::Token(token) => {
                let is_control = self.control.as_ref().is_some_and(|control| control.contains(token));
                let bytes = tokenizer.bytes(*token).filter(|_| !is_control);
                bytes.map(|bytes| text.with(&bytes)).ok_or_else(|| text.beside(&token.to_le_bytes()))
            }
            Unit::Media(media) => Err(text.beside(media.digest().as_bytes())),
        }
    }
}

/// The text of a beginning: however its tokens cut it, the number is the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Spelling(u64);

impl Default for Spelling {
    /// No text: the offset basis of FNV-1a.
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Spelling {
    /// FNV-1a, which goes on byte by byte.
    fn with(self, bytes: &[u8]) -> Self {
        let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        Self(bytes.iter().fold(self.0, step))
    }

    /// What is no text: another number than the same bytes as text have.
    fn beside(self, bytes: &[u8]) -> Self {
        Self(!self.with(bytes).0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::stand_in::Pairs;
    use super::*;

    fn pairs() -> Pairs {
        Pairs::new()
    }

    fn knowing(units: &[Unit]) -> Computed {
        let mut computed = Computed::default();
        computed.note(&Held::from(units.to_vec()), &pairs());
        computed
    }

    fn numbers(units: &[Unit]) -> Vec<u64> {
        Held::from(units.to_vec()).beginnings().to_vec()
    }

    fn units(tokens: impl IntoIterator<Item = TokenId>) -> Vec<Unit> {
        tokens.into_iter().map(Unit::Token).collect()
    }

    #[test]
    fn what_was_computed_is_known_up_to_where_another_goes_its_own_way() {
        let longer = numbers(&units(0..9));
        assert_eq!(Computed::default().longest(&longer), 0);
        let computed = knowing(&units(0..5));
        let other = numbers(&units((0..3).chain(7..9)));
        assert_eq!((computed.longest(&longer), computed.longest(&other)), (5, 3));
        assert_eq!(computed.longest(&numbers(&units(1..5))), 0, "it began otherwise");
        assert!(computed.went_on(&other, 3));
        assert!(!computed.went_on(&longer, 5), "nothing was computed behind it");
    }

    #[test]
    fn what_is_noted_again_is_known_as_if_it_were_noted_at_once() {
        let mut computed = knowing(&units(0..5));
        let noted = [units(0..9), units(0..7), units((0..6).chain(20..23)), units(0..12)];
        for units in &noted {
            computed.note(&Held::from(units.clone()), &pairs());
        }
        for units in &noted {
            let numbers = numbers(units);
            assert_eq!(computed.longest(&numbers), units.len());
            for length in 1..units.len() {
                assert!(computed.went_on(&numbers, length), "{length} of {units:?}");
            }
        }
        assert!(!computed.went_on(&numbers(&units(0..12)), 12));
        assert_eq!(computed.known.len(), 12 + 3);
    }

    #[test]
    fn the_oldest_is_forgotten() {
        let mut computed = knowing(&units([9, 9, 9]));
        let long = units((0..REMEMBERED).map(|index| 10 + (index % 200) as u32));
        computed.note(&Held::from(long.clone()), &pairs());
        let (short, long) = (numbers(&units([9, 9, 9])), numbers(&long));
        assert_eq!((computed.longest(&short), computed.longest(&long)), (0, REMEMBERED));
        assert_eq!(computed.known.len(), REMEMBERED);
        assert_eq!(computed.texts.values().sum::<usize>(), REMEMBERED);
    }

    #[test]
    fn words_are_the_same_where_a_token_ends_in_both() {
        let end = pairs().specials()[0].id;
        let [a, b, c] = [b'a', b'b', b'c'].map(u32::from);
        let respelled = |before: &[TokenId], now: &[TokenId]| {
            let opened = |tokens: &[TokenId]| units([end, a].into_iter().chain(tokens.iter().copied()));
            knowing(&opened(before)).is_respelled(&opened(now), &numbers(&opened(now)), &pairs())
        };
        assert!(respelled(&[1000, c], &[a, b, b]));
        assert!(respelled(&[1000, c], &[a, 1001]));
        assert!(!respelled(&[1000], &[a, c]), "they begin with one letter");
        assert!(!respelled(&[1000], &[a]), "no token ends with it in both");
        assert!(!respelled(&[1000], &[end, 1000]), "a control token stands between");
        assert!(!respelled(&[end], &"<end>".bytes().map(u32::from).collect::<Vec<_>>()), "one is no text");
        assert!(!respelled(&[a, b], &[a, b, c]), "nothing is spelled otherwise");
        assert!(!respelled(&[], &[a]));
    }
}
