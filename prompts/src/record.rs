//! Prompts as files and configurations have them.

use std::collections::BTreeMap;

use alloquy_core::prompt_library::VersionNumber;
use alloquy_core::{Error, ErrorKind, Result, Role, SamplingOptions};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A prompt as a file or a configuration has it.
///
/// The names are those of dataknobs' files; `role`, `input`, `model` and `sampling` are new. A prompt that is a string alone is its
/// template.
///
/// ```
/// use alloquy_prompts::PromptRecord;
/// use serde_json::json;
///
/// let record = PromptRecord::from_json(&json!({"template": "I am {{name}}.", "defaults": {"name": "Ann"}}))?;
/// assert_eq!(record.template.as_deref(), Some("I am {{name}}."));
/// assert_eq!(PromptRecord::from_json(&json!("Hello"))?, PromptRecord::of_text("Hello"));
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct PromptRecord {
    /// The text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template: Option<String>,
    /// The messages of a prompt of several messages, which has no `template`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<MessageRecord>,
    /// How variables are written: `jinja2` (`{{name}}`, the default) or `format` (`{name}`, as Python formats).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template_syntax: Option<TemplateSyntax>,
    /// Whether `((…))` is an optional section: `mixed` (the default) or `jinja2`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template_mode: Option<TemplateMode>,
    /// Values for names without one.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub defaults: Map<String, Value>,
    /// Which values are needed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub validation: Option<ValidationRecord>,
    /// Texts that replace `{{NAME}}` before the template is compiled.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub sections: BTreeMap<String, String>,
    /// The prompt on which this one is based: what is absent here is taken from there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extends: Option<String>,
    /// The names of retrievals whose documents the template shows.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rag_config_refs: Vec<String>,
    /// Retrievals of this prompt alone.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rag_configs: Vec<RetrievalRecord>,
    /// Who says a message of this template; the folder decides if it is absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
    /// A JSON Schema of the values; [`InputSchema`](crate::InputSchema) lists what it may contain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<Value>,
    /// The model that the author recommends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The sampling that the author recommends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sampling: Option<SamplingOptions>,
    /// The author's notes.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
}

/// How variables are written in a template.
///
/// [`PromptRecord`] has one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TemplateSyntax {
    /// `{{name}}`, and Jinja.
    #[default]
    #[serde(alias = "jinja")]
    Jinja2,
    /// `{name}`, as Python's `str.format` has it.
    Format,
}

/// Whether a template has optional sections.
///
/// [`PromptRecord`] has one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TemplateMode {
    /// `((…))` is an optional section, and the rest is Jinja.
    #[default]
    Mixed,
    /// The template is Jinja alone.
    #[serde(alias = "jinja")]
    Jinja2,
}

/// A message of a prompt of several messages.
///
/// [`PromptRecord`] has them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageRecord {
    /// Who says it.
    pub role: Role,
    /// Its template.
    pub content: String,
}

/// Which values a prompt needs, and what happens without them.
///
/// [`PromptRecord`] has one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ValidationRecord {
    /// What happens if a required value is missing; absent is [`ValidationLevel::Warn`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<ValidationLevel>,
    /// The names of values that must be there.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub required_params: Vec<String>,
    /// The names of values that may be absent; they are for readers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub optional_params: Vec<String>,
}

/// What happens if a required value is missing.
///
/// A [`PromptRecord`] has one in its validation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ValidationLevel {
    /// The prompt cannot be filled in.
    Error,
    /// The facts of the prompt list the name as missing.
    #[default]
    Warn,
    /// The facts of the prompt list the name only if the text would print it.
    Ignore,
}

/// How documents are searched for and shown.
///
/// ```
/// use alloquy_prompts::RetrievalRecord;
///
/// let record: RetrievalRecord =
///     serde_json::from_str(r#"{"adapter_name": "docs", "query": "{{topic}}", "placeholder": "DOCS", "k": 2}"#)?;
/// assert_eq!((record.adapter_name.as_str(), record.k), ("docs", Some(2)));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct RetrievalRecord {
    /// Where documents are searched for.
    pub adapter_name: String,
    /// The query, a template.
    pub query: String,
    /// How many documents are shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub k: Option<usize>,
    /// Conditions on the metadata of documents.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub filters: Map<String, Value>,
    /// The name in the template that the documents replace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub placeholder: Option<String>,
    /// The text before the documents.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub header: Option<String>,
    /// The template of a document.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item_template: Option<String>,
}

/// The keys of a [`PromptRecord`], for problems.
const KEYS: [&str; 15] = [
    "template",
    "messages",
    "template_syntax",
    "template_mode",
    "defaults",
    "validation",
    "sections",
    "extends",
    "rag_config_refs",
    "rag_configs",
    "role",
    "input",
    "model",
    "sampling",
    "metadata",
];

/// The keys of a [`RetrievalRecord`], for problems.
const RETRIEVAL_KEYS: [&str; 7] =
    ["adapter_name", "query", "k", "filters", "placeholder", "header", "item_template"];

impl PromptRecord {
    /// Creates a prompt that is a text alone.
    pub fn of_text(template: impl Into<String>) -> Self {
        Self { template: Some(template.into()), ..Self::default() }
    }

    /// Reads a prompt. A string is a template, and null is an empty one.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for a value of another type.
    pub fn from_json(value: &Value) -> Result<Self> {
        match value {
            Value::Null => Ok(Self::of_text("")),
            Value::String(template) => Ok(Self::of_text(template.clone())),
            Value::Object(_) => Self::deserialize(value).map_err(|source| {
                let message = format!("the prompt cannot be read: {source}");
                Error::new(ErrorKind::Invalid, message).with_source(source)
            }),
            other => {
                let message = format!("the prompt is {other}, expected a text or an object with a template");
                Err(Error::new(ErrorKind::Invalid, message))
            }
        }
    }

    /// Returns the keys of a prompt that have no meaning here.
    pub(crate) fn unknown_keys(value: &Value) -> Vec<&str> {
        not_among(value, &KEYS)
    }

    /// Returns this record with what is absent taken from `base`.
    #[must_use]
    pub(crate) fn or_base(mut self, base: &Self) -> Self {
        if self.template.is_none() && self.messages.is_empty() {
            self.template.clone_from(&base.template);
            self.messages.clone_from(&base.messages);
        }
        self.template_syntax = self.template_syntax.or(base.template_syntax);
        self.template_mode = self.template_mode.or(base.template_mode);
        self.validation = self.validation.or_else(|| base.validation.clone());
        self.role = self.role.or(base.role);
        self.input = self.input.or_else(|| base.input.clone());
        self.model = self.model.or_else(|| base.model.clone());
        self.sampling = match self.sampling {
            Some(sampling) => Some(sampling.or(&base.sampling.clone().unwrap_or_default())),
            None => base.sampling.clone(),
        };
        fill_map(&mut self.defaults, &base.defaults);
        fill_map(&mut self.metadata, &base.metadata);
        for (name, text) in &base.sections {
            self.sections.entry(name.clone()).or_insert_with(|| text.clone());
        }
        let own = std::mem::replace(&mut self.rag_config_refs, base.rag_config_refs.clone());
        for name in own {
            if !self.rag_config_refs.contains(&name) {
                self.rag_config_refs.push(name);
            }
        }
        self.rag_configs.splice(..0, base.rag_configs.iter().cloned());
        self
    }
}

impl RetrievalRecord {
    /// Returns the keys of a retrieval that have no meaning here.
    pub(crate) fn unknown_keys(value: &Value) -> Vec<&str> {
        not_among(value, &RETRIEVAL_KEYS)
    }
}

fn not_among<'a>(value: &'a Value, known: &[&str]) -> Vec<&'a str> {
    let Value::Object(fields) = value else { return Vec::new() };
    fields.keys().map(String::as_str).filter(|key| !known.contains(key)).collect()
}

fn fill_map(map: &mut Map<String, Value>, base: &Map<String, Value>) {
    for (name, value) in base {
        map.entry(name.clone()).or_insert_with(|| value.clone());
    }
}

/// The state of a version.
///
/// [`PromptHistory`](crate::PromptHistory) has versions in each state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VersionStatus {
    /// It is being written: only its number or a label finds it.
    Draft,
    /// It may be used.
    #[default]
    Active,
    /// It is in use.
    Production,
    /// It should no longer be used: only its number or a label finds it.
    Deprecated,
    /// It is kept for the record: only its number or a label finds it.
    Archived,
}

impl VersionStatus {
    /// Returns whether a version is found without its number or a label.
    pub fn is_current(self) -> bool {
        matches!(self, Self::Active | Self::Production)
    }
}

/// What is known of a version besides its text.
///
/// [`VersionedLibrary`](crate::VersionedLibrary) has them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct VersionRecord {
    /// Its state.
    pub status: VersionStatus,
    /// Its tags, sorted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// When it was created, as the author wrote it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_at: Option<String>,
    /// Who created it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_by: Option<String>,
    /// The version that it was made from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_version: Option<VersionNumber>,
    /// The SHA-256 of the version's record, which must never change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
}
