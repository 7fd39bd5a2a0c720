//! Tool calls as Python writes them: `[f(a=1), g()]`, or a call a line.
//!
//! The calls may be in a fence of Markdown. Each may be inside `print(…)`, or be assigned to a variable. The prefix
//! `default_api.` of a name is removed; other names keep their dots. Comments and variables are text besides the calls.
//! Positional arguments are an error.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::call::{Begun, Call};
use super::outline;
use super::value::{self, Reader, is_false};

/// Tool calls as in Python: `add(a=1)`.
///
/// ```
/// use alloquy_processors::{CallSyntax, PythonCalls};
///
/// let mut calls = PythonCalls::default();
/// calls.list = true;
/// let syntax: CallSyntax = serde_json::from_str(r#"{"python": {"list": true}}"#)?;
/// assert_eq!(syntax, CallSyntax::Python(calls));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct PythonCalls {
    /// Whether the calls of a message are one list. Otherwise each is on a line of its own.
    #[serde(skip_serializing_if = "is_false")]
    pub list: bool,
}

/// The module of the tools, which Gemma writes before some names.
const MODULE: &str = "default_api.";

impl PythonCalls {
    /// Reads every call of `text`.
    pub(crate) fn read(text: &str) -> Result<Vec<Call>, String> {
        Ok(statements(text)?.0)
    }

    /// Returns the text besides the calls of `text`: comments, and the names of results.
    pub(crate) fn aside(text: &str) -> String {
        let mut aside = String::new();
        for comment in outline::comments(without_fence(text), &value::PYTHON) {
            aside += comment;
            aside.push('\n');
        }
        if let Ok((_, names)) = statements(text) {
            for name in names {
                aside += &name;
                aside.push('\n');
            }
        }
        aside
    }

    /// Finds the calls whose names are known.
    pub(crate) fn begun(text: &str) -> Vec<Begun> {
        let body = without_fence(text);
        let offset = text.find(body).unwrap_or_default();
        let mut reader = Reader::new(body, &value::PYTHON);
        let mut begun = Vec::new();
        loop {
            while ["[", ",", ";", ")", "]", "print("].iter().any(|token| reader.takes(token)) {}
            let name = name(&mut reader);
            if !name.is_empty() && reader.takes("=") {
                continue;
            }
            if name.is_empty() || !reader.takes("(") {
                return begun;
            }
            let start = reader.at();
            let ended = reader.parameters(Map::new());
            let end = if ended.is_ok() { offset + reader.at() - 1 } else { usize::MAX };
            begun.push(Begun { id: None, name, arguments: Some(offset + start..end) });
            if ended.is_err() {
                return begun;
            }
        }
    }

    /// Writes calls as [`PythonCalls::read`] reads them.
    pub(crate) fn write(&self, calls: &[Call]) -> String {
        let mut all = Vec::new();
        for call in calls {
            let arguments = call.arguments.iter().map(|(name, value)| format!("{name}={}", literal(value)));
            all.push(format!("{}({})", call.name, arguments.collect::<Vec<_>>().join(", ")));
        }
        if self.list { format!("[{}]", all.join(", ")) } else { all.join("\n") }
    }
}

/// Writes a value as Python does.
pub(crate) fn literal(value: &Value) -> String {
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Array(values) => format!("[{}]", values.iter().map(literal).collect::<Vec<_>>().join(", ")),
        Value::Object(fields) => {
            let mut written = Vec::new();
            for (key, value) in fields {
                written.push(format!("{}: {}", Value::from(key.as_str()), literal(value)));
            }
            format!("{{{}}}", written.join(", "))
        }
        // A string in double quotes is the same in Python and in JSON.
        Value::Number(_) | Value::String(_) => value.to_string(),
    }
}

/// Removes a fence of Markdown: its first line and its last.
fn without_fence(text: &str) -> &str {
    let opened = text.trim_start().strip_prefix("```").and_then(|rest| rest.split_once('\n'));
    match opened {
        Some((language, body)) if ["", "python", "tool_code"].contains(&language.trim()) => {
            body.trim_end().strip_suffix("```").unwrap_or(body)
        }
        _ => text,
    }
}

/// Reads the calls, and the names of the variables that results are assigned to.
fn statements(text: &str) -> Result<(Vec<Call>, Vec<String>), String> {
    let mut reader = Reader::new(without_fence(text), &value::PYTHON);
    let mut calls = Vec::new();
    let mut names = Vec::new();
    while !reader.is_done() {
        if !reader.takes("[") {
            calls.push(statement(&mut reader, &mut names)?);
            while reader.takes(";") {}
            continue;
        }
        while !reader.takes("]") {
            calls.push(call(&mut reader)?);
            reader.comma("]")?;
        }
    }
    Ok((calls, names))
}

fn statement(reader: &mut Reader<'_>, names: &mut Vec<String>) -> Result<Call, String> {
    let mut ahead = reader.clone();
    let result = name(&mut ahead);
    if !result.is_empty() && ahead.takes("=") {
        names.push(result + " =");
        *reader = ahead;
    }
    if !reader.takes("print(") {
        return call(reader);
    }
    let call = call(reader)?;
    reader.take(")")?;
    Ok(call)
}

fn call(reader: &mut Reader<'_>) -> Result<Call, String> {
    let name = name(reader);
    if name.is_empty() {
        return reader.expected("a call");
    }
    reader.take("(")?;
    Ok(Call { name, arguments: reader.parameters(Map::new())? })
}

fn name(reader: &mut Reader<'_>) -> String {
    reader.space();
    let name = reader.word(value::is_name);
    name.strip_prefix(MODULE).unwrap_or(name).to_owned()
}
