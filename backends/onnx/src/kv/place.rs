//! Where a cache lies: in which batch, in which row.

use std::sync::Arc;

use super::batch::Batch;

/// One row of a batch.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) batch: Arc<Batch>,
    pub(super) row: usize,
}
