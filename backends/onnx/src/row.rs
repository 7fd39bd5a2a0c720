//! What one row of a run is fed beside its cache.

use alloquy_core::tokenizer::TokenId;

use crate::media::portion::Portion;

/// What one row of a run is fed: tokens behind those that its cache holds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row<'a> {
    pub(crate) tokens: &'a [TokenId],
    pub(crate) held: usize,
    /// What is added to the count of positions before it is a position's number: media may take more positions than
    /// numbers.
    pub(crate) shift: i64,
    /// Of which media the tokens are, if of any.
    pub(crate) media: Option<Portion<'a>>,
}

impl<'a> Row<'a> {
    /// A row of tokens that are not of media.
    pub(crate) fn of_tokens(tokens: &'a [TokenId], held: usize, shift: i64) -> Self {
        Self { tokens, held, shift, media: None }
    }

    /// Returns the number of one of the tokens on one of the axes.
    pub(crate) fn number(&self, axis: usize, index: usize) -> i64 {
        match &self.media {
            None => (self.held + index) as i64 + self.shift,
            Some(media) => media.number(axis, index),
        }
    }
}
