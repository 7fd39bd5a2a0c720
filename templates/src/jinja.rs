//! A Jinja chat template, rendered as Hugging Face's `apply_chat_template` renders it.
//!
//! Reference: transformers 5.23.0 with Jinja2 3.1.6. `docs/templates.md` lists what differs, and why.

mod arguments;
mod builder;
mod capabilities;
mod clock;
mod continuation;
mod conversion;
mod dialect;
mod dict;
mod environment;
mod expressions;
mod fault;
mod filters;
mod generator;
mod globals;
mod guards;
mod input;
mod json;
mod known_tools;
mod ledger;
mod left_out;
mod limits;
mod lists;
mod litert;
mod methods;
mod number;
mod operators;
mod output;
mod percent;
mod piece;
mod polyfill;
mod prompt_text;
mod python;
mod range;
mod source;
mod spans;
mod statements;
mod tags;
mod texts;
mod tokens;
mod weight;

use std::borrow::Cow;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use alloquy_core::Result;
use alloquy_core::media::Digest;
use alloquy_core::report::Warning;
use alloquy_core::template::{PromptEnd, PromptTemplate, TemplateInput};
use minijinja::Environment;
use serde_json::{Map, Value};

pub use builder::JinjaTemplateBuilder;
pub use capabilities::{ArgumentForms, Capabilities, SystemRole};
pub use clock::NowSource;
pub use dialect::Dialect;
pub use limits::{DEFAULT_OUTPUT_BYTES, DEFAULT_SOURCE_BYTES, DEFAULT_STEPS, Limits};
pub use polyfill::{AppliedPolyfill, Polyfill};
pub use prompt_text::{
    NoReferences, PromptReference, PromptReferences, PromptSyntax, PromptText, format_to_jinja,
};
pub use spans::Rendered;

use capabilities::{Probe, Prober};
use continuation::Continuation;
use fault::Fault;
use input::{Message, Variables};
use known_tools::KnownTools;
use output::Output;
use spans::Marks;

const DEFAULT: &str = "default";
const TOOL_USE: &str = "tool_use";

/// A Jinja chat template: compiled once, rendered many times, from any thread.
///
/// ```
/// use alloquy_core::template::{PromptTemplate, TemplateInput};
/// use alloquy_templates::JinjaTemplate;
/// use serde_json::{Map, json};
///
/// let source = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}";
/// let template = JinjaTemplate::from_source(source, Map::new())?;
/// let mut input = TemplateInput::default();
/// input.messages.push(json!({"role": "user", "content": "Hello {{ 1 + 1 }}"}));
/// assert_eq!(template.render(&input)?, "<user>Hello {{ 1 + 1 }}<assistant>");
/// # Ok::<(), alloquy_core::Error>(())
/// ```
pub struct JinjaTemplate {
    environment: Environment<'static>,
    variables: Map<String, Value>,
    digest: Digest,
    limits: Limits,
    dialect: Dialect,
    polyfill: Polyfill,
    capabilities: OnceLock<Capabilities>,
    /// Whether a probe exceeded a limit. No further one is rendered then.
    exhausted: AtomicBool,
    known_tools: KnownTools,
}

impl JinjaTemplate {
    pub(crate) fn measured(self) -> Self {
        self.capabilities();
        self
    }

    /// Renders a prompt, and returns which parts of it the assistant wrote (the insides of `{% generation %}`) and what was
    /// changed in the conversation before.
    ///
    /// # Errors
    /// Those of [`render`](PromptTemplate::render).
    pub fn render_spans(&self, input: &TemplateInput) -> Result<Rendered> {
        Ok(self.render_marked(input)?)
    }

    /// Returns what the template can do. Some twenty renders measure it once: when the template is loaded by
    /// [`detect`](crate::detect), [`of`](Self::of) or [`named`](Self::named), otherwise at the first call.
    pub fn capabilities(&self) -> &Capabilities {
        self.capabilities.get_or_init(|| {
            let environment = self.probing();
            let bos = self.variables.get("bos_token").and_then(Value::as_str).filter(|bos| !bos.is_empty());
            Prober { render: &|probe| self.measure(&environment, probe), bos }.measure()
        })
    }

    /// Returns the engine with the limit for probes.
    fn probing(&self) -> Environment<'static> {
        let mut environment = self.environment.clone();
        environment.set_fuel(Some(self.limits.steps.min(limits::PROBE_STEPS)));
        environment
    }

    /// Renders a probe. A template that exceeded a limit once is not tried again.
    fn run_probe(
        &self,
        environment: &Environment<'_>,
        name: &str,
        variables: &Variables<'_>,
    ) -> Result<String, Fault> {
        if self.exhausted.load(Ordering::Relaxed) {
            return Err(Fault::Steps(limits::PROBE_STEPS));
        }
        let rendered = self.run(environment, name, variables);
        if rendered.as_ref().is_err_and(Fault::is_exhaustion) {
            self.exhausted.store(true, Ordering::Relaxed);
        }
        rendered
    }

    fn measure(&self, environment: &Environment<'_>, probe: &Probe) -> Option<String> {
        let input = TemplateInput {
            messages: Vec::new(),
            tools: probe.tools.clone(),
            documents: probe.documents.clone(),
            ending: probe.ending,
            extra: probe.extra.clone(),
        };
        let messages = input::of_probe(&probe.messages, self.dialect);
        self.run_probe(environment, self.template_for(&input), &self.variables(messages, &input)).ok()
    }

    fn render_marked(&self, input: &TemplateInput) -> Result<Rendered, Fault> {
        let (input, polyfills) = self.with_polyfill(input)?;
        self.check_expressed(&input)?;
        let messages = input::messages(&input, self.dialect)?;
        let mut variables = self.variables(messages, &input);
        let marks = Marks::new(&variables).ok_or(Fault::Unmarked)?;
        marks.add_to(&mut variables);
        let template = self.template_for(&input);
        let rendered = marks.read(&self.run(&self.environment, template, &variables)?);
        Ok(Rendered { polyfills, template, ..rendered })
    }

    fn render_checked(&self, input: &TemplateInput) -> Result<String, Fault> {
        let (input, _) = self.with_polyfill(input)?;
        let rendered = self.render_as_it_is(&input)?;
        self.check_left_out(&input, &rendered)?;
        Ok(rendered)
    }

    /// Merges messages that the template does not print into the first user message, if the polyfill says so.
    fn with_polyfill<'a>(
        &self,
        input: &'a TemplateInput,
    ) -> Result<(Cow<'a, TemplateInput>, Vec<AppliedPolyfill>), Fault> {
        if self.polyfill != Polyfill::MergeIntoUser || !input.messages.iter().any(is_instruction) {
            return Ok((Cow::Borrowed(input), Vec::new()));
        }
        let (merged, applied) = polyfill::merged(input, self.capabilities())?;
        Ok((Cow::Owned(merged), applied))
    }

    fn check_expressed(&self, input: &TemplateInput) -> Result<(), Fault> {
        let rendered = self.render_as_it_is(input)?;
        self.check_left_out(input, &rendered)
    }

    fn render_as_it_is(&self, input: &TemplateInput) -> Result<String, Fault> {
        let mut messages = input::messages(input, self.dialect)?;
        let continuation = match input.ending {
            PromptEnd::Continuation => Some(Continuation::mark(&mut messages)?),
            PromptEnd::Generation | PromptEnd::Closed => None,
        };
        let variables = self.variables(messages, input);
        let rendered = self.run(&self.environment, self.template_for(input), &variables)?;
        match continuation {
            Some(continuation) => continuation.cut(rendered),
            None => Ok(rendered),
        }
    }

    fn variables<'a>(&'a self, messages: Vec<Message<'a>>, input: &'a TemplateInput) -> Variables<'a> {
        Variables {
            special_tokens: &self.variables,
            messages,
            input,
            known_tools: &self.known_tools,
            dialect: self.dialect,
            marks: Vec::new(),
        }
    }

    fn has_tool_use(&self) -> bool {
        self.environment.get_template(TOOL_USE).is_ok()
    }

    /// Returns the name of the template to render: conversations with tools have their own, if the model brings one.
    fn template_for(&self, input: &TemplateInput) -> &'static str {
        if input.tools.is_some() && self.has_tool_use() { TOOL_USE } else { DEFAULT }
    }

    fn run(
        &self,
        environment: &Environment<'_>,
        name: &str,
        variables: &Variables<'_>,
    ) -> Result<String, Fault> {
        let mut output = Output::new(self.limits.output_bytes);
        let rendered = guarded(|| {
            let template = environment.get_template(name)?;
            template.render_captured_to(variables.value(), &mut output).map(drop)
        })?;
        match rendered {
            Ok(()) => Ok(output.into_text()),
            Err(_) if output.full => Err(Fault::Output(output.limit)),
            Err(error) => Err(Fault::of_engine(error, self.limits.steps)),
        }
    }
}

impl PromptTemplate for JinjaTemplate {
    fn render(&self, input: &TemplateInput) -> Result<String> {
        Ok(self.render_checked(input)?)
    }

    fn probe(&self, input: &TemplateInput) -> Result<String> {
        let messages = input::messages(input, self.dialect)?;
        let variables = self.variables(messages, input);
        Ok(self.run_probe(&self.probing(), self.template_for(input), &variables)?)
    }

    fn digest(&self) -> Digest {
        self.digest
    }

    fn name_for(&self, input: &TemplateInput) -> Option<&str> {
        self.has_tool_use().then(|| self.template_for(input))
    }

    fn reads(&self, input: &TemplateInput, variable: &str) -> bool {
        let template = self.environment.get_template(self.template_for(input));
        template.is_ok_and(|template| names(template.source(), variable))
    }

    fn warnings(&self, input: &TemplateInput) -> Vec<Warning> {
        self.warnings_of(input)
    }
}

/// Returns whether a message is a system or developer message.
fn is_instruction(message: &Value) -> bool {
    matches!(message.get("role").and_then(Value::as_str), Some("system" | "developer"))
}

impl fmt::Debug for JinjaTemplate {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("JinjaTemplate")
            .field("digest", &self.digest)
            .field("variables", &self.variables)
            .finish_non_exhaustive()
    }
}

/// Returns whether `source` contains `variable` as a word of its own, neither as a field nor in quotes. Plain text counts,
/// too, so the answer may be true by mistake, but not false.
fn names(source: &str, variable: &str) -> bool {
    source.match_indices(variable).any(|(start, _)| {
        let before = source.get(..start).and_then(|before| before.chars().next_back());
        let after = source.get(start + variable.len()..).and_then(|after| after.chars().next());
        // In `x.tools` it is a field; in `tools.x` it is the variable.
        !before.is_some_and(is_joined) && !after.is_some_and(|symbol| symbol != '.' && is_joined(symbol))
    })
}

/// Returns whether a character beside a name makes it another name, a field or a text.
fn is_joined(symbol: char) -> bool {
    tags::is_word(symbol) || matches!(symbol, '.' | '"' | '\'')
}

/// Turns a panic of the engine into a fault.
///
/// No half-changed state remains: the engine keeps none between renders, and an environment that could not be built is
/// dropped.
fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, Fault> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|payload| Fault::of_panic(payload.as_ref()))
}
