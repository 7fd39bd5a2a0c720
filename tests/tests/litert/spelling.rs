//! How a family's grammar has the calls of a text that it does not accept as it stands.

use alloquy_core::message::ToolCall;
use alloquy_core::template::PromptEnd;
use alloquy_core::{Content, Message, Preface, Role};
use serde_json::{Map, Value, json};

use crate::constraints::RESPONSE;
use crate::families::{Family, read, source};
use crate::messages::unreadable;

/// Writes calls as a family's models do.
pub(crate) struct Writer<'a> {
    pub(crate) family: &'a Family,
    pub(crate) preface: &'a Preface,
    pub(crate) fences: [&'a str; 2],
}

impl Writer<'_> {
    /// The spelling of the same calls that is accepted, or why there is none.
    pub(crate) fn instead(&self, text: &str, accepts: impl Fn(&str) -> bool) -> Value {
        let end = if text.ends_with(RESPONSE) { RESPONSE } else { "" };
        let message = self.read(text);
        if let Some(reason) = unreadable(&message).map(str::to_owned).or_else(|| self.violated(&message)) {
            return json!({"invalid": reason});
        }
        match self.written(&message) + end {
            spelled if accepts(&spelled) => spelled.into(),
            spelled => json!({"refused": spelled}),
        }
    }

    /// Whether a text that is accepted holds calls that the schemas accept.
    pub(crate) fn judged(&self, text: &str) -> Value {
        let message = self.read(text);
        match unreadable(&message).map(str::to_owned).or_else(|| self.violated(&message)) {
            Some(reason) => json!({"invalid": reason}),
            None => json!({"valid": message.tool_calls().count()}),
        }
    }

    /// Reads a text up to the token that ends a reply with calls, which no reply has.
    fn read(&self, text: &str) -> Message {
        read(self.family, "", self.preface, [text.strip_suffix(RESPONSE).unwrap_or(text)])
    }

    /// What the arguments of a call violate.
    fn violated(&self, message: &Message) -> Option<String> {
        message.tool_calls().find_map(|call| {
            let tool = self.preface.tools.iter().find(|tool| tool.name == call.name);
            let Some(tool) = tool else { return Some(format!("no tool {:?} is offered", call.name)) };
            violation(&tool.parameters, &call.arguments)
        })
    }

    /// The calls with their arguments in the order of the schema, as the family's templates would have them.
    fn written(&self, message: &Message) -> String {
        let [start, end] = self.fences;
        let calls: Vec<String> = message.tool_calls().map(|call| self.call(call)).collect();
        let said = message.text();
        if self.is_python() {
            format!("{said}{start}{}{end}", calls.join("\n"))
        } else {
            said + &calls.iter().map(|call| format!("{start}{call}{end}")).collect::<String>()
        }
    }

    fn call(&self, call: &ToolCall) -> String {
        let written = self.arguments(call);
        let properties = self.preface.tools.iter().find(|tool| tool.name == call.name);
        let properties = properties.and_then(|tool| tool.parameters["properties"].as_object());
        let order = properties.into_iter().flatten().filter_map(|(name, _)| Some((name, written.get(name)?)));
        let sign = if self.is_python() { '=' } else { ':' };
        let arguments: Vec<String> = order
            .map(|(name, value)| format!("{name}{sign}{}", value.as_str().unwrap_or_default()))
            .collect();
        if self.is_python() {
            format!("{}({})", call.name, arguments.join(", "))
        } else {
            format!("call:{}{{{}}}", call.name, arguments.join(","))
        }
    }

    fn is_python(&self) -> bool {
        self.fences[0].contains("tool_code")
    }

    /// Each argument as the text that the family's templates get.
    fn arguments(&self, call: &ToolCall) -> Map<String, Value> {
        let message = Message::new(Role::Assistant, vec![Content::ToolCall(call.clone())]);
        let input =
            self.family.template_input(source(&Preface::default(), &[message], PromptEnd::Closed)).unwrap();
        let arguments = input.messages[0].pointer("/tool_calls/0/function/arguments");
        arguments.and_then(Value::as_object).cloned().unwrap_or_default()
    }
}

/// The violations of a schema by arguments. An optional argument that is missing is reported by its name.
fn violation(schema: &Value, arguments: &Value) -> Option<String> {
    let error = jsonschema::validate(schema, arguments).err()?;
    let mut given = arguments.clone();
    given.as_object_mut().into_iter().for_each(|given| given.retain(|_, value| !value.is_null()));
    if jsonschema::is_valid(schema, &given) {
        Some(format!("{NOTHING}: {error}"))
    } else {
        Some(error.to_string())
    }
}

/// How the reason begins for an argument that is nothing.
pub(crate) const NOTHING: &str = "nothing is given";
