//! Makes a Jinja template: its source, its variables, and the choices about how it is rendered.

use std::mem;
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;

use alloquy_core::{Digest, Result};
use serde_json::{Map, Value};

use super::clock::Clock;
use super::dialect::Dialect;
use super::fault::Fault;
use super::known_tools::KnownTools;
use super::limits::Limits;
use super::polyfill::Polyfill;
use super::source::{self, Rewritten};
use super::{DEFAULT, JinjaTemplate, TOOL_USE, environment, guarded};

/// Makes a [`JinjaTemplate`].
///
/// ```
/// use alloquy_core::{PromptTemplate, TemplateInput};
/// use alloquy_templates::{Clock, JinjaTemplate};
/// use serde_json::json;
///
/// let day = jiff::civil::date(2026, 3, 4).at(15, 6, 7, 0);
/// let template = JinjaTemplate::builder("{{ strftime_now('%d %b %Y') }}").clock(Clock::Fixed(day)).build()?;
/// let mut input = TemplateInput::default();
/// input.messages.push(json!({"role": "user", "content": "Which day is it?"}));
/// assert_eq!(template.render(&input)?, "04 Mar 2026");
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct JinjaTemplateBuilder {
    pub(super) source: String,
    pub(super) tool_use: Option<String>,
    pub(super) variables: Map<String, Value>,
    /// The model's special tokens that have no name.
    pub(super) additional: Vec<Value>,
    pub(super) clock: Clock,
    pub(super) limits: Limits,
    pub(super) dialect: Dialect,
    pub(super) polyfill: Polyfill,
}

impl JinjaTemplateBuilder {
    /// Sets the source to render instead when there are tools.
    pub fn tool_use(mut self, source: impl Into<String>) -> Self {
        self.tool_use = Some(source.into());
        self
    }

    /// Sets the variables of the template's own: the special tokens (`bos_token`, …) that are set.
    pub fn variables(mut self, variables: Map<String, Value>) -> Self {
        self.variables = variables;
        self
    }

    /// Sets the clock behind `strftime_now`.
    pub fn clock(mut self, clock: Clock) -> Self {
        self.clock = clock;
        self
    }

    /// Sets what a render may use.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets whose prompts the template's are to be equal to.
    pub fn dialect(mut self, dialect: Dialect) -> Self {
        self.dialect = dialect;
        self
    }

    /// Sets what happens to what the template has no place for.
    pub fn polyfill(mut self, polyfill: Polyfill) -> Self {
        self.polyfill = polyfill;
        self
    }

    /// Compiles the template.
    ///
    /// # Errors
    /// [`ErrorKind::Template`](alloquy_core::ErrorKind::Template) when the source is not a template or is larger than the limits allow.
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

    /// Of the source; of both when there is one for tools, which a NUL parts.
    fn digest(&self) -> Digest {
        match &self.tool_use {
            Some(tool_use) => Digest::of(format!("{}\0{tool_use}", self.source).as_bytes()),
            None => Digest::of(self.source.as_bytes()),
        }
    }
}

fn checked(source: &str, limits: Limits, dialect: Dialect) -> Result<Rewritten, Fault> {
    match source.len() > limits.source_bytes {
        true => Err(Fault::Source { found: source.len(), allowed: limits.source_bytes }),
        false if dialect.is_litert() => source::rewrite(source),
        false => source::rewrite(&source::with_line_feeds(source)),
    }
}
