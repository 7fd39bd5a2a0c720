//! Renders a prompt text.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use alloquy_core::prompt_library::{RenderedPrompt, Values};
use alloquy_core::{Error, ErrorKind, Result};
use minijinja::value::{Kwargs, Value as EngineValue};
use minijinja::{Environment, Error as EngineError, State};
use serde_json::Value;

use super::super::dict::Dict;
use super::super::fault::Fault;
use super::super::limits::{Limits, NESTING};
use super::super::weight::Weight;
use super::super::{conversion, guarded, ledger};
use super::known::Known;
use super::printer::Printer;
use super::problem::of_fault;
use super::program::{Program, REFER, TEMPLATE};
use super::spans::Sink;
use super::text::{PromptReference, PromptReferences, PromptText};

/// How deep prompts may refer to each other.
const REFERENCES: usize = 12;

/// The steps that a reference counts as, in addition to those of its prompt.
const STEPS_PER_REFERENCE: u64 = 500;

impl PromptText {
    /// Fills in the values, once: a value is never read as a template.
    ///
    /// Each span of the result has the source of the value that it comes from. A text that is computed from several values,
    /// as by `a ~ b`, has the source of the first one that the author did not write. A variable that is printed and has no
    /// value appears as `{{name}}`, and in [`missing`](RenderedPrompt::missing).
    ///
    /// # Errors
    /// * [`ErrorKind::Template`] when the render fails, such as for `{{ user.name }}` without a user, or exceeds the
    ///   default [`Limits`](crate::Limits).
    /// * [`ErrorKind::Invalid`] when prompts refer to each other in a circle, or a value nests deeper than 256 levels.
    /// * Those of `references`.
    ///
    /// ```
    /// use alloquy_core::Source;
    /// use alloquy_core::prompt_library::Values;
    /// use alloquy_templates::{NoReferences, PromptSyntax, PromptText};
    ///
    /// let source = "{% for document in documents %}* {{ document|upper }}\n{% endfor %}{{question}}";
    /// let text = PromptText::new(source, PromptSyntax::Jinja)?;
    /// let memory = Source::Memory { id: "trip".into() };
    /// let values = Values::new().set_from("documents", vec!["visa"], memory.clone()).set("extra", 1);
    /// let rendered = text.render(&values, &NoReferences)?;
    /// assert_eq!(rendered.text(), "* VISA\n{{question}}");
    /// assert_eq!(rendered.spans[1].source, Some(memory));
    /// assert_eq!((rendered.missing, rendered.unknown), (vec!["question".into()], vec!["extra".into()]));
    /// # Ok::<(), alloquy_core::Error>(())
    /// ```
    pub fn render(&self, values: &Values, references: &dyn PromptReferences) -> Result<RenderedPrompt> {
        check_depth(values)?;
        let mut known = Known::default();
        known.add_literals(self, references);
        // The engine cannot call `references`, so a prompt whose name is computed is looked up between two attempts.
        loop {
            let shared = Arc::new(Shared { known, missed: Mutex::default(), failure: Mutex::default() });
            let job = Job { chain: Vec::new(), shared: Arc::clone(&shared), steps: Limits::default().steps };
            let rendered = job.render(self, values);
            let missed = take(&shared.missed);
            let failure = take(&shared.failure);
            match (missed, failure, rendered) {
                (Some(name), _, _) => {
                    known =
                        Arc::try_unwrap(shared).map_or_else(|shared| shared.known.clone(), |own| own.known);
                    known.add(&name, references)?;
                }
                (None, Some(error), _) => return Err(error),
                (None, None, rendered) => return rendered.map(|(rendered, _)| rendered),
            }
        }
    }
}

fn take<T>(place: &Mutex<Option<T>>) -> Option<T> {
    place.lock().unwrap_or_else(PoisonError::into_inner).take()
}

fn put<T>(place: &Mutex<Option<T>>, value: T) {
    *place.lock().unwrap_or_else(PoisonError::into_inner) = Some(value);
}

/// Checks that values do not nest too deeply, without recursion.
fn check_depth(values: &Values) -> Result<()> {
    for (name, value) in values.iter() {
        let mut open = vec![(&value.value, 0)];
        while let Some((value, depth)) = open.pop() {
            if depth > NESTING {
                let message = format!("the value {name:?} nests deeper than {NESTING} levels: flatten it");
                return Err(Error::new(ErrorKind::Invalid, message));
            }
            match value {
                Value::Array(items) => open.extend(items.iter().map(|item| (item, depth + 1))),
                Value::Object(fields) => open.extend(fields.values().map(|field| (field, depth + 1))),
                _ => {}
            }
        }
    }
    Ok(())
}

/// What the renders of a prompt and of those that it refers to have in common.
#[derive(Debug)]
struct Shared {
    known: Known,
    /// The name of a prompt that was referred to and is not known yet.
    missed: Mutex<Option<String>>,
    /// The error that ended the render, if the engine does not have it.
    failure: Mutex<Option<Error>>,
}

/// The render of one prompt.
#[derive(Clone, Debug)]
struct Job {
    /// The names of the prompts that refer to each other, outermost first.
    chain: Vec<String>,
    shared: Arc<Shared>,
    /// The steps that are left.
    steps: u64,
}

impl Job {
    /// Returns the prompt and the steps that it took.
    fn render(self, text: &PromptText, values: &Values) -> Result<(RenderedPrompt, u64)> {
        let program = text.program();
        let mut unknown = Vec::new();
        for (name, _) in values.iter() {
            if program.script.variables.binary_search_by(|known| known.as_str().cmp(name)).is_err() {
                unknown.push(name.to_owned());
            }
        }
        let (mut rendered, steps) = match &program.environment {
            Some(environment) => self.run(text, environment.clone(), values)?,
            None => {
                let mut rendered = RenderedPrompt::default();
                rendered.push(&program.script.source, None);
                (rendered, 0)
            }
        };
        rendered.unknown = unknown;
        Ok((rendered, steps))
    }

    fn run(
        self,
        text: &PromptText,
        mut environment: Environment<'static>,
        values: &Values,
    ) -> Result<(RenderedPrompt, u64)> {
        let limits = Limits::default();
        let limit_of_steps = self.steps;
        environment.set_fuel(Some(self.steps));
        let given = converted(text.program(), values);
        let printer = Arc::new(Printer::new(text.clone(), values, &given, limits));
        let own = Arc::clone(&printer);
        environment.set_formatter(move |output, state, value| own.print(output, state, value));
        if !text.program().script.calls.is_empty() {
            let own = Arc::clone(&printer);
            environment.add_function(
                REFER,
                move |state: &mut State<'_, '_>, call: usize, name: String, arguments: Kwargs| {
                    self.refer(state, &own, call, &name, &arguments)
                },
            );
        }
        let mut sink = Sink::new(printer.progress().clone(), limits.output_bytes);
        let fields = given.into_iter().map(|(name, value)| (EngineValue::from(name), value)).collect();
        let variables = EngineValue::from_object(Dict::new(fields, Weight::default()));
        let rendered = guarded(|| {
            let template = environment.get_template(TEMPLATE)?;
            let captured = template.render_captured_to(variables, &mut sink)?;
            Ok(captured.state().fuel_levels().map_or(0, |(consumed, _)| consumed))
        });
        let fault = match rendered {
            Ok(Ok(steps)) => return Ok((printer.finish(sink), steps)),
            Ok(Err(_)) if sink.is_full => Fault::Output(sink.limit),
            Ok(Err(error)) => Fault::of_engine(error, limit_of_steps),
            Err(fault) => fault,
        };
        Err(of_fault(fault, ErrorKind::Template))
    }

    /// `prompt_ref(name, **arguments)`.
    fn refer(
        &self,
        state: &mut State<'_, '_>,
        printer: &Printer,
        call: usize,
        name: &str,
        arguments: &Kwargs,
    ) -> std::result::Result<EngineValue, EngineError> {
        let limits = Limits::default();
        ledger::spend(state, limits, STEPS_PER_REFERENCE)?;
        let mut values = Values::new();
        for argument in arguments.args() {
            let value: EngineValue = arguments.get(argument)?;
            if value.is_undefined() {
                continue;
            }
            ledger::weigh(state, limits, &value)?;
            let json = serde_json::to_value(&value).map_err(|error| ledger::refusal(error.to_string()))?;
            values = match printer.source_of_argument(call, argument, &value) {
                Some(source) => values.set_from(argument, json, source),
                None => values.or_defaults(&[(argument.to_owned(), json)].into_iter().collect()),
            };
        }
        let Some(known) = self.shared.known.get(name) else {
            put(&self.shared.missed, name.to_owned());
            return Err(ledger::refusal(format!("the prompt {name:?} is not known yet")));
        };
        let Some(reference) = known else {
            printer.miss_prompt(name);
            return Ok(EngineValue::from(""));
        };
        let left = state.fuel_levels().map_or(self.steps, |(_, left)| left);
        let rendered = self.render_reference(name, reference, values, left);
        let (rendered, steps) = rendered.map_err(|error| {
            let words = error.to_string();
            put(&self.shared.failure, error);
            ledger::refusal(words)
        })?;
        ledger::spend(state, limits, steps)?;
        let text = EngineValue::from(rendered.text());
        printer.refer(rendered);
        ledger::record(state, limits, text)
    }

    fn render_reference(
        &self,
        name: &str,
        reference: &PromptReference,
        values: Values,
        steps: u64,
    ) -> Result<(RenderedPrompt, u64)> {
        let mut chain = self.chain.clone();
        let is_circle = chain.iter().any(|known| known == name);
        chain.push(name.to_owned());
        if is_circle {
            let circle = chain.join(" -> ");
            let message =
                format!("prompts refer to each other in a circle: {circle}; remove one of the references");
            return Err(Error::new(ErrorKind::Invalid, message));
        }
        if chain.len() > REFERENCES {
            let chain = chain.join(" -> ");
            let message = format!("prompts refer to each other more than {REFERENCES} levels deep: {chain}");
            return Err(Error::new(ErrorKind::Invalid, message));
        }
        let job = Self { chain, shared: Arc::clone(&self.shared), steps };
        let rendered = job.render(&reference.text, &values.or_defaults(&reference.defaults));
        if let Some(inner) = take(&self.shared.failure) {
            return Err(inner);
        }
        rendered.map_err(|error| Error::new(error.kind(), format!("in the prompt {name:?}: {error}")))
    }
}

/// Converts the values that a text reads, for the engine.
fn converted(program: &Program, values: &Values) -> HashMap<String, EngineValue> {
    let mut converted = HashMap::new();
    for name in &program.script.variables {
        if let Some(value) = values.get(name) {
            converted.insert(name.clone(), conversion::value(&value.value));
        }
    }
    converted
}
