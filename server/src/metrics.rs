//! The metrics of one server, in the text form of OpenMetrics, which Prometheus reads.
//!
//! The names are those of OpenTelemetry's semantic conventions as Prometheus spells them: `gen_ai.server.request.duration` in seconds is
//! `gen_ai_server_request_duration_seconds`. No label has an id, an owner or a text: models are those that are served, routes are
//! patterns, and errors are kinds, so that the number of series is bounded.

mod calls;
mod embeddings;
mod labels;
mod measured;
mod present;
mod snapshots;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use alloquy_core::report::{CacheReport, Usage};
use prometheus_client::encoding::text::{encode_eof, encode_registry};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};

pub(crate) use calls::MeasuredCalls;
pub(crate) use embeddings::MeasuredEmbedding;
pub(crate) use present::{Present, PresentModel};

use labels::{CallLabels, MissLabels, ModelLabels, RouteLabels, SnapshotLabels};

/// The operation of models that answer.
const CHAT: &str = "chat";
/// The operation of models of vectors.
const EMBEDDINGS: &str = "embeddings";

/// The limits of the buckets of a call's seconds, as the conventions have them.
const CALL_SECONDS: [f64; 14] =
    [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];
/// The same of the seconds before the first token.
const FIRST_SECONDS: [f64; 16] =
    [0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0];
/// The same of the seconds of each further token.
const TOKEN_SECONDS: [f64; 13] = [0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 2.5];
/// The same of the seconds of an HTTP request. The last ones are for streams.
const REQUEST_SECONDS: [f64; 16] =
    [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 40.0, 80.0, 160.0, 320.0];

/// The metrics of one server. Copies share the numbers, and two servers of one process share none.
#[derive(Clone)]
pub(crate) struct Metrics(Arc<Numbers>);

/// What is counted, and the registry that writes it.
struct Numbers {
    registry: Registry,
    http_seconds: Family<RouteLabels, Histogram>,
    http_active: Gauge,
    call_seconds: Family<CallLabels, Histogram>,
    first_seconds: Family<ModelLabels, Histogram>,
    token_seconds: Family<ModelLabels, Histogram>,
    input: Family<ModelLabels, Counter>,
    cached: Family<ModelLabels, Counter>,
    output: Family<ModelLabels, Counter>,
    thinking: Family<ModelLabels, Counter>,
    misses: Family<MissLabels, Counter>,
    refusals: Counter,
    snapshots: Family<SnapshotLabels, Counter>,
    restored: Family<ModelLabels, Counter>,
}

impl fmt::Debug for Metrics {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Metrics").finish_non_exhaustive()
    }
}

impl Metrics {
    /// Metrics of zero.
    pub(crate) fn new() -> Self {
        let mut registry = Registry::default();
        let version = Info::new([("version", env!("CARGO_PKG_VERSION"))]);
        registry.register("alloquy_build", "The version of the program", version);
        let mut numbers = Numbers::new();
        numbers.register_requests(&mut registry);
        numbers.register_calls(&mut registry);
        numbers.registry = registry;
        Self(Arc::new(numbers))
    }

    /// Notes that an HTTP request began.
    pub(crate) fn http_began(&self) {
        self.0.http_active.inc();
    }

    /// Notes that an HTTP request ended, or that its client left.
    pub(crate) fn http_ended(&self, method: &str, route: &str, status: u16, took: Duration) {
        self.0.http_active.dec();
        let labels = RouteLabels {
            http_request_method: method.to_owned(),
            http_route: route.to_owned(),
            http_response_status_code: status,
        };
        self.0.http_seconds.get_or_create(&labels).observe(took.as_secs_f64());
    }

    /// Notes that a request was refused because the queue was full or slow.
    pub(crate) fn refused(&self) {
        self.0.refusals.inc();
    }

    /// Notes that a model call ended; `error` is why it failed.
    fn call_ended(&self, operation: &'static str, model: &str, error: Option<&'static str>, took: Duration) {
        let labels = CallLabels {
            gen_ai_operation_name: operation,
            gen_ai_provider_name: "alloquy",
            gen_ai_request_model: model.to_owned(),
            error_type: error.unwrap_or_default(),
        };
        self.0.call_seconds.get_or_create(&labels).observe(took.as_secs_f64());
    }

    /// Notes the time before the first token of a reply.
    fn first_token(&self, model: &str, took: Duration) {
        self.0.first_seconds.get_or_create(&ModelLabels::of(model)).observe(took.as_secs_f64());
    }

    /// Notes the time of each token after the first one.
    fn further_tokens(&self, model: &str, took: Duration, tokens: usize) {
        #[allow(clippy::cast_precision_loss, reason = "a reply has fewer than 2^52 tokens")]
        let seconds = took.as_secs_f64() / tokens as f64;
        self.0.token_seconds.get_or_create(&ModelLabels::of(model)).observe(seconds);
    }

    /// Counts the tokens of a call, and why a part of its prompt was computed again.
    fn used(&self, model: &str, usage: Usage, cache: Option<CacheReport>) {
        let labels = ModelLabels::of(model);
        self.0.input.get_or_create(&labels).inc_by(number(usage.prompt));
        self.0.cached.get_or_create(&labels).inc_by(number(usage.cached));
        self.0.output.get_or_create(&labels).inc_by(number(usage.generated));
        self.0.thinking.get_or_create(&labels).inc_by(number(usage.thinking));
        if let Some(miss) = cache.and_then(|cache| cache.miss) {
            self.0.misses.get_or_create(&MissLabels::of(model, miss)).inc();
        }
    }

    /// Returns all metrics as text.
    pub(crate) fn text(&self, present: &Present) -> Result<String, fmt::Error> {
        let mut text = String::new();
        encode_registry(&mut text, &self.0.registry)?;
        encode_registry(&mut text, &present.registry())?;
        encode_eof(&mut text)?;
        Ok(text)
    }
}

impl Numbers {
    fn new() -> Self {
        Self {
            registry: Registry::default(),
            http_seconds: Family::new_with_constructor(|| Histogram::new(REQUEST_SECONDS)),
            http_active: Gauge::default(),
            call_seconds: Family::new_with_constructor(|| Histogram::new(CALL_SECONDS)),
            first_seconds: Family::new_with_constructor(|| Histogram::new(FIRST_SECONDS)),
            token_seconds: Family::new_with_constructor(|| Histogram::new(TOKEN_SECONDS)),
            input: Family::default(),
            cached: Family::default(),
            output: Family::default(),
            thinking: Family::default(),
            misses: Family::default(),
            refusals: Counter::default(),
            snapshots: Family::default(),
            restored: Family::default(),
        }
    }

    fn register_requests(&self, registry: &mut Registry) {
        let help = "How long HTTP requests took, up to the last byte of the response";
        let name = "http_server_request_duration";
        registry.register_with_unit(name, help, Unit::Seconds, self.http_seconds.clone());
        let help = "HTTP requests that are being answered";
        registry.register("http_server_active_requests", help, self.http_active.clone());
        let help = "Requests that were refused because too many waited, or waited for too long";
        registry.register("alloquy_queue_refusals", help, self.refusals.clone());
    }

    fn register_calls(&self, registry: &mut Registry) {
        let help = "How long model calls took, up to the last token";
        let name = "gen_ai_server_request_duration";
        registry.register_with_unit(name, help, Unit::Seconds, self.call_seconds.clone());
        let help = "How long the first token of a reply took";
        let name = "gen_ai_server_time_to_first_token";
        registry.register_with_unit(name, help, Unit::Seconds, self.first_seconds.clone());
        let help = "How long each further token of a reply took";
        let name = "gen_ai_server_time_per_output_token";
        registry.register_with_unit(name, help, Unit::Seconds, self.token_seconds.clone());
        let help = "Tokens of prompts, with those that were cached";
        registry.register("gen_ai_usage_input_tokens", help, self.input.clone());
        let help = "Tokens of prompts that were cached";
        registry.register("gen_ai_usage_cache_read_input_tokens", help, self.cached.clone());
        let help = "Tokens of replies, with those of thinking";
        registry.register("gen_ai_usage_output_tokens", help, self.output.clone());
        let help = "Tokens of replies that are thinking";
        registry.register("gen_ai_usage_reasoning_output_tokens", help, self.thinking.clone());
        let help = "Prompts of which a part was computed again, by the reason";
        registry.register("alloquy_cache_misses", help, self.misses.clone());
        let help =
            "Snapshots of conversations that were restored, refused, saved or not saved, by the reason";
        registry.register("alloquy_snapshots", help, self.snapshots.clone());
        let help = "Tokens of snapshots that were restored";
        registry.register("alloquy_snapshot_restored_tokens", help, self.restored.clone());
    }
}

fn number(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}
