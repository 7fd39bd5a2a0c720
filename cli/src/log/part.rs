//! A part of the log.

use tracing_subscriber::{Layer, Registry};

/// A part of the log: where it goes, and what goes there.
pub(super) type Part = Box<dyn Layer<Registry> + Send + Sync>;
