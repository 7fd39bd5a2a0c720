//! Tool calls as JSON objects: `{"name": …, "arguments": {…}}`, one, several or a list of them.
//!
//! The arguments are in the field `arguments`, `parameters` or `args`, as an object or as the text of an object. A call
//! without such a field has no arguments. A call may be wrapped as `{"type": "function", "function": {…}}`, and have an `id`.
//! Any other field makes a call unreadable, because nothing that a model generates may be lost.

use std::borrow::Cow;
use std::ops::Range;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::call::{Begun, Call};
use super::value::{self, Reader, is_false};

/// Tool calls as JSON objects: `{"name": …, "arguments": {…}}`.
///
/// ```
/// use alloquy_processors::{CallSyntax, JsonCalls};
///
/// let mut calls = JsonCalls::default();
/// calls.arguments = "parameters".into();
/// let syntax = CallSyntax::Json(calls);
/// assert_eq!(serde_json::to_string(&syntax)?, r#"{"json":{"arguments":"parameters"}}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct JsonCalls {
    /// The field to write the arguments in: `arguments`, `parameters` or `args`. All three are read.
    pub arguments: Cow<'static, str>,
    /// Whether all calls of a message are one list.
    #[serde(skip_serializing_if = "is_false")]
    pub list: bool,
}

impl Default for JsonCalls {
    fn default() -> Self {
        Self { arguments: Cow::Borrowed("arguments"), list: false }
    }
}

/// Fields that hold the arguments.
const ARGUMENTS: [&str; 3] = ["arguments", "parameters", "args"];
/// The other fields of a call.
const ASIDES: [&str; 4] = ["name", "type", "id", "index"];

impl JsonCalls {
    /// Checks that written calls could be read again.
    pub(super) fn check(&self) -> Result<(), String> {
        if ARGUMENTS.contains(&&*self.arguments) {
            return Ok(());
        }
        Err(format!("the field of arguments is one of {}, not {:?}", ARGUMENTS.join(", "), self.arguments))
    }

    /// Reads every call of `text`. Objects may be separated by commas and semicolons.
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

    /// Finds the calls whose names are known.
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
        let mut all = Vec::new();
        for call in calls {
            all.push(spaced(&json!({"name": call.name, &*self.arguments: call.arguments})));
        }
        if self.list { format!("[{}]", all.join(", ")) } else { all.join("\n") }
    }
}

/// The fields of a call that have arrived.
#[derive(Default)]
struct Arrived {
    id: Option<String>,
    name: Option<String>,
    arguments: Option<Range<usize>>,
}

/// Reads the fields of an object as far as they have arrived, and adds the call if its name is among them. Returns an error
/// if the object is not complete.
fn fields(reader: &mut Reader<'_>, begun: &mut Vec<Begun>) -> Result<(), String> {
    let mut arrived = Arrived::default();
    let ended = read_fields(reader, begun, &mut arrived);
    if let Some(name) = arrived.name {
        begun.push(Begun { id: arrived.id, name, arguments: arrived.arguments });
    }
    ended
}

fn read_fields(reader: &mut Reader<'_>, begun: &mut Vec<Begun>, arrived: &mut Arrived) -> Result<(), String> {
    while !reader.takes("}") {
        let key = reader.key()?;
        reader.take(":")?;
        reader.space();
        let start = reader.at();
        if key == "function" && reader.takes("{") {
            fields(reader, begun)?;
        } else {
            let value = reader.value();
            let end = if value.is_ok() { reader.at() } else { usize::MAX };
            let is_object = reader.begins_object(start);
            match (key.as_str(), &value) {
                ("id", Ok(Value::String(text))) if arrived.arguments.is_none() => {
                    arrived.id = Some(text.clone());
                }
                ("name", Ok(Value::String(text))) if arrived.name.is_none() => {
                    arrived.name = Some(text.clone());
                }
                // Arguments count even if they are not complete.
                (key, _) if ARGUMENTS.contains(&key) && is_object && arrived.arguments.is_none() => {
                    arrived.arguments = Some(start..end);
                }
                _ => {}
            }
            value?;
        }
        reader.comma("}")?;
    }
    Ok(())
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
    match arguments {
        Value::Object(arguments) => Ok(arguments),
        Value::Null => Ok(Map::new()),
        other => {
            let parsed = other.as_str().and_then(object);
            parsed.ok_or_else(|| format!("\"arguments\" is an object, not {other}"))
        }
    }
}

fn only_known(fields: &Map<String, Value>) -> Result<(), String> {
    match fields.keys().find(|key| !ASIDES.contains(&key.as_str())) {
        Some(key) => Err(format!("a call has a name and arguments, not {key:?}")),
        None => Ok(()),
    }
}

/// Writes JSON with spaces as Python's `json.dumps` does, because models were trained on that.
pub(crate) fn spaced(value: &Value) -> String {
    match value {
        Value::Array(values) => {
            let values: Vec<_> = values.iter().map(spaced).collect();
            format!("[{}]", values.join(", "))
        }
        Value::Object(fields) => {
            let mut written = Vec::new();
            for (key, value) in fields {
                written.push(format!("{}: {}", Value::from(key.as_str()), spaced(value)));
            }
            format!("{{{}}}", written.join(", "))
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
