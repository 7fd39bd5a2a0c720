//! A collector of OpenTelemetry, which receives the spans of a server.

use std::collections::HashMap;
use std::env;
use std::io::Write as _;

use alloquy::core::{Error, ErrorKind, Result};
use alloquy_server::ClientTrace;
use opentelemetry::propagation::TextMapPropagator as _;
use opentelemetry::trace::{TraceContextExt as _, TracerProvider as _};
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tracing_opentelemetry::OpenTelemetrySpanExt as _;
use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::{LevelFilter, Targets};

use super::part::Part;
use crate::screen;

/// The headers of the trace to which a request belongs.
const TRACE_PARENT: &str = "traceparent";
const TRACE_STATE: &str = "tracestate";
/// The variables that name the address of a collector.
const ADDRESSES: [&str; 2] = ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"];
/// The variable of the name under which the spans are shown.
const NAME: &str = "OTEL_SERVICE_NAME";
/// The crates whose spans are exported: those of requests, and those of model calls.
const SOURCES: [&str; 2] = ["alloquy_server", "alloquy_guards"];

/// A collector, to which the last spans are sent when it is dropped.
#[derive(Debug)]
pub(super) struct Collector(SdkTracerProvider);

impl Collector {
    /// Returns the collector that the environment names, if it names one.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for an address that cannot be.
    pub(super) fn of_environment() -> Result<Option<Self>> {
        let is_named = ADDRESSES.iter().any(|name| env::var(name).is_ok_and(|address| !address.is_empty()));
        if !is_named {
            return Ok(None);
        }
        // The client wants a library for encryption, also where the collector is reached without. Another part of the program may
        // have chosen it already, which is the same one.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let exporter = SpanExporter::builder().with_http().with_protocol(Protocol::HttpJson).build();
        let exporter = exporter.map_err(|source| {
            let message = format!(
                "the collector of spans cannot be used: set {} to its address, such as http://localhost:4318",
                ADDRESSES.join(" or ")
            );
            Error::new(ErrorKind::Invalid, message).with_source(source)
        })?;
        let mut resource = Resource::builder();
        if env::var_os(NAME).is_none() {
            resource = resource.with_service_name("alloquy");
        }
        let provider = SdkTracerProvider::builder()
            .with_resource(resource.build())
            .with_batch_exporter(exporter)
            .build();
        Ok(Some(Self(provider)))
    }

    /// Returns the part of the log that goes to the collector, whatever is written on standard error.
    pub(super) fn part(&self) -> Part {
        let sources = SOURCES.map(|name| (name, LevelFilter::INFO));
        let layer = tracing_opentelemetry::layer().with_tracer(self.0.tracer("alloquy"));
        layer.with_filter(Targets::new().with_targets(sources)).boxed()
    }
}

/// Makes the span of a request a child of the one that its client names. What is no name of a span changes nothing.
pub(crate) fn follow(span: &tracing::Span, trace: &ClientTrace) {
    let mut headers = HashMap::from([(TRACE_PARENT.to_owned(), trace.parent().to_owned())]);
    if let Some(state) = trace.state() {
        headers.insert(TRACE_STATE.to_owned(), state.to_owned());
    }
    let context = TraceContextPropagator::new().extract(&headers);
    if !context.span().span_context().is_valid() {
        return;
    }
    if let Err(error) = span.set_parent(context) {
        tracing::debug!(%error, "the trace of a client is not followed");
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        if let Err(error) = self.0.shutdown() {
            // Standard error may be gone, and there is nowhere else to report it.
            let _ = writeln!(screen::err(), "the last spans did not reach the collector: {error}");
        }
    }
}
