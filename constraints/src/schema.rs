//! Checks that every keyword of a JSON Schema can be enforced, in the schema itself and in all schemas inside it.

use alloquy_core::{Error, ErrorKind, Result};
use serde_json::{Map, Value};

/// The keyword from which `llguidance` reads its own options. A caller's schema may not set it.
pub(crate) const OPTIONS: &str = "x-guidance";

/// Keywords of any draft of JSON Schema that no grammar of tokens enforces. A schema that has one would accept less than
/// what is generated.
const UNENFORCEABLE: [&str; 20] = [
    "$dynamicAnchor",
    "$dynamicRef",
    "$recursiveAnchor",
    "$recursiveRef",
    "contains",
    "dependencies",
    "dependentRequired",
    "dependentSchemas",
    "disallow",
    "divisibleBy",
    "else",
    "extends",
    "if",
    "maxContains",
    "minContains",
    "not",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
];

/// Keywords whose value is a schema.
pub(crate) const SCHEMA: [&str; 3] = ["additionalItems", "additionalProperties", "items"];

/// Keywords whose value is a list of schemas.
pub(crate) const SCHEMAS: [&str; 5] = ["allOf", "anyOf", "items", "oneOf", "prefixItems"];

/// Keywords whose value holds schemas by name.
pub(crate) const NAMED_SCHEMAS: [&str; 4] = ["$defs", "definitions", "patternProperties", "properties"];

/// Looks for keywords that cannot be enforced.
///
/// # Errors
/// [`ErrorKind::Unsupported`] naming the keyword and its place, [`ErrorKind::Invalid`] for a value that is no schema.
pub(crate) fn check(schema: &Value) -> Result<()> {
    match schema {
        Value::Object(fields) if fields.contains_key(OPTIONS) => {
            let message = format!("{OPTIONS:?} is no keyword of JSON Schema");
            Err(Error::new(ErrorKind::Invalid, message))
        }
        Value::Object(_) | Value::Bool(_) => check_at(schema, "#"),
        other => Err(Error::new(
            ErrorKind::Invalid,
            format!("a JSON Schema is an object or a boolean, not {other}"),
        )),
    }
}

fn check_at(schema: &Value, place: &str) -> Result<()> {
    let Some(fields) = schema.as_object() else {
        return Ok(());
    };
    for (keyword, value) in fields {
        check_keyword(keyword, value, place)?;
    }
    for (keyword, value) in fields {
        let place = format!("{place}/{keyword}");
        match value {
            Value::Object(named) if NAMED_SCHEMAS.contains(&keyword.as_str()) => check_named(named, &place)?,
            Value::Array(several) if SCHEMAS.contains(&keyword.as_str()) => {
                for (number, schema) in several.iter().enumerate() {
                    check_at(schema, &format!("{place}/{number}"))?;
                }
            }
            schema if SCHEMA.contains(&keyword.as_str()) => check_at(schema, &place)?,
            _ => {}
        }
    }
    Ok(())
}

fn check_named(schemas: &Map<String, Value>, place: &str) -> Result<()> {
    for (name, schema) in schemas {
        check_at(schema, &format!("{place}/{name}"))?;
    }
    Ok(())
}

fn check_keyword(keyword: &str, value: &Value, place: &str) -> Result<()> {
    let unique = keyword == "uniqueItems" && *value != Value::Bool(false);
    if !unique && !UNENFORCEABLE.contains(&keyword) {
        return Ok(());
    }
    let message = format!(
        "the keyword {keyword:?} at {place:?} of the JSON Schema cannot be enforced while a reply is written"
    );
    Err(Error::new(ErrorKind::Unsupported, message))
}
