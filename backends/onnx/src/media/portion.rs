//! A range of the positions of media: their numbers and their features.

use super::reader::Shown;

/// A range of the positions of media.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Portion<'a> {
    pub(crate) shown: &'a Shown,
    /// The first position of the range.
    pub(crate) start: usize,
    /// The number that the first position of the media has.
    pub(crate) base: i64,
}

impl Portion<'_> {
    /// Returns the number of one of the positions on one of the axes.
    pub(crate) fn number(&self, axis: usize, index: usize) -> i64 {
        self.base + self.shown.passage.number(axis, self.start + index)
    }

    /// Returns the feature at a position, if there is one.
    pub(crate) fn feature(&self, index: usize) -> Option<usize> {
        self.shown.passage.feature(self.start + index)
    }

    /// Returns the numbers of the feature at a position for an input: the embeddings, or one of those after the first layers.
    pub(crate) fn values(&self, index: usize, of: &str, width: usize) -> Option<&[f32]> {
        let start = self.feature(index)? * width;
        self.shown.encoded.values(of)?.get(start..start + width)
    }
}
