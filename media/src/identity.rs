//! The identity of a media processor: processors with the same identity compute the same tensors.

use std::fmt::Debug;

use alloquy_core::media::Digest;
use alloquy_core::model_info::ModelInfo;

/// The description files that decide on media.
const FILES: [&str; 5] = [
    "config.json",
    "genai_config.json",
    "preprocessor_config.json",
    "processor_config.json",
    "video_preprocessor_config.json",
];

/// Returns the identity of a processor that was made of a model's description files.
///
/// It includes the options as `Debug` prints them, so that no later option is forgotten. It includes the version, because another
/// version of a decoder may compute other numbers.
pub(crate) fn identity(of: &str, model: &ModelInfo, options: &impl Debug) -> Digest {
    let version = env!("CARGO_PKG_VERSION");
    let model_type = model.model_type.as_deref().unwrap_or_default();
    let mut lines = vec![format!("alloquy {version}: {of} for {model_type:?}, {options:?}")];
    let files = FILES.iter().filter_map(|name| Some((name, model.files.get(*name)?)));
    lines.extend(files.map(|(name, text)| format!("{name} {}", Digest::of(text.as_bytes()))));
    lines.extend(model.specials.iter().map(|special| format!("{} {:?}", special.id, special.text)));
    Digest::of(lines.join("\n").as_bytes())
}
