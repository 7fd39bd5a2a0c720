//! Holds the parts of a `tokenizer.json` that are read before the tokenizer is created.

use alloquy_core::tokenizer::TokenId;
use alloquy_core::{Error, ErrorKind};
use serde::Deserialize;
use serde_json::Value;

/// The parts of the file that are read before the tokenizer is created: the tokenizer does not show them, or their limits
/// must be checked before it runs them.
#[derive(Deserialize)]
pub(super) struct File {
    #[serde(default)]
    pub(super) normalizer: Value,
    #[serde(default)]
    pub(super) pre_tokenizer: Value,
    #[serde(default)]
    pub(super) post_processor: Value,
    #[serde(default)]
    pub(super) decoder: Value,
    #[serde(default)]
    pub(super) added_tokens: Vec<Added>,
    pub(super) model: Model,
}

impl File {
    /// Returns the steps that rewrite texts and tokens, by name.
    pub(super) fn steps(&self) -> [(&'static str, &Value); 4] {
        [
            ("normalizer", &self.normalizer),
            ("pre_tokenizer", &self.pre_tokenizer),
            ("post_processor", &self.post_processor),
            ("decoder", &self.decoder),
        ]
    }
}

#[derive(Deserialize)]
pub(super) struct Added {
    pub(super) content: String,
}

/// The token that a model has for unknown characters, by text or by number, and the texts that it puts around pieces.
#[derive(Deserialize)]
pub(super) struct Model {
    pub(super) unk_token: Option<String>,
    pub(super) unk_id: Option<TokenId>,
    pub(super) continuing_subword_prefix: Option<String>,
    pub(super) end_of_word_suffix: Option<String>,
}

/// The file cannot be read as a tokenizer.
pub(super) fn unreadable(source: tokenizers::Error) -> Error {
    Error::new(ErrorKind::Model, "tokenizer.json cannot be read").with_source(source)
}
