//! The sampling that a model's authors recommend.

use alloquy_core::model_info::ModelInfo;
use alloquy_core::{Result, SamplingOptions};
use alloquy_templates::mlc::{ChatConfig, MLC_CHAT_CONFIG};

/// Returns the sampling of MLC's file, if the files that the engine reads recommend none.
///
/// The stops of MLC's file are left out: they belong to its template, which may not be the one in use.
pub(super) fn recommended(model: &ModelInfo) -> Result<SamplingOptions> {
    let alone = SamplingOptions { stop: Vec::new(), stop_tokens: Vec::new(), ..model.sampling.clone() };
    if !alone.is_empty() {
        return Ok(SamplingOptions::default());
    }
    let sampling = chat_config(model)?.sampling;
    Ok(SamplingOptions { stop: Vec::new(), stop_tokens: Vec::new(), ..sampling })
}

/// Reads `mlc-chat-config.json`; the default for a model without that file.
pub(super) fn chat_config(info: &ModelInfo) -> Result<ChatConfig> {
    let config = info.files.get(MLC_CHAT_CONFIG).map(|json| ChatConfig::from_json(json)).transpose()?;
    Ok(config.unwrap_or_default())
}
