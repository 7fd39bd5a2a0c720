//! Guesses of what comes next, out of what was said before. Draws nothing.
//!
//! Reference: "Prompt Lookup Decoding", Saxena 2023: a reply that quotes its prompt, as summaries, edits of code and calls of
//! tools do, goes on as the place that it quotes.

use alloquy_core::prompt::Unit;

/// How replies are guessed ahead. A guess is computed together with the token before it, and kept where the model draws
/// the same: the tokens are those that come without guessing, in fewer runs of the model.
///
/// Only a reply that is written alone is guessed ahead; several share runs already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PromptLookup {
    /// How many tokens must have been said before in the same order, at least; 0 guesses nothing.
    pub matched: usize,
    /// How many tokens are guessed at most.
    pub guessed: usize,
}

impl Default for PromptLookup {
    /// Eight tokens behind three that were said before.
    fn default() -> Self {
        Self { matched: 3, guessed: 8 }
    }
}

impl PromptLookup {
    /// Returns what followed the last occurrence of the last units of `said`, at most `room` of it.
    pub(super) fn guess(self, said: &[Unit], room: usize) -> Vec<Unit> {
        let Some((before, last)) = said.len().checked_sub(self.matched).map(|border| said.split_at(border))
        else {
            return Vec::new();
        };
        if last.is_empty() || last.iter().any(is_media) {
            return Vec::new();
        }
        let earlier = said.windows(last.len()).take(before.len());
        let place = earlier.enumerate().rev().find(|(_, window)| *window == last);
        let follows = place.and_then(|(at, _)| said.get(at + last.len()..)).unwrap_or_default();
        let follows = follows.iter().take_while(|unit| !is_media(unit));
        follows.take(self.guessed.min(room)).cloned().collect()
    }
}

fn is_media(unit: &Unit) -> bool {
    matches!(unit, Unit::Media(_))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloquy_core::tokenizer::TokenId;

    fn guess(said: &[TokenId], room: usize) -> Vec<Unit> {
        let said: Vec<_> = said.iter().copied().map(Unit::Token).collect();
        PromptLookup { matched: 2, guessed: 3 }.guess(&said, room)
    }

    fn units<const N: usize>(tokens: [TokenId; N]) -> Vec<Unit> {
        tokens.map(Unit::Token).to_vec()
    }

    #[test]
    fn the_last_place_that_was_like_this_one_is_followed() {
        assert_eq!(guess(&[1, 2, 9, 1, 2, 7, 5, 4, 6, 1, 2], 9), units([7, 5, 4]));
        assert_eq!(guess(&[1, 2, 9, 1, 2, 7, 5, 4, 6, 1, 2], 1), units([7]));
        assert_eq!(guess(&[1, 1, 1], 9), units([1]));
        assert_eq!(guess(&[1, 2, 3], 9), []);
        assert_eq!(guess(&[1], 9), []);
    }
}
