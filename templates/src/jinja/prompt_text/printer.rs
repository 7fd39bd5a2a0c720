//! Prints values, and knows where each of them comes from.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, PoisonError};

use alloquy_core::Source;
use alloquy_core::prompt_library::{RenderedPrompt, Values};
use minijinja::value::Value;
use minijinja::{Error, Output, State};

use super::super::limits::Limits;
use super::super::{filters, ledger};
use super::filters::Printing;
use super::flow::Node;
use super::program::{Script, Site};
use super::spans::{Progress, Sink};
use super::text::PromptText;

/// Prints the values of a render.
#[derive(Debug)]
pub(super) struct Printer {
    text: PromptText,
    limits: Limits,
    progress: Progress,
    /// The index of the source of each node.
    reached: Vec<Option<usize>>,
    /// The values of the variables.
    values: HashMap<Node, Value>,
    /// The source of a text whose site is not known: the first of all.
    any: Option<usize>,
    /// What was reported as missing.
    reported: Mutex<HashSet<(bool, String)>>,
}

impl Printer {
    pub(super) fn new(
        text: PromptText,
        values: &Values,
        given: &HashMap<String, Value>,
        limits: Limits,
    ) -> Self {
        let progress = Progress::default();
        let flow = &text.program().script.flow;
        let reached = {
            let mut indices = HashMap::new();
            let mut state = progress.lock();
            for name in given.keys() {
                let source = values.get(name).and_then(|value| value.source.as_ref());
                indices.extend(source.map(|source| (name.as_str(), state.index_of(source))));
            }
            flow.reached(|name| indices.get(name).copied())
        };
        let mut by_node = HashMap::new();
        let mut any = None;
        for (name, node) in flow.variables() {
            by_node.extend(given.get(name).map(|value| (node, value.clone())));
            any = any.or(reached.get(node).copied().flatten());
        }
        Self { text, limits, progress, reached, values: by_node, any, reported: Mutex::default() }
    }

    pub(super) fn progress(&self) -> &Progress {
        &self.progress
    }

    fn script(&self) -> &Script {
        &self.text.program().script
    }

    /// Prints a value, with the source of the site that prints it.
    pub(super) fn print(
        &self,
        output: &mut Output<'_>,
        state: &mut State<'_, '_>,
        value: &Value,
    ) -> Result<(), Error> {
        let site = state.get_or_insert_extension_with(Printing::default).site.take();
        let Some(site) = site.and_then(|site| self.script().sites.get(site)) else {
            // A macro's text by `{% call %}`. The engine prints it without an expression of the author.
            return self.write(output, state, value, self.any);
        };
        if value.is_undefined() {
            return self.print_missing(output, site);
        }
        if value.is_none() && site.hides_none {
            return Ok(());
        }
        output.write_str(&site.before)?;
        if !site.is_reference || !self.write_reference(output, state, value)? {
            self.write(output, state, value, self.source_of(&site.from, value))?;
        }
        output.write_str(&site.after)?;
        Ok(())
    }

    fn print_missing(&self, output: &mut Output<'_>, site: &Site) -> Result<(), Error> {
        let Some(label) = &site.label else { return Ok(()) };
        if self.is_new(false, label) {
            self.progress.lock().missing.push(label.clone());
        }
        output.write_str(&format!("{{{{{label}}}}}"))?;
        Ok(())
    }

    /// Returns whether a prompt or a variable is reported for the first time.
    fn is_new(&self, is_prompt: bool, name: &str) -> bool {
        let mut reported = self.reported.lock().unwrap_or_else(PoisonError::into_inner);
        reported.insert((is_prompt, name.to_owned()))
    }

    fn write(
        &self,
        output: &mut Output<'_>,
        state: &mut State<'_, '_>,
        value: &Value,
        source: Option<usize>,
    ) -> Result<(), Error> {
        let text = filters::printed(state, value)?;
        ledger::pass(state, self.limits, text.len())?;
        self.progress.lock().current = source;
        let written = output.write_str(&text);
        self.progress.lock().current = None;
        written.map_err(Error::from)
    }

    /// Writes the spans of the prompt that was just rendered. Returns false if the value is not its text.
    fn write_reference(
        &self,
        output: &mut Output<'_>,
        state: &mut State<'_, '_>,
        value: &Value,
    ) -> Result<bool, Error> {
        let reference = self.progress.lock().reference.take();
        let Some(reference) = reference.filter(|found| value.as_str() == Some(found.text().as_str())) else {
            return Ok(false);
        };
        for span in reference.spans {
            let source = span.source.map(|source| self.progress.lock().index_of(&source));
            self.write(output, state, &Value::from(span.text), source)?;
        }
        Ok(true)
    }

    /// Returns the index of the source of a value that was computed from the values of `nodes`.
    ///
    /// If they have several sources and the value is equal to one of them, it is that one: in `{{ nickname or name }}`,
    /// for example.
    fn source_of(&self, nodes: &[Node], value: &Value) -> Option<usize> {
        let mut first = None;
        for node in nodes {
            let source = self.reached.get(*node).copied().flatten();
            if source.is_none() || source == first {
                continue;
            }
            let is_it = value.as_str().is_some_and(|text| self.is_text_of(*node, text));
            if is_it {
                return source;
            }
            first = first.or(source);
        }
        first
    }

    fn is_text_of(&self, node: Node, text: &str) -> bool {
        self.values.get(&node).is_some_and(|value| value.as_str() == Some(text))
    }

    /// Returns the source of an argument of a call of `prompt_ref`.
    pub(super) fn source_of_argument(&self, call: usize, name: &str, value: &Value) -> Option<Source> {
        let call = self.script().calls.get(call)?;
        let named = call.arguments.iter().find(|(known, _)| known == name);
        let nodes = named.map_or(&*call.others, |(_, nodes)| nodes);
        let index = self.source_of(nodes, value);
        self.progress.lock().source(index)
    }

    pub(super) fn miss_prompt(&self, name: &str) {
        if self.is_new(true, name) {
            self.progress.lock().missing_prompts.push(name.to_owned());
        }
    }

    /// Takes over a prompt that was rendered by a reference.
    pub(super) fn refer(&self, mut rendered: RenderedPrompt) {
        for name in std::mem::take(&mut rendered.missing) {
            if self.is_new(false, &name) {
                self.progress.lock().missing.push(name);
            }
        }
        for name in std::mem::take(&mut rendered.missing_prompts) {
            self.miss_prompt(&name);
        }
        self.progress.lock().reference = Some(rendered);
    }

    /// Returns what was rendered.
    pub(super) fn finish(&self, sink: Sink) -> RenderedPrompt {
        let mut rendered = sink.finish();
        let mut state = self.progress.lock();
        rendered.missing = std::mem::take(&mut state.missing);
        rendered.missing_prompts = std::mem::take(&mut state.missing_prompts);
        rendered
    }
}
