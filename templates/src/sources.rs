//! Finds a model's chat template in Hugging Face's files, in their order, and then in MLC's.
//!
//! Reference: `PreTrainedTokenizerBase._from_pretrained` and `get_chat_template` of transformers 5.23.0.

use std::collections::BTreeMap;
use std::fmt;

use alloquy_core::model_info::ModelInfo;
use alloquy_core::{Error, ErrorKind, Result};
use serde_json::Value;

use crate::files::TOKENIZER_CONFIG;
use crate::mlc::{self, MLC_CHAT_CONFIG};

const CHAT_TEMPLATE_JINJA: &str = "chat_template.jinja";
const ADDITIONAL: &str = "additional_chat_templates/";
const CHAT_TEMPLATE_JSON: &str = "chat_template.json";

/// The places where a Jinja template is looked for, for messages.
pub(crate) const PLACES: &str =
    "chat_template.jinja, additional_chat_templates/*.jinja, tokenizer_config.json, chat_template.json";

/// The source of a model's chat template.
///
/// [`find`] has an example.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TemplateSource {
    /// The template for conversations.
    pub default: String,
    /// The template for conversations with tools, if the model brings one of that name.
    pub tool_use: Option<String>,
    /// The names of all templates that the model brings; only `default` for a template without a name.
    pub names: Vec<String>,
    /// Where it was found.
    pub origin: TemplateOrigin,
}

/// Where a template comes from, as [`find`] reports it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TemplateOrigin {
    /// The model's `chat_template.jinja`, with the files of `additional_chat_templates/`.
    ChatTemplateJinja,
    /// `additional_chat_templates/` alone.
    AdditionalTemplates,
    /// `chat_template` in `tokenizer_config.json`: one text or a list of named ones.
    TokenizerConfig,
    /// `chat_template.json` of a processor.
    ChatTemplateJson,
    /// The conversation template of MLC that `mlc-chat-config.json` names or contains.
    MlcChatConfig,
    /// The model has none: its prompts are [plain text](crate::CompletionTemplate).
    #[default]
    Completion,
}

impl fmt::Display for TemplateOrigin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::ChatTemplateJinja => CHAT_TEMPLATE_JINJA,
            Self::AdditionalTemplates => ADDITIONAL,
            Self::TokenizerConfig => TOKENIZER_CONFIG,
            Self::ChatTemplateJson => CHAT_TEMPLATE_JSON,
            Self::MlcChatConfig => MLC_CHAT_CONFIG,
            Self::Completion => "plain text completion",
        })
    }
}

/// Finds the Jinja chat template that a model brings. [`detect`](crate::detect) finds other templates, too.
///
/// The first of these that exists counts: `chat_template.jinja` together with `additional_chat_templates/`,
/// the `chat_template` of `tokenizer_config.json`, that of `chat_template.json`.
///
/// # Errors
/// [`ErrorKind::Model`] when a file is not JSON or its `chat_template` is neither a text nor a list of named texts.
/// The error is [`ErrorKind::Template`] when several templates have names and none is called `default`.
///
/// ```
/// use alloquy_core::model_info::ModelInfo;
/// use alloquy_templates::{TemplateOrigin, sources};
///
/// let mut model = ModelInfo::default();
/// assert!(sources::find(&model)?.is_none());
/// model.files.insert("chat_template.jinja".into(), "{{ messages }}".into());
/// assert_eq!(sources::find(&model)?.unwrap().origin, TemplateOrigin::ChatTemplateJinja);
/// # Ok::<(), alloquy_core::Error>(())
/// ```
pub fn find(model: &ModelInfo) -> Result<Option<TemplateSource>> {
    match all(model)? {
        Some((templates, origin)) => choose(templates, origin).map(Some),
        None => Ok(None),
    }
}

/// Finds the template that a model calls `name`, in the first place that has any, as [`find`] does.
///
/// # Errors
/// [`ErrorKind::NotFound`] when the model has no template of that name, and [`ErrorKind::Model`] as [`find`].
///
/// ```
/// use alloquy_core::model_info::ModelInfo;
/// use alloquy_templates::sources;
///
/// let mut model = ModelInfo::default();
/// model.files.insert("chat_template.jinja".into(), "{{ messages }}".into());
/// model.files.insert("additional_chat_templates/rag.jinja".into(), "{{ documents }}".into());
/// assert_eq!(sources::named(&model, "rag")?.default, "{{ documents }}");
/// let error = sources::named(&model, "tool_use").unwrap_err();
/// assert_eq!(error.to_string(), r#"no chat template is called "tool_use", there are ["default", "rag"]"#);
/// # Ok::<(), alloquy_core::Error>(())
/// ```
pub fn named(model: &ModelInfo, name: &str) -> Result<TemplateSource> {
    let (mut templates, origin) = all(model)?.unwrap_or_default();
    let names: Vec<_> = templates.keys().cloned().collect();
    match templates.remove(name) {
        Some(default) => Ok(TemplateSource { default, tool_use: None, names, origin }),
        None => {
            let message = format!("no chat template is called {name:?}, there are {names:?}");
            Err(Error::new(ErrorKind::NotFound, message))
        }
    }
}

/// Returns the templates of the first place that has any.
fn all(model: &ModelInfo) -> Result<Option<(BTreeMap<String, String>, TemplateOrigin)>> {
    let from_files = files(model);
    if !from_files.is_empty() {
        let origin = if model.files.contains_key(CHAT_TEMPLATE_JINJA) {
            TemplateOrigin::ChatTemplateJinja
        } else {
            TemplateOrigin::AdditionalTemplates
        };
        return Ok(Some((from_files, origin)));
    }
    for (file, origin) in [
        (TOKENIZER_CONFIG, TemplateOrigin::TokenizerConfig),
        (CHAT_TEMPLATE_JSON, TemplateOrigin::ChatTemplateJson),
    ] {
        if let Some(templates) = in_json(model, file)? {
            return Ok(Some((templates, origin)));
        }
    }
    Ok(None)
}

/// Lists the places where a model has a template. The first one counts. No template is compiled.
///
/// A file that cannot be read is left out here; [`detect`](crate::detect) reports the error if the file is the first place.
///
/// ```
/// use alloquy_core::model_info::ModelInfo;
/// use alloquy_templates::{TemplateOrigin, sources};
///
/// let mut model = ModelInfo::default();
/// model.files.insert("mlc-chat-config.json".into(), r#"{"conv_template": "vicuna_v1.1"}"#.into());
/// model.files.insert("tokenizer_config.json".into(), r#"{"chat_template": "{{ messages }}"}"#.into());
/// assert_eq!(sources::places(&model), [TemplateOrigin::TokenizerConfig, TemplateOrigin::MlcChatConfig]);
/// ```
pub fn places(model: &ModelInfo) -> Vec<TemplateOrigin> {
    let mut places = Vec::new();
    if model.files.contains_key(CHAT_TEMPLATE_JINJA) {
        places.push(TemplateOrigin::ChatTemplateJinja);
    } else if !files(model).is_empty() {
        places.push(TemplateOrigin::AdditionalTemplates);
    }
    if has_json_template(model, TOKENIZER_CONFIG) {
        places.push(TemplateOrigin::TokenizerConfig);
    }
    if has_json_template(model, CHAT_TEMPLATE_JSON) {
        places.push(TemplateOrigin::ChatTemplateJson);
    }
    if model.files.get(MLC_CHAT_CONFIG).is_some_and(|json| mlc::has_template(json)) {
        places.push(TemplateOrigin::MlcChatConfig);
    }
    places
}

fn has_json_template(model: &ModelInfo, file: &str) -> bool {
    matches!(in_json(model, file), Ok(Some(_)))
}

/// Returns the templates that are files of their own, by name.
fn files(model: &ModelInfo) -> BTreeMap<String, String> {
    let additional = model.files.iter().filter_map(|(file, text)| {
        let name = file.strip_prefix(ADDITIONAL)?.strip_suffix(".jinja")?;
        Some((name.to_owned(), text.clone()))
    });
    let mut named: BTreeMap<_, _> = additional.collect();
    if let Some(text) = model.files.get(CHAT_TEMPLATE_JINJA) {
        named.insert("default".to_owned(), text.clone());
    }
    named
}

fn in_json(model: &ModelInfo, file: &str) -> Result<Option<BTreeMap<String, String>>> {
    let Some(json) = model.json(file)? else {
        return Ok(None);
    };
    match json.get("chat_template") {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some([("default".to_owned(), text.clone())].into())),
        Some(Value::Array(entries)) => {
            entries.iter().map(|entry| entry_of(entry, file)).collect::<Result<_>>().map(Some)
        }
        Some(Value::Object(entries)) => {
            let entries =
                entries.iter().map(|(name, text)| Ok((name.clone(), as_text(text, file)?.to_owned())));
            entries.collect::<Result<_>>().map(Some)
        }
        Some(other) => Err(malformed(other, file)),
    }
}

fn entry_of(entry: &Value, file: &str) -> Result<(String, String)> {
    match (entry.get("name"), entry.get("template")) {
        (Some(name), Some(text)) => Ok((as_text(name, file)?.to_owned(), as_text(text, file)?.to_owned())),
        _ => Err(malformed(entry, file)),
    }
}

fn as_text<'a>(value: &'a Value, file: &str) -> Result<&'a str> {
    value.as_str().ok_or_else(|| malformed(value, file))
}

fn malformed(found: &Value, file: &str) -> Error {
    let message =
        format!("chat_template of {file} holds {found}, neither a text nor a list of {{name, template}}");
    Error::new(ErrorKind::Model, message)
}

fn choose(mut named: BTreeMap<String, String>, origin: TemplateOrigin) -> Result<TemplateSource> {
    let names: Vec<_> = named.keys().cloned().collect();
    match named.remove("default") {
        Some(default) => Ok(TemplateSource { default, tool_use: named.remove("tool_use"), names, origin }),
        None => {
            let message =
                format!("none of the chat templates in {origin} is called \"default\", there are {names:?}");
            Err(Error::new(ErrorKind::Template, message))
        }
    }
}
