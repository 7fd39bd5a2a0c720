//! Chooses the media processor of a model that accepts media.

use std::sync::Arc;

use alloquy_core::Result;
use alloquy_core::model_info::ModelInfo;
use alloquy_engine::media_processor::MediaProcessor;
use alloquy_media::{MediaOptions, MediaProcessors};

/// Returns the media processor that the model's files describe; `None` for a model without media.
pub(super) fn media_processor(
    model: &ModelInfo,
    options: &MediaOptions,
) -> Result<Option<Arc<dyn MediaProcessor>>> {
    let processors = MediaProcessors::with_options(model, options)?;
    Ok(processors.map(|processors| Arc::new(processors) as Arc<dyn MediaProcessor>))
}
