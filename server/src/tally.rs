//! What one request cost: its model, and the tokens of all model calls of its turn.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use alloquy_core::report::Usage;

/// What one request cost so far. Copies share the numbers: the turn adds to them, and the line of the log has their sum.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally(Arc<Numbers>);

#[derive(Debug, Default)]
struct Numbers {
    model: OnceLock<Arc<str>>,
    prompt: AtomicUsize,
    cached: AtomicUsize,
    generated: AtomicUsize,
}

impl Tally {
    /// Notes the model that answers.
    pub(crate) fn model(&self, name: &Arc<str>) {
        self.0.model.get_or_init(|| Arc::clone(name));
    }

    /// Adds the tokens of a model call.
    pub(crate) fn add(&self, usage: Usage) {
        self.0.prompt.fetch_add(usage.prompt, Ordering::Relaxed);
        self.0.cached.fetch_add(usage.cached, Ordering::Relaxed);
        self.0.generated.fetch_add(usage.generated, Ordering::Relaxed);
    }

    /// Returns the model, where one was asked.
    pub(crate) fn model_name(&self) -> Option<&str> {
        self.0.model.get().map(|name| &**name)
    }

    /// Returns the tokens of all calls.
    pub(crate) fn usage(&self) -> Usage {
        let mut usage =
            Usage::new(self.0.prompt.load(Ordering::Relaxed), self.0.generated.load(Ordering::Relaxed));
        usage.cached = self.0.cached.load(Ordering::Relaxed);
        usage
    }
}
