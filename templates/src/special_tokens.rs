//! Reads a model's special tokens as variables of templates (`bos_token`, `eos_token`, …).

use alloquy_core::Result;
use alloquy_core::model_info::ModelInfo;
use serde_json::{Map, Value};

use crate::files::TOKENIZER_CONFIG;

const SPECIAL_TOKENS_MAP: &str = "special_tokens_map.json";

/// Returns the texts of the special tokens that a model sets, by name.
///
/// Every `…_token` of `tokenizer_config.json` counts, and so do the named ones of `extra_special_tokens`. A token may be a text
/// or an object with `content`. Tokens that the file does not mention come from `special_tokens_map.json`.
///
/// Only a model with neither file gets its `bos_token` from [`ModelInfo::bos`]. When a file does not name BOS, or sets it to
/// null, the tokenizer has none, even if the configuration of the weights names one.
///
/// # Errors
/// [`ErrorKind::Model`](alloquy_core::ErrorKind::Model) when one of the files is not JSON.
///
/// ```
/// use alloquy_core::model_info::ModelInfo;
///
/// let mut model = ModelInfo::default();
/// let config = r#"{"bos_token": {"content": "<s>"}, "eos_token": "</s>", "pad_token": null}"#;
/// model.files.insert("tokenizer_config.json".into(), config.into());
/// let tokens = alloquy_templates::special_tokens(&model)?;
/// assert_eq!(serde_json::Value::from(tokens).to_string(), r#"{"bos_token":"<s>","eos_token":"</s>"}"#);
/// # Ok::<(), alloquy_core::Error>(())
/// ```
pub fn of(model: &ModelInfo) -> Result<Map<String, Value>> {
    let config = model.json(TOKENIZER_CONFIG)?;
    let legacy = model.json(SPECIAL_TOKENS_MAP)?;
    let mut tokens = Map::new();
    if config.is_none() && legacy.is_none() {
        let bos = model.bos.as_ref().map(|bos| Value::from(bos.text.as_str()));
        tokens.extend(bos.map(|text| ("bos_token".to_owned(), text)));
    }
    if let Some(config) = &config {
        add(&mut tokens, config, None);
    }
    if let Some(legacy) = &legacy {
        add(&mut tokens, legacy, config.as_ref());
    }
    Ok(tokens)
}

/// Returns the list that transformers 4.57 calls `additional_special_tokens`, each token once.
///
/// It has the texts of that list in `tokenizer_config.json`. If that file has no `added_tokens_decoder`, the texts of the list
/// in `special_tokens_map.json` follow.
pub(crate) fn additional(model: &ModelInfo) -> Result<Vec<Value>> {
    let config = model.json(TOKENIZER_CONFIG)?.unwrap_or_default();
    let legacy = match config.get("added_tokens_decoder") {
        Some(_) => None,
        None => model.json(SPECIAL_TOKENS_MAP)?,
    };
    let mut additional = Vec::new();
    for file in [Some(&config), legacy.as_ref()].into_iter().flatten() {
        let listed = file.get("additional_special_tokens").and_then(Value::as_array);
        for token in listed.into_iter().flatten().filter_map(text).map(Value::from) {
            if !additional.contains(&token) {
                additional.push(token);
            }
        }
    }
    Ok(additional)
}

/// Adds the tokens of `found` that `decided` does not mention.
fn add(tokens: &mut Map<String, Value>, found: &Value, decided: Option<&Value>) {
    let own = found.as_object().into_iter().flatten().filter(|(name, _)| name.ends_with("_token"));
    let extra = found.get("extra_special_tokens").and_then(Value::as_object).into_iter().flatten();
    for (name, token) in own.chain(extra) {
        if decided.is_some_and(|decided| decided.get(name).is_some()) {
            continue;
        }
        if let Some(text) = text(token) {
            tokens.insert(name.clone(), Value::from(text));
        }
    }
}

fn text(token: &Value) -> Option<&str> {
    token.as_str().or_else(|| token.get("content")?.as_str())
}
