//! The inputs of one row of a run, other than its cache.

use alloquy_core::tokenizer::TokenId;

use crate::media::media_chunk::MediaChunk;

/// One row of a run: tokens that follow those in its cache.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row<'a> {
    pub(crate) tokens: &'a [TokenId],
    /// How many positions the cache holds.
    pub(crate) cached: usize,
    /// The difference between a position's number and the count of positions before it: media may take more positions
    /// than numbers.
    pub(crate) shift: i64,
    /// The media that the tokens belong to, if any.
    pub(crate) media: Option<MediaChunk<'a>>,
}

impl<'a> Row<'a> {
    /// Makes a row of tokens that belong to no media.
    pub(crate) fn of_tokens(tokens: &'a [TokenId], cached: usize, shift: i64) -> Self {
        Self { tokens, cached, shift, media: None }
    }

    /// Returns how many positions count after the run.
    pub(crate) fn end(&self) -> usize {
        self.cached + self.tokens.len()
    }

    /// Returns the position number of one of the tokens on one of the axes.
    pub(crate) fn number(&self, axis: usize, index: usize) -> i64 {
        match &self.media {
            None => (self.cached + index) as i64 + self.shift,
            Some(media) => media.number(axis, index),
        }
    }
}
