//! What was computed, and may since be gone: by the hashes of its beginnings, as units and as text. Holds no units.

use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::prompt::Unit;
use crate::tokenizer::{TokenId, Tokenizer};

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
    /// Remembers what a session holds.
    pub(super) fn note(&mut self, units: &[Unit], tokenizer: &dyn Tokenizer) {
        let control = || tokenizer.specials().iter().map(|special| special.id).collect();
        self.control.get_or_insert_with(control);
        let mut text = Spelling::default();
        for (place, (unit, beginning)) in units.iter().zip(beginnings(units)).enumerate() {
            let goes_on = place + 1 < units.len();
            match self.known.get_mut(&beginning) {
                Some(known) => {
                    text = known.text;
                    known.went_on |= goes_on;
                }
                None => {
                    text = self.spelled(text, unit, tokenizer).unwrap_or_else(|other| other);
                    self.add(beginning, Known { text, went_on: goes_on });
                }
            }
        }
        while self.order.len() > REMEMBERED {
            self.forget_the_oldest();
        }
    }

    /// How many leading units were computed in this order, whether or not a session holds them still.
    pub(super) fn longest(&self, units: &[Unit]) -> usize {
        // Short beginnings are the oldest, and forgotten first: the longest one that is known counts.
        let known = beginnings(units).enumerate().filter(|(_, beginning)| self.known.contains_key(beginning));
        known.last().map_or(0, |(index, _)| index + 1)
    }

    /// Says whether words that follow the longest beginning that is known were computed there in other tokens: up to where a
    /// token ends in both. Control tokens and media are no words.
    pub(super) fn is_respelled(&self, units: &[Unit], tokenizer: &dyn Tokenizer) -> bool {
        let longest = self.longest(units);
        let mut text = self.of(units, longest).map_or_else(Spelling::default, |known| known.text);
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
    pub(super) fn went_on(&self, units: &[Unit], length: usize) -> bool {
        self.of(units, length).is_some_and(|known| known.went_on)
    }

    /// What is known of the first `length` units.
    fn of(&self, units: &[Unit], length: usize) -> Option<Known> {
        self.known.get(&beginnings(units).take(length).last()?).copied()
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

/// A number for each beginning that is not empty. Two that differ have the same one about never, and then a report names a
/// reason where there is none.
fn beginnings(units: &[Unit]) -> impl Iterator<Item = u64> {
    units.iter().scan(0_u64, |before, unit| {
        let mut hasher = DefaultHasher::new();
        before.hash(&mut hasher);
        match unit {
            Unit::Token(token) => token.hash(&mut hasher),
            Unit::Media(media) => media.digest().as_bytes().hash(&mut hasher),
        }
        *before = hasher.finish();
        Some(*before)
    })
}

#[cfg(all(test, feature = "testing"))]
mod tests {
    use super::*;
    use crate::Result;
    use crate::testing::ByteTokenizer;
    use crate::tokenizer::{Detokenizer, Piece, SpecialToken};

    /// Bytes, and tokens for two letters: `ab` is 1000, `bc` is 1001.
    #[derive(Debug)]
    struct Pairs(ByteTokenizer);

    impl Tokenizer for Pairs {
        fn specials(&self) -> &[SpecialToken] {
            self.0.specials()
        }

        fn encode(&self, pieces: &[Piece<'_>]) -> Result<Vec<TokenId>> {
            self.0.encode(pieces)
        }

        fn bytes(&self, token: TokenId) -> Option<Vec<u8>> {
            match token {
                1000 => Some(b"ab".to_vec()),
                1001 => Some(b"bc".to_vec()),
                token => self.0.bytes(token),
            }
        }

        fn detokenizer(&self) -> Box<dyn Detokenizer> {
            self.0.detokenizer()
        }
    }

    fn pairs() -> Pairs {
        Pairs(ByteTokenizer::new(["<end>"]))
    }

    fn knowing(units: &[Unit]) -> Computed {
        let mut computed = Computed::default();
        computed.note(units, &pairs());
        computed
    }

    fn units(tokens: impl IntoIterator<Item = TokenId>) -> Vec<Unit> {
        tokens.into_iter().map(Unit::Token).collect()
    }

    #[test]
    fn what_was_computed_is_known_up_to_where_another_goes_its_own_way() {
        assert_eq!(Computed::default().longest(&units(0..5)), 0);
        let computed = knowing(&units(0..5));
        let other: Vec<_> = units(0..3).into_iter().chain(units(7..9)).collect();
        assert_eq!((computed.longest(&units(0..9)), computed.longest(&other)), (5, 3));
        assert_eq!(computed.longest(&units(1..5)), 0, "it began otherwise");
        assert!(computed.went_on(&other, 3));
        assert!(!computed.went_on(&units(0..9), 5), "nothing was computed behind it");
    }

    #[test]
    fn the_oldest_is_forgotten() {
        let mut computed = knowing(&units([9, 9, 9]));
        let long = units((0..REMEMBERED).map(|index| 10 + (index % 200) as u32));
        computed.note(&long, &pairs());
        assert_eq!((computed.longest(&units([9, 9, 9])), computed.longest(&long)), (0, REMEMBERED));
        assert_eq!(computed.known.len(), REMEMBERED);
        assert_eq!(computed.texts.values().sum::<usize>(), REMEMBERED);
    }

    #[test]
    fn words_are_the_same_where_a_token_ends_in_both() {
        let end = pairs().specials()[0].id;
        let [a, b, c] = [b'a', b'b', b'c'].map(u32::from);
        let respelled = |before: &[TokenId], now: &[TokenId]| {
            let opened = |tokens: &[TokenId]| units([end, a].into_iter().chain(tokens.iter().copied()));
            knowing(&opened(before)).is_respelled(&opened(now), &pairs())
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
