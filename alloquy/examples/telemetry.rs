//! Exports a span for each call of a model to a collector of OpenTelemetry, by OTLP as JSON over HTTP.
//!
//! Start a collector, then: `OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4318 cargo run --example telemetry`.

use alloquy::guards::counters::Counters;
use alloquy::guards::spans::Spans;
use alloquy::prelude::*;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig as _};
use opentelemetry_sdk::trace::SdkTracerProvider;
use tracing_subscriber::layer::SubscriberExt as _;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let endpoint = std::env::var("OTEL_EXPORTER_OTLP_ENDPOINT").unwrap_or("http://localhost:4318".to_owned());
    let counters = traced(&endpoint)?;
    println!("{:#?}", counters.read());
    Ok(())
}

/// Has a conversation whose calls are spans at the collector, and returns what was counted.
pub(crate) fn traced(endpoint: &str) -> Result<Counters, Box<dyn std::error::Error>> {
    // The client wants a library for encryption, also where the collector is reached without. It may be chosen once.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let exporter = SpanExporter::builder()
        .with_http()
        .with_protocol(Protocol::HttpJson)
        .with_endpoint(format!("{endpoint}/v1/traces"))
        .build()?;
    // Each span is sent when it ends. A server sends several at once: `with_batch_exporter`.
    let provider = SdkTracerProvider::builder().with_simple_exporter(exporter).build();
    let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("alloquy"));
    let subscriber = tracing_subscriber::registry().with(layer);
    let counters = Counters::new("pocket");
    let counting = counters.clone();
    tracing::subscriber::with_default(subscriber, || converse(counting))?;
    provider.shutdown()?;
    Ok(counters)
}

/// Asks twice, so that the second prompt is partly cached.
fn converse(counters: Counters) -> Result<()> {
    // Spans and counters are the outermost guards: they see what each of the others makes of a call.
    let spans = Spans::new("pocket").provider("alloquy");
    let manager = Model::pocket()?.manager().middleware(spans).middleware(counters).build()?;
    let conversation = pollster::block_on(manager.create(Preface::default()))?;
    for question in ["What is the capital of Norway?", "And of Portugal?"] {
        println!("{}", conversation.ask(question)?.text());
    }
    Ok(())
}
