//! Finds draft tokens for speculative decoding in the prompt and in the reply so far.
//!
//! Reference: "Prompt Lookup Decoding", Saxena 2023. Summaries, edits of code and tool calls quote their prompt. Such a reply
//! continues as the quoted place does.

use alloquy_core::prompt::PromptUnit;

/// Speculative decoding by prompt lookup: the last tokens are looked up in the prompt and the reply, and the tokens that
/// followed them there are the draft.
///
/// ```text
/// so far:  let total = a + b; ... let total = a
/// matched:                        total = a           the last three tokens
/// draft:                                    + b ;     what followed them before
/// ```
///
/// The draft is computed together with the token before it, in one run of the model. It is kept as far as the same tokens are
/// sampled, so the reply is the same as without a draft, with fewer runs. [`Drafting`](crate::Drafting) decides when there are drafts.
///
/// Only a reply that is generated alone has drafts, because several replies share their runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PromptLookup {
    /// The number of last tokens that must occur earlier in the same order; 0 for no drafts.
    pub matched: usize,
    /// The greatest number of tokens of a draft.
    pub guessed: usize,
}

impl Default for PromptLookup {
    /// Drafts of eight tokens after three known ones.
    fn default() -> Self {
        Self { matched: 3, guessed: 8 }
    }
}

impl PromptLookup {
    /// Returns the units that followed the latest earlier occurrence of the last units, at most `room` of them.
    pub(super) fn draft(self, units: &[PromptUnit], room: usize) -> Vec<PromptUnit> {
        let Some(border) = units.len().checked_sub(self.matched) else { return Vec::new() };
        let (before, last) = units.split_at(border);
        if last.is_empty() || last.iter().any(is_media) {
            return Vec::new();
        }
        // An occurrence may overlap the last units: after `a a a`, `a` is likely.
        let earlier = units.windows(last.len()).take(before.len());
        let place = earlier.enumerate().rev().find(|(_, window)| *window == last);
        let follows = place.and_then(|(at, _)| units.get(at + last.len()..)).unwrap_or_default();
        let follows = follows.iter().take_while(|unit| !is_media(unit));
        follows.take(self.guessed.min(room)).cloned().collect()
    }
}

/// Returns whether a unit is media.
pub(super) fn is_media(unit: &PromptUnit) -> bool {
    matches!(unit, PromptUnit::Media(_))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloquy_core::tokenizer::TokenId;

    fn draft(tokens: &[TokenId], room: usize) -> Vec<PromptUnit> {
        let units: Vec<_> = tokens.iter().copied().map(PromptUnit::Token).collect();
        PromptLookup { matched: 2, guessed: 3 }.draft(&units, room)
    }

    fn units<const N: usize>(tokens: [TokenId; N]) -> Vec<PromptUnit> {
        tokens.map(PromptUnit::Token).to_vec()
    }

    #[test]
    fn the_latest_occurrence_is_followed() {
        assert_eq!(draft(&[1, 2, 9, 1, 2, 7, 5, 4, 6, 1, 2], 9), units([7, 5, 4]));
        assert_eq!(draft(&[1, 2, 9, 1, 2, 7, 5, 4, 6, 1, 2], 1), units([7]));
        assert_eq!(draft(&[1, 1, 1], 9), units([1]));
        assert_eq!(draft(&[1, 2, 3], 9), []);
        assert_eq!(draft(&[1], 9), []);
    }
}
