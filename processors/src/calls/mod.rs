//! How models write tool calls: a file for each way. Knows texts, not where in a reply they stand.
//!
//! A [`Syntax`] is data: whoever derives a grammar from a family's calls reads the same values as the reader here.

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

use alloquy_core::ToolSpec;

use crate::parser::markers::hold_from;

pub(crate) use call::{Begun, Call};
pub(crate) use gemma::{ESCAPE, GemmaCalls, QUOTE};
pub(crate) use json::{JsonCalls, object, spaced};
pub(crate) use python::{PythonCalls, literal};
pub(crate) use value::is_name;
pub(crate) use xml::{CDATA, ValueKind, XmlCalls, read_value};

/// A way to write tool calls.
#[derive(Debug, PartialEq)]
pub(crate) enum Syntax {
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
    /// Messages to tools.
    Harmony,
    /// JSON, or a built-in tool of Llama's as Python writes it: `name.call(…)`.
    Llama,
}

/// `{"name": …, "arguments": {…}}`.
pub(crate) static JSON: Syntax = Syntax::Json(JsonCalls { arguments: "arguments", list: false });
/// `[{"name": …, "arguments": {…}}]`.
pub(crate) static JSON_LIST: Syntax = Syntax::Json(JsonCalls { arguments: "arguments", list: true });
/// `{"name": …, "parameters": {…}}`.
pub(crate) static JSON_PARAMETERS: Syntax = Syntax::Json(JsonCalls { arguments: "parameters", list: false });
/// `[f(a=1), g()]`.
pub(crate) static PYTHON_LIST: Syntax = Syntax::Python(PythonCalls { list: true });
/// `f(a=1)`, a line each.
pub(crate) static PYTHON_LINES: Syntax = Syntax::Python(PythonCalls { list: false });

/// Whether a text is a call that no marker announces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Guess {
    /// It is none.
    No,
    /// More text will tell.
    Maybe,
    /// It calls a tool that is offered.
    Yes,
}

impl Syntax {
    /// Says whether calls may stand between any two markers; some make sense behind their own alone.
    pub(crate) fn can_be_fenced(&self) -> bool {
        match self {
            Syntax::Harmony | Syntax::Llama => false,
            Syntax::Xml(xml) => !xml.function[0].is_empty(),
            Syntax::Json(_) | Syntax::Python(_) | Syntax::Gemma(_) | Syntax::DeepSeek | Syntax::Mistral => {
                true
            }
        }
    }

    /// Reads everything between two markers: the calls in order, or why they cannot be read.
    pub(crate) fn read(&self, text: &str, tools: &[ToolSpec]) -> Result<Vec<Call>, String> {
        let calls = match self {
            Syntax::Json(_) => JsonCalls::read(text),
            Syntax::Python(_) => PythonCalls::read(text),
            Syntax::Gemma(gemma) => gemma.read(text),
            Syntax::Xml(xml) => xml.read(text, tools),
            Syntax::DeepSeek => deepseek::read(text),
            Syntax::Mistral => mistral::read(text),
            Syntax::Harmony => harmony::read(text),
            Syntax::Llama if is_json(text) => JsonCalls::read(text),
            Syntax::Llama => PythonCalls::read(text).map(|calls| calls.into_iter().map(built_in).collect()),
        };
        calls.and_then(|calls: Vec<Call>| match calls.is_empty() {
            true => Err("no call between the markers".to_owned()),
            false => Ok(calls),
        })
    }

    /// What stands between two markers and is no call, but said to whoever reads it.
    pub(crate) fn aside(&self, text: &str) -> String {
        match self {
            Syntax::Python(_) => PythonCalls::aside(text),
            Syntax::Llama if !is_json(text) => PythonCalls::aside(text),
            _ => String::new(),
        }
    }

    /// Finds the calls whose names have come, in the beginning of what stands between two markers. Of a longer
    /// beginning it finds the same and more.
    pub(crate) fn begun(&self, text: &str) -> Vec<Begun> {
        match self {
            Syntax::Json(_) => JsonCalls::begun(text),
            Syntax::Python(_) => PythonCalls::begun(text),
            Syntax::Gemma(gemma) => gemma.begun(text),
            Syntax::Xml(xml) => xml.begun(text),
            Syntax::DeepSeek => deepseek::begun(text),
            Syntax::Mistral => mistral::begun(text),
            Syntax::Harmony => harmony::begun(text),
            Syntax::Llama if is_json(text) => JsonCalls::begun(text),
            Syntax::Llama => PythonCalls::begun(text).into_iter().map(built_in_begun).collect(),
        }
    }

    /// Writes calls as [`Syntax::read`] reads them.
    pub(crate) fn write(&self, calls: &[Call]) -> String {
        match self {
            Syntax::Json(json) => json.write(calls),
            Syntax::Python(python) => python.write(calls),
            Syntax::Gemma(gemma) => gemma.write(calls),
            Syntax::Xml(xml) => xml.write(calls),
            Syntax::DeepSeek => deepseek::write(calls),
            Syntax::Mistral => mistral::write(calls),
            Syntax::Harmony => harmony::write(calls),
            Syntax::Llama => JsonCalls { arguments: "parameters", list: false }.write(calls),
        }
    }

    /// Says whether `text` ends inside a quotation, where a closing marker is only quoted.
    pub(crate) fn quotes(&self, text: &str) -> bool {
        match self {
            Syntax::Xml(_) => XmlCalls::quotes(text),
            Syntax::Harmony => {
                let (_, arguments) = text.split_once("<|message|>").unwrap_or_default();
                outline::is_inside_string(arguments, &value::JSON)
            }
            Syntax::Llama if !is_json(text) => outline::is_inside_string(text, &value::PYTHON),
            Syntax::Python(_) => outline::is_inside_string(text, &value::PYTHON),
            Syntax::Gemma(gemma) => outline::is_inside_string(text, gemma.notation),
            Syntax::Json(_) | Syntax::DeepSeek | Syntax::Mistral | Syntax::Llama => {
                outline::is_inside_string(text, &value::JSON)
            }
        }
    }

    /// Returns where calls end that no marker closes; `None` as long as they may go on.
    pub(crate) fn end(&self, text: &str) -> Option<usize> {
        match self {
            Syntax::Mistral => mistral::end(text),
            Syntax::Python(_) => outline::balanced(text, &value::PYTHON),
            Syntax::Llama if !is_json(text) => outline::balanced(text, &value::PYTHON),
            Syntax::Gemma(gemma) => outline::balanced(text, gemma.notation),
            _ => end_of_objects(text),
        }
    }

    /// Returns how much of calls that may go on is theirs, whatever follows: `close`, or what else may end them, may
    /// have begun.
    pub(crate) fn settled(&self, text: &str, close: &str) -> usize {
        match self {
            Syntax::Mistral if close.is_empty() => hold_from(text, [mistral::NEXT]),
            Syntax::Json(_) if close.is_empty() => settled_objects(text),
            Syntax::Llama if close.is_empty() && is_json(text) => settled_objects(text),
            _ => hold_from(text, [close]),
        }
    }

    /// Says whether `text`, which no marker announces, is a call of one of `tools`.
    pub(crate) fn guess(&self, text: &str, tools: &[ToolSpec]) -> Guess {
        if text.trim().is_empty() {
            return Guess::Maybe;
        }
        match self {
            Syntax::Python(_) => guess_list(text, tools),
            _ => guess_object(text, tools),
        }
    }
}

fn is_json(text: &str) -> bool {
    text.trim_start().starts_with(['{', '['])
}

/// Llama's built-in tools are objects with one method.
fn built_in(call: Call) -> Call {
    let name = call.name.strip_suffix(".call").map(str::to_owned).unwrap_or(call.name);
    Call { name, ..call }
}

fn built_in_begun(begun: Begun) -> Begun {
    let name = begun.name.strip_suffix(".call").map(str::to_owned).unwrap_or(begun.name);
    Begun { name, ..begun }
}

/// Where JSON calls end: behind the last of several, between which semicolons stand.
fn end_of_objects(text: &str) -> Option<usize> {
    let mut end = 0;
    loop {
        let rest = text.get(end..).unwrap_or_default();
        end += outline::balanced(rest, &value::JSON)?;
        let after = text.get(end..).unwrap_or_default().trim_start();
        // A semicolon, and another call behind it, may be yet to come.
        let next = after.strip_prefix(';').map_or(after, str::trim_start);
        match next.chars().next() {
            None => return None,
            Some('{') if after.starts_with(';') => {}
            Some(_) => return Some(end),
        }
    }
}

/// How much of objects that may go on is theirs: what stands behind the last may be text.
fn settled_objects(text: &str) -> usize {
    let mut end = 0;
    while let Some(length) = outline::balanced(text.get(end..).unwrap_or_default(), &value::JSON) {
        end += length;
    }
    let rest = text.get(end..).unwrap_or_default();
    let is_between = |symbol: char| symbol.is_whitespace() || symbol == ';';
    if end > 0 && rest.chars().all(is_between) { end } else { text.len() }
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

/// Looks at the beginning of a name that `end` follows.
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
        Call, ESCAPE, GemmaCalls, JSON, JSON_LIST, JSON_PARAMETERS, PYTHON_LINES, PYTHON_LIST, QUOTE, Syntax,
    };

    fn call(name: &str, arguments: &Value) -> Call {
        Call { name: name.to_owned(), arguments: arguments.as_object().cloned().unwrap() }
    }

    #[test]
    fn what_is_written_is_read_again() {
        let gemma =
            [Syntax::Gemma(GemmaCalls { notation: &ESCAPE }), Syntax::Gemma(GemmaCalls { notation: &QUOTE })];
        let others = [&Syntax::DeepSeek, &Syntax::Llama];
        let json = [&JSON, &JSON_LIST, &JSON_PARAMETERS, &PYTHON_LINES, &PYTHON_LIST];
        let calls = || {
            let first = json!({"a": [1, -2.5, null, true], "b": {"c": "é\n\"x\" \\ ] }"}, "d": u64::MAX});
            vec![call("weather", &first), call("add.all", &json!({})), call("say", &json!({"text": "x"}))]
        };
        for syntax in gemma.iter().chain(others).chain(json) {
            let written = syntax.write(&calls());
            assert_eq!(syntax.read(&written, &[]), Ok(calls()), "{written}");
            let begun: Vec<_> = syntax.begun(&written).into_iter().map(|begun| begun.name).collect();
            assert_eq!(begun, ["weather", "add.all", "say"], "{written}");
            assert!(!syntax.quotes(&written), "{written}");
        }
        for syntax in [Syntax::Mistral, Syntax::Harmony] {
            let written = syntax.write(&calls()[..1]);
            assert_eq!(syntax.read(&written, &[]).as_deref(), Ok(&calls()[..1]), "{written}");
        }
    }

    #[test]
    fn what_begins_stays_as_more_arrives() {
        let calls = [
            call("weather", &json!({"city": "Oslo", "days": [1, {"x": "}"}]})),
            call("add", &json!({"a": 1})),
        ];
        let gemma = Syntax::Gemma(GemmaCalls { notation: &QUOTE });
        for syntax in [&gemma, &Syntax::DeepSeek, &JSON, &JSON_LIST, &PYTHON_LIST, &PYTHON_LINES] {
            let written = syntax.write(&calls);
            let shown = |length: usize| -> Vec<String> {
                let text = &written[..length];
                let part = |begun: super::Begun| {
                    begun.arguments.map_or("", |part| &text[part.start..part.end.min(length)])
                };
                syntax.begun(text).into_iter().map(|begun| part(begun).to_owned()).collect()
            };
            let whole = shown(written.len());
            for length in (0..written.len()).filter(|length| written.is_char_boundary(*length)) {
                for (before, after) in shown(length).iter().zip(&whole) {
                    assert!(after.starts_with(before.as_str()), "{before:?} is not how {after:?} begins");
                }
            }
        }
    }
}
