//! Collects the facts of a model from its description files and its tokenizer.
//!
//! Where files contradict each other, the first place in a table counts. Only stop tokens are collected from all places,
//! because a file may lack one that another has, and a reply that misses its stop token runs on.

use std::collections::{BTreeMap, BTreeSet};

use alloquy_core::Result;
use alloquy_core::model_info::ModelInfo;
use alloquy_core::tokenizer::{SpecialToken, TokenId, Tokenizer};
use serde_json::Value;

use crate::description::{Description, FactPlace, missing_fact};
use crate::error::model;
use crate::generation_config::recommendation;
use crate::tokenizer::HuggingFaceTokenizer;

const ARCHITECTURE: &[FactPlace] = &[("config.json", "/architectures/0")];

const MODEL_TYPE: &[FactPlace] = &[("config.json", "/model_type"), ("genai_config.json", "/model/type")];

/// GenAI's file is first, because its length is what the graph was exported for.
const CONTEXT_LENGTH: &[FactPlace] = &[
    ("genai_config.json", "/model/context_length"),
    ("config.json", "/max_position_embeddings"),
    ("config.json", "/text_config/max_position_embeddings"),
    ("config.json", "/n_positions"),
    ("config.json", "/n_ctx"),
    ("config.json", "/max_seq_len"),
];

const STOP_TOKENS: &[FactPlace] = &[
    ("generation_config.json", "/eos_token_id"),
    ("genai_config.json", "/model/eos_token_id"),
    ("config.json", "/eos_token_id"),
    ("config.json", "/text_config/eos_token_id"),
];

/// The tokenizer's files name tokens by their texts.
const STOP_TEXTS: &[FactPlace] =
    &[("tokenizer_config.json", "/eos_token"), ("special_tokens_map.json", "/eos_token")];

const BOS_TEXTS: &[FactPlace] =
    &[("tokenizer_config.json", "/bos_token"), ("special_tokens_map.json", "/bos_token")];

const BOS_TOKENS: &[FactPlace] = &[
    ("generation_config.json", "/bos_token_id"),
    ("genai_config.json", "/model/bos_token_id"),
    ("config.json", "/bos_token_id"),
    ("config.json", "/text_config/bos_token_id"),
];

/// Collects the facts of a model from its description files and its tokenizer. `vocabulary` is the number of tokens that its
/// graph has logits for.
///
/// # Errors
/// [`ErrorKind::Model`](alloquy_core::ErrorKind::Model) for files that contradict the vocabulary, or that lack the length of the
/// context or a stop token.
pub fn model_info(
    name: String,
    files: BTreeMap<String, String>,
    description: &Description,
    tokenizer: &HuggingFaceTokenizer,
    vocabulary: usize,
) -> Result<ModelInfo> {
    let facts = Facts { description, tokenizer, vocabulary };
    let mut info = described(name, files, description)?;
    info.bos = facts.bos();
    info.stop_tokens = facts.stop_tokens()?;
    info.specials = tokenizer.specials().to_vec();
    info.normalizer = tokenizer.normalizer();
    info.vocabulary = vocabulary;
    Ok(info)
}

/// Collects the facts that the description files contain by themselves.
pub(crate) fn described(
    name: String,
    files: BTreeMap<String, String>,
    description: &Description,
) -> Result<ModelInfo> {
    let mut info = ModelInfo::default();
    info.architecture = description.text(ARCHITECTURE).map(str::to_owned);
    info.model_type = description.text(MODEL_TYPE).map(str::to_owned);
    info.context_length = context_length(description)?;
    let recommended = recommendation(description)?;
    info.sampling = recommended.sampling;
    info.ignored = recommended.ignored;
    info.files = files;
    info.name = name;
    Ok(info)
}

/// Returns how many positions a model's context has.
///
/// # Errors
/// [`ErrorKind::Model`](alloquy_core::ErrorKind::Model) when no file contains it.
pub fn context_length(description: &Description) -> Result<usize> {
    description.size(CONTEXT_LENGTH).ok_or_else(|| missing_fact("context length", CONTEXT_LENGTH))
}

struct Facts<'a> {
    description: &'a Description,
    tokenizer: &'a HuggingFaceTokenizer,
    vocabulary: usize,
}

impl Facts<'_> {
    fn stop_tokens(&self) -> Result<Vec<TokenId>> {
        let mut tokens = Vec::new();
        for &place in STOP_TOKENS {
            for id in self.description.at(place).into_iter().flat_map(one_or_many) {
                tokens.push(self.token(id, place)?);
            }
        }
        for &place in STOP_TEXTS {
            if let Some(special) = self.text_token(place) {
                tokens.push(special.id);
            }
        }
        let mut seen = BTreeSet::new();
        tokens.retain(|&token| seen.insert(token));
        if tokens.is_empty() {
            return Err(missing_fact("end-of-sequence token", &[STOP_TOKENS, STOP_TEXTS].concat()));
        }
        Ok(tokens)
    }

    fn bos(&self) -> Option<SpecialToken> {
        BOS_TEXTS.iter().find_map(|&place| self.text_token(place)).or_else(|| self.bos_by_id())
    }

    fn bos_by_id(&self) -> Option<SpecialToken> {
        let place = BOS_TOKENS.iter().find(|&&place| self.description.at(place).is_some())?;
        let id = self.token(self.description.at(*place)?, *place).ok()?;
        Some(SpecialToken { text: self.tokenizer.spelling(id)?, id })
    }

    /// Reads the id of a token, which must be in the vocabulary.
    fn token(&self, id: &Value, (file, pointer): FactPlace) -> Result<TokenId> {
        let number = id.as_u64().and_then(|id| TokenId::try_from(id).ok());
        match number {
            Some(token) if (token as usize) < self.vocabulary => Ok(token),
            _ => Err(model(format!(
                "{file} {pointer} is {id}, which is not one of the {} tokens",
                self.vocabulary
            ))),
        }
    }

    /// Returns a token that is given by its text, or by an object with its `content`.
    fn text_token(&self, place: FactPlace) -> Option<SpecialToken> {
        let value = self.description.at(place)?;
        let text = value.as_str().or_else(|| value.get("content")?.as_str())?;
        Some(SpecialToken { text: text.to_owned(), id: self.tokenizer.token(text)? })
    }
}

fn one_or_many(value: &Value) -> &[Value] {
    match value {
        Value::Array(values) => values,
        value => std::slice::from_ref(value),
    }
}
