//! The function that receives each step of opening.

use std::fmt;
use std::sync::Arc;

/// The function that receives each step of opening.
#[derive(Clone, Default)]
pub(super) struct Listener(Option<Arc<Report>>);

type Report = dyn Fn(&str) + Send + Sync;

impl Listener {
    pub(super) fn new(listener: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(listener)))
    }

    #[cfg(feature = "onnx")]
    pub(super) fn report(&self, step: &str) {
        if let Some(listener) = &self.0 {
            listener(step);
        }
    }
}

impl fmt::Debug for Listener {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Listener").field(&self.0.is_some()).finish()
    }
}
