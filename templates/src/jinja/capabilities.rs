//! Measures what a template can do: renders small conversations and looks for their words in the prompt.

use alloquy_core::template::PromptEnd;
use serde_json::{Map, Value, json};

/// How a template treats a message with the role `system`.
///
/// [`Capabilities`] has an example.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SystemRole {
    /// It prints the message, and the user's message after it.
    #[default]
    Printed,
    /// It fails.
    Refused,
    /// It leaves out the message or the user's message after it.
    Dropped,
}

/// Which forms of a tool call's arguments a template prints correctly.
///
/// [`Capabilities`] has an example.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct ArgumentForms {
    /// An object: the template does not fail.
    pub object: bool,
    /// The JSON text of an object: the template prints it without quoting it again. This matters only to the template's
    /// author, because such texts are parsed before the template receives them.
    pub string: bool,
}

/// What a template can do: nineteen properties, each measured by a render.
///
/// ```
/// use alloquy_templates::{ArgumentForms, JinjaTemplate, SystemRole};
/// use serde_json::Map;
///
/// let source = "{% for m in messages if m.role != 'system' %}<{{ m.role }}>{{ m.content }}{% endfor %}";
/// let template = JinjaTemplate::from_source(source, Map::new())?;
/// let capabilities = template.capabilities();
/// assert!(capabilities.string_content && !capabilities.tools);
/// assert_eq!(capabilities.system, SystemRole::Dropped);
/// let ArgumentForms { string, .. } = capabilities.arguments;
/// assert!(!string, "it prints no calls");
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
#[allow(clippy::struct_excessive_bools, reason = "properties that are measured, each on its own")]
pub struct Capabilities {
    /// Prints a user's content that is a text.
    pub string_content: bool,
    /// Prints the text of a user's content that is a list of parts.
    pub list_content: bool,
    /// How it treats a system message.
    pub system: SystemRole,
    /// Prints a generation prompt when an answer is to follow.
    pub generation_prompt: bool,
    /// The generation prompt, if it is at the end of the prompt.
    pub generation_prompt_suffix: Option<String>,
    /// Prints the names of tools.
    pub tools: bool,
    /// Prints the arguments of tool calls.
    pub tool_calls: bool,
    /// Prints the results of tool calls.
    pub tool_results: bool,
    /// Which forms of arguments it prints correctly.
    pub arguments: ArgumentForms,
    /// Prints the second of two calls in one message.
    pub parallel_tool_calls: bool,
    /// Prints a message that calls tools and has no content.
    pub missing_content_ok: bool,
    /// Prints the ids of tool calls.
    pub tool_call_id: bool,
    /// Prints the reasoning of the last message.
    pub reasoning_last: bool,
    /// Prints the reasoning of an answer that is followed by another question.
    pub reasoning_history: bool,
    /// The variables that change the prompt when they are true rather than false.
    pub thinking_switch: Vec<String>,
    /// Removes `<think>…</think>` from an answer that is followed by another question.
    pub strip_think_from_history: bool,
    /// Begins the prompt with BOS; `None` when the model names no BOS.
    pub writes_bos: Option<bool>,
    /// Prints documents.
    pub documents: bool,
    /// Prints a message with the role `developer`.
    pub developer_role: bool,
}

/// A small conversation.
#[derive(Clone, Debug, Default)]
pub(super) struct Probe {
    pub(super) messages: Vec<Value>,
    pub(super) tools: Option<Vec<Value>>,
    pub(super) documents: Option<Vec<Value>>,
    pub(super) ending: PromptEnd,
    pub(super) extra: Map<String, Value>,
}

impl Probe {
    fn new(messages: Vec<Value>) -> Self {
        Self { messages, ..Self::default() }
    }

    fn with_tools(messages: Vec<Value>) -> Self {
        Self { tools: Some(vec![tool()]), ..Self::new(messages) }
    }

    fn closed(self) -> Self {
        Self { ending: PromptEnd::Closed, ..self }
    }

    fn switched(name: &str, value: bool) -> Self {
        let extra = [(name.to_owned(), Value::from(value))].into_iter().collect();
        Self { extra, ..Self::new(vec![user(USER)]) }
    }
}

const USER: &str = "USERNEEDLE";
const SYSTEM: &str = "SYSTEMNEEDLE";
const ANSWER: &str = "ANSWERNEEDLE";
const THOUGHT: &str = "THOUGHTNEEDLE";
const TOOL: &str = "tool_needle";
const VALUE: &str = "VALUENEEDLE";
const SECOND: &str = "SECONDNEEDLE";
const RESULT: &str = "RESULTNEEDLE";
const DOCUMENT: &str = "DOCUMENTNEEDLE";
/// Nine letters and digits, which some templates require.
const CALL_ID: &str = "call12345";
const SECOND_ID: &str = "call22222";

/// Variables that switch thinking on or off.
const SWITCHES: [&str; 2] = ["enable_thinking", "thinking"];

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

fn system() -> Value {
    json!({"role": "system", "content": SYSTEM})
}

fn tool() -> Value {
    json!({"type": "function", "function": {
        "name": TOOL,
        "description": "Looks something up",
        "parameters": {
            "type": "object",
            "properties": {"key": {"type": "string", "description": "What to look up"}},
            "required": ["key"],
        },
    }})
}

fn call(id: &str, name: &str, arguments: &Value) -> Value {
    json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}})
}

fn calls(calls: &[Value]) -> Value {
    json!({"role": "assistant", "content": "", "tool_calls": calls})
}

fn result(id: &str, text: &str) -> Value {
    json!({"role": "tool", "tool_call_id": id, "name": TOOL, "content": text})
}

/// One call of a tool, with its result.
fn tool_turn(arguments: &Value) -> Vec<Value> {
    vec![user(USER), calls(&[call(CALL_ID, TOOL, arguments)]), result(CALL_ID, RESULT)]
}

fn thoughtful_answer() -> Value {
    json!({"role": "assistant", "content": ANSWER, "reasoning_content": THOUGHT})
}

/// Renders probes and looks for words in the prompts.
pub(super) struct Prober<'a> {
    /// Renders a probe; `None` when the template fails.
    pub(super) render: &'a dyn Fn(&Probe) -> Option<String>,
    pub(super) bos: Option<&'a str>,
}

impl Prober<'_> {
    /// Measures everything.
    pub(super) fn measure(&self) -> Capabilities {
        let question = self.render(&Probe::new(vec![user(USER)]));
        let closed = self.render(&Probe::new(vec![user(USER)]).closed());
        let both = question.as_ref().zip(closed.as_ref());
        let suffix = both.filter(|(open, closed)| open != closed);
        let suffix = suffix.and_then(|(open, closed)| open.strip_prefix(closed.as_str()));
        Capabilities {
            string_content: question.as_ref().is_some_and(|prompt| prompt.contains(USER)),
            list_content: self.list_content(),
            system: self.system(),
            generation_prompt: both.is_some_and(|(open, closed)| open != closed),
            generation_prompt_suffix: suffix.map(str::to_owned),
            writes_bos: self.bos.map(|bos| question.as_ref().is_some_and(|prompt| prompt.starts_with(bos))),
            thinking_switch: self.thinking_switches(),
            documents: self.documents(),
            developer_role: self.prints(&self.developer(), SYSTEM),
            ..self.with_reasoning(self.with_tools())
        }
    }

    fn with_tools(&self) -> Capabilities {
        let object = json!({"key": VALUE});
        let turn = Probe::with_tools(tool_turn(&object));
        let turn = self.render(&turn);
        let prompt = turn.as_deref().unwrap_or_default();
        let question = Probe::with_tools(vec![user(USER)]);
        let instructed = Probe::with_tools(vec![system(), user(USER)]);
        Capabilities {
            tools: self.prints(&question, TOOL) || self.prints(&instructed, TOOL),
            tool_calls: prompt.contains(VALUE),
            tool_results: prompt.contains(RESULT),
            tool_call_id: prompt.contains(CALL_ID),
            arguments: ArgumentForms { object: turn.is_some(), string: self.string_arguments() },
            parallel_tool_calls: self.parallel_calls(),
            missing_content_ok: self.missing_content(),
            ..Capabilities::default()
        }
    }

    fn with_reasoning(&self, capabilities: Capabilities) -> Capabilities {
        let last = Probe::new(vec![user(USER), thoughtful_answer()]).closed();
        let history = Probe::new(vec![user(USER), thoughtful_answer(), user("And then?")]);
        let answer = json!({"role": "assistant", "content": format!("<think>{THOUGHT}</think>{ANSWER}")});
        let inline = self.render(&Probe::new(vec![user(USER), answer, user("And then?")]));
        Capabilities {
            reasoning_last: self.prints(&last, THOUGHT),
            reasoning_history: self.prints(&history, THOUGHT),
            strip_think_from_history: inline
                .is_some_and(|prompt| !prompt.contains(THOUGHT) && prompt.contains(ANSWER)),
            ..capabilities
        }
    }

    /// Returns whether the text of a list is printed. A template that prints the list itself does not print its text.
    fn list_content(&self) -> bool {
        let parts = json!({"role": "user", "content": [{"type": "text", "text": USER}]});
        let Some(prompt) = self.render(&Probe::new(vec![parts])) else { return false };
        let is_raw = ["{'type'", "\"type\"", "'text'"].iter().any(|raw| prompt.contains(raw));
        prompt.contains(USER) && !is_raw
    }

    fn system(&self) -> SystemRole {
        match self.render(&Probe::new(vec![system(), user(USER)])) {
            None => SystemRole::Refused,
            Some(prompt) if prompt.contains(SYSTEM) && prompt.contains(USER) => SystemRole::Printed,
            Some(_) => SystemRole::Dropped,
        }
    }

    fn developer(&self) -> Probe {
        Probe::new(vec![json!({"role": "developer", "content": SYSTEM}), user(USER)])
    }

    fn string_arguments(&self) -> bool {
        let text = format!("{{\"key\": \"{VALUE}\"}}");
        let prompt = self.render(&Probe::with_tools(tool_turn(&Value::from(text))));
        prompt.is_some_and(|prompt| prompt.contains(VALUE) && !prompt.contains("\\\"key"))
    }

    fn parallel_calls(&self) -> bool {
        let first = call(CALL_ID, TOOL, &json!({"key": VALUE}));
        let second = call(SECOND_ID, "tool_second", &json!({"key": SECOND}));
        let messages = vec![
            user(USER),
            calls(&[first, second]),
            result(CALL_ID, RESULT),
            json!({"role": "tool", "tool_call_id": SECOND_ID, "name": "tool_second", "content": "Found"}),
        ];
        self.prints(&Probe::with_tools(messages), SECOND)
    }

    fn missing_content(&self) -> bool {
        let call = call(CALL_ID, TOOL, &json!({"key": VALUE}));
        let messages =
            vec![user(USER), json!({"role": "assistant", "tool_calls": [call]}), result(CALL_ID, RESULT)];
        self.prints(&Probe::with_tools(messages), VALUE)
    }

    fn thinking_switches(&self) -> Vec<String> {
        let mut switches = Vec::new();
        for name in SWITCHES {
            if self.render(&Probe::switched(name, true)) != self.render(&Probe::switched(name, false)) {
                switches.push(name.to_owned());
            }
        }
        switches
    }

    fn documents(&self) -> bool {
        let document = json!({"title": "Title", "text": DOCUMENT, "contents": DOCUMENT});
        let probe = Probe { documents: Some(vec![document]), ..Probe::new(vec![user(USER)]) };
        self.prints(&probe, DOCUMENT)
    }

    fn prints(&self, probe: &Probe, needle: &str) -> bool {
        self.render(probe).is_some_and(|prompt| prompt.contains(needle))
    }

    fn render(&self, probe: &Probe) -> Option<String> {
        (self.render)(probe)
    }
}
