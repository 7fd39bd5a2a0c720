//! What the program writes about itself on standard error: its traces, and the log of a server.

#[cfg(feature = "otlp")]
mod collector;
mod part;

use alloquy::core::Result;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer as _};

use crate::arguments::LogFormat;
use crate::screen;
#[cfg(feature = "otlp")]
pub(crate) use collector::follow;
use part::Part;

/// The log, until the program ends.
#[derive(Debug)]
pub(crate) struct Log {
    #[cfg(feature = "otlp")]
    _collector: Option<collector::Collector>,
}

/// Begins to write traces, at the level of `-v` or of `RUST_LOG`. Those of a server are its log, which has this form.
///
/// # Errors
/// Those of the collector that the environment names.
pub(crate) fn begin(verbose: u8, server: Option<LogFormat>) -> Result<Log> {
    let level = match verbose {
        0 if server.is_some() => "warn,alloquy_server=info",
        0 => "off",
        1 => "warn,alloquy=info",
        2 => "info,alloquy=debug",
        _ => "trace",
    };
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(level));
    #[cfg_attr(not(feature = "otlp"), allow(unused_mut, reason = "the collector is a further part"))]
    let mut parts = vec![written(server.unwrap_or_default()).with_filter(filter).boxed()];
    #[cfg(feature = "otlp")]
    let collector = server.map_or(Ok(None), |_| collector::Collector::of_environment())?;
    #[cfg(feature = "otlp")]
    if let Some(collector) = &collector {
        parts.push(collector.part());
    }
    tracing_subscriber::registry().with(parts).init();
    Ok(Log {
        #[cfg(feature = "otlp")]
        _collector: collector,
    })
}

/// Returns the part on standard error. A server whose log nothing reads any longer serves on: what cannot be written is not reported
/// where that fails too.
fn written(format: LogFormat) -> Part {
    // `screen` would remove the colors anyway.
    let lines = tracing_subscriber::fmt::layer().with_ansi(false).log_internal_errors(false);
    match format {
        LogFormat::Text => lines.with_writer(screen::err).without_time().boxed(),
        LogFormat::Json => lines.json().with_writer(screen::err_of_json).boxed(),
    }
}
