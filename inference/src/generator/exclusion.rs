//! Excludes texts from a reply: the tokens that would complete one of them are never sampled.

use std::sync::{Arc, Mutex, PoisonError};

use alloquy_core::tokenizer::{TokenId, Tokenizer};
use alloquy_engine::decoder::ExcludedTexts;

use crate::stop::Automaton;

/// Excludes tokens and texts from one reply.
#[derive(Clone, Debug, Default)]
pub(crate) struct Exclusion {
    tokens: Vec<TokenId>,
    texts: Option<Arc<TextMask>>,
    /// The state of the texts' automaton after the tokens so far.
    state: usize,
}

impl Exclusion {
    /// Makes the logits of excluded tokens minus infinity.
    pub(crate) fn mask(&self, logits: &mut [f32]) {
        let completing = self.texts.as_deref().map(|texts| texts.completing(self.state)).unwrap_or_default();
        for &token in self.tokens.iter().chain(completing) {
            if let Some(logit) = logits.get_mut(token as usize) {
                *logit = f32::NEG_INFINITY;
            }
        }
    }

    /// Takes a token of the reply.
    pub(crate) fn accept(&mut self, token: TokenId, tokenizer: &dyn Tokenizer) {
        if let Some(texts) = &self.texts {
            for byte in tokenizer.bytes(token).unwrap_or_default() {
                self.state = texts.automaton.step(self.state, byte);
            }
        }
    }
}

/// The masks of the texts that were excluded last. A model has one such list, so one is kept.
#[derive(Debug, Default)]
pub(crate) struct TextMasks(Mutex<Option<(Vec<String>, Arc<TextMask>)>>);

impl TextMasks {
    /// Returns the exclusion for one reply. The first one with these texts reads the vocabulary.
    pub(crate) fn exclusion(
        &self,
        excluded: ExcludedTexts,
        tokenizer: &dyn Tokenizer,
        vocabulary: usize,
    ) -> Exclusion {
        let ExcludedTexts { tokens, texts, .. } = excluded;
        if texts.is_empty() {
            return Exclusion { tokens, texts: None, state: 0 };
        }
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, mask)) = &*kept
            && *known == texts
        {
            return Exclusion { tokens, texts: Some(Arc::clone(mask)), state: 0 };
        }
        let mask = Arc::new(TextMask::new(&texts, tokenizer, vocabulary));
        *kept = Some((texts, Arc::clone(&mask)));
        Exclusion { tokens, texts: Some(mask), state: 0 }
    }
}

/// For each state of a reply, the tokens that would complete a text there.
///
/// A state is the longest beginning of a text that the reply ends with. For the text `functools[`:
///
/// ```text
/// reply:      ... from func        the state is `func`
/// completing:     tools[           and longer tokens that begin with it
/// ```
#[derive(Debug)]
struct TextMask {
    automaton: Automaton<u8>,
    /// By state.
    completing: Vec<Vec<TokenId>>,
}

impl TextMask {
    fn new(texts: &[String], tokenizer: &dyn Tokenizer, vocabulary: usize) -> Self {
        let automaton = Automaton::new(texts.iter().map(String::as_bytes));
        let rests = Rests::new(texts, &automaton);
        let mut completing = vec![Vec::new(); automaton.states()];
        let mut whole = Vec::new();
        let ids = 0..TokenId::try_from(vocabulary).unwrap_or(TokenId::MAX);
        for id in ids {
            let Some(bytes) = tokenizer.bytes(id) else { continue };
            if contains(&automaton, &bytes) {
                whole.push(id);
            }
            for state in rests.completed_by(&bytes) {
                if let Some(tokens) = completing.get_mut(state) {
                    tokens.push(id);
                }
            }
        }
        // A state also ends with what its shorter states end with: `<<tool` with `<tool`.
        let mut all = Vec::with_capacity(completing.len());
        for state in 0..automaton.states() {
            let mut tokens = whole.clone();
            let mut end = state;
            while end != 0 {
                tokens.extend_from_slice(completing.get(end).map(Vec::as_slice).unwrap_or_default());
                end = automaton.shorter(end);
            }
            tokens.sort_unstable();
            tokens.dedup();
            all.push(tokens);
        }
        Self { automaton, completing: all }
    }

    fn completing(&self, state: usize) -> &[TokenId] {
        self.completing.get(state).map(Vec::as_slice).unwrap_or_default()
    }
}

/// Returns whether one of the automaton's texts is in `bytes`.
fn contains(automaton: &Automaton<u8>, bytes: &[u8]) -> bool {
    let mut state = 0;
    for &byte in bytes {
        state = automaton.step(state, byte);
        if automaton.is_end(state) {
            return true;
        }
    }
    false
}

/// What is missing of a text after each of its beginnings, by the first byte.
struct Rests<'a> {
    by_first: Vec<Vec<(&'a [u8], usize)>>,
}

impl<'a> Rests<'a> {
    fn new(texts: &'a [String], automaton: &Automaton<u8>) -> Self {
        let mut by_first = vec![Vec::new(); 1 << u8::BITS];
        for text in texts {
            let mut state = 0;
            for (at, &byte) in text.as_bytes().iter().enumerate() {
                let rest = text.as_bytes().get(at..).unwrap_or_default();
                if state != 0
                    && let Some(rests) = by_first.get_mut(usize::from(byte))
                {
                    rests.push((rest, state));
                }
                state = automaton.step(state, byte);
            }
        }
        Self { by_first }
    }

    /// Returns the states in which a token completes a text.
    fn completed_by(&self, token: &[u8]) -> impl Iterator<Item = usize> {
        let first = token.first().map_or(0, |&byte| usize::from(byte));
        let rests = self.by_first.get(first).map(Vec::as_slice).unwrap_or_default();
        rests.iter().filter(move |(rest, _)| token.starts_with(rest)).map(|(_, state)| *state)
    }
}

#[cfg(test)]
mod tests {
    use super::{ExcludedTexts, Exclusion, TextMasks};
    use alloquy_core::tokenizer::{TokenId, Tokenizer};
    use alloquy_testing::{ByteTokenizer, Draws};

    fn exclusion(texts: &[&str], tokenizer: &ByteTokenizer) -> Exclusion {
        let mut excluded = ExcludedTexts::default();
        excluded.texts = texts.iter().map(|text| (*text).to_owned()).collect();
        TextMasks::default().exclusion(excluded, tokenizer, tokenizer.vocabulary())
    }

    fn excluded(exclusion: &Exclusion, tokenizer: &ByteTokenizer) -> Vec<TokenId> {
        let mut logits = vec![0.0; tokenizer.vocabulary()];
        exclusion.mask(&mut logits);
        (0..).zip(logits).filter(|(_, logit)| *logit < 0.0).map(|(id, _)| id).collect()
    }

    /// Compares with the definition: a token is excluded if the text with it contains one of the texts after the last byte so far.
    #[test]
    fn a_token_is_excluded_if_and_only_if_it_completes_a_text() {
        let tokenizer = ByteTokenizer::new(["ab", "ba", "aab", "b", "xaba", "abab", ""]);
        let texts = ["abab", "ba", "xa", "aabb"];
        let mut draws = Draws::default();
        let mut excluded_once = 0;
        for length in 0..400 {
            let mut exclusion = exclusion(&texts, &tokenizer);
            let mut text = String::new();
            for _ in 0..length % 9 {
                let token = [97, 98, 120, 256, 257, 258, 259][draws.below(7)];
                exclusion.accept(token, &tokenizer);
                text += &String::from_utf8(tokenizer.bytes(token).unwrap()).unwrap();
            }
            let found = excluded(&exclusion, &tokenizer);
            for token in 0..tokenizer.vocabulary() as TokenId {
                let Ok(added) = String::from_utf8(tokenizer.bytes(token).unwrap()) else { continue };
                let whole = format!("{text}{added}");
                let completes = texts.iter().any(|excluded| {
                    whole.match_indices(excluded).any(|(at, _)| at + excluded.len() > text.len())
                        || (0..whole.len())
                            .any(|at| whole[at..].starts_with(excluded) && at + excluded.len() > text.len())
                });
                assert_eq!(found.contains(&token), completes, "{token} ({added:?}) after {text:?}");
                excluded_once += usize::from(completes);
            }
        }
        assert!(excluded_once > 100, "{excluded_once}");
    }
}
