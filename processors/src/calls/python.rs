//! Tool calls as Python writes them: `[f(a=1), g()]`, or a call a line.
//!
//! Around the calls may stand a fence of Markdown, and around each `print(…)`, or a variable that it is assigned to; a name
//! may begin with `default_api.`, and is kept with its dots otherwise. Comments and variables are text beside the calls.
//! Arguments need names.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::call::{Begun, Call};
use super::outline;
use super::value::{self, Reader, is_false};

/// Tool calls as in Python: `add(a=1)`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct PythonCalls {
    /// The calls of a message are one list; otherwise a line each.
    #[serde(skip_serializing_if = "is_false")]
    pub list: bool,
}

/// What Gemma calls the module of the tools, when it writes it.
const MODULE: &str = "default_api.";

impl PythonCalls {
    /// Reads every call of `text`.
    pub(crate) fn read(text: &str) -> Result<Vec<Call>, String> {
        Ok(statements(text)?.0)
    }

    /// What stands beside the calls of `text` and is said to whoever reads it: comments, and names of results.
    pub(crate) fn aside(text: &str) -> String {
        let names = statements(text).map(|(_, names)| names).unwrap_or_default();
        let lines = outline::comments(without_fence(text), &value::PYTHON).into_iter().map(str::to_owned);
        lines.chain(names).map(|line| line + "\n").collect()
    }

    /// Finds the calls whose names have come.
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
        let one = |call: &Call| {
            let arguments = call.arguments.iter().map(|(name, value)| format!("{name}={}", literal(value)));
            format!("{}({})", call.name, arguments.collect::<Vec<_>>().join(", "))
        };
        let all: Vec<_> = calls.iter().map(one).collect();
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
            let one = |(key, value): (&String, &Value)| {
                format!("{}: {}", Value::from(key.as_str()), literal(value))
            };
            format!("{{{}}}", fields.iter().map(one).collect::<Vec<_>>().join(", "))
        }
        // A string in double quotes is the same in both languages.
        Value::Number(_) | Value::String(_) => value.to_string(),
    }
}

/// Takes a fence of Markdown off: its first line, and its last.
fn without_fence(text: &str) -> &str {
    let opened = text.trim_start().strip_prefix("```").and_then(|rest| rest.split_once('\n'));
    match opened {
        Some((language, body)) if ["", "python", "tool_code"].contains(&language.trim()) => {
            body.trim_end().strip_suffix("```").unwrap_or(body)
        }
        _ => text,
    }
}

/// The calls, and the names that results are given.
fn statements(text: &str) -> Result<(Vec<Call>, Vec<String>), String> {
    let mut reader = Reader::new(without_fence(text), &value::PYTHON);
    let (mut calls, mut names) = (Vec::new(), Vec::new());
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
