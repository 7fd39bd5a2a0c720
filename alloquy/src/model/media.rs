//! What makes tensors of media for a model that takes some.

use std::sync::Arc;

use alloquy_core::Result;
use alloquy_core::model_info::ModelInfo;
use alloquy_engine::media_processor::MediaProcessor;
use alloquy_media::{MediaOptions, MediaProcessors};

/// Chooses by what the model says of itself; `None` for one that takes no media.
pub(super) fn media_processor(
    model: &ModelInfo,
    options: &MediaOptions,
) -> Result<Option<Arc<dyn MediaProcessor>>> {
    let processors = MediaProcessors::with_options(model, options)?;
    Ok(processors.map(|processors| Arc::new(processors) as Arc<dyn MediaProcessor>))
}
