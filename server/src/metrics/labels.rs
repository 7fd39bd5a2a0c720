//! The labels of metrics. Each has a bounded number of values.

use alloquy_core::report::MissReason;
use prometheus_client::encoding::EncodeLabelSet;
use serde_json::Value;

/// Labels of HTTP requests.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct RouteLabels {
    pub(super) http_request_method: String,
    /// The pattern of the path, such as `/v1/chat/completions/{id}`.
    pub(super) http_route: String,
    pub(super) http_response_status_code: u16,
}

/// Labels of model calls.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct CallLabels {
    pub(super) gen_ai_operation_name: &'static str,
    pub(super) gen_ai_provider_name: &'static str,
    pub(super) gen_ai_request_model: String,
    /// The kind of the error; empty, which Prometheus reads as absent, for a call without one.
    pub(super) error_type: &'static str,
}

/// The label of what is counted by model.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct ModelLabels {
    pub(super) gen_ai_request_model: String,
}

impl ModelLabels {
    pub(super) fn of(model: &str) -> Self {
        Self { gen_ai_request_model: model.to_owned() }
    }
}

/// Labels of prompts of which a part was computed again.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct MissLabels {
    pub(super) gen_ai_request_model: String,
    pub(super) reason: String,
}

/// Labels of what was done with snapshots.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct SnapshotLabels {
    pub(super) gen_ai_request_model: String,
    pub(super) outcome: &'static str,
    /// Why it was not restored or not saved; empty, which Prometheus reads as absent, otherwise.
    pub(super) reason: &'static str,
}

impl SnapshotLabels {
    pub(super) fn of(model: &str, outcome: &'static str, reason: &'static str) -> Self {
        Self { gen_ai_request_model: model.to_owned(), outcome, reason }
    }
}

impl MissLabels {
    pub(super) fn of(model: &str, miss: MissReason) -> Self {
        let reason = match serde_json::to_value(miss) {
            Ok(Value::String(reason)) => reason,
            _ => "other".to_owned(),
        };
        Self { gen_ai_request_model: model.to_owned(), reason }
    }
}
