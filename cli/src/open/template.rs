//! Which template renders a model's prompts: the one that was named, or the model's own. Loads no model.

use std::path::Path;
use std::sync::Arc;

use alloquy_core::{Error, ErrorKind, ModelInfo, PromptTemplate, Result, TokenId};
use alloquy_templates::{
    CompletionTemplate, ConversationTemplate, Detected, Dialect, JinjaTemplate, TemplateOrigin,
};

use crate::arguments::{ModelArguments, TemplateDialect};

/// Where a model's own chat template stands, and a family looks for it.
const TEMPLATE_FILE: &str = "chat_template.jinja";

/// Where its further templates stand, for conversations with tools.
const FURTHER: &str = "additional_chat_templates/";

/// A template and where it came from.
#[derive(Debug)]
pub(super) struct Template {
    pub(super) template: Arc<dyn PromptTemplate>,
    pub(super) origin: String,
    /// The model brings no template and none was named.
    pub(super) missing: bool,
    /// Texts that end a reply in this template's format.
    pub(super) stop: Vec<String>,
    /// Tokens that do.
    pub(super) stop_tokens: Vec<TokenId>,
    /// What the template is written as, where that is not the model's own: a family looks for what it reads.
    pub(super) source: Option<String>,
    /// What a person should know of it.
    pub(super) warnings: Vec<String>,
}

impl Template {
    /// Takes a template by a file's path or by a name, else the model's own.
    pub(super) fn choose(arguments: &ModelArguments, model: &ModelInfo) -> Result<Self> {
        let dialect = arguments.template_dialect;
        match arguments.template.as_deref() {
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
        Self {
            template,
            origin: origin.into(),
            missing: false,
            stop: Vec::new(),
            stop_tokens: Vec::new(),
            source: None,
            warnings: Vec::new(),
        }
    }

    /// Warns of a dialect that was asked for: this is no Jinja template.
    fn without_dialect(mut self, asked: Option<TemplateDialect>) -> Self {
        let warning = asked.map(|_| "no Jinja template, so --template-dialect has no effect".to_owned());
        self.warnings.extend(warning);
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

fn own(model: &ModelInfo, asked: Option<TemplateDialect>) -> Result<Template> {
    let dialect = asked.map(Dialect::from).unwrap_or_default();
    let detected = alloquy_templates::detect_with(model, |builder| builder.dialect(dialect))?;
    let is_jinja = detected.capabilities.is_some();
    let Detected { template, origin, stop, stop_tokens, warnings, .. } = detected;
    let missing = origin == TemplateOrigin::Completion;
    let warnings = warnings.iter().map(ToString::to_string).collect();
    let own =
        Template { missing, stop, stop_tokens, warnings, ..Template::new(template, origin.to_string()) };
    Ok(own.without_dialect(asked.filter(|_| !is_jinja)))
}

fn of_file(path: &str, model: &ModelInfo, asked: Option<TemplateDialect>) -> Result<Template> {
    let source = crate::file::text(Path::new(path)).map_err(|source| {
        Error::new(ErrorKind::Template, format!("template {path:?} cannot be read")).with_source(source)
    })?;
    let builder = JinjaTemplate::builder_of(&with_source(model, source.clone()))?;
    let template = builder.dialect(asked.map(Dialect::from).unwrap_or_default()).build()?;
    Ok(Template { source: Some(source), ..Template::new(Arc::new(template), path) })
}

fn named(name: &str, model: &ModelInfo) -> Result<Template> {
    let template = ConversationTemplate::named(name);
    let template = template.map_err(|error| match error.is_not_found() {
        true => error.context(format!("template {name:?} is no file")),
        false => error,
    })?;
    let template = template.with_tokens_of(model)?;
    let stop = template.stop_strings().to_vec();
    let stop_tokens = template.stop_tokens().to_vec();
    let warnings = template.warnings().iter().map(ToString::to_string).collect();
    // It is no Jinja, so a family finds nothing in it that would want another shape.
    let source = Some(String::new());
    let origin = format!("the known {name:?}");
    Ok(Template { stop, stop_tokens, warnings, source, ..Template::new(Arc::new(template), origin) })
}
