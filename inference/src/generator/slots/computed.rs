//! Remembers the hashes of prefixes that were computed, even after their sessions are dropped, to explain cache misses.
//!
//! There are two hashes of a prefix: of its units, and of its text. They show whether a text was computed in other tokens.

use std::collections::{HashMap, HashSet, VecDeque};

use alloquy_core::media::Digest;
use alloquy_core::prompt::PromptUnit;
use alloquy_core::tokenizer::{TokenId, Tokenizer};

use super::cached_units::{CachedUnits, OwnedPrompt};

/// The number of prefixes that are remembered: eight contexts of 32,768 units without common prefixes, in about 16 MB.
const REMEMBERED: usize = 1 << 18;

/// A prefix that was computed.
#[derive(Clone, Copy, Debug)]
struct Known {
    text: TextHash,
    /// Whether more units were computed after it.
    is_followed: bool,
}

/// The prefixes that were computed. The oldest are forgotten when there are too many.
#[derive(Debug, Default)]
pub(super) struct Computed {
    /// The prefixes by the hashes of their units.
    known: HashMap<u64, Known>,
    /// The number of prefixes with each text.
    texts: HashMap<TextHash, usize>,
    /// The hashes in the order in which they were added.
    order: VecDeque<u64>,
    /// The control tokens. They do not count as text.
    control: Option<HashSet<TokenId>>,
}

impl Computed {
    /// Remembers the prefixes of a session. The cost is that of the prefixes that are not known yet.
    pub(super) fn note(&mut self, cached: &CachedUnits, tokenizer: &dyn Tokenizer) {
        if self.control.is_none() {
            self.control = Some(tokenizer.specials().iter().map(|special| special.id).collect());
        }
        let hashes = cached.prefix_hashes();
        let noted = self.noted(hashes);
        let owner = cached.owned().owner;
        let mut text = self.of(hashes, noted).map_or_else(|| TextHash::of_owner(owner), |known| known.text);
        for (place, (unit, hash)) in cached.iter().zip(hashes).enumerate().skip(noted) {
            let is_followed = place + 1 < cached.len();
            if let Some(known) = self.known.get_mut(hash) {
                text = known.text;
                known.is_followed |= is_followed;
            } else {
                text = self.with_unit(text, unit, tokenizer).unwrap_or_else(|other| other);
                self.add(*hash, Known { text, is_followed });
            }
        }
        while self.order.len() > REMEMBERED {
            self.forget_the_oldest();
        }
    }

    /// Returns the length of the longest prefix that is known to be followed. All shorter ones are followed too.
    fn noted(&self, prefix_hashes: &[u64]) -> usize {
        let last =
            prefix_hashes.iter().rposition(|hash| self.known.get(hash).is_some_and(|it| it.is_followed));
        last.map_or(0, |place| place + 1)
    }

    /// Returns the length of the longest prefix that was computed, even if no session has it any more.
    pub(super) fn longest(&self, prefix_hashes: &[u64]) -> usize {
        // From the end, because short prefixes are forgotten first. A long one may be known without them.
        let last = prefix_hashes.iter().rposition(|hash| self.known.contains_key(hash));
        last.map_or(0, |place| place + 1)
    }

    /// Returns whether the text after the longest known prefix was computed in other tokens.
    ///
    /// The compared part has neither control tokens nor media, and ends with a token in both:
    ///
    /// ```text
    /// computed:  <user> ab c
    /// prompt:    <user> a b b     both have a token that ends after `ab`
    /// ```
    pub(super) fn is_retokenized(
        &self,
        prompt: OwnedPrompt<'_>,
        prefix_hashes: &[u64],
        tokenizer: &dyn Tokenizer,
    ) -> bool {
        let longest = self.longest(prefix_hashes);
        let known = self.of(prefix_hashes, longest);
        let mut text = known.map_or_else(|| TextHash::of_owner(prompt.owner), |known| known.text);
        for unit in prompt.units.iter().skip(longest) {
            let Ok(more) = self.with_unit(text, unit, tokenizer) else { return false };
            if more != text && self.texts.contains_key(&more) {
                return true;
            }
            text = more;
        }
        false
    }

    /// Returns whether more units were computed after the first `length` ones.
    pub(super) fn is_followed(&self, prefix_hashes: &[u64], length: usize) -> bool {
        self.of(prefix_hashes, length).is_some_and(|known| known.is_followed)
    }

    /// Returns the entry of the first `length` units.
    fn of(&self, prefix_hashes: &[u64], length: usize) -> Option<Known> {
        self.known.get(prefix_hashes.get(..length)?.last()?).copied()
    }

    fn add(&mut self, hash: u64, known: Known) {
        self.known.insert(hash, known);
        self.order.push_back(hash);
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

    /// Returns the hash of the text with one more unit; as an `Err` if the unit is a control token or media.
    fn with_unit(
        &self,
        text: TextHash,
        unit: &PromptUnit,
        tokenizer: &dyn Tokenizer,
    ) -> Result<TextHash, TextHash> {
        match unit {
            PromptUnit::Token(token) => {
                let is_control = self.control.as_ref().is_some_and(|control| control.contains(token));
                let bytes = tokenizer.bytes(*token).filter(|_| !is_control);
                bytes.map(|bytes| text.with(&bytes)).ok_or_else(|| text.beside(&token.to_le_bytes()))
            }
            PromptUnit::Media(media) => Err(text.beside(media.digest().as_bytes())),
        }
    }
}

/// The hash of a prefix's text: the same for all tokens that decode to the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct TextHash(u64);

impl Default for TextHash {
    /// No text: the offset basis of FNV-1a.
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl TextHash {
    /// No text of an owner: those of two owners are compared as little as their units are.
    fn of_owner(owner: Option<Digest>) -> Self {
        owner.map_or_else(Self::default, |owner| Self::default().beside(owner.as_bytes()))
    }

    /// Adds bytes by FNV-1a, which hashes byte by byte, so that the borders of tokens make no difference.
    fn with(self, bytes: &[u8]) -> Self {
        let mut hash = self.0;
        for byte in bytes {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
        Self(hash)
    }

    /// Adds a control token or media. The hash differs from that of the same bytes as text.
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

    fn knowing(units: &[PromptUnit]) -> Computed {
        let mut computed = Computed::default();
        computed.note(&CachedUnits::from(units.to_vec()), &pairs());
        computed
    }

    fn hashes(units: &[PromptUnit]) -> Vec<u64> {
        CachedUnits::from(units.to_vec()).prefix_hashes().to_vec()
    }

    fn units(tokens: impl IntoIterator<Item = TokenId>) -> Vec<PromptUnit> {
        tokens.into_iter().map(PromptUnit::Token).collect()
    }

    #[test]
    fn what_was_computed_is_known_up_to_the_first_difference() {
        let longer = hashes(&units(0..9));
        assert_eq!(Computed::default().longest(&longer), 0);
        let computed = knowing(&units(0..5));
        let other = hashes(&units((0..3).chain(7..9)));
        assert_eq!((computed.longest(&longer), computed.longest(&other)), (5, 3));
        assert_eq!(computed.longest(&hashes(&units(1..5))), 0, "its first unit differs");
        assert!(computed.is_followed(&other, 3));
        assert!(!computed.is_followed(&longer, 5), "nothing was computed after it");
    }

    #[test]
    fn what_is_noted_again_is_known_as_if_it_were_noted_at_once() {
        let mut computed = knowing(&units(0..5));
        let noted = [units(0..9), units(0..7), units((0..6).chain(20..23)), units(0..12)];
        for units in &noted {
            computed.note(&CachedUnits::from(units.clone()), &pairs());
        }
        for units in &noted {
            let hashes = hashes(units);
            assert_eq!(computed.longest(&hashes), units.len());
            for length in 1..units.len() {
                assert!(computed.is_followed(&hashes, length), "{length} of {units:?}");
            }
        }
        assert!(!computed.is_followed(&hashes(&units(0..12)), 12));
        assert_eq!(computed.known.len(), 12 + 3);
    }

    #[test]
    fn the_oldest_is_forgotten() {
        let mut computed = knowing(&units([9, 9, 9]));
        let long = units((0..REMEMBERED).map(|index| 10 + (index % 200) as u32));
        computed.note(&CachedUnits::from(long.clone()), &pairs());
        let short = hashes(&units([9, 9, 9]));
        let long = hashes(&long);
        assert_eq!((computed.longest(&short), computed.longest(&long)), (0, REMEMBERED));
        assert_eq!(computed.known.len(), REMEMBERED);
        assert_eq!(computed.texts.values().sum::<usize>(), REMEMBERED);
    }

    /// Returns whether `now` has a text that was computed as `before`, both after `<end>a`.
    fn retokenized(before: &[TokenId], now: &[TokenId]) -> bool {
        let opened = [256, u32::from(b'a')];
        let before = units(opened.into_iter().chain(before.iter().copied()));
        let now = units(opened.into_iter().chain(now.iter().copied()));
        let prompt = OwnedPrompt { units: &now, owner: None };
        knowing(&before).is_retokenized(prompt, &hashes(&now), &pairs())
    }

    #[test]
    fn texts_are_compared_where_a_token_ends_in_both() {
        let end = 256;
        let [a, b, c] = [b'a', b'b', b'c'].map(u32::from);
        assert!(retokenized(&[1000, c], &[a, b, b]));
        assert!(retokenized(&[1000, c], &[a, 1001]));
        assert!(!retokenized(&[1000], &[a, c]), "they share one letter alone");
        assert!(!retokenized(&[1000], &[a]), "no token ends with it in both");
        assert!(!retokenized(&[1000], &[end, 1000]), "a control token is between");
        assert!(!retokenized(&[end], &"<end>".bytes().map(u32::from).collect::<Vec<_>>()), "one is no text");
        assert!(!retokenized(&[a, b], &[a, b, c]), "the tokens are the same");
        assert!(!retokenized(&[], &[a]));
    }
}
