//! Which family a model belongs to. Knows the table of families, not what they do.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use alloquy_core::{DataProcessor, Error, ErrorKind, ModelInfo, Result};

use crate::families::{FALLBACK, FAMILIES};
use crate::family::Family;
use crate::processor::FamilyProcessor;

/// The processor of a model, and how it was found.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Detected {
    /// The processor.
    pub processor: Arc<dyn DataProcessor>,
    /// No family claims the model, and the processor is the generic one: replies are read as plain text.
    pub fallback: bool,
}

/// Finds the family that claims `model`.
///
/// ```
/// use alloquy_core::ModelInfo;
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
    let claiming = FAMILIES.iter().copied().find(|family| (family.detect)(model));
    let family = claiming.unwrap_or(&FALLBACK);
    Detected { processor: processor(family, model), fallback: claiming.is_none() }
}

/// Takes a family by its name, whatever the model says of itself.
///
/// Some families give their templates what these look for. They look into the model's own, so whoever renders with
/// another puts its source into `model.files` as `chat_template.jinja`.
///
/// # Errors
/// [`ErrorKind::NotFound`] for an unknown name; the sentence lists the known ones.
///
/// ```
/// use alloquy_core::ModelInfo;
///
/// let processor = alloquy_processors::named("vicuna", &ModelInfo::default())?;
/// assert_eq!(processor.name(), "vicuna");
///
/// let error = alloquy_processors::named("qwen9", &ModelInfo::default()).unwrap_err();
/// assert!(error.to_string().starts_with("unknown family \"qwen9\", one of: "));
/// # Ok::<(), alloquy_core::Error>(())
/// ```
pub fn named(name: &str, model: &ModelInfo) -> Result<Arc<dyn DataProcessor>> {
    Ok(processor(family_named(name)?, model))
}

pub(crate) fn family_named(name: &str) -> Result<&'static Family> {
    let known = FAMILIES.iter().copied().find(|family| family.name == name);
    known.ok_or_else(|| {
        let names: Vec<_> = families().collect();
        let message = format!("unknown family {name:?}, one of: {}", names.join(", "));
        Error::new(ErrorKind::NotFound, message)
    })
}

/// Returns the names of all families, in alphabetic order.
///
/// ```
/// assert!(alloquy_processors::families().any(|name| name == "gemma3"));
/// ```
pub fn families() -> impl Iterator<Item = &'static str> {
    FAMILIES.iter().map(|family| family.name)
}

fn processor(family: &'static Family, model: &ModelInfo) -> Arc<dyn DataProcessor> {
    Arc::new(FamilyProcessor::new(family, model))
}
