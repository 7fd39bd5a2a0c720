//! The text for a template's `{function_string}`: the tools as MLC writes them.
//!
//! Reference: `check_function_call_usage` in `python/mlc_llm/protocol/openai_api_protocol.py`.

use std::io;

use alloquy_core::template::TemplateInput;
use alloquy_core::{Error, ErrorKind, Result};
use serde::Serialize;
use serde_json::ser::Formatter;
use serde_json::{Value, json};

/// The variable that chooses among the tools: absent, `"auto"`, `"none"` or `{"function": {"name": …}}`.
pub(super) const TOOL_CHOICE: &str = "tool_choice";

/// Returns the text of the tools, or `None` if the conversation has none or declines them.
///
/// All tools are one list, as Python's `json.dumps` writes it. A chosen tool is a single object in compact JSON.
pub(super) fn function_string(input: &TemplateInput) -> Result<Option<String>> {
    let tools = input.tools.as_deref().unwrap_or_default();
    match input.extra.get(TOOL_CHOICE) {
        _ if tools.is_empty() => Ok(None),
        None | Some(Value::Null) => list_of(tools).map(Some),
        Some(Value::String(choice)) if choice == "auto" => list_of(tools).map(Some),
        Some(Value::String(choice)) if choice == "none" => Ok(None),
        Some(choice) => chosen(tools, choice).map(Some),
    }
}

/// Returns whether the conversation has tools that should be printed.
pub(super) fn has_tools(input: &TemplateInput) -> bool {
    let declined = input.extra.get(TOOL_CHOICE).and_then(Value::as_str) == Some("none");
    !declined && input.tools.as_ref().is_some_and(|tools| !tools.is_empty())
}

fn list_of(tools: &[Value]) -> Result<String> {
    let functions = tools.iter().map(function_of).collect::<Result<Vec<_>>>()?;
    let mut text = Vec::new();
    let mut serializer = serde_json::Serializer::with_formatter(&mut text, Python);
    functions.serialize(&mut serializer).map_err(|error| invalid(error.to_string()))?;
    String::from_utf8(text).map_err(|error| invalid(error.to_string()))
}

fn chosen(tools: &[Value], choice: &Value) -> Result<String> {
    let name = choice.pointer("/function/name").and_then(Value::as_str);
    let name = name.ok_or_else(|| {
        let message = format!(
            "{TOOL_CHOICE} {choice} is not one of: \"auto\", \"none\", {{\"function\": {{\"name\": …}}}}"
        );
        invalid(message)
    })?;
    let functions = tools.iter().map(function_of).collect::<Result<Vec<_>>>()?;
    let named = functions.iter().find(|function| function.get("name").and_then(Value::as_str) == Some(name));
    named.map(Value::to_string).ok_or_else(|| {
        let names: Vec<_> = functions.iter().filter_map(|function| function.get("name")?.as_str()).collect();
        invalid(format!("{TOOL_CHOICE} names {name:?}, which is none of the tools: {}", names.join(", ")))
    })
}

/// Returns a tool's function with the fields that MLC keeps, in its order.
fn function_of(tool: &Value) -> Result<Value> {
    let function = tool.get("function").unwrap_or(tool);
    match (function.get("name"), function.get("parameters")) {
        (Some(name @ Value::String(_)), Some(parameters @ Value::Object(_))) => {
            let description = function.get("description").unwrap_or(&Value::Null);
            Ok(json!({"description": description, "name": name, "parameters": parameters}))
        }
        _ => Err(invalid(format!("tool {tool} has no function with a \"name\" and \"parameters\""))),
    }
}

fn invalid(message: String) -> Error {
    Error::new(ErrorKind::Invalid, message)
}

/// Python's `json.dumps`: a space after each comma and colon, and escapes for everything beyond ASCII.
struct Python;

impl Formatter for Python {
    fn begin_array_value<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        writer.write_all(if first { b"" } else { b", " })
    }

    fn begin_object_key<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        writer.write_all(if first { b"" } else { b", " })
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }

    fn write_string_fragment<W: ?Sized + io::Write>(&mut self, writer: &mut W, text: &str) -> io::Result<()> {
        for unit in text.encode_utf16() {
            match u8::try_from(unit) {
                Ok(byte) if byte.is_ascii() => writer.write_all(&[byte])?,
                _ => write!(writer, "\\u{unit:04x}")?,
            }
        }
        Ok(())
    }

    /// Writes a number as `repr`: with an exponent from 1e16 on and below 1e-4, which has a sign and at least two digits.
    fn write_f64<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        let scientific = format!("{value:e}");
        let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
        match exponent.parse().unwrap_or(0) {
            -4..16 => write!(writer, "{value:?}"),
            exponent => {
                write!(writer, "{digits}e{}{:02}", if exponent < 0 { '-' } else { '+' }, i32::abs(exponent))
            }
        }
    }
}
