//! What is looked up when the metrics are read.

use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};

use super::labels::ModelLabels;

/// What is looked up when the metrics are read.
pub(crate) struct Present {
    /// Requests that have a place.
    pub(crate) running: usize,
    /// Requests that wait for one.
    pub(crate) waiting: usize,
    pub(crate) models: Vec<PresentModel>,
}

/// A model when the metrics are read.
pub(crate) struct PresentModel {
    pub(crate) name: String,
    pub(crate) is_loaded: bool,
    /// The bytes that it takes once it is loaded.
    pub(crate) memory: u64,
}

impl Present {
    /// Returns a registry of these numbers alone: two readers at once share none, and a model that is served no longer has no series.
    pub(super) fn registry(&self) -> Registry {
        let mut registry = Registry::default();
        let help = "Requests that have a place";
        registry.register("alloquy_requests_running", help, gauge(self.running));
        let help = "Requests that wait for a place";
        registry.register("alloquy_requests_waiting", help, gauge(self.waiting));
        let loaded = Family::<ModelLabels, Gauge>::default();
        let memory = Family::<ModelLabels, Gauge>::default();
        for model in &self.models {
            let labels = ModelLabels::of(&model.name);
            loaded.get_or_create(&labels).set(i64::from(model.is_loaded));
            let bytes = if model.is_loaded { model.memory } else { 0 };
            memory.get_or_create(&labels).set(i64::try_from(bytes).unwrap_or(i64::MAX));
        }
        let help = "1 for a model that is in memory, 0 for another one";
        registry.register("alloquy_model_loaded", help, loaded);
        let help = "The size of the files of a model that is in memory";
        registry.register_with_unit("alloquy_model_memory", help, Unit::Bytes, memory);
        registry
    }
}

fn gauge(count: usize) -> Gauge {
    let gauge = Gauge::default();
    gauge.set(i64::try_from(count).unwrap_or(i64::MAX));
    gauge
}
