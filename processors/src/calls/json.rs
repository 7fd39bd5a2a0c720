//! Tool calls as JSON objects: `{"name": …, "arguments": {…}}`, one, several or a list of them.

use serde_json::{Deserializer, Map, Value};

use super::{Call, CallSyntax};

/// The arguments stand under `arguments`, `parameters` or `args`, as an object or as an object's text; a call
/// without any field for them has none. A call may be wrapped as `{"type": "function", "function": {…}}`.
pub(crate) static JSON: CallSyntax = CallSyntax { read, quotes };

/// Fields that hold the arguments, and those that may stand beside them and mean nothing here.
const ARGUMENTS: [&str; 3] = ["arguments", "parameters", "args"];
const ASIDES: [&str; 3] = ["name", "type", "id"];

fn read(text: &str) -> Result<Vec<Call>, String> {
    let values: Result<Vec<Value>, _> = Deserializer::from_str(text).into_iter().collect();
    let values = values.map_err(|error| format!("not valid JSON: {error}"))?;
    if let Some(number) = inexact_integer(text) {
        return Err(format!("the integer {number} does not fit into 64 bits"));
    }
    let flat = values.into_iter().flat_map(|value| match value {
        Value::Array(values) => values,
        value => vec![value],
    });
    let calls: Vec<Call> = flat.map(call).collect::<Result<_, _>>()?;
    match calls.is_empty() {
        true => Err("no call between the markers".to_owned()),
        false => Ok(calls),
    }
}

fn call(value: Value) -> Result<Call, String> {
    let Value::Object(mut fields) = value else {
        return Err(format!("a call is an object, not {value}"));
    };
    if let Some(Value::Object(function)) = fields.get_mut("function") {
        fields = std::mem::take(function);
    }
    match fields.get("name").and_then(Value::as_str) {
        Some(name) if !name.is_empty() => {
            Ok(Call { name: name.to_owned(), arguments: Value::Object(arguments(fields)?) })
        }
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
    let not_an_object = |value: &Value| Err(format!("\"arguments\" is an object, not {value}"));
    match arguments {
        Value::Object(arguments) => Ok(arguments),
        Value::Null => Ok(Map::new()),
        Value::String(text) => match serde_json::from_str(&text) {
            Ok(Value::Object(arguments)) if inexact_integer(&text).is_none() => Ok(arguments),
            _ => not_an_object(&Value::String(text)),
        },
        other => not_an_object(&other),
    }
}

/// Says whether `text` ends inside a JSON string.
fn quotes(text: &str) -> bool {
    outside_strings(text).1
}

/// Finds an integer that would lose digits. `text` is valid JSON.
fn inexact_integer(text: &str) -> Option<String> {
    let (outside, _) = outside_strings(text);
    let mut numbers =
        outside.split(|symbol: char| !matches!(symbol, '0'..='9' | '+' | '-' | '.' | 'e' | 'E'));
    let inexact = |number: &&str| {
        let digits = number.strip_prefix('-').unwrap_or(number);
        let integer = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        integer && number.parse::<i64>().is_err() && number.parse::<u64>().is_err()
    };
    numbers.find(inexact).map(str::to_owned)
}

/// Returns `text` with a blank for each string, and whether it ends inside one.
fn outside_strings(text: &str) -> (String, bool) {
    let (mut outside, mut quoted) = (String::new(), false);
    let mut symbols = text.chars();
    while let Some(symbol) = symbols.next() {
        match (quoted, symbol) {
            (true, '\\') => drop(symbols.next()),
            (_, '"') => {
                quoted = !quoted;
                outside.push(' ');
            }
            (false, symbol) => outside.push(symbol),
            (true, _) => {}
        }
    }
    (outside, quoted)
}
