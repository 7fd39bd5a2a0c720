//! Tool calls as JSON objects: `{"name": …, "arguments": {…}}`, one, several or a list of them.
//!
//! The arguments stand under `arguments`, `parameters` or `args`, as an object or as an object's text; a call without
//! any field for them has none. A call may be wrapped as `{"type": "function", "function": {…}}`, and have an `id`.
//! A field that is none of these makes a call unreadable, for nothing that a model says is to be lost.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::call::{Begun, Call};
use super::value::{self, Reader, is_false};

/// Tool calls as JSON objects: `{"name": …, "arguments": {…}}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct JsonCalls {
    /// The field of the arguments: `arguments`, `parameters` or `args`, each of which is read whichever is written.
    pub arguments: Cow<'static, str>,
    /// All calls of a message are one list.
    #[serde(skip_serializing_if = "is_false")]
    pub list: bool,
}

impl Default for JsonCalls {
    fn default() -> Self {
        Self { arguments: Cow::Borrowed("arguments"), list: false }
    }
}

/// Fields that hold the arguments, and those that may stand beside them.
const ARGUMENTS: [&str; 3] = ["arguments", "parameters", "args"];
const ASIDES: [&str; 4] = ["name", "type", "id", "index"];

impl JsonCalls {
    /// Says what could not be read again.
    pub(super) fn check(&self) -> Result<(), String> {
        if ARGUMENTS.contains(&&*self.arguments) {
            return Ok(());
        }
        Err(format!("the field of arguments is one of {}, not {:?}", ARGUMENTS.join(", "), self.arguments))
    }

    /// Reads every call of `text`; between objects may stand commas and semicolons.
    pub(crate) fn read(text: &str) -> Result<Vec<Call>, String> {
        let mut reader = Reader::new(text, &value::JSON);
        let mut calls = Vec::new();
        while !reader.is_done() {
            match reader.value()? {
                Value::Array(values) => {
                    calls.extend(values.into_iter().map(call).collect::<Result<Vec<_>, _>>()?);
                }
                value => calls.push(call(value)?),
            }
            while reader.takes(",") || reader.takes(";") {}
        }
        Ok(calls)
    }

    /// Finds the calls whose names have come.
    pub(crate) fn begun(text: &str) -> Vec<Begun> {
        let mut reader = Reader::new(text, &value::JSON);
        let mut begun = Vec::new();
        while reader.takes("[") || reader.takes(",") || reader.takes(";") || reader.takes("]") {}
        while reader.takes("{") {
            if fields(&mut reader, &mut begun).is_err() {
                break;
            }
            while reader.takes("[") || reader.takes(",") || reader.takes(";") || reader.takes("]") {}
        }
        begun
    }

    /// Writes calls as [`JsonCalls::read`] reads them.
    pub(crate) fn write(&self, calls: &[Call]) -> String {
        let one = |call: &Call| spaced(&json!({"name": call.name, &*self.arguments: call.arguments}));
        let all: Vec<_> = calls.iter().map(one).collect();
        if self.list { format!("[{}]", all.join(", ")) } else { all.join("\n") }
    }
}

/// Reads an object as far as it has come, for its name and its arguments.
fn fields(reader: &mut Reader<'_>, begun: &mut Vec<Begun>) -> Result<(), String> {
    let (mut id, mut name, mut arguments) = (None, None, None);
    let ended = loop {
        if reader.takes("}") {
            break Ok(());
        }
        let Ok(key) = reader.key().and_then(|key| reader.take(":").map(|()| key)) else {
            break Err(String::new());
        };
        reader.space();
        let start = reader.at();
        if key == "function" && reader.takes("{") {
            if let Err(error) = fields(reader, begun) {
                break Err(error);
            }
        } else {
            let value = reader.value();
            let end = if value.is_ok() { reader.at() } else { usize::MAX };
            let object = reader.begins_object(start);
            match (key.as_str(), &value) {
                ("id", Ok(Value::String(text))) if arguments.is_none() => id = Some(text.clone()),
                ("name", Ok(Value::String(text))) if name.is_none() => name = Some(text.clone()),
                (key, _) if ARGUMENTS.contains(&key) && object && arguments.is_none() => {
                    arguments = Some(start..end);
                }
                _ => {}
            }
            if let Err(error) = value {
                break Err(error);
            }
        }
        if let Err(error) = reader.comma("}") {
            break Err(error);
        }
    };
    begun.extend(name.map(|name| Begun { id, name, arguments }));
    ended
}

fn call(value: Value) -> Result<Call, String> {
    let Value::Object(mut fields) = value else {
        return Err(format!("a call is an object, not {value}"));
    };
    if let Some(kind) = fields.get("type").filter(|kind| *kind != "function") {
        return Err(format!("the type of a call is \"function\", not {kind}"));
    }
    if let Some(Value::Object(function)) = fields.get("function") {
        let function = function.clone();
        fields.shift_remove("function");
        only_known(&fields)?;
        fields = function;
    }
    match fields.get("name").and_then(Value::as_str).map(str::to_owned) {
        Some(name) if !name.is_empty() => Ok(Call { name, arguments: arguments(fields)? }),
        _ => Err("a call needs a \"name\"".to_owned()),
    }
}

fn arguments(mut fields: Map<String, Value>) -> Result<Map<String, Value>, String> {
    let Some(arguments) = ARGUMENTS.iter().find_map(|key| fields.shift_remove(*key)) else {
        return match fields.keys().find(|key| !ASIDES.contains(&key.as_str())) {
            Some(key) => Err(format!("a call needs \"arguments\", and has {key:?}")),
            None => Ok(Map::new()),
        };
    };
    only_known(&fields)?;
    let not_an_object = |value: &Value| Err(format!("\"arguments\" is an object, not {value}"));
    match arguments {
        Value::Object(arguments) => Ok(arguments),
        Value::Null => Ok(Map::new()),
        Value::String(text) => match object(&text) {
            Some(arguments) => Ok(arguments),
            None => not_an_object(&Value::String(text)),
        },
        other => not_an_object(&other),
    }
}

fn only_known(fields: &Map<String, Value>) -> Result<(), String> {
    match fields.keys().find(|key| !ASIDES.contains(&key.as_str())) {
        Some(key) => Err(format!("a call has a name and arguments, not {key:?}")),
        None => Ok(()),
    }
}

/// Writes JSON with the spaces that Python puts into it, as in what models were trained on.
pub(crate) fn spaced(value: &Value) -> String {
    let join = |values: Vec<String>| values.join(", ");
    match value {
        Value::Array(values) => format!("[{}]", join(values.iter().map(spaced).collect())),
        Value::Object(fields) => {
            let field =
                |(key, value): (&String, &Value)| format!("{}: {}", Value::from(key.as_str()), spaced(value));
            format!("{{{}}}", join(fields.iter().map(field).collect()))
        }
        other => other.to_string(),
    }
}

/// Reads text that is one JSON object.
pub(crate) fn object(text: &str) -> Option<Map<String, Value>> {
    let mut reader = Reader::new(text, &value::JSON);
    match reader.value() {
        Ok(Value::Object(fields)) if reader.is_done() => Some(fields),
        _ => None,
    }
}
