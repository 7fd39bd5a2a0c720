//! Takes a family by name or from JSON, and creates its processor for a model.

use std::sync::Arc;

use alloquy_core::model_info::ModelInfo;
use alloquy_core::processor::DataProcessor;
use alloquy_core::{Error, ErrorKind, Result};

use crate::built_in::BuiltIn;
use crate::config::DataProcessorConfig;
use crate::configured::Configured;
use crate::family::Family;
use crate::{families, processor};

impl Family {
    /// Returns a family of this crate as data, to change or save it.
    ///
    /// ```
    /// use alloquy_processors::Family;
    ///
    /// let mut family = Family::named("qwen3")?;
    /// family.name = "my_qwen".to_owned();
    /// family.stops.push("###".to_owned());
    /// assert_eq!(Family::from_json(&serde_json::to_string(&family).unwrap())?, family);
    /// # Ok::<(), alloquy_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] for an unknown name. The message lists the known ones.
    pub fn named(name: &str) -> Result<Self> {
        families::named(name).map(BuiltIn::family)
    }

    /// Reads a family from JSON.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for text that is no valid JSON of a family, with the place and the valid values; as
    /// [`Family::processor`] for an invalid family.
    ///
    /// ```
    /// use alloquy_processors::Family;
    ///
    /// let error = Family::from_json(r#"{"name": "ada", "calls": [{"start": "<c>", "end": "</c>", "syntax": "yaml"}]}"#);
    /// assert!(error.unwrap_err().to_string().contains("one of: json, python, gemma, xml, "));
    /// ```
    pub fn from_json(json: &str) -> Result<Self> {
        let family: Self = serde_json::from_str(json)
            .map_err(|error| Error::new(ErrorKind::Invalid, format!("a model family in JSON: {error}")))?;
        family.is_audio()?;
        Ok(family)
    }

    /// Returns the processor of a model of this family, with a host's configuration.
    ///
    /// # Errors
    /// - [`ErrorKind::Invalid`] for an empty name or marker, for a marker that has two meanings, and for calls that could not be
    ///   read.
    /// - [`ErrorKind::NotFound`] for a `template_input` that is no family of this crate.
    /// - As [`named_with`](crate::named_with) for the configuration.
    pub fn processor(
        &self,
        model: &ModelInfo,
        config: &DataProcessorConfig,
    ) -> Result<Arc<dyn DataProcessor>> {
        self.is_audio()?;
        config.check(self)?;
        processor::of(self, config, model)
    }

    fn is_audio(&self) -> Result<()> {
        self.check()?;
        Configured::shape_of(self).map_err(|error| error.context(format!("family {:?}", self.name)))?;
        Ok(())
    }
}
