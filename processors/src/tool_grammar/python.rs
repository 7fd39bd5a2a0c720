//! Calls as Python writes them. Strings and numbers are those of JSON, which Python reads alike. Knows no marks.

use alloquy_core::{Error, ErrorKind, Result, ToolSpec};
use serde_json::{Map, Value, json};

use super::json::object;
use super::lark::{Rules, quoted};
use crate::calls::literal;

/// Keywords that say nothing of a value's form.
const NOTES: [&str; 8] =
    ["$comment", "$schema", "default", "deprecated", "description", "examples", "nullable", "title"];

/// Writes the rule `call`: a call of one of the tools.
pub(crate) fn calls(tools: &[&ToolSpec], rules: &mut Rules<'_>) -> Result<()> {
    let mut alternatives = Vec::new();
    for tool in tools {
        let named = |error: Error| error.context(format!("tool {:?}", tool.name));
        let arguments = fields(&object(&tool.parameters), &keyword_argument, rules).map_err(named)?;
        alternatives
            .push(rules.add_new(&format!("{} {arguments} \")\"", quoted(&format!("{}(", tool.name)))));
    }
    rules.add("call", &alternatives.join(" | "));
    Ok(())
}

fn keyword_argument(name: &str) -> String {
    format!("{name}=")
}

fn dictionary_key(name: &str) -> String {
    format!("{}: ", Value::from(name))
}

/// Writes the properties of an object in their order, those that are not required or not.
fn fields(schema: &Value, key: &dyn Fn(&str) -> String, rules: &mut Rules<'_>) -> Result<String> {
    only(schema, &["type", "properties", "required", "additionalProperties"])?;
    if schema.get("additionalProperties").is_some_and(|more| *more != Value::Bool(false)) {
        return Err(unsupported("additionalProperties"));
    }
    let none = Map::new();
    let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&none);
    let required: Vec<_> = schema.get("required").and_then(Value::as_array).into_iter().flatten().collect();
    // From the last to the first: what follows when nothing was written yet, and when something was.
    let (mut first, mut more) = (rules.add_new("\"\""), rules.add_new("\"\""));
    for (name, schema) in properties.iter().rev() {
        let item = format!("{} {}", quoted(&key(name)), value(schema, rules)?);
        let optional = !required.iter().any(|known| *known == name);
        let or = |other: &str| if optional { format!(" | {other}") } else { String::new() };
        let (begun, followed) =
            (format!("{item} {more}{}", or(&first)), format!("\", \" {item} {more}{}", or(&more)));
        (first, more) = (rules.add_new(&begun), rules.add_new(&followed));
    }
    Ok(first)
}

fn value(schema: &Value, rules: &mut Rules<'_>) -> Result<String> {
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        only(schema, &["enum", "type"])?;
        let alternatives: Vec<_> = values.iter().map(|value| quoted(&literal(value))).collect();
        return Ok(any(&alternatives, rules));
    }
    if let Some(value) = schema.get("const") {
        only(schema, &["const", "type"])?;
        return Ok(quoted(&literal(value)));
    }
    if let Some(schemas) = schema.get("anyOf").and_then(Value::as_array) {
        only(schema, &["anyOf"])?;
        let written: Result<Vec<_>> = schemas.iter().map(|schema| value(schema, rules)).collect();
        return Ok(any(&written?, rules));
    }
    match schema.get("type") {
        Some(Value::String(name)) => typed(name, schema, rules),
        Some(Value::Array(names)) => {
            let one = |name: &Value| json!({"type": name});
            let schemas = names.iter().map(|name| Value::Object(with_type(schema, one(name))));
            let written: Result<Vec<_>> = schemas.map(|schema| value(&schema, rules)).collect();
            Ok(any(&written?, rules))
        }
        _ => only(schema, &["type"]).and(Err(unsupported("a value without a type"))),
    }
}

fn with_type(schema: &Value, name: Value) -> Map<String, Value> {
    let mut fields = schema.as_object().cloned().unwrap_or_default();
    if let Value::Object(name) = name {
        fields.extend(name);
    }
    fields
}

fn typed(name: &str, schema: &Value, rules: &mut Rules<'_>) -> Result<String> {
    match name {
        "string" | "integer" | "number" => Ok(rules.json(schema.clone())),
        "boolean" => only(schema, &["type"]).map(|()| any(&[quoted("True"), quoted("False")], rules)),
        "null" => Ok(quoted("None")),
        "array" => list(schema, rules),
        "object" => {
            let fields = fields(&object(schema), &dictionary_key, rules)?;
            Ok(rules.add_new(&format!("\"{{\" {fields} \"}}\"")))
        }
        other => Err(unsupported(&format!("the type {other:?}"))),
    }
}

fn list(schema: &Value, rules: &mut Rules<'_>) -> Result<String> {
    only(schema, &["type", "items", "minItems", "maxItems"])?;
    let item = value(schema.get("items").unwrap_or(&Value::Null), rules)?;
    let count = |keyword: &str| schema.get(keyword).and_then(Value::as_u64);
    let least = count("minItems").unwrap_or(0);
    let most = count("maxItems");
    let after_first = match most {
        Some(most) => format!("{{{},{}}}", least.saturating_sub(1), most.saturating_sub(1)),
        None => format!("{{{},}}", least.saturating_sub(1)),
    };
    let items = format!("{item} (\", \" {item}){after_first}");
    let body = match (least, most) {
        (_, Some(0)) => "\"[]\"".to_owned(),
        (0, _) => format!("\"[\" ({items})? \"]\""),
        _ => format!("\"[\" {items} \"]\""),
    };
    Ok(rules.add_new(&body))
}

fn any(alternatives: &[String], rules: &mut Rules<'_>) -> String {
    rules.add_new(&alternatives.join(" | "))
}

/// Looks for keywords that would go unheeded.
fn only(schema: &Value, heeded: &[&str]) -> Result<()> {
    let keywords = schema.as_object().into_iter().flat_map(Map::keys);
    let mut unheeded =
        keywords.filter(|keyword| !heeded.contains(&keyword.as_str()) && !NOTES.contains(&keyword.as_str()));
    unheeded.next().map_or(Ok(()), |keyword| Err(unsupported(&format!("the keyword {keyword:?}"))))
}

fn unsupported(what: &str) -> Error {
    let message =
        format!("{what} in the schema of an argument cannot be enforced in a call as Python writes it");
    Error::new(ErrorKind::Unsupported, message)
}
