//! A range of the positions of media: their numbers and their features.

use super::reader::MediaInput;

/// A range of the positions of media.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MediaChunk<'a> {
    pub(crate) input: &'a MediaInput,
    /// The first position of the range.
    pub(crate) start: usize,
    /// The number that the first position of the media has.
    pub(crate) base: i64,
}

impl MediaChunk<'_> {
    /// Returns the number of one of the positions on one of the axes.
    pub(crate) fn number(&self, axis: usize, index: usize) -> i64 {
        self.base + self.input.positions.number(axis, self.start + index)
    }

    /// Returns the feature at a position, if there is one.
    pub(crate) fn feature(&self, index: usize) -> Option<usize> {
        self.input.positions.feature(self.start + index)
    }

    /// Returns the numbers of the feature at a position for an input: the embeddings, or one of those after the first layers.
    pub(crate) fn values(&self, index: usize, of: &str, width: usize) -> Option<&[f32]> {
        let start = self.feature(index)? * width;
        self.input.encoded.values(of)?.get(start..start + width)
    }
}
