//! The JSON Schemas of answers.

use alloquy_core::{Error, ErrorKind, Result};
use serde_json::{Map, Value};

/// The keywords that are checked, then those that are notes.
const KEYWORDS: [&str; 23] = [
    "type",
    "enum",
    "const",
    "required",
    "properties",
    "additionalProperties",
    "items",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "pattern",
    "anyOf",
    "title",
    "description",
    "default",
    "examples",
    "format",
    "$schema",
];

const TYPES: [&str; 7] = ["null", "boolean", "integer", "number", "string", "array", "object"];

/// How deep schemas and values are read.
const DEPTH: usize = 32;

/// Finds what is wrong with a schema. A keyword that would not be checked is refused.
pub(crate) fn must_be_schema(schema: &Value) -> Result<()> {
    schema_at(schema, "the schema", 0)
}

fn invalid<T>(message: String) -> Result<T> {
    Err(Error::new(ErrorKind::Invalid, message))
}

fn schema_at(schema: &Value, place: &str, depth: usize) -> Result<()> {
    let fields = match schema {
        Value::Bool(_) => return Ok(()),
        Value::Object(fields) => fields,
        other => {
            return invalid(format!("{place} is {other}, expected an object with keywords such as type"));
        }
    };
    if depth > DEPTH {
        return invalid(format!("{place} nests deeper than {DEPTH} levels"));
    }
    for (name, value) in fields {
        if !KEYWORDS.contains(&name.as_str()) {
            let known = KEYWORDS.join(", ");
            return invalid(format!(
                "{place} has the keyword {name:?}, which is not checked; known are: {known}"
            ));
        }
        let inner = format!("{name} of {place}");
        match (name.as_str(), value) {
            ("type", value) => types_at(value, &inner)?,
            ("pattern", Value::String(pattern)) => {
                crate::condition::compiled(pattern)?;
            }
            ("enum" | "required" | "examples", Value::Array(_)) => {}
            ("properties", Value::Object(properties)) => {
                for (name, schema) in properties {
                    schema_at(schema, &format!("property {name:?} of {place}"), depth + 1)?;
                }
            }
            ("anyOf", Value::Array(options)) => {
                for option in options {
                    schema_at(option, &inner, depth + 1)?;
                }
            }
            ("items" | "additionalProperties", value) => schema_at(value, &inner, depth + 1)?,
            ("minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum", Value::Number(_)) => {}
            ("minLength" | "maxLength" | "minItems" | "maxItems", value) if value.is_u64() => {}
            ("const" | "default" | "title" | "description" | "format" | "$schema", _) => {}
            (_, value) => return invalid(format!("{inner} is {value}, which it cannot be")),
        }
    }
    Ok(())
}

fn types_at(value: &Value, place: &str) -> Result<()> {
    let names = match value {
        Value::Array(names) => names.as_slice(),
        one => std::slice::from_ref(one),
    };
    for name in names {
        if !name.as_str().is_some_and(|name| TYPES.contains(&name)) {
            return invalid(format!("{place} is {name}, expected one of {}", TYPES.join(", ")));
        }
    }
    Ok(())
}

/// Checks a value against a schema. The error quotes the value and says what would fit.
pub(crate) fn check(value: &Value, schema: &Value) -> Result<()> {
    check_at(value, schema, "the answer", 0)
}

fn check_at(value: &Value, schema: &Value, place: &str, depth: usize) -> Result<()> {
    let fields = match schema {
        Value::Object(fields) => fields,
        Value::Bool(false) => return invalid(format!("{place} must be absent")),
        _ => return Ok(()),
    };
    if depth > DEPTH {
        return invalid(format!("{place} nests deeper than {DEPTH} levels"));
    }
    if let Some(types) = fields.get("type") {
        let is_allowed = match types {
            Value::Array(types) => types.iter().any(|name| has_type(value, name)),
            one => has_type(value, one),
        };
        if !is_allowed {
            return invalid(format!("{place} is {value}, expected type {types}"));
        }
    }
    if let Some(Value::Array(options)) = fields.get("enum")
        && !options.contains(value)
    {
        return invalid(format!("{place} is {value}, expected one of {}", Value::Array(options.clone())));
    }
    if let Some(expected) = fields.get("const")
        && expected != value
    {
        return invalid(format!("{place} is {value}, expected {expected}"));
    }
    if let Some(Value::Array(options)) = fields.get("anyOf")
        && !options.iter().any(|option| check_at(value, option, place, depth + 1).is_ok())
    {
        return invalid(format!("{place} is {value}, which fits none of the {} schemas", options.len()));
    }
    match value {
        Value::Number(number) => check_number(number.as_f64().unwrap_or_default(), fields, place),
        Value::String(text) => check_text(text, fields, place),
        Value::Array(items) => check_items(items, fields, place, depth),
        Value::Object(members) => check_members(members, fields, place, depth),
        _ => Ok(()),
    }
}

fn has_type(value: &Value, name: &Value) -> bool {
    match name.as_str() {
        Some("null") => value.is_null(),
        Some("boolean") => value.is_boolean(),
        Some("integer") => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        Some("number") => value.is_number(),
        Some("string") => value.is_string(),
        Some("array") => value.is_array(),
        Some("object") => value.is_object(),
        _ => false,
    }
}

fn check_number(number: f64, fields: &Map<String, Value>, place: &str) -> Result<()> {
    let limits = [
        ("minimum", "at least"),
        ("maximum", "at most"),
        ("exclusiveMinimum", "more than"),
        ("exclusiveMaximum", "less than"),
    ];
    for (name, words) in limits {
        let Some(limit) = fields.get(name).and_then(Value::as_f64) else { continue };
        let fits = match name {
            "minimum" => number >= limit,
            "maximum" => number <= limit,
            "exclusiveMinimum" => number > limit,
            _ => number < limit,
        };
        if !fits {
            return invalid(format!("{place} is {number}, expected {words} {limit}"));
        }
    }
    Ok(())
}

fn check_text(text: &str, fields: &Map<String, Value>, place: &str) -> Result<()> {
    check_length(text.chars().count(), fields, ("minLength", "maxLength"), place, "characters")?;
    if let Some(Value::String(pattern)) = fields.get("pattern")
        && !crate::condition::compiled(pattern)?.is_match(text)
    {
        return invalid(format!("{place} is {text:?}, expected a match of {pattern:?}"));
    }
    Ok(())
}

fn check_length(
    length: usize,
    fields: &Map<String, Value>,
    (least, most): (&str, &str),
    place: &str,
    unit: &str,
) -> Result<()> {
    let least = fields.get(least).and_then(Value::as_u64);
    let most = fields.get(most).and_then(Value::as_u64);
    let count = u64::try_from(length).unwrap_or(u64::MAX);
    if let Some(least) = least.filter(|least| count < *least) {
        return invalid(format!("{place} has {length} {unit}, expected at least {least}"));
    }
    if let Some(most) = most.filter(|most| count > *most) {
        return invalid(format!("{place} has {length} {unit}, expected at most {most}"));
    }
    Ok(())
}

fn check_items(items: &[Value], fields: &Map<String, Value>, place: &str, depth: usize) -> Result<()> {
    check_length(items.len(), fields, ("minItems", "maxItems"), place, "items")?;
    if let Some(schema) = fields.get("items") {
        for (index, item) in items.iter().enumerate() {
            check_at(item, schema, &format!("item {index} of {place}"), depth + 1)?;
        }
    }
    Ok(())
}

fn check_members(
    members: &Map<String, Value>,
    fields: &Map<String, Value>,
    place: &str,
    depth: usize,
) -> Result<()> {
    if let Some(Value::Array(required)) = fields.get("required") {
        for name in required.iter().filter_map(Value::as_str) {
            if !members.contains_key(name) {
                return invalid(format!("{place} has no {name:?}, which is required"));
            }
        }
    }
    let properties = fields.get("properties").and_then(Value::as_object);
    for (name, member) in members {
        let inner = format!("{name:?} of {place}");
        match (properties.and_then(|properties| properties.get(name)), fields.get("additionalProperties")) {
            (Some(schema), _) | (None, Some(schema)) => check_at(member, schema, &inner, depth + 1)?,
            (None, None) => {}
        }
    }
    Ok(())
}
