//! Builds a Jinja template from its source, its variables and its settings.

use std::mem;
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;

use alloquy_core::media::Digest;
use alloquy_core::model_info::ModelInfo;
use alloquy_core::{Error, ErrorKind, Result};
use serde_json::{Map, Value};

use super::clock::NowSource;
use super::dialect::Dialect;
use super::fault::Fault;
use super::known_tools::KnownTools;
use super::limits::Limits;
use super::polyfill::Polyfill;
use super::source::{self, Rewritten};
use super::{DEFAULT, JinjaTemplate, TOOL_USE, environment, guarded};
use crate::sources::{self, TemplateSource};
use crate::special_tokens;

/// Builds a [`JinjaTemplate`].
///
/// ```
/// use alloquy_core::template::{PromptTemplate, TemplateInput};
/// use alloquy_templates::{NowSource, JinjaTemplate};
/// use serde_json::json;
///
/// let day = jiff::civil::date(2026, 3, 4).at(15, 6, 7, 0);
/// let template = JinjaTemplate::builder("{{ strftime_now('%d %b %Y') }}").clock(NowSource::Fixed(day)).build()?;
/// let mut input = TemplateInput::default();
/// input.messages.push(json!({"role": "user", "content": "Which day is it?"}));
/// assert_eq!(template.render(&input)?, "04 Mar 2026");
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct JinjaTemplateBuilder {
    source: String,
    tool_use: Option<String>,
    variables: Map<String, Value>,
    /// The model's special tokens that have no name.
    additional: Vec<Value>,
    clock: NowSource,
    limits: Limits,
    dialect: Dialect,
    polyfill: Polyfill,
}

impl JinjaTemplate {
    /// Compiles `source`. `variables` are the model's special tokens (`bos_token`, …).
    ///
    /// # Errors
    /// [`ErrorKind::Template`] when the source is not a template.
    pub fn from_source(source: impl Into<String>, variables: Map<String, Value>) -> Result<Self> {
        Self::builder(source).variables(variables).build()
    }

    /// Compiles the template that a model brings, with the model's special tokens, and measures its
    /// [`capabilities`](JinjaTemplate::capabilities).
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] when the model brings no template, [`ErrorKind::Model`] when its files cannot be read,
    /// [`ErrorKind::Template`] when the template is invalid.
    pub fn of(model: &ModelInfo) -> Result<Self> {
        Ok(Self::builder_of(model)?.build()?.measured())
    }

    /// Compiles the template that a model calls `name`, as [`JinjaTemplate::of`] does with its default one.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] when the model has no template of that name, and those of [`JinjaTemplate::of`].
    pub fn named(model: &ModelInfo, name: &str) -> Result<Self> {
        Ok(Self::builder_named(model, name)?.build()?.measured())
    }

    /// Starts with the template that a model brings and the model's special tokens, to set another dialect, polyfill, clock
    /// or limits.
    ///
    /// # Errors
    /// Those of [`JinjaTemplate::of`], except for an invalid template, which [`JinjaTemplateBuilder::build`] reports.
    ///
    /// ```
    /// use alloquy_core::model_info::ModelInfo;
    /// use alloquy_core::template::{PromptTemplate, TemplateInput};
    /// use alloquy_templates::{Dialect, JinjaTemplate};
    /// use serde_json::json;
    ///
    /// let mut model = ModelInfo::default();
    /// let source = "{{ messages[0].content }} {{ additional_special_tokens }}";
    /// let config = json!({"chat_template": source, "additional_special_tokens": ["<a>"]});
    /// model.files.insert("tokenizer_config.json".into(), config.to_string());
    /// let template = JinjaTemplate::builder_of(&model)?.dialect(Dialect::HuggingFace4).build()?;
    /// let mut input = TemplateInput::default();
    /// input.messages.push(json!({"role": "user", "content": "Hello"}));
    /// assert_eq!(template.render(&input)?, "Hello ['<a>']");
    /// # Ok::<(), alloquy_core::Error>(())
    /// ```
    pub fn builder_of(model: &ModelInfo) -> Result<JinjaTemplateBuilder> {
        match sources::find(model)? {
            Some(source) => Self::builder_from(&source, model),
            None => {
                let message =
                    format!("model {:?} has no chat template, looked in {}", model.name, sources::PLACES);
                Err(Error::new(ErrorKind::NotFound, message))
            }
        }
    }

    /// Starts with the template that a model calls `name`, as [`JinjaTemplate::builder_of`] does with its default one.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] when the model has no template of that name, and those of [`JinjaTemplate::builder_of`].
    pub fn builder_named(model: &ModelInfo, name: &str) -> Result<JinjaTemplateBuilder> {
        Self::builder_from(&sources::named(model, name)?, model)
    }

    pub(crate) fn builder_from(source: &TemplateSource, model: &ModelInfo) -> Result<JinjaTemplateBuilder> {
        let builder = Self::builder(source.default.clone()).variables(special_tokens::of(model)?);
        let tool_use = source.tool_use.clone().or(builder.tool_use);
        Ok(JinjaTemplateBuilder { tool_use, additional: special_tokens::additional(model)?, ..builder })
    }

    /// Starts with a source, with more settings than [`JinjaTemplate::from_source`] has.
    pub fn builder(source: impl Into<String>) -> JinjaTemplateBuilder {
        JinjaTemplateBuilder {
            source: source.into(),
            tool_use: None,
            variables: Map::new(),
            additional: Vec::new(),
            clock: NowSource::default(),
            limits: Limits::default(),
            dialect: Dialect::default(),
            polyfill: Polyfill::default(),
        }
    }
}

impl JinjaTemplateBuilder {
    /// Sets the source for conversations with tools.
    pub fn tool_use(mut self, source: impl Into<String>) -> Self {
        self.tool_use = Some(source.into());
        self
    }

    /// Sets the variables that every render has: the model's special tokens (`bos_token`, …).
    pub fn variables(mut self, variables: Map<String, Value>) -> Self {
        self.variables = variables;
        self
    }

    /// Sets the clock that `strftime_now` reads.
    pub fn clock(mut self, clock: NowSource) -> Self {
        self.clock = clock;
        self
    }

    /// Sets the limits of a render.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets the renderer whose prompts are reproduced.
    pub fn dialect(mut self, dialect: Dialect) -> Self {
        self.dialect = dialect;
        self
    }

    /// Sets what happens to parts of a conversation that the template does not print.
    pub fn polyfill(mut self, polyfill: Polyfill) -> Self {
        self.polyfill = polyfill;
        self
    }

    /// Compiles the template.
    ///
    /// # Errors
    /// [`ErrorKind::Template`] when the source is not a template or is larger than the limits allow.
    pub fn build(self) -> Result<JinjaTemplate> {
        Ok(self.compile()?)
    }

    fn compile(mut self) -> Result<JinjaTemplate, Fault> {
        if self.dialect == Dialect::HuggingFace4 && !self.additional.is_empty() {
            let additional = Value::Array(mem::take(&mut self.additional));
            self.variables.entry("additional_special_tokens").or_insert(additional);
        }
        let digest = self.digest();
        let named = [(DEFAULT, Some(self.source)), (TOOL_USE, self.tool_use)];
        let mut environment = guarded(|| environment::new(self.clock, self.limits, self.dialect))?
            .map_err(|error| Fault::of_engine(error, 0))?;
        for (name, source) in named {
            let Some(source) = source else { continue };
            let Rewritten { source, doubtful } = checked(&source, self.limits, self.dialect)?;
            guarded(|| environment.add_template_owned(name, source))?
                .map_err(|error| Fault::of_engine(error, 0))?;
            if let Some(line) = doubtful {
                return Err(Fault::Syntax { line });
            }
        }
        Ok(JinjaTemplate {
            environment,
            variables: self.variables,
            digest,
            limits: self.limits,
            dialect: self.dialect,
            polyfill: self.polyfill,
            capabilities: OnceLock::new(),
            exhausted: AtomicBool::new(false),
            known_tools: KnownTools::default(),
        })
    }

    /// Returns the digest of the source, or of both sources with a NUL between them.
    fn digest(&self) -> Digest {
        match &self.tool_use {
            Some(tool_use) => Digest::of(format!("{}\0{tool_use}", self.source).as_bytes()),
            None => Digest::of(self.source.as_bytes()),
        }
    }
}

fn checked(source: &str, limits: Limits, dialect: Dialect) -> Result<Rewritten, Fault> {
    if source.len() > limits.source_bytes {
        return Err(Fault::Source { found: source.len(), allowed: limits.source_bytes });
    }
    if dialect.is_litert() {
        source::rewrite(source)
    } else {
        source::rewrite(&source::with_line_feeds(source))
    }
}
