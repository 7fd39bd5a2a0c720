//! How a model's makers want it sampled.

use alloquy_core::model_info::ModelInfo;
use alloquy_core::{Result, SamplingOptions};
use alloquy_templates::mlc::{ChatConfig, MLC_CHAT_CONFIG};

/// What MLC's file recommends, where the files that the engine reads recommend nothing. Its stop texts are its
/// template's, which may be another than the one in use.
pub(super) fn recommended(model: &ModelInfo) -> Result<SamplingOptions> {
    let alone = SamplingOptions { stop: Vec::new(), stop_tokens: Vec::new(), ..model.sampling.clone() };
    if !alone.is_empty() {
        return Ok(SamplingOptions::default());
    }
    let told = chat_config(model)?.sampling;
    Ok(SamplingOptions { stop: Vec::new(), stop_tokens: Vec::new(), ..told })
}

/// Reads `mlc-chat-config.json`; what a model says that has none.
pub(super) fn chat_config(info: &ModelInfo) -> Result<ChatConfig> {
    let config = info.files.get(MLC_CHAT_CONFIG).map(|json| ChatConfig::from_json(json)).transpose()?;
    Ok(config.unwrap_or_default())
}
