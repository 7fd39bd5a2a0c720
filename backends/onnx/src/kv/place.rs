//! The place of a cache: a batch and a row in it.

use std::sync::Arc;

use super::batch::Batch;

/// One row of a batch.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) batch: Arc<Batch>,
    pub(super) row: usize,
}
