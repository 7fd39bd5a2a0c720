//! Tool calls as tags: a function with its name, and its parameters inside. Values are text; the tool's schema says which of
//! them are parsed.

use std::borrow::Cow;

use alloquy_core::ToolSpec;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::call::{Begun, Call};
use super::json::spaced;
use super::value::{self, Reader, is_false};
use crate::parser::markers::hold_from;

/// Tool calls as tags: `<function=add><parameter=a>1</parameter></function>`.
///
/// ```
/// use alloquy_processors::{ValueKind, XmlCalls};
///
/// let calls: XmlCalls = serde_json::from_str(
///     r#"{"function": ["<f=", ">", "</f>"], "parameter": "<p=", "kinds": [[">", "schema"]], "end": "</p>"}"#,
/// )?;
/// assert_eq!(calls.kinds[0].1, ValueKind::Schema);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct XmlCalls {
    /// The texts before a function's name, after it, and at the end of the call. A text that is part of the markers of calls is
    /// empty here.
    pub function: [Cow<'static, str>; 3],
    /// The text before a parameter's name.
    pub parameter: Cow<'static, str>,
    /// The texts that may follow a parameter's name, and how its value is read after each.
    pub kinds: Cow<'static, [(Cow<'static, str>, ValueKind)]>,
    /// The text that ends a parameter.
    pub end: Cow<'static, str>,
    /// Whether all calls of a message are between one pair of markers.
    #[serde(default, skip_serializing_if = "is_false")]
    pub together: bool,
    /// Whether a value is on lines of its own.
    #[serde(default, skip_serializing_if = "is_false")]
    pub lines: bool,
}

/// How the text of a parameter is read.
///
/// [`XmlCalls`] has an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ValueKind {
    /// As a string.
    Text,
    /// As JSON.
    Json,
    /// As the type that the tool's schema gives the parameter, or else as a string.
    Schema,
}

/// The quotation of XML. Tags inside it are text.
pub(crate) const CDATA: [&str; 2] = ["<![CDATA[", "]]>"];

impl XmlCalls {
    /// Checks that calls could be read.
    pub(super) fn check(&self) -> Result<(), String> {
        let [_, after_name, _] = self.function();
        if after_name.is_empty() {
            return Err("the text after a function's name is empty".to_owned());
        }
        if self.parameter.is_empty() || self.end.is_empty() {
            return Err(format!(
                "a parameter between {:?} and {:?} needs both texts",
                self.parameter, self.end
            ));
        }
        if self.kinds.is_empty() || self.kinds.iter().any(|(after_name, _)| after_name.is_empty()) {
            return Err(
                "\"kinds\" needs a text that follows a parameter's name, such as [[\">\", \"schema\"]]"
                    .to_owned(),
            );
        }
        Ok(())
    }

    /// Returns the texts before a function's name, after it, and at the end of the call.
    pub(crate) fn function(&self) -> [&str; 3] {
        self.function.each_ref().map(|text| &**text)
    }

    pub(crate) fn read(&self, text: &str, tools: &[ToolSpec]) -> Result<Vec<Call>, String> {
        let [before, after_name, close] = self.function();
        let mut rest = text;
        let mut calls = Vec::new();
        while !rest.trim().is_empty() {
            let body = rest.trim_start().strip_prefix(before).ok_or_else(|| missing(before))?;
            let (name, body) = body.split_once(after_name).ok_or_else(|| missing(after_name))?;
            let name = name.trim();
            if name.is_empty() {
                return Err("a function needs a name".to_owned());
            }
            let schema = tools.iter().find(|tool| tool.name == name).map(|tool| &tool.parameters);
            let (arguments, after) = self.parameters(body, schema)?;
            rest = after.trim_start().strip_prefix(close).ok_or_else(|| missing(close))?;
            calls.push(Call { name: name.to_owned(), arguments });
        }
        Ok(calls)
    }

    /// Reads parameters, and returns them with the text that follows.
    fn parameters<'t>(
        &self,
        text: &'t str,
        schema: Option<&Value>,
    ) -> Result<(Map<String, Value>, &'t str), String> {
        let mut arguments = Map::new();
        let mut rest = text;
        while let Some(body) = rest.trim_start().strip_prefix(&*self.parameter) {
            // The text after the name that comes first says how the value is read.
            let found = self
                .kinds
                .iter()
                .filter_map(|(after_name, kind)| Some((body.find(&**after_name)?, &**after_name, *kind)));
            let (at, after_name, kind) = found.min_by_key(|(at, ..)| *at).ok_or_else(|| missing(">"))?;
            let name = body.get(..at).unwrap_or_default().trim().to_owned();
            let (value, after) = self.value(body.get(at + after_name.len()..).unwrap_or_default())?;
            let property = schema.and_then(|schema| schema.get("properties")?.get(&name));
            let root = schema.unwrap_or(&Value::Null);
            if arguments.insert(name.clone(), read_value(value, kind, root, property)).is_some() {
                return Err(format!("{name:?} comes twice"));
            }
            rest = after;
        }
        Ok((arguments, rest))
    }

    /// Returns a parameter's value, and the text that follows the parameter.
    fn value<'t>(&self, text: &'t str) -> Result<(&'t str, &'t str), String> {
        if let Some((value, after)) = text.strip_prefix(CDATA[0]).and_then(|rest| rest.split_once(CDATA[1])) {
            let after = after.trim_start().strip_prefix(&*self.end).ok_or_else(|| missing(&self.end))?;
            return Ok((value, after));
        }
        let (value, after) = text.split_once(&*self.end).ok_or_else(|| missing(&self.end))?;
        let value = if self.lines { without_own_lines(value) } else { value };
        Ok((value, after))
    }

    pub(crate) fn begun(&self, text: &str) -> Vec<Begun> {
        let [before, after_name, close] = self.function();
        let mut begun = Vec::new();
        let mut at = 0;
        while let Some(body) = text.get(at..).and_then(|rest| rest.trim_start().strip_prefix(before)) {
            let Some((name, arguments)) = body.split_once(after_name) else {
                break;
            };
            let start = text.len() - arguments.len();
            let end = if close.is_empty() { None } else { arguments.find(close).map(|end| start + end) };
            // Text that may become the closing tag is no argument yet.
            let so_far = start + hold_from(arguments, [close]);
            begun.push(Begun {
                id: None,
                name: name.trim().to_owned(),
                arguments: Some(start..end.unwrap_or(so_far)),
            });
            let Some(end) = end else {
                break;
            };
            at = end + close.len();
        }
        begun
    }

    pub(crate) fn write(&self, calls: &[Call]) -> String {
        let [before, after_name, close] = self.function();
        let line = if self.lines { "\n" } else { "" };
        let mut written = Vec::new();
        for call in calls {
            let mut parameters = String::new();
            for (name, value) in &call.arguments {
                parameters += &self.parameter(name, value);
            }
            written.push(format!("{before}{}{after_name}{line}{parameters}{close}", call.name));
        }
        written.join("\n")
    }

    /// Writes a parameter with its tags.
    fn parameter(&self, name: &str, value: &Value) -> String {
        let (text, kinds) = match value {
            Value::String(text) => (text.clone(), [ValueKind::Text, ValueKind::Schema]),
            other => (spaced(other), [ValueKind::Json, ValueKind::Schema]),
        };
        let kind = self.kinds.iter().find(|(_, kind)| kinds.contains(kind));
        let after_name = kind.map_or(">", |(after_name, _)| &**after_name);
        let line = if self.lines { "\n" } else { "" };
        format!("{}{name}{after_name}{line}{text}{line}{}{line}", self.parameter, self.end)
    }

    /// Returns whether `text` ends inside a quotation.
    pub(crate) fn quotes(text: &str) -> bool {
        text.rfind(CDATA[0]).is_some_and(|open| !text.get(open..).unwrap_or_default().contains(CDATA[1]))
    }
}

fn missing(token: &str) -> String {
    format!("expected `{token}`")
}

fn without_own_lines(value: &str) -> &str {
    let value = value.strip_prefix('\n').unwrap_or(value);
    value.strip_suffix('\n').unwrap_or(value)
}

/// Reads the text of a value. References in its schema point into `root`.
pub(crate) fn read_value(text: &str, kind: ValueKind, root: &Value, schema: Option<&Value>) -> Value {
    if kind == ValueKind::Text {
        return text.into();
    }
    let mut reader = Reader::new(text, &value::PYTHON);
    match reader.value() {
        Ok(value) if reader.is_done() && (kind == ValueKind::Json || allows(root, schema, &value)) => value,
        _ => text.into(),
    }
}

/// Returns whether a schema expects `value` rather than its text: it names the value's type, and not `string`.
fn allows(root: &Value, schema: Option<&Value>, value: &Value) -> bool {
    let types: Vec<&str> = schema.map(|schema| types(root, schema, REFERENCES)).unwrap_or_default();
    let wanted: &[&str] = match value {
        Value::Null => return types.contains(&"null"),
        Value::Bool(_) => &["boolean"],
        Value::Number(_) => &["integer", "number"],
        Value::String(_) => return false,
        Value::Array(_) => &["array"],
        Value::Object(_) => &["object"],
    };
    !types.contains(&"string") && types.iter().any(|name| wanted.contains(name))
}

/// How many references may lead to each other.
const REFERENCES: usize = 32;

/// Returns the types that a schema names: its own, those of its values, and those of the schemas that it refers to.
fn types<'s>(root: &'s Value, schema: &'s Value, depth: usize) -> Vec<&'s str> {
    let pointer = schema.get("$ref").and_then(|reference| reference.as_str()?.strip_prefix('#'));
    let referred = pointer.and_then(|pointer| root.pointer(pointer));
    let branches = ["anyOf", "oneOf", "allOf"].iter().filter_map(|key| schema.get(key)?.as_array()).flatten();
    let inside = branches.chain(referred).filter(|_| depth > 0);
    let inside = inside.flat_map(|schema| types(root, schema, depth - 1));
    let values =
        schema.get("enum").and_then(Value::as_array).into_iter().flatten().chain(schema.get("const"));
    let own = match schema.get("type") {
        Some(Value::String(name)) => vec![name.as_str()],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => values.map(type_of).collect(),
    };
    own.into_iter().chain(inside).collect()
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
