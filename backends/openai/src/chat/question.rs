//! A request as every chat endpoint needs it: messages and tools as JSON, and what is asked of the reply.

use alloquy_core::grammar::Grammar;
use alloquy_core::output::{ParallelCalls, ToolChoice};
use alloquy_core::report::Warning;
use alloquy_core::template::PromptEnd;
use alloquy_core::{Content, Error, ErrorKind, Message, Part, Request, Result, Role, SamplingOptions};
use alloquy_formats::messages::{self, Dialect, Transcript};
use serde_json::{Map, Value};

/// The field of a message that holds what proves its thinking to Anthropic's servers.
pub(crate) const SIGNATURE: &str = "anthropic_signature";

/// The usual name for the limit of a reply.
pub(crate) const MAX_TOKENS: &str = "max_tokens";

/// A request, checked as far as no protocol matters.
#[derive(Debug)]
pub(crate) struct Question {
    pub(crate) model: String,
    /// In OpenAI's format.
    pub(crate) messages: Vec<Value>,
    /// In OpenAI's format.
    pub(crate) tools: Vec<Value>,
    pub(crate) sampling: SamplingOptions,
    /// The name that the limit of a reply has in Chat Completions.
    pub(crate) limit: &'static str,
    /// The JSON Schema of the reply.
    pub(crate) schema: Option<Value>,
    pub(crate) tool_choice: Option<ToolChoice>,
    pub(crate) parallel_calls: ParallelCalls,
    pub(crate) thinking_budget: Option<usize>,
    /// The variables of the template that the server has.
    pub(crate) variables: Map<String, Value>,
    pub(crate) warnings: Vec<Warning>,
}

impl Question {
    /// Checks a request to a model.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for options out of range, and without a message. [`ErrorKind::Unsupported`] for what no chat endpoint
    /// has.
    pub(crate) fn of(model: &str, request: &Request) -> Result<Self> {
        request.sampling.validate()?;
        if request.path.is_empty() && request.preface.messages.is_empty() {
            return Err(Error::new(ErrorKind::Invalid, "there is no message: ask something"));
        }
        if request.ending != PromptEnd::Generation {
            let message = "a chat endpoint ends its prompt itself, so a message cannot be continued: use a server that takes ids";
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        let mut warnings = Vec::new();
        let arguments = request.joined_arguments();
        if arguments.injection.is_some() {
            warnings.push(left_out("the injection policy"));
        }
        if arguments.history.is_some() {
            warnings.push(left_out("the rule for earlier thinking"));
        }
        let mut transcript = Transcript::default();
        for message in request.preface.messages.iter().chain(request.path.iter()) {
            transcript.messages.push(ordered(message, &mut warnings));
        }
        transcript.tools.clone_from(&request.preface.tools);
        let mut document = messages::write(Dialect::OpenAi, &transcript)?;
        let mut tool_choice = request.output.tool_choice.clone();
        let tools = transcript.tools.len();
        if request.output.grammar.is_some() && tools > 0 && tool_choice.is_none() {
            tool_choice = Some(ToolChoice::None);
            warnings.push(Warning::ToolsExcluded { tools });
        }
        if tools == 0 && matches!(tool_choice, Some(ToolChoice::Required | ToolChoice::Named(_))) {
            let message = "a call is required and no tool is offered: offer tools, or choose none";
            return Err(Error::new(ErrorKind::Invalid, message));
        }
        Ok(Self {
            model: model.to_owned(),
            messages: taken(&mut document, "messages"),
            tools: taken(&mut document, "tools"),
            sampling: request.sampling.clone(),
            limit: MAX_TOKENS,
            schema: schema(request.output.grammar.as_ref())?,
            tool_choice,
            parallel_calls: request.output.parallel_calls,
            thinking_budget: request.output.thinking_budget,
            variables: arguments.variables(),
            warnings,
        })
    }

    /// Returns whether the reply may call tools.
    pub(crate) fn wants_calls(&self) -> bool {
        !self.tools.is_empty() && self.tool_choice != Some(ToolChoice::None)
    }

    /// Reports options that have no effect.
    pub(crate) fn ignore(&mut self, names: impl IntoIterator<Item = &'static str>) {
        for name in names {
            let warning = Warning::OptionIgnored { name: name.to_owned() };
            if !self.warnings.contains(&warning) {
                self.warnings.push(warning);
            }
        }
    }

    /// Reports the variables that are left, which the protocol has no place for.
    pub(crate) fn leave_out_variables(&mut self) {
        for name in self.variables.keys() {
            self.warnings.push(left_out(&format!("the template variable {name}")));
        }
    }

    /// Takes how much the model is to think, for a protocol that has an effort instead of a budget. A budget of 0 is no effort.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] for another budget.
    pub(crate) fn effort(&mut self) -> Result<Option<Value>> {
        let effort = self.variables.shift_remove("reasoning_effort");
        match self.thinking_budget {
            None => Ok(effort),
            Some(0) => Ok(effort.or_else(|| Some("none".into()))),
            Some(budget) => {
                let message = format!(
                    "the endpoint has no thinking budget, such as {budget}: set the variable \"reasoning_effort\", or a budget of 0"
                );
                Err(Error::new(ErrorKind::Unsupported, message))
            }
        }
    }
}

fn left_out(what: &str) -> Warning {
    Warning::LeftOut { what: what.to_owned() }
}

fn taken(document: &mut Value, name: &str) -> Vec<Value> {
    match document.get_mut(name).map(Value::take) {
        Some(Value::Array(items)) => items,
        _ => Vec::new(),
    }
}

fn schema(grammar: Option<&Grammar>) -> Result<Option<Value>> {
    match grammar {
        None => Ok(None),
        Some(Grammar::JsonSchema(schema)) => Ok(Some(schema.clone())),
        Some(_) => {
            let message = "a chat endpoint has one kind of grammar, a JSON Schema: use that, or a server that takes ids";
            Err(Error::new(ErrorKind::Unsupported, message))
        }
    }
}

/// Returns a message with its parts in the order of the protocols: thinking, text and media, calls. A malformed piece is text.
fn ordered(message: &Message, warnings: &mut Vec<Warning>) -> Message {
    if message.role != Role::Assistant {
        return message.clone();
    }
    let mut thinking = String::new();
    let mut content: Vec<Part> = Vec::new();
    let mut calls = Vec::new();
    for part in &message.parts {
        match &part.content {
            Content::Thinking(text) => thinking.push_str(text),
            Content::ToolCall(_) => calls.push(part.clone()),
            Content::Malformed(malformed) => content.push(Content::Text(malformed.raw.clone()).into()),
            Content::Channel(channel) => {
                let warning = left_out(&format!("the channel {}", channel.name));
                if !warnings.contains(&warning) {
                    warnings.push(warning);
                }
            }
            _ => content.push(part.clone()),
        }
    }
    let mut parts = Vec::new();
    if !thinking.is_empty() {
        parts.push(Part::from(Content::Thinking(thinking)));
    }
    parts.extend(content);
    parts.extend(calls);
    let mut ordered = message.clone();
    ordered.parts = parts;
    ordered
}
