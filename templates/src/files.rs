//! Names of files that several kinds of templates read.

/// The file with the tokenizer's settings: its special tokens, and often a chat template.
pub(crate) const TOKENIZER_CONFIG: &str = "tokenizer_config.json";
