//! The measure of calls of models of vectors.

use std::sync::Arc;
use std::time::Instant;

use alloquy_core::report::Usage;

use super::{EMBEDDINGS, Metrics};
use crate::tally::Tally;

/// A call that is measured when it ends, or when it is dropped.
pub(crate) struct MeasuredEmbedding {
    metrics: Metrics,
    model: Arc<str>,
    tally: Tally,
    start: Instant,
    /// Why the call failed. It counts as dropped until it has ended.
    error: Option<&'static str>,
}

impl MeasuredEmbedding {
    /// Begins to measure a call of a model, by the name under which it is served.
    pub(crate) fn begin(metrics: &Metrics, model: &str, tally: &Tally) -> Self {
        let model = Arc::from(model);
        tally.model(&model);
        let metrics = metrics.clone();
        Self { metrics, model, tally: tally.clone(), start: Instant::now(), error: Some("dropped") }
    }

    /// Notes that the call ended, with the tokens of its texts.
    pub(crate) fn ended(mut self, tokens: usize) {
        self.error = None;
        let usage = Usage::new(tokens, 0);
        self.tally.add(usage);
        self.metrics.used(&self.model, usage, None);
    }

    /// Notes that the call failed.
    pub(crate) fn failed(mut self, error: &'static str) {
        self.error = Some(error);
    }
}

impl Drop for MeasuredEmbedding {
    fn drop(&mut self) {
        self.metrics.call_ended(EMBEDDINGS, &self.model, self.error, self.start.elapsed());
    }
}
