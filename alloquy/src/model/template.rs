//! Which template renders a model's prompts: the one that was named, or the model's own. Loads no model.

use std::path::Path;
use std::sync::Arc;

use alloquy_core::model_info::ModelInfo;
use alloquy_core::template::{PromptTemplate, TemplateInput};
use alloquy_core::{Error, ErrorKind, Result};
use alloquy_model_files::bounded;
use alloquy_templates::mlc::ChatConfig;
use alloquy_templates::{
    CompletionTemplate, ConversationTemplate, Detected, Dialect, JinjaTemplate, TemplateOrigin, mlc,
};
use serde_json::{Map, Value};

use super::warning::ModelWarning;

/// Where a model's own chat template stands, and a family looks for it.
const TEMPLATE_FILE: &str = "chat_template.jinja";

/// Where its further templates stand, for conversations with tools.
const FURTHER: &str = "additional_chat_templates/";

/// How long a template's file may be.
const LONGEST: u64 = 16 << 20;

/// What is asked for in place of the model's template.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chosen<'a> {
    /// One that a host made.
    pub(super) own: Option<&'a Arc<dyn PromptTemplate>>,
    /// A file's path, or the name of a known one.
    pub(super) template: Option<&'a str>,
    pub(super) dialect: Option<Dialect>,
}

/// A template and where it came from.
#[derive(Debug)]
pub(super) struct Template {
    pub(super) template: Arc<dyn PromptTemplate>,
    pub(super) origin: String,
    /// The model brings no template and none was named.
    pub(super) missing: bool,
    /// What the template is written as, where that is not the model's own: a family looks for what it reads.
    pub(super) source: Option<String>,
    /// What a person should know of it.
    pub(super) warnings: Vec<ModelWarning>,
}

impl Template {
    /// Takes a template by a file's path or by a name, else the model's own.
    pub(super) fn choose(chosen: Chosen<'_>, model: &ModelInfo) -> Result<Self> {
        let dialect = chosen.dialect;
        if let Some(template) = chosen.own {
            // A family finds nothing in it that would want another shape.
            let own = Self::new(Arc::clone(template), "the program");
            return Ok(Self { source: Some(String::new()), ..own }.without_dialect(dialect));
        }
        match chosen.template {
            None => own(model, dialect),
            Some(path) if Path::new(path).exists() => of_file(path, model, dialect),
            Some(name) => Ok(named(name, model)?.without_dialect(dialect)),
        }
    }

    /// Goes on with texts, whatever template the model has. Media stand in places that the family takes which claims none.
    pub(super) fn completion(model: &ModelInfo) -> Result<Self> {
        let template = CompletionTemplate::of(model)?;
        let template =
            template.place("image", "<image>").place("audio", "<|audio|>").place("video", "<|video|>");
        Ok(Self::new(Arc::new(template), "completion"))
    }

    fn new(template: Arc<dyn PromptTemplate>, origin: impl Into<String>) -> Self {
        Self { template, origin: origin.into(), missing: false, source: None, warnings: Vec::new() }
    }

    /// Warns of a dialect that was asked for: this is no Jinja template.
    fn without_dialect(mut self, asked: Option<Dialect>) -> Self {
        if asked.is_some() {
            self.warnings.push(ModelWarning::DialectIgnored { origin: self.origin.clone() });
        }
        self
    }

    /// Takes over what a reader of MLC's JSON has to say.
    fn warned(mut self, warnings: &[mlc::Warning]) -> Self {
        for warning in warnings {
            let (origin, warning) = (self.origin.clone(), warning.clone());
            self.warnings.push(ModelWarning::Template { origin, warning });
        }
        self
    }
}

/// Returns what a model would be with `source` as its one template.
pub(super) fn with_source(model: &ModelInfo, source: String) -> ModelInfo {
    let mut model = model.clone();
    model.files.retain(|file, _| !file.starts_with(FURTHER));
    model.files.insert(TEMPLATE_FILE.to_owned(), source);
    model
}

fn own(model: &ModelInfo, asked: Option<Dialect>) -> Result<Template> {
    let dialect = asked.unwrap_or_default();
    let detected = alloquy_templates::detect_with(model, |builder| builder.dialect(dialect))?;
    let is_jinja = detected.capabilities.is_some();
    let Detected { template, origin, warnings, .. } = detected;
    let missing = origin == TemplateOrigin::Completion;
    let own = Template { missing, ..Template::new(template, origin.to_string()) };
    Ok(own.warned(&warnings).without_dialect(asked.filter(|_| !is_jinja)))
}

/// Reads a file: a conversation template of MLC where it is a JSON object, else a Jinja template.
fn of_file(path: &str, model: &ModelInfo, asked: Option<Dialect>) -> Result<Template> {
    let source = bounded::text(Path::new(path), LONGEST).map_err(|source| {
        Error::new(ErrorKind::Template, format!("template {path:?} cannot be read")).with_source(source)
    })?;
    if is_json(path, &source) {
        let template = of_json(&source).map_err(|error| error.context(format!("template {path:?}")))?;
        return Ok(of_mlc(template.with_tokens_of(model)?, path).without_dialect(asked));
    }
    let builder = JinjaTemplate::builder_of(&with_source(model, source.clone()))?;
    let template = builder.dialect(asked.unwrap_or_default()).build()?;
    let mut warnings = Vec::new();
    if !template.reads(&TemplateInput::default(), "messages") {
        warnings.push(ModelWarning::NoMessages { origin: path.to_owned() });
    }
    Ok(Template { source: Some(source), warnings, ..Template::new(Arc::new(template), path) })
}

/// MLC's files may have comments, so that the name counts too.
fn is_json(path: &str, source: &str) -> bool {
    let is_named = Path::new(path).extension().is_some_and(|end| end == "json");
    is_named || serde_json::from_str::<Map<String, Value>>(source).is_ok()
}

/// Reads a conversation template of MLC by itself, or that of a whole `mlc-chat-config.json`.
fn of_json(json: &str) -> Result<ConversationTemplate> {
    if !["\"conv_template\"", "\"conv_config\""].iter().any(|field| json.contains(field)) {
        return ConversationTemplate::from_json(json);
    }
    let none = || Error::new(ErrorKind::Template, "its conv_template is neither a name nor an object");
    ChatConfig::from_json(json)?.template.ok_or_else(none)
}

fn named(name: &str, model: &ModelInfo) -> Result<Template> {
    let template = ConversationTemplate::named(name).map_err(|error| {
        if error.is_not_found() {
            return error.context(format!("template {name:?} is no file"));
        }
        error
    })?;
    Ok(of_mlc(template.with_tokens_of(model)?, format!("the known {name:?}")))
}

/// A conversation template of MLC, whichever model it is for.
fn of_mlc(template: ConversationTemplate, origin: impl Into<String>) -> Template {
    let warnings = template.warnings().to_vec();
    // It is no Jinja, so a family finds nothing in it that would want another shape.
    let source = Some(String::new());
    let template = Template { source, ..Template::new(Arc::new(template), origin) };
    template.warned(&warnings)
}
