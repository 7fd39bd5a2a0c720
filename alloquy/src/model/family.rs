//! Chooses the family of a model: the one that was given or named, or the one that claims the model.

use std::path::Path;
use std::sync::Arc;

use alloquy_core::model_info::ModelInfo;
use alloquy_core::processor::DataProcessor;
use alloquy_core::{Error, ErrorKind, Result};
use alloquy_model_files::bounded;
use alloquy_processors::{DataProcessorConfig, Family};

/// The family that reads replies as plain text.
pub(super) const GENERIC: &str = "generic";

/// The largest file of a family, in bytes.
const LONGEST: u64 = 1 << 20;

/// The source of a model's family.
///
/// ```
/// use alloquy::FamilySource;
/// use alloquy::processors::Family;
///
/// let [named, of_file] = ["qwen3", "families/ada.json"].map(FamilySource::from);
/// assert_ne!(named, of_file);
/// assert_eq!(FamilySource::from(Family::new("ada")), FamilySource::Data(Box::new(Family::new("ada"))));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FamilySource {
    /// The name of a [known family](crate::processors::families), or the path of a [`Family`] as JSON.
    Named(String),
    /// A family as data.
    Data(Box<Family>),
}

impl From<&str> for FamilySource {
    fn from(name: &str) -> Self {
        Self::Named(name.to_owned())
    }
}

impl From<String> for FamilySource {
    fn from(name: String) -> Self {
        Self::Named(name)
    }
}

impl From<Family> for FamilySource {
    fn from(family: Family) -> Self {
        Self::Data(Box::new(family))
    }
}

impl FamilySource {
    fn family(&self) -> Result<Family> {
        match self {
            Self::Data(family) => Ok((**family).clone()),
            Self::Named(name) => named(name),
        }
    }
}

/// Returns the known family of a name, else reads the file of that path.
fn named(name: &str) -> Result<Family> {
    let path = Path::new(name);
    let is_known = alloquy_processors::families().any(|known| known == name);
    if is_known || !path.is_file() {
        return Family::named(name).map_err(|error| {
            let is_path = path.extension().is_some_and(|end| end == "json");
            if is_path { error.context(format!("{name:?} is no file")) } else { error }
        });
    }
    let json = bounded::text(path, LONGEST).map_err(|source| {
        Error::new(ErrorKind::Invalid, format!("family {name:?} cannot be read")).with_source(source)
    })?;
    Family::from_json(&json).map_err(|error| error.context(format!("family {name:?}")))
}

/// A family, its processor for a model, and how it was chosen.
#[derive(Debug)]
pub(super) struct ChosenFamily {
    family: Family,
    pub(super) processor: Arc<dyn DataProcessor>,
    /// Whether no family claims the model and none was named.
    pub(super) fallback: bool,
}

impl ChosenFamily {
    pub(super) fn choose(
        source: Option<&FamilySource>,
        model: &ModelInfo,
        config: &DataProcessorConfig,
    ) -> Result<Self> {
        let (family, fallback) = match source {
            Some(source) => (source.family()?, false),
            None => {
                let detected = alloquy_processors::detect(model);
                (Family::named(detected.processor.name())?, detected.fallback)
            }
        };
        Ok(Self { processor: family.processor(model, config)?, family, fallback })
    }

    /// Replaces the processor by the one for a model with another template.
    pub(super) fn with_model(mut self, model: &ModelInfo, config: &DataProcessorConfig) -> Result<Self> {
        self.processor = self.family.processor(model, config)?;
        Ok(self)
    }
}
