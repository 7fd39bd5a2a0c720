//! What a cache is run with.

use ort::session::RunOptions;

use crate::row::Row;

/// What is computed at once.
pub(crate) struct Run<'a> {
    /// What is fed; what the cache holds beyond the positions before it is forgotten.
    pub(crate) row: Row<'a>,
    /// How many of the last logits are wanted; a graph may compute fewer.
    pub(crate) rows: usize,
    /// What ends it, where somebody may.
    pub(crate) options: Option<&'a RunOptions>,
}
