//! The measure of calls of models of vectors.

use std::sync::Arc;

use alloquy_core::report::Usage;

use super::measured::Measured;
use super::{EMBEDDINGS, Metrics};
use crate::tally::Tally;

/// A call that is measured when it ends, or when it is dropped.
pub(crate) struct MeasuredEmbedding(Measured);

impl MeasuredEmbedding {
    /// Begins to measure a call of a model, by the name under which it is served.
    pub(crate) fn begin(metrics: &Metrics, model: &str, tally: &Tally) -> Self {
        let model = Arc::from(model);
        tally.model(&model);
        Self(Measured::begin(metrics, EMBEDDINGS, &model, tally))
    }

    /// Notes that the call ended, with the tokens of its texts.
    pub(crate) fn ended(mut self, tokens: usize) {
        self.0.set_error(None);
        self.0.used(Usage::new(tokens, 0), None);
    }

    /// Notes that the call failed.
    pub(crate) fn failed(mut self, error: &'static str) {
        self.0.set_error(Some(error));
    }
}
