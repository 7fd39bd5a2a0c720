//! Which family reads a model's replies: the one that was named, or the one that claims the model.

use std::sync::Arc;

use alloquy_core::{DataProcessor, ModelInfo, Result};
use alloquy_processors::DataProcessorConfig;

/// The family that takes replies as they are.
pub(super) const GENERIC: &str = "generic";

/// A processor and how it was chosen.
#[derive(Debug)]
pub(super) struct Family {
    pub(super) processor: Arc<dyn DataProcessor>,
    /// No family claims the model and none was named.
    pub(super) fallback: bool,
}

impl Family {
    pub(super) fn choose(
        named: Option<&str>,
        model: &ModelInfo,
        config: &DataProcessorConfig,
    ) -> Result<Self> {
        if let Some(name) = named {
            let processor = alloquy_processors::named_with(name, model, config)?;
            return Ok(Self { processor, fallback: false });
        }
        let detected = alloquy_processors::detect_with(model, config)?;
        Ok(Self { processor: detected.processor, fallback: detected.fallback })
    }
}
