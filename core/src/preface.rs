//! The preface of a conversation: instructions, tools, and template variables.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::arguments::ProcessorArguments;
use crate::message::Message;

/// What precedes the first message of a conversation. It does not change afterwards.
///
/// ```
/// use alloquy_core::{Preface, ToolSpec};
/// use serde_json::json;
///
/// let preface = Preface::system("Be brief.")
///     .tool(ToolSpec::new("clock", "Tells the time", json!({"type": "object", "properties": {}})))
///     .extra("enable_thinking", false);
/// assert_eq!(preface.messages.len(), 1);
/// assert_eq!(preface.tools[0].name, "clock");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Preface {
    /// System message and examples, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<Message>,
    /// The tools that the model may call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ToolSpec>,
    /// The arguments for the processor: template variables (`extra`), thinking, injection policy. The conversation or a
    /// call may override them.
    #[serde(flatten)]
    pub arguments: ProcessorArguments,
}

impl Preface {
    /// Creates a preface of one system message.
    pub fn system(text: impl Into<String>) -> Self {
        Self { messages: vec![Message::system(text)], ..Self::default() }
    }

    /// Adds a message, for instance one of an example exchange.
    #[must_use]
    pub fn message(mut self, message: impl Into<Message>) -> Self {
        self.messages.push(message.into());
        self
    }

    /// Offers a tool that the host runs. The tools of a [`Toolbox`](crate::tool::Toolbox) need not be added here.
    #[must_use]
    pub fn tool(mut self, tool: ToolSpec) -> Self {
        self.tools.push(tool);
        self
    }

    /// Sets a variable of the chat template.
    #[must_use]
    pub fn extra(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.arguments.extra.insert(name.into(), value.into());
        self
    }

    /// Sets arguments for the processor. They replace arguments that were set before.
    #[must_use]
    pub fn arguments(mut self, arguments: ProcessorArguments) -> Self {
        self.arguments = arguments.or(&self.arguments);
        self
    }
}

/// The description of a tool for the model.
///
/// ```
/// use alloquy_core::ToolSpec;
/// use serde_json::json;
///
/// let zone = json!({"type": "string", "description": "A time zone, such as UTC"});
/// let parameters = json!({"type": "object", "properties": {"zone": zone}, "required": ["zone"]});
/// let mut clock = ToolSpec::new("clock", "Returns the time in a zone", parameters);
/// clock.extra.insert("strict".to_owned(), true.into());
/// let stored = serde_json::to_value(&clock)?;
/// assert_eq!((&stored["name"], &stored["parameters"]["required"][0]), (&json!("clock"), &json!("zone")));
/// assert_eq!(serde_json::from_value::<ToolSpec>(stored)?, clock);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// The name that calls use.
    pub name: String,
    /// What it does, for the model to read.
    #[serde(default)]
    pub description: String,
    /// A JSON schema of the arguments.
    #[serde(default)]
    pub parameters: Value,
    /// Unknown fields, in order, such as `strict` or `response`.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub extra: Map<String, Value>,
}

impl ToolSpec {
    /// Describes a tool; `parameters` is a JSON schema of an object.
    pub fn new(name: impl Into<String>, description: impl Into<String>, parameters: Value) -> Self {
        Self { name: name.into(), description: description.into(), parameters, extra: Map::new() }
    }
}
