//! What the measures of all calls share: a call is counted when it ends, or when it is dropped.

use std::sync::Arc;
use std::time::{Duration, Instant};

use alloquy_core::report::{CacheReport, Usage};

use super::Metrics;
use crate::tally::Tally;

/// A call of a model that is measured.
pub(super) struct Measured {
    metrics: Metrics,
    operation: &'static str,
    model: Arc<str>,
    tally: Tally,
    start: Instant,
    /// Why the call failed. It counts as dropped until it has ended.
    error: Option<&'static str>,
}

impl Measured {
    /// Begins to measure a call of a model, by the name under which it is served.
    pub(super) fn begin(metrics: &Metrics, operation: &'static str, model: &Arc<str>, tally: &Tally) -> Self {
        let metrics = metrics.clone();
        let model = Arc::clone(model);
        Self {
            metrics,
            operation,
            model,
            tally: tally.clone(),
            start: Instant::now(),
            error: Some("dropped"),
        }
    }

    /// Notes how the call ended: with an error of this kind, or without one.
    pub(super) fn set_error(&mut self, error: Option<&'static str>) {
        self.error = error;
    }

    /// Counts what the call took.
    pub(super) fn used(&self, usage: Usage, cache: Option<CacheReport>) {
        self.tally.add(usage);
        self.metrics.used(&self.model, usage, cache);
    }

    /// Counts the first token.
    pub(super) fn first_token(&self) {
        self.metrics.first_token(&self.model, self.start.elapsed());
    }

    /// Counts the tokens after the first one.
    pub(super) fn further_tokens(&self, took: Duration, count: usize) {
        self.metrics.further_tokens(&self.model, took, count);
    }
}

impl Drop for Measured {
    fn drop(&mut self) {
        self.metrics.call_ended(self.operation, &self.model, self.error, self.start.elapsed());
    }
}
