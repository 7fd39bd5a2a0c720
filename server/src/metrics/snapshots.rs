//! The counts of snapshots of conversations.

use super::labels::{ModelLabels, SnapshotLabels};
use super::{Metrics, number};

impl Metrics {
    /// Notes that a snapshot was restored before a call of a model.
    pub(crate) fn snapshot_restored(&self, model: &str, tokens: usize) {
        self.0.snapshots.get_or_create(&SnapshotLabels::of(model, "restored", "")).inc();
        self.0.restored.get_or_create(&ModelLabels::of(model)).inc_by(number(tokens));
    }

    /// Notes that a snapshot was not restored, and why.
    pub(crate) fn snapshot_refused(&self, model: &str, reason: &'static str) {
        self.0.snapshots.get_or_create(&SnapshotLabels::of(model, "refused", reason)).inc();
    }

    /// Notes that a snapshot was saved, or why it was not.
    pub(crate) fn snapshot_saved(&self, model: &str, problem: Option<&'static str>) {
        let outcome = if problem.is_some() { "not_saved" } else { "saved" };
        let labels = SnapshotLabels::of(model, outcome, problem.unwrap_or_default());
        self.0.snapshots.get_or_create(&labels).inc();
    }
}
