//! Reads how a model makes vectors of texts, from the files of sentence-transformers.

use alloquy_core::Result;
use serde_json::Value;

use super::files::TextFiles;
use super::pooling::Pooling;
use crate::error::{model, unsupported};

/// What the files of sentence-transformers say.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Sentence {
    /// How vectors of tokens are pooled; `None` if no file says it.
    pub(super) pooling: Option<Vec<Pooling>>,
    /// Whether the tokens of a prefix are pooled too.
    pub(super) pools_prefix: bool,
    /// Whether the model gives its vectors a length of 1.
    pub(super) is_normalized: bool,
    /// A step that only a graph can have, such as `Dense`.
    pub(super) in_graph: Option<String>,
    pub(super) max_tokens: Option<usize>,
    pub(super) is_lowercase: bool,
    pub(super) query_prefix: String,
    pub(super) passage_prefix: String,
    /// How many numbers of a vector are kept.
    pub(super) dimensions: Option<usize>,
}

/// The names of prefixes for passages, in the order in which sentence-transformers looks for them.
const PASSAGE_PROMPTS: [&str; 3] = ["document", "passage", "corpus"];

impl Sentence {
    /// Reads the files. Where the tokenizer is in a folder of its own, `files` reads it from there afterwards.
    pub(super) fn read(files: &mut TextFiles) -> Result<Self> {
        let mut sentence = Self { pools_prefix: true, ..Self::default() };
        if let Some(modules) = files.json("modules.json")? {
            sentence.modules(files, &modules)?;
        }
        if let Some(config) = files.inner_json("sentence_bert_config.json")? {
            sentence.max_tokens = size(&config, "max_seq_length");
            sentence.is_lowercase = is_set(&config, "do_lower_case");
        }
        if let Some(config) = files.json("config_sentence_transformers.json")? {
            sentence.prefixes(&config)?;
            sentence.dimensions = size(&config, "truncate_dim");
        }
        Ok(sentence)
    }

    /// Reads the steps from tokens to a vector.
    fn modules(&mut self, files: &mut TextFiles, modules: &Value) -> Result<()> {
        let Some(modules) = modules.as_array() else {
            return Err(model("modules.json is no list of modules"));
        };
        for module in modules {
            let kind = text(module, "type").unwrap_or_default();
            let path = text(module, "path").unwrap_or_default();
            match kind.rsplit('.').next().unwrap_or_default() {
                "Transformer" if !path.is_empty() => files.enter(path)?,
                "Transformer" => {}
                "Pooling" => self.pooling(files, path)?,
                "Normalize" => self.is_normalized = true,
                // It has an effect in training alone.
                "Dropout" => {}
                step @ ("Dense" | "LayerNorm") => self.in_graph = Some(step.to_owned()),
                _ => {
                    return Err(unsupported(format!(
                        "modules.json has the module {kind:?}, expected those of text models: Transformer, Pooling, Normalize, Dense"
                    )));
                }
            }
        }
        Ok(())
    }

    /// Reads which vectors of tokens are pooled, and how.
    fn pooling(&mut self, files: &TextFiles, path: &str) -> Result<()> {
        let name = if path.is_empty() { "config.json".to_owned() } else { format!("{path}/config.json") };
        let config = files.json(&name)?;
        let config =
            config.ok_or_else(|| model(format!("modules.json names {name}, which does not exist")))?;
        let pooling = poolings(&config);
        if pooling.is_empty() {
            let names: Vec<_> = Pooling::ALL.iter().map(|pooling| pooling.name()).collect();
            return Err(unsupported(format!(
                "{name} names no pooling that is known, one of: {}",
                names.join(", ")
            )));
        }
        self.pooling = Some(pooling);
        self.pools_prefix = config.get("include_prompt").and_then(Value::as_bool).unwrap_or(true);
        Ok(())
    }

    /// Reads the prefixes of texts.
    fn prefixes(&mut self, config: &Value) -> Result<()> {
        let default = match text(config, "default_prompt_name") {
            None => "",
            Some(name) => prompt(config, name).ok_or_else(|| {
                model(format!(
                    "config_sentence_transformers.json has no prompt {name:?}, which it names as the default"
                ))
            })?,
        };
        self.query_prefix = prompt(config, "query").unwrap_or(default).to_owned();
        let passage = PASSAGE_PROMPTS.iter().find_map(|name| prompt(config, name));
        self.passage_prefix = passage.unwrap_or(default).to_owned();
        Ok(())
    }
}

/// Returns the poolings that a configuration turns on: by a key for each, or, in later versions, by name.
fn poolings(config: &Value) -> Vec<Pooling> {
    let named = config.get("pooling_mode");
    let named: Vec<&str> = match named {
        Some(Value::String(name)) => vec![name],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let mut poolings = Vec::new();
    for pooling in Pooling::ALL {
        let key = match pooling {
            Pooling::Cls => "pooling_mode_cls_token",
            Pooling::Max => "pooling_mode_max_tokens",
            Pooling::Mean => "pooling_mode_mean_tokens",
            Pooling::MeanSqrtLen => "pooling_mode_mean_sqrt_len_tokens",
            Pooling::WeightedMean => "pooling_mode_weightedmean_tokens",
            Pooling::LastToken => "pooling_mode_lasttoken",
        };
        if is_set(config, key) || named.contains(&pooling.name()) {
            poolings.push(pooling);
        }
    }
    poolings
}

fn prompt<'v>(config: &'v Value, name: &str) -> Option<&'v str> {
    text(config.get("prompts")?, name)
}

fn text<'v>(value: &'v Value, key: &str) -> Option<&'v str> {
    value.get(key)?.as_str()
}

fn size(value: &Value, key: &str) -> Option<usize> {
    usize::try_from(value.get(key)?.as_u64()?).ok().filter(|&size| size > 0)
}

fn is_set(value: &Value, key: &str) -> bool {
    value.get(key).and_then(Value::as_bool).unwrap_or(false)
}
