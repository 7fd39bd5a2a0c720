//! Finds the family of a model, and takes families by name.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use alloquy_core::Result;
use alloquy_core::model_info::ModelInfo;
use alloquy_core::processor::DataProcessor;

use crate::built_in::BuiltIn;
use crate::config::DataProcessorConfig;
use crate::families::{self, FALLBACK, FAMILIES};
use crate::processor;

/// The processor of a model, and how it was found.
///
/// [`detect`] has an example.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Detected {
    /// The processor.
    pub processor: Arc<dyn DataProcessor>,
    /// Whether no family claims the model, so that the processor is the generic one, which reads replies as plain text.
    pub fallback: bool,
}

/// Finds the family that claims `model`.
///
/// ```
/// use alloquy_core::model_info::ModelInfo;
///
/// let mut model = ModelInfo::default();
/// model.architecture = Some("Qwen3ForCausalLM".to_owned());
/// let detected = alloquy_processors::detect(&model);
/// assert_eq!((detected.processor.name(), detected.fallback), ("qwen3", false));
///
/// let unknown = alloquy_processors::detect(&ModelInfo::default());
/// assert_eq!((unknown.processor.name(), unknown.fallback), ("generic", true));
/// ```
pub fn detect(model: &ModelInfo) -> Detected {
    let (family, fallback) = claiming(model);
    Detected { processor: processor::of_built_in(family, model), fallback }
}

/// Finds the family that claims `model`, and applies a configuration.
///
/// # Errors
/// As [`named_with`].
///
/// ```
/// use alloquy_core::model_info::ModelInfo;
/// use alloquy_core::processor::Channel;
/// use alloquy_processors::{DataProcessorConfig, detect_with};
///
/// let mut model = ModelInfo::default();
/// model.model_type = Some("qwen3".to_owned());
/// let plan = Channel::new("plan", "<plan>", "</plan>");
/// let detected = detect_with(&model, &DataProcessorConfig::default().channel(plan))?;
/// assert_eq!(detected.processor.channels()[1].name, "plan");
/// # Ok::<(), alloquy_core::Error>(())
/// ```
pub fn detect_with(model: &ModelInfo, config: &DataProcessorConfig) -> Result<Detected> {
    let (family, fallback) = claiming(model);
    Ok(Detected { processor: family.family().processor(model, config)?, fallback })
}

/// Returns the family that claims a model, and whether it is only the fallback.
fn claiming(model: &ModelInfo) -> (&'static BuiltIn, bool) {
    let claiming = FAMILIES.iter().copied().find(|family| (family.detect)(model));
    (claiming.unwrap_or(&FALLBACK), claiming.is_none())
}

/// Takes a family by its name, without looking at the model's architecture.
///
/// Some families adapt the input to the model's own template. To render with another template, put its source into
/// `model.files` as `chat_template.jinja`.
///
/// # Errors
/// [`ErrorKind::NotFound`](alloquy_core::ErrorKind::NotFound) for an unknown name. The message lists the known ones.
///
/// ```
/// use alloquy_core::model_info::ModelInfo;
///
/// let processor = alloquy_processors::named("vicuna", &ModelInfo::default())?;
/// assert_eq!(processor.name(), "vicuna");
///
/// let error = alloquy_processors::named("qwen9", &ModelInfo::default()).unwrap_err();
/// assert!(error.to_string().starts_with("unknown family \"qwen9\", one of: "));
/// # Ok::<(), alloquy_core::Error>(())
/// ```
pub fn named(name: &str, model: &ModelInfo) -> Result<Arc<dyn DataProcessor>> {
    Ok(processor::of_built_in(families::named(name)?, model))
}

/// Takes a family by its name, and applies a configuration.
///
/// # Errors
/// - As [`named`].
/// - [`ErrorKind::Invalid`](alloquy_core::ErrorKind::Invalid) for an empty name or marker, for two channels of one name, and
///   for a marker that has two meanings.
/// - [`ErrorKind::Unsupported`](alloquy_core::ErrorKind::Unsupported) for markers of calls without a syntax, if the family has
///   no calls between markers whose syntax they could take.
///
/// ```
/// use alloquy_core::model_info::ModelInfo;
/// use alloquy_core::processor::Channel;
/// use alloquy_processors::{DataProcessorConfig, named_with};
///
/// let joke = Channel::new("joke", "<think>", "</joke>");
/// let config = DataProcessorConfig::default().channel(joke);
/// let error = named_with("qwen3", &ModelInfo::default(), &config).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     r#"the start of channel "joke", "<think>", is a marker of family "qwen3" too"#
/// );
/// ```
pub fn named_with(
    name: &str,
    model: &ModelInfo,
    config: &DataProcessorConfig,
) -> Result<Arc<dyn DataProcessor>> {
    families::named(name)?.family().processor(model, config)
}

/// Returns the names of all families, in alphabetic order.
///
/// ```
/// assert!(alloquy_processors::families().any(|name| name == "gemma3"));
/// ```
pub fn families() -> impl Iterator<Item = &'static str> {
    FAMILIES.iter().map(|family| family.name)
}
