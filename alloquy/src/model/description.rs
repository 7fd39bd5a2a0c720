//! Describes a model by its description files, without its weights.

use std::path::Path;

use alloquy_core::Result;
use alloquy_core::media::MediaKind;
use alloquy_core::model_info::ModelInfo;
#[cfg(feature = "media")]
use alloquy_engine::media_processor::MediaProcessor as _;
use alloquy_processors::DataProcessorConfig;
use alloquy_templates::{TemplateOrigin, sources};

use super::context::{ContextPolicy, FullContext};
use super::family::ChosenFamily;
use super::location::located;
use super::recommended::{chat_config, recommended};

/// A model as its description files describe it. The weights are not read, so that reading takes milliseconds.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ModelDescription {
    /// The information in the files, with the sampling that the model's authors recommend. Fields that need the tokenizer or
    /// the graph are empty.
    pub info: ModelInfo,
    /// The name of the family.
    pub family: String,
    /// The origin of the chat template.
    pub template: String,
    /// The exporter of the model: `genai`, `optimum` or `transformers.js`.
    pub layout: &'static str,
    /// The policy for conversations that are longer than the context, unless another one is requested.
    pub context_policy: ContextPolicy,
    /// The media that the model accepts beside text. It is empty without the feature `media`.
    pub media: Vec<MediaKind>,
}

impl ModelDescription {
    /// Reads the description files of a folder, or of a model of the Hugging Face Hub that was fetched (feature `hub`).
    ///
    /// # Errors
    /// [`ErrorKind::Model`](crate::ErrorKind::Model) for a missing folder, a file that is not JSON, or files without the length
    /// of the context; [`ErrorKind::Template`](crate::ErrorKind::Template) for an invalid template.
    ///
    /// ```no_run
    /// let description = alloquy::ModelDescription::read("models/qwen3-0.6b")?;
    /// println!("{} is of family {}", description.info.name, description.family);
    /// # Ok::<(), alloquy::Error>(())
    /// ```
    pub fn read(folder: impl AsRef<Path>) -> Result<Self> {
        let path = located(folder.as_ref())?;
        let is_graph_of_transformers_js = path.parent().is_some_and(|parent| parent.ends_with("onnx"));
        let is_transformers_js = path.join("onnx").is_dir() || is_graph_of_transformers_js;
        let layout = if is_transformers_js { "transformers.js" } else { "optimum" };
        Self::of(alloquy_model_files::describe(path)?, layout)
    }

    /// Describes the built-in model.
    ///
    /// # Errors
    /// None are expected, because the files are part of the program.
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
        let media = media(&info);
        Ok(Self { info, family, template, layout, context_policy, media })
    }
}

/// Returns the media that a model accepts. Settings that no processor supports are an error when the model is opened.
#[cfg(feature = "media")]
fn media(info: &ModelInfo) -> Vec<MediaKind> {
    let processors = alloquy_media::MediaProcessors::of(info).ok().flatten();
    processors.map(|processors| processors.kinds().to_vec()).unwrap_or_default()
}

#[cfg(not(feature = "media"))]
fn media(_: &ModelInfo) -> Vec<MediaKind> {
    Vec::new()
}

/// Returns the name, the family, the origin of the template and the context length in one line.
pub(super) fn summary(info: &ModelInfo, family: &str, template: &str) -> String {
    let ModelInfo { name, context_length, .. } = info;
    format!("{name}: family {family}, template from {template}, context {context_length}")
}

/// Returns the origin of the template, without building a conversation template of MLC, which would need the tokenizer.
fn origin(info: &ModelInfo) -> Result<TemplateOrigin> {
    match sources::places(info).first() {
        Some(&origin @ TemplateOrigin::MlcChatConfig) => {
            chat_config(info)?;
            Ok(origin)
        }
        _ => Ok(alloquy_templates::detect(info)?.origin),
    }
}
