//! What the description files of a model say; its weights are not read.

use std::path::Path;

use alloquy_core::Result;
use alloquy_core::model_info::ModelInfo;
use alloquy_processors::DataProcessorConfig;
use alloquy_templates::{TemplateOrigin, sources};

use super::context::{ContextPolicy, FullContext};
use super::family::ChosenFamily;
use super::recommended::{chat_config, recommended};

/// What the description files of a model say; its weights are not read, so that it takes milliseconds.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ModelDescription {
    /// What they say, with the sampling that the model's makers recommend. What only the tokenizer or the graph knows is empty.
    pub info: ModelInfo,
    /// The name of the family.
    pub family: String,
    /// Where the chat template is from.
    pub template: String,
    /// Who exported the model: `genai`, `optimum` or `transformers.js`.
    pub layout: &'static str,
    /// What becomes of conversations that outgrow the context, unless another policy is asked for.
    pub context_policy: ContextPolicy,
}

impl ModelDescription {
    /// Reads the description files of a folder.
    ///
    /// # Errors
    /// [`ErrorKind::Model`](crate::ErrorKind::Model) when there is no such folder, when a file is not JSON, or when none says
    /// how long the context is, and [`ErrorKind::Template`](crate::ErrorKind::Template) for a template that is none.
    ///
    /// ```no_run
    /// let description = alloquy::ModelDescription::read("models/qwen3-0.6b")?;
    /// println!("{} is of family {}", description.info.name, description.family);
    /// # Ok::<(), alloquy::Error>(())
    /// ```
    pub fn read(folder: impl AsRef<Path>) -> Result<Self> {
        let folder = folder.as_ref();
        let layout = if folder.join("onnx").is_dir() { "transformers.js" } else { "optimum" };
        Self::of(alloquy_model_files::describe(folder)?, layout)
    }

    /// Describes the model within this library.
    ///
    /// # Errors
    /// None that is known: its files are whole.
    #[cfg(feature = "pocket")]
    pub fn pocket() -> Result<Self> {
        Self::of(alloquy_model_files::describe_files(&alloquy_pocket::files())?, "genai")
    }

    /// Returns what [`Model::summary`](crate::Model::summary) returns.
    pub fn summary(&self) -> String {
        summary(&self.info, &self.family, &self.template)
    }

    fn of(mut info: ModelInfo, layout: &'static str) -> Result<Self> {
        info.sampling = info.sampling.clone().or(&recommended(&info)?);
        let family = ChosenFamily::choose(None, &info, &DataProcessorConfig::default())?;
        let family = family.processor.name().to_owned();
        let template = origin(&info)?.to_string();
        let context_policy = FullContext::choose(None, &info)?.policy();
        let layout = if info.files.contains_key("genai_config.json") { "genai" } else { layout };
        Ok(Self { info, family, template, layout, context_policy })
    }
}

/// The name, the family, where the template is from, and the context on one line.
pub(super) fn summary(info: &ModelInfo, family: &str, template: &str) -> String {
    let ModelInfo { name, context_length, .. } = info;
    format!("{name}: family {family}, template from {template}, context {context_length}")
}

/// Where the template is from. A conversation template wants tokens, which no description file has.
fn origin(info: &ModelInfo) -> Result<TemplateOrigin> {
    match sources::places(info).first() {
        Some(&origin @ TemplateOrigin::MlcChatConfig) => {
            chat_config(info)?;
            Ok(origin)
        }
        _ => Ok(alloquy_templates::detect(info)?.origin),
    }
}
