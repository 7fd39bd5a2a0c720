//! Calls as JSON objects. Knows no marks.

use alloquy_core::ToolSpec;
use serde_json::{Value, json};

use super::lark::{Rules, quoted};
use crate::calls::JsonCalls;

/// Writes the rule `call`: one object for one of the tools.
pub(crate) fn calls(syntax: &JsonCalls, tools: &[&ToolSpec], rules: &mut Rules<'_>) {
    let mut alternatives = Vec::new();
    for tool in tools {
        let name = Value::from(tool.name.as_str());
        let head = format!("{{\"name\": {name}, \"{}\": ", syntax.arguments);
        let arguments = rules.json(object(&tool.parameters));
        alternatives.push(rules.add_new(&format!("{} {arguments} {}", quoted(&head), quoted("}"))));
    }
    rules.add("call", &alternatives.join(" | "));
}

/// Arguments are an object whatever a schema leaves open, and have no names that it does not know.
pub(crate) fn object(parameters: &Value) -> Value {
    let mut schema = match parameters {
        Value::Object(_) => parameters.clone(),
        _ => json!({}),
    };
    if let Some(fields) = schema.as_object_mut() {
        fields.entry("type").or_insert_with(|| "object".into());
        fields.entry("properties").or_insert_with(|| json!({}));
        fields.entry("additionalProperties").or_insert(Value::Bool(false));
    }
    schema
}
