//! The arguments of a run.

use ort::session::RunOptions;

use crate::row::Row;

/// One run of a graph for one session.
pub(crate) struct Run<'a> {
    /// The tokens. Positions of the cache from `row.cached` on are discarded first.
    pub(crate) row: Row<'a>,
    /// The number of last tokens whose logits are wanted; a graph may compute fewer.
    pub(crate) rows: usize,
    /// The options through which the run can be ended; `None` for a run that cannot be ended.
    pub(crate) options: Option<&'a RunOptions>,
}
