//! The names of a model's files that more than one kind of template reads.

/// The settings of a tokenizer: its special tokens, and often a chat template.
pub(crate) const TOKENIZER_CONFIG: &str = "tokenizer_config.json";
