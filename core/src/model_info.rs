//! The description of a model without its weights, which templates, processors and engines read.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::report::Warning;
use crate::sampling::SamplingOptions;
use crate::tokenizer::{Normalizer, SpecialToken, TokenId};
use crate::{Error, ErrorKind, Result};

/// The description of a model.
///
/// `files` holds the texts of the model's description files by name (`config.json`, `tokenizer_config.json`,
/// `chat_template.jinja`, …). So templates and processors read no files, and a model that is embedded in a program has
/// its description too.
///
/// ```
/// use alloquy_core::model_info::ModelInfo;
///
/// let mut info = ModelInfo::default();
/// info.name = "tiny".to_owned();
/// info.context_length = 4096;
/// info.files.insert("config.json".to_owned(), r#"{"model_type": "qwen3"}"#.to_owned());
/// let config = info.json("config.json")?;
/// assert_eq!(config.map(|config| config["model_type"] == "qwen3"), Some(true));
/// assert!(info.json("tokenizer_config.json")?.is_none());
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ModelInfo {
    /// A short name, usually the folder's.
    pub name: String,
    /// `architectures[0]` of `config.json`, such as `Qwen3ForCausalLM`, if the model names it.
    pub architecture: Option<String>,
    /// `model_type`, such as `qwen3`, if the model names it.
    pub model_type: Option<String>,
    /// How many positions its context has.
    pub context_length: usize,
    /// The size of the vocabulary: how many logits a step returns.
    pub vocabulary: usize,
    /// The beginning-of-text token, if the model has one.
    pub bos: Option<SpecialToken>,
    /// Tokens that end a reply; never empty.
    pub stop_tokens: Vec<TokenId>,
    /// Every added token.
    pub specials: Vec<SpecialToken>,
    /// How the tokenizer rewrites text before it looks for tokens, if it rewrites any.
    pub normalizer: Option<Arc<dyn Normalizer>>,
    /// The sampling that the model's authors recommend.
    pub sampling: SamplingOptions,
    /// Their other recommendations, which have no effect here, by their place, such as `generation_config.json
    /// /num_beams`.
    pub ignored: BTreeMap<String, serde_json::Value>,
    /// The texts of the model's description files, by name.
    pub files: BTreeMap<String, String>,
    /// What computes it, such as `cpu` or `cuda`; `None` before it is loaded, or where its engine has no choice.
    pub provider: Option<String>,
    /// What was not done as requested when it was loaded; every reply reports it.
    pub warnings: Vec<Warning>,
}

impl ModelInfo {
    /// Returns a description file as JSON, or `None` if the model has no such file.
    ///
    /// # Errors
    /// [`ErrorKind::Model`] if the file is not JSON.
    pub fn json(&self, file: &str) -> Result<Option<serde_json::Value>> {
        let Some(text) = self.files.get(file) else {
            return Ok(None);
        };
        serde_json::from_str(text).map(Some).map_err(|source| {
            let message = format!("{file} of model {:?} is not valid JSON", self.name);
            Error::new(ErrorKind::Model, message).with_source(source)
        })
    }
}
