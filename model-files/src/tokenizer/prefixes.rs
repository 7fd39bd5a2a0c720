//! Finds the texts of a list that a text begins with.

use alloquy_core::tokenizer::TokenId;

/// A list of texts with their tokens, in the order of their bytes.
#[derive(Debug, Default)]
pub(super) struct Prefixes {
    sorted: Vec<(Box<[u8]>, TokenId)>,
}

impl Prefixes {
    pub(super) fn of<'a>(texts: impl Iterator<Item = (&'a str, TokenId)>) -> Self {
        let mut sorted: Vec<_> = texts.map(|(text, id)| (Box::from(text.as_bytes()), id)).collect();
        sorted.sort();
        Self { sorted }
    }

    /// Calls `found` with the length and the token of each listed text that `text` begins with, the shortest first.
    pub(super) fn each(&self, text: &[u8], mut found: impl FnMut(usize, TokenId)) {
        // The texts that share the first `depth` bytes with `text` are neighbours, and the shortest of them is the first.
        let mut shared = self.sorted.as_slice();
        for (depth, byte) in text.iter().enumerate() {
            let start =
                shared.partition_point(|(listed, _)| listed.get(depth).is_none_or(|other| other < byte));
            let end =
                shared.partition_point(|(listed, _)| listed.get(depth).is_none_or(|other| other <= byte));
            shared = shared.get(start..end).unwrap_or_default();
            match shared.first() {
                None => return,
                Some((listed, id)) if listed.len() == depth + 1 => found(depth + 1, *id),
                Some(_) => {}
            }
        }
    }

    /// Returns the length and the token of the longest listed text that `text` begins with.
    pub(super) fn longest(&self, text: &[u8]) -> Option<(usize, TokenId)> {
        let mut longest = None;
        self.each(text, |length, id| longest = Some((length, id)));
        longest
    }
}
