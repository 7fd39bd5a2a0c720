//! Finds sequences of tokens that end a reply.

use alloquy_core::tokenizer::TokenId;

use super::automaton::Watch;

/// Watches tokens for the first of several sequences, and holds back only what may still become one.
///
/// The first one is the one that ends first. Of several with the same end, it is the longest.
///
/// ```
/// use alloquy_inference::StopTokens;
///
/// let mut stops = StopTokens::new([vec![7, 8, 9]]);
/// assert_eq!(stops.push(7), (vec![], false));
/// assert_eq!(stops.push(7), (vec![7], false));
/// assert_eq!(stops.push(8), (vec![], false));
/// assert_eq!(stops.push(9), (vec![], true));
/// ```
#[derive(Clone, Debug)]
pub struct StopTokens {
    watch: Watch<TokenId>,
}

impl Default for StopTokens {
    fn default() -> Self {
        Self::new([])
    }
}

impl StopTokens {
    /// Watches for `sequences`. Empty ones are ignored, because they would match anywhere.
    pub fn new(sequences: impl IntoIterator<Item = Vec<TokenId>>) -> Self {
        let sequences: Vec<_> = sequences.into_iter().collect();
        Self { watch: Watch::new(sequences.iter().map(Vec::as_slice)) }
    }

    /// Adds a token. Returns the tokens that are certainly part of the reply, and whether a sequence ended it.
    pub fn push(&mut self, token: TokenId) -> (Vec<TokenId>, bool) {
        let mut settled = Vec::new();
        let found = self.watch.push(&[token], &mut settled);
        (settled, found.is_some())
    }

    /// Returns how many tokens are held back.
    pub fn held(&self) -> usize {
        self.watch.held()
    }

    /// Returns the tokens that were held back, for a reply that ended without a sequence.
    pub fn finish(&mut self) -> Vec<TokenId> {
        self.watch.finish()
    }
}
