//! Chooses the template of a model's prompts: the one that was named, or the model's own.

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

/// The file of a model's own chat template, which a family reads.
const TEMPLATE_FILE: &str = "chat_template.jinja";

/// The folder of its further templates, for conversations with tools.
const FURTHER: &str = "additional_chat_templates/";

/// The largest file of a template, in bytes.
const LONGEST: u64 = 16 << 20;

/// The requested template, which replaces the model's own.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chosen<'a> {
    /// An implementation of the program's own.
    pub(super) own: Option<&'a Arc<dyn PromptTemplate>>,
    /// The path of a file, or the name of a known template.
    pub(super) template: Option<&'a str>,
    pub(super) dialect: Option<Dialect>,
}

/// A template and its origin.
#[derive(Debug)]
pub(super) struct Template {
    pub(super) template: Arc<dyn PromptTemplate>,
    pub(super) origin: String,
    /// Whether the model has no template and none was named.
    pub(super) missing: bool,
    /// The source text of the template, if it is not the model's own. A family looks in it for the fields that it reads.
    pub(super) source: Option<String>,
    /// The warnings about it.
    pub(super) warnings: Vec<ModelWarning>,
}

impl Template {
    /// Returns the requested template, by a path or a name, else the model's own.
    pub(super) fn choose(chosen: Chosen<'_>, model: &ModelInfo) -> Result<Self> {
        let dialect = chosen.dialect;
        if let Some(template) = chosen.own {
            // The source is empty, so that the family finds no field that needs another shape of messages.
            let own = Self::new(Arc::clone(template), "the program");
            return Ok(Self { source: Some(String::new()), ..own }.without_dialect(dialect));
        }
        match chosen.template {
            None => own(model, dialect),
            Some(path) if Path::new(path).exists() => of_file(path, model, dialect),
            Some(name) => Ok(named(name, model)?.without_dialect(dialect)),
        }
    }

    /// Continues texts, whatever template the model has. The placeholders of media are those of the generic family.
    pub(super) fn completion(model: &ModelInfo) -> Result<Self> {
        let template = CompletionTemplate::of(model)?;
        let template =
            template.place("image", "<image>").place("audio", "<|audio|>").place("video", "<|video|>");
        Ok(Self::new(Arc::new(template), "completion"))
    }

    fn new(template: Arc<dyn PromptTemplate>, origin: impl Into<String>) -> Self {
        Self { template, origin: origin.into(), missing: false, source: None, warnings: Vec::new() }
    }

    /// Adds a warning if a dialect was requested, because this is not a Jinja template.
    fn without_dialect(mut self, requested: Option<Dialect>) -> Self {
        if requested.is_some() {
            self.warnings.push(ModelWarning::DialectIgnored { origin: self.origin.clone() });
        }
        self
    }

    /// Adds the warnings of the reader of MLC's JSON.
    fn warned(mut self, warnings: &[mlc::Warning]) -> Self {
        for warning in warnings {
            let origin = self.origin.clone();
            let warning = warning.clone();
            self.warnings.push(ModelWarning::Template { origin, warning });
        }
        self
    }
}

/// Returns a model with `source` as its only template.
pub(super) fn with_source(model: &ModelInfo, source: String) -> ModelInfo {
    let mut model = model.clone();
    model.files.retain(|file, _| !file.starts_with(FURTHER));
    model.files.insert(TEMPLATE_FILE.to_owned(), source);
    model
}

fn own(model: &ModelInfo, requested: Option<Dialect>) -> Result<Template> {
    let dialect = requested.unwrap_or_default();
    let detected = alloquy_templates::detect_with(model, |builder| builder.dialect(dialect))?;
    let is_jinja = detected.capabilities.is_some();
    let Detected { template, origin, warnings, .. } = detected;
    let missing = origin == TemplateOrigin::Completion;
    let own = Template { missing, ..Template::new(template, origin.to_string()) };
    Ok(own.warned(&warnings).without_dialect(requested.filter(|_| !is_jinja)))
}

/// Reads a file: a conversation template of MLC if it is a JSON object, else a Jinja template.
fn of_file(path: &str, model: &ModelInfo, requested: Option<Dialect>) -> Result<Template> {
    let source = bounded::text(Path::new(path), LONGEST).map_err(|source| {
        Error::new(ErrorKind::Template, format!("template {path:?} cannot be read")).with_source(source)
    })?;
    if is_json(path, &source) {
        let template = of_json(&source).map_err(|error| error.context(format!("template {path:?}")))?;
        return Ok(of_mlc(template.with_tokens_of(model)?, path).without_dialect(requested));
    }
    let builder = JinjaTemplate::builder_of(&with_source(model, source.clone()))?;
    let template = builder.dialect(requested.unwrap_or_default()).build()?;
    let mut warnings = Vec::new();
    if !template.reads(&TemplateInput::default(), "messages") {
        warnings.push(ModelWarning::NoMessages { origin: path.to_owned() });
    }
    Ok(Template { source: Some(source), warnings, ..Template::new(Arc::new(template), path) })
}

/// Returns whether a file is JSON by its name or its text. MLC's files may have comments, which do not parse as JSON.
fn is_json(path: &str, source: &str) -> bool {
    let is_named = Path::new(path).extension().is_some_and(|end| end == "json");
    is_named || serde_json::from_str::<Map<String, Value>>(source).is_ok()
}

/// Reads a conversation template of MLC, alone or in a whole `mlc-chat-config.json`.
fn of_json(json: &str) -> Result<ConversationTemplate> {
    if !["\"conv_template\"", "\"conv_config\""].iter().any(|field| json.contains(field)) {
        return ConversationTemplate::from_json(json);
    }
    let Some(template) = ChatConfig::from_json(json)?.template else {
        return Err(Error::new(ErrorKind::Template, "its conv_template is neither a name nor an object"));
    };
    Ok(template)
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

/// Wraps a conversation template of MLC.
fn of_mlc(template: ConversationTemplate, origin: impl Into<String>) -> Template {
    let warnings = template.warnings().to_vec();
    // It is not Jinja: the source is empty, so that the family finds no field that needs another shape of messages.
    let source = Some(String::new());
    let template = Template { source, ..Template::new(Arc::new(template), origin) };
    template.warned(&warnings)
}
