//! What a model's files say of it, without its weights: templates, processors and engines read it. Reads no file.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::report::Degradation;
use crate::sampling::SamplingOptions;
use crate::tokenizer::{Normalizer, SpecialToken, TokenId};
use crate::{Error, ErrorKind, Result};

/// What a model says of itself.
///
/// `files` holds the texts of the model's description files by name (`config.json`, `tokenizer_config.json`,
/// `chat_template.jinja`, …), so that templates and processors read them without touching a disk, and a model
/// embedded in a program has them too.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ModelInfo {
    /// A short name, usually the folder's.
    pub name: String,
    /// `architectures[0]` of `config.json`, such as `Qwen3ForCausalLM`, where the model says it.
    pub architecture: Option<String>,
    /// `model_type`, such as `qwen3`, where the model says it.
    pub model_type: Option<String>,
    /// How many positions fit.
    pub context_length: usize,
    /// How many logits a step gives.
    pub vocabulary: usize,
    /// Beginning of text, where the model has one.
    pub bos: Option<SpecialToken>,
    /// Tokens that end a reply; never empty.
    pub stop_tokens: Vec<TokenId>,
    /// Every added token.
    pub specials: Vec<SpecialToken>,
    /// How the tokenizer rewrites text before it looks for tokens, where other spellings can become one.
    pub normalizer: Option<Arc<dyn Normalizer>>,
    /// The sampling that the model's makers recommend.
    pub sampling: SamplingOptions,
    /// What else they recommend, and what has no effect here: values by place, such as
    /// `generation_config.json /num_beams`.
    pub ignored: BTreeMap<String, serde_json::Value>,
    /// Texts of the model's description files, by name.
    pub files: BTreeMap<String, String>,
    /// What was not done as asked when it was loaded; every reply tells it.
    pub degradations: Vec<Degradation>,
}

impl ModelInfo {
    /// Returns a description file as JSON, or `None` when the model has no such file.
    ///
    /// # Errors
    /// [`ErrorKind::Model`] when the file is not JSON.
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
