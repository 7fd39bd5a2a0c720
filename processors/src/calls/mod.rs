//! Reads and writes tool calls in the ways of different models, with a file for each way.
//!
//! A [`CallSyntax`] is data: grammars of calls are made of the same values that calls are read by.

mod call;
pub(crate) mod deepseek;
mod gemma;
mod harmony;
mod json;
mod mistral;
mod outline;
mod python;
mod value;
mod xml;

use std::borrow::Cow;

use alloquy_core::ToolSpec;
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use crate::parser::markers::hold_from;

pub(crate) use call::{Begun, Call};
pub use gemma::{GemmaCalls, GemmaQuote};
pub use json::JsonCalls;
pub(crate) use json::{object, spaced};
pub use python::PythonCalls;
pub(crate) use python::literal;
pub(crate) use value::is_name;
pub(crate) use xml::{CDATA, read_value};
pub use xml::{ValueKind, XmlCalls};

/// How a model writes tool calls between two markers.
///
/// In JSON, it is a name, or an object with a name and its details: `"json"`, `{"json": {"list": true}}`, `{"python": {"list":
/// true}}`, `{"gemma": {"quote": "<escape>"}}`, `{"xml": {…}}`, `"deepseek"`, `"mistral"`, `"harmony"`, `"llama"`.
///
/// ```
/// use alloquy_processors::CallSyntax;
///
/// let syntax: CallSyntax = serde_json::from_str(r#"{"json": {"arguments": "parameters"}}"#)?;
/// assert_eq!(serde_json::to_string(&syntax)?, r#"{"json":{"arguments":"parameters"}}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum CallSyntax {
    /// JSON objects.
    Json(JsonCalls),
    /// Calls as in Python.
    Python(PythonCalls),
    /// Gemma's own notation.
    Gemma(GemmaCalls),
    /// Tags.
    Xml(XmlCalls),
    /// DeepSeek's marks.
    DeepSeek,
    /// Mistral's marks.
    Mistral,
    /// Messages to tools, as gpt-oss writes them.
    Harmony,
    /// JSON, or a built-in tool of Llama's as Python writes it: `name.call(…)`.
    Llama,
}

/// `{"name": …, "arguments": {…}}`.
pub(crate) static JSON: CallSyntax =
    CallSyntax::Json(JsonCalls { arguments: Cow::Borrowed("arguments"), list: false });
/// `[{"name": …, "arguments": {…}}]`.
pub(crate) static JSON_LIST: CallSyntax =
    CallSyntax::Json(JsonCalls { arguments: Cow::Borrowed("arguments"), list: true });
/// `{"name": …, "parameters": {…}}`.
pub(crate) static JSON_PARAMETERS: CallSyntax =
    CallSyntax::Json(JsonCalls { arguments: Cow::Borrowed("parameters"), list: false });
/// `[f(a=1), g()]`.
pub(crate) static PYTHON_LIST: CallSyntax = CallSyntax::Python(PythonCalls { list: true });
/// `f(a=1)`, a line each.
pub(crate) static PYTHON_LINES: CallSyntax = CallSyntax::Python(PythonCalls { list: false });

/// The names that a [`CallSyntax`] has in JSON.
pub(crate) const NAMES: &str = "json, python, gemma, xml, deepseek, mistral, harmony, llama";

impl<'de> Deserialize<'de> for CallSyntax {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        CallSyntax::of_json(Value::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl CallSyntax {
    fn of_json(value: Value) -> Result<Self, String> {
        let (name, details) = match value {
            Value::String(name) => (name, None),
            Value::Object(fields) if fields.len() == 1 => {
                let (name, details) = fields.into_iter().next().unwrap_or_default();
                (name, Some(details))
            }
            other => {
                return Err(format!(
                    "calls are written as one of: {NAMES}; or as an object of one of these, not {other}"
                ));
            }
        };
        let details_or_none = details.clone().unwrap_or_else(|| Value::Object(Map::new()));
        let syntax = match name.as_str() {
            "json" => Self::Json(details_of(&name, details_or_none)?),
            "python" => Self::Python(details_of(&name, details_or_none)?),
            "gemma" => Self::Gemma(details_of(&name, details_or_none)?),
            "xml" => Self::Xml(details_of(&name, details_or_none)?),
            "deepseek" => Self::DeepSeek,
            "mistral" => Self::Mistral,
            "harmony" => Self::Harmony,
            "llama" => Self::Llama,
            _ => return Err(format!("calls are written as one of: {NAMES}; not {name:?}")),
        };
        match details.filter(|_| !syntax.has_details()) {
            Some(details) => Err(format!("calls of {name:?} have no details, and {details} are given")),
            None => Ok(syntax),
        }
    }

    fn has_details(&self) -> bool {
        matches!(self, Self::Json(_) | Self::Python(_) | Self::Gemma(_) | Self::Xml(_))
    }

    /// Checks the details.
    pub(crate) fn check(&self) -> Result<(), String> {
        match self {
            Self::Json(json) => json.check(),
            Self::Xml(xml) => xml.check(),
            Self::Python(_)
            | Self::Gemma(_)
            | Self::DeepSeek
            | Self::Mistral
            | Self::Harmony
            | Self::Llama => Ok(()),
        }
    }

    /// Returns whether calls end by themselves, without a marker.
    pub(crate) fn ends_by_itself(&self) -> bool {
        match self {
            Self::Json(_) | Self::Python(_) | Self::Gemma(_) | Self::Mistral | Self::Llama => true,
            Self::Xml(_) | Self::DeepSeek | Self::Harmony => false,
        }
    }

    /// Returns whether calls are recognised by their beginning, without a marker.
    pub(crate) fn announces_itself(&self) -> bool {
        matches!(self, Self::Json(_) | Self::Python(PythonCalls { list: true }))
    }
}

fn details_of<T: DeserializeOwned>(name: &str, details: Value) -> Result<T, String> {
    serde_json::from_value(details).map_err(|error| format!("calls of {name:?}: {error}"))
}

/// Whether a text is a call without markers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Guess {
    /// It is no call.
    No,
    /// It may become one.
    Maybe,
    /// It calls an offered tool.
    Yes,
}

impl CallSyntax {
    /// Returns whether calls may be between any two markers. Some are read only after markers of their own.
    pub(crate) fn can_be_fenced(&self) -> bool {
        match self {
            CallSyntax::Harmony | CallSyntax::Llama => false,
            CallSyntax::Xml(xml) => !xml.function()[0].is_empty(),
            CallSyntax::Json(_)
            | CallSyntax::Python(_)
            | CallSyntax::Gemma(_)
            | CallSyntax::DeepSeek
            | CallSyntax::Mistral => true,
        }
    }

    /// Reads all text between two markers: the calls in order, or the reason why they cannot be read.
    pub(crate) fn read(&self, text: &str, tools: &[ToolSpec]) -> Result<Vec<Call>, String> {
        let calls = match self {
            CallSyntax::Json(_) => JsonCalls::read(text),
            CallSyntax::Python(_) => PythonCalls::read(text),
            CallSyntax::Gemma(gemma) => gemma.read(text),
            CallSyntax::Xml(xml) => xml.read(text, tools),
            CallSyntax::DeepSeek => deepseek::read(text),
            CallSyntax::Mistral => mistral::read(text),
            CallSyntax::Harmony => harmony::read(text),
            CallSyntax::Llama if is_json(text) => JsonCalls::read(text),
            CallSyntax::Llama => {
                PythonCalls::read(text).map(|calls| calls.into_iter().map(built_in).collect())
            }
        };
        calls.and_then(|calls: Vec<Call>| {
            if calls.is_empty() { Err("no call between the markers".to_owned()) } else { Ok(calls) }
        })
    }

    /// Returns the text between two markers that is no call and is shown to the reader.
    pub(crate) fn aside(&self, text: &str) -> String {
        match self {
            CallSyntax::Python(_) => PythonCalls::aside(text),
            CallSyntax::Llama if !is_json(text) => PythonCalls::aside(text),
            _ => String::new(),
        }
    }

    /// Finds the calls whose names are known in the beginning of the text between two markers. In a longer beginning, it finds
    /// the same calls and more.
    pub(crate) fn begun(&self, text: &str) -> Vec<Begun> {
        match self {
            CallSyntax::Json(_) => JsonCalls::begun(text),
            CallSyntax::Python(_) => PythonCalls::begun(text),
            CallSyntax::Gemma(gemma) => gemma.begun(text),
            CallSyntax::Xml(xml) => xml.begun(text),
            CallSyntax::DeepSeek => deepseek::begun(text),
            CallSyntax::Mistral => mistral::begun(text),
            CallSyntax::Harmony => harmony::begun(text),
            CallSyntax::Llama if is_json(text) => JsonCalls::begun(text),
            CallSyntax::Llama => PythonCalls::begun(text).into_iter().map(built_in_begun).collect(),
        }
    }

    /// Writes calls as [`CallSyntax::read`] reads them.
    pub(crate) fn write(&self, calls: &[Call]) -> String {
        match self {
            CallSyntax::Json(json) => json.write(calls),
            CallSyntax::Python(python) => python.write(calls),
            CallSyntax::Gemma(gemma) => gemma.write(calls),
            CallSyntax::Xml(xml) => xml.write(calls),
            CallSyntax::DeepSeek => deepseek::write(calls),
            CallSyntax::Mistral => mistral::write(calls),
            CallSyntax::Harmony => harmony::write(calls),
            CallSyntax::Llama => JSON_PARAMETERS.write(calls),
        }
    }

    /// Returns whether `text` ends inside a quotation, where a closing marker does not count.
    pub(crate) fn quotes(&self, text: &str) -> bool {
        match self {
            CallSyntax::Xml(_) => XmlCalls::quotes(text),
            CallSyntax::Harmony => {
                let (_, arguments) = text.split_once("<|message|>").unwrap_or_default();
                outline::is_inside_string(arguments, &value::JSON)
            }
            CallSyntax::Llama if !is_json(text) => outline::is_inside_string(text, &value::PYTHON),
            CallSyntax::Python(_) => outline::is_inside_string(text, &value::PYTHON),
            CallSyntax::Gemma(gemma) => outline::is_inside_string(text, gemma.notation()),
            CallSyntax::Json(_) | CallSyntax::DeepSeek | CallSyntax::Mistral | CallSyntax::Llama => {
                outline::is_inside_string(text, &value::JSON)
            }
        }
    }

    /// Returns where calls without a closing marker end; `None` as long as they may continue.
    pub(crate) fn end(&self, text: &str) -> Option<usize> {
        match self {
            CallSyntax::Mistral => mistral::end(text),
            CallSyntax::Python(_) => outline::balanced(text, &value::PYTHON),
            CallSyntax::Llama if !is_json(text) => outline::balanced(text, &value::PYTHON),
            CallSyntax::Gemma(gemma) => outline::balanced(text, gemma.notation()),
            _ => end_of_objects(text),
        }
    }

    /// Returns how many bytes of incomplete calls belong to them whatever follows. The end of `text` may be the beginning of
    /// `close`, or of another end.
    pub(crate) fn settled(&self, text: &str, close: &str) -> usize {
        match self {
            CallSyntax::Mistral if close.is_empty() => hold_from(text, [mistral::NEXT]),
            CallSyntax::Json(_) if close.is_empty() => settled_objects(text),
            CallSyntax::Llama if close.is_empty() && is_json(text) => settled_objects(text),
            _ => hold_from(text, [close]),
        }
    }

    /// Guesses whether `text`, which has no marker, is a call of one of `tools`.
    pub(crate) fn guess(&self, text: &str, tools: &[ToolSpec]) -> Guess {
        if text.trim().is_empty() {
            return Guess::Maybe;
        }
        match self {
            CallSyntax::Python(_) => guess_list(text, tools),
            _ => guess_object(text, tools),
        }
    }
}

fn is_json(text: &str) -> bool {
    text.trim_start().starts_with(['{', '['])
}

/// Removes the method from the name of a built-in tool of Llama's: `brave_search.call` becomes `brave_search`.
fn built_in(call: Call) -> Call {
    let name = call.name.strip_suffix(".call").map(str::to_owned).unwrap_or(call.name);
    Call { name, ..call }
}

fn built_in_begun(begun: Begun) -> Begun {
    let name = begun.name.strip_suffix(".call").map(str::to_owned).unwrap_or(begun.name);
    Begun { name, ..begun }
}

/// Returns where JSON calls end: after the last of several, which are separated by semicolons.
fn end_of_objects(text: &str) -> Option<usize> {
    let mut end = 0;
    loop {
        let rest = text.get(end..).unwrap_or_default();
        end += outline::balanced(rest, &value::JSON)?;
        let after = text.get(end..).unwrap_or_default().trim_start();
        // A semicolon and another call may still follow.
        let next = after.strip_prefix(';').map_or(after, str::trim_start);
        match next.chars().next() {
            None => return None,
            Some('{') if after.starts_with(';') => {}
            Some(_) => return Some(end),
        }
    }
}

/// Returns how many bytes of incomplete objects belong to them. White space and semicolons after the last one may be text.
fn settled_objects(text: &str) -> usize {
    let mut end = 0;
    while let Some(length) = outline::balanced(text.get(end..).unwrap_or_default(), &value::JSON) {
        end += length;
    }
    let rest = text.get(end..).unwrap_or_default();
    let is_separator = rest.chars().all(|symbol| symbol.is_whitespace() || symbol == ';');
    if end > 0 && is_separator { end } else { text.len() }
}

/// The beginnings of a JSON call, up to its name.
const OBJECTS: [&str; 4] = [
    "{\"name\":\"",
    "[{\"name\":\"",
    "{\"type\":\"function\",\"name\":\"",
    "{\"type\":\"function\",\"function\":{\"name\":\"",
];

fn guess_object(text: &str, tools: &[ToolSpec]) -> Guess {
    let squeezed: String = text.chars().filter(|symbol| !symbol.is_whitespace()).collect();
    let guesses = OBJECTS.iter().map(|begin| match squeezed.strip_prefix(begin) {
        Some(name) => guess_name(name, "\"", tools),
        None if begin.starts_with(squeezed.as_str()) => Guess::Maybe,
        None => Guess::No,
    });
    guesses.max().unwrap_or(Guess::No)
}

fn guess_list(text: &str, tools: &[ToolSpec]) -> Guess {
    let name = text.trim_start().strip_prefix('[').map(str::trim_start);
    name.map_or(Guess::No, |name| guess_name(name, "(", tools))
}

/// Guesses whether `text` is the beginning of an offered tool's name, followed by `end`.
fn guess_name(text: &str, end: &str, tools: &[ToolSpec]) -> Guess {
    let known = match text.split_once(end) {
        Some((name, _)) if tools.iter().any(|tool| tool.name == name.trim_end()) => return Guess::Yes,
        Some(_) => false,
        None => tools.iter().any(|tool| tool.name.starts_with(text.trim_end())),
    };
    if known { Guess::Maybe } else { Guess::No }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{
        Call, CallSyntax, GemmaCalls, GemmaQuote, JSON, JSON_LIST, JSON_PARAMETERS, PYTHON_LINES, PYTHON_LIST,
    };

    fn call(name: &str, arguments: &Value) -> Call {
        Call { name: name.to_owned(), arguments: arguments.as_object().cloned().unwrap() }
    }

    #[test]
    fn what_is_written_is_read_again() {
        let gemma =
            [GemmaQuote::Escape, GemmaQuote::Bar].map(|quote| CallSyntax::Gemma(GemmaCalls { quote }));
        let others = [&CallSyntax::DeepSeek, &CallSyntax::Llama];
        let json = [&JSON, &JSON_LIST, &JSON_PARAMETERS, &PYTHON_LINES, &PYTHON_LIST];
        let first = json!({"a": [1, -2.5, null, true], "b": {"c": "é\n\"x\" \\ ] }"}, "d": u64::MAX});
        let calls =
            [call("weather", &first), call("add.all", &json!({})), call("say", &json!({"text": "x"}))];
        for syntax in gemma.iter().chain(others).chain(json) {
            let written = syntax.write(&calls);
            assert_eq!(syntax.read(&written, &[]).as_deref(), Ok(&calls[..]), "{written}");
            let begun: Vec<_> = syntax.begun(&written).into_iter().map(|begun| begun.name).collect();
            assert_eq!(begun, ["weather", "add.all", "say"], "{written}");
            assert!(!syntax.quotes(&written), "{written}");
        }
        for syntax in [CallSyntax::Mistral, CallSyntax::Harmony] {
            let written = syntax.write(&calls[..1]);
            assert_eq!(syntax.read(&written, &[]).as_deref(), Ok(&calls[..1]), "{written}");
        }
    }

    #[test]
    fn what_begins_stays_as_more_arrives() {
        let calls = [
            call("weather", &json!({"city": "Oslo", "days": [1, {"x": "}"}]})),
            call("add", &json!({"a": 1})),
        ];
        let gemma = CallSyntax::Gemma(GemmaCalls { quote: GemmaQuote::Bar });
        for syntax in [&gemma, &CallSyntax::DeepSeek, &JSON, &JSON_LIST, &PYTHON_LIST, &PYTHON_LINES] {
            let written = syntax.write(&calls);
            let whole = arguments_of(syntax, &written);
            for length in (0..written.len()).filter(|length| written.is_char_boundary(*length)) {
                for (before, after) in arguments_of(syntax, &written[..length]).iter().zip(&whole) {
                    assert!(after.starts_with(before), "{before:?} is not how {after:?} begins");
                }
            }
        }
    }

    /// Returns the arguments' texts of the calls that have begun.
    fn arguments_of<'t>(syntax: &CallSyntax, text: &'t str) -> Vec<&'t str> {
        let mut arguments = Vec::new();
        for begun in syntax.begun(text) {
            arguments.push(begun.arguments.map_or("", |part| &text[part.start..part.end.min(text.len())]));
        }
        arguments
    }
}
