//! The schema of a prompt's values.

use alloquy_core::prompt_library::Values;
use alloquy_core::{Error, ErrorKind, Result};
use serde_json::{Map, Value};

/// A JSON Schema of the values of a prompt.
///
/// It may contain `type`, `enum`, `const`, `required`, `properties`, `additionalProperties` (true or false), `items`, `minimum`,
/// `maximum`, `minLength`, `maxLength`, `minItems` and `maxItems`, and the notes `title`, `description`, `default`, `examples` and
/// `$schema`. Another keyword is refused, because a skipped check would go unnoticed.
///
/// ```
/// use alloquy_core::prompt_library::Values;
/// use alloquy_prompts::InputSchema;
/// use serde_json::json;
///
/// let schema = InputSchema::new(&json!({"required": ["days"], "properties": {"days": {"type": "integer", "minimum": 1}}}))?;
/// assert!(schema.check(&Values::new().set("days", 3)).is_ok());
/// let error = schema.check(&Values::new().set("days", 0)).unwrap_err();
/// assert_eq!(error.to_string(), "days is 0, expected at least 1");
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct InputSchema {
    schema: Value,
}

/// The keywords that are checked, or that are notes.
const KEYWORDS: [&str; 18] = [
    "type",
    "enum",
    "const",
    "required",
    "properties",
    "additionalProperties",
    "items",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "title",
    "description",
    "default",
    "examples",
    "$schema",
];

/// The types of JSON Schema.
const TYPES: [&str; 7] = ["string", "integer", "number", "boolean", "array", "object", "null"];

impl InputSchema {
    /// Reads a schema.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for a keyword that is not checked here, and for a keyword of a wrong type.
    pub fn new(schema: &Value) -> Result<Self> {
        must_be_supported(schema, 0)?;
        Ok(Self { schema: schema.clone() })
    }

    /// Checks values.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] with the name of the first value that does not fit, and what would.
    pub fn check(&self, values: &Values) -> Result<()> {
        let mut object = Map::new();
        for (name, value) in values.iter() {
            object.insert(name.to_owned(), value.value.clone());
        }
        check("", &Value::Object(object), &self.schema)
    }
}

fn invalid(message: String) -> Error {
    Error::new(ErrorKind::Invalid, message)
}

/// How deep schemas may be nested.
const DEPTH: usize = 64;

fn must_be_supported(schema: &Value, depth: usize) -> Result<()> {
    let Value::Object(fields) = schema else {
        return Err(invalid(format!("the schema is {schema}, expected an object")));
    };
    if depth > DEPTH {
        return Err(invalid(format!("the schema is nested more than {DEPTH} times")));
    }
    for (keyword, value) in fields {
        let is_valid = match keyword.as_str() {
            "type" => types(value).is_some(),
            "enum" | "required" => value.is_array(),
            "properties" => value.is_object(),
            "items" => value.is_object(),
            "additionalProperties" => value.is_boolean(),
            "minimum" | "maximum" => value.is_number(),
            "minLength" | "maxLength" | "minItems" | "maxItems" => value.is_u64(),
            _ => true,
        };
        if !is_valid {
            return Err(invalid(format!("{keyword} is {value}, which JSON Schema does not allow")));
        }
        if !KEYWORDS.contains(&keyword.as_str()) {
            let message = format!("{keyword:?} is not supported, expected one of {}", KEYWORDS.join(", "));
            return Err(invalid(message));
        }
    }
    if let Some(Value::Object(properties)) = fields.get("properties") {
        for schema in properties.values() {
            must_be_supported(schema, depth + 1)?;
        }
    }
    match fields.get("items") {
        Some(items) => must_be_supported(items, depth + 1),
        None => Ok(()),
    }
}

/// Returns the types that a value of the keyword `type` allows.
fn types(value: &Value) -> Option<Vec<&str>> {
    let names = match value {
        Value::String(name) => vec![name.as_str()],
        Value::Array(names) => names.iter().map(Value::as_str).collect::<Option<_>>()?,
        _ => return None,
    };
    if names.iter().all(|name| TYPES.contains(name)) { Some(names) } else { None }
}

fn check(path: &str, value: &Value, schema: &Value) -> Result<()> {
    let shown = if path.is_empty() { "the input" } else { path };
    if let Some(names) = schema.get("type").and_then(types)
        && !names.iter().any(|name| has_type(value, name))
    {
        return Err(invalid(format!("{shown} is {value}, expected {}", names.join(" or "))));
    }
    if let Some(Value::Array(allowed)) = schema.get("enum")
        && !allowed.contains(value)
    {
        let allowed: Vec<_> = allowed.iter().map(Value::to_string).collect();
        return Err(invalid(format!("{shown} is {value}, expected one of {}", allowed.join(", "))));
    }
    if let Some(only) = schema.get("const")
        && only != value
    {
        return Err(invalid(format!("{shown} is {value}, expected {only}")));
    }
    check_size(shown, value, schema)?;
    match value {
        Value::Object(fields) => check_object(path, fields, schema),
        Value::Array(items) => check_items(path, items, schema),
        _ => Ok(()),
    }
}

fn has_type(value: &Value, name: &str) -> bool {
    match name {
        "string" => value.is_string(),
        "integer" => {
            value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|float| float.fract() == 0.0)
        }
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => value.is_null(),
    }
}

fn check_size(shown: &str, value: &Value, schema: &Value) -> Result<()> {
    let (size, least, most, unit) = match value {
        Value::Number(number) => (number.as_f64(), "minimum", "maximum", ""),
        Value::String(text) => (count(text.chars().count()), "minLength", "maxLength", " characters"),
        Value::Array(items) => (count(items.len()), "minItems", "maxItems", " items"),
        _ => return Ok(()),
    };
    let Some(size) = size else { return Ok(()) };
    if let Some(least) = schema.get(least)
        && least.as_f64().is_some_and(|least| size < least)
    {
        return Err(invalid(format!("{shown} is {value}, expected at least {least}{unit}")));
    }
    if let Some(most) = schema.get(most)
        && most.as_f64().is_some_and(|most| size > most)
    {
        return Err(invalid(format!("{shown} is {value}, expected at most {most}{unit}")));
    }
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "no text or list has 2^53 elements")]
fn count(size: usize) -> Option<f64> {
    Some(size as f64)
}

fn check_object(path: &str, fields: &Map<String, Value>, schema: &Value) -> Result<()> {
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    for name in required.filter_map(Value::as_str) {
        if !fields.contains_key(name) {
            return Err(invalid(format!("{} is missing", below(path, name))));
        }
    }
    let properties = schema.get("properties").and_then(Value::as_object);
    let is_closed = schema.get("additionalProperties") == Some(&Value::Bool(false));
    for (name, value) in fields {
        match properties.and_then(|properties| properties.get(name)) {
            Some(schema) => check(&below(path, name), value, schema)?,
            None if is_closed => {
                let known: Vec<_> = properties.into_iter().flat_map(Map::keys).map(String::as_str).collect();
                let message = format!(
                    "{} is no value of this prompt, expected {}",
                    below(path, name),
                    known.join(", ")
                );
                return Err(invalid(message));
            }
            None => {}
        }
    }
    Ok(())
}

fn check_items(path: &str, items: &[Value], schema: &Value) -> Result<()> {
    let Some(schema) = schema.get("items") else { return Ok(()) };
    for (index, item) in items.iter().enumerate() {
        check(&format!("{path}[{index}]"), item, schema)?;
    }
    Ok(())
}

fn below(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}
