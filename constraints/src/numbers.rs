//! Numbers that end: a schema's numbers with bounds where it has none. Knows the keywords of numbers alone.
//!
//! A schema rarely says how many digits a number may have, and a model that is not allowed to say what it wants likes
//! to say zeros without end.

use serde_json::{Map, Value, json};

use crate::schema::{NAMED_SCHEMAS, SCHEMA, SCHEMAS};

/// Every integer up to here is one double, RFC 8259, section 6.
const LARGEST: i64 = (1 << 53) - 1;

/// One digit in the last place that is allowed. With one place more, `llguidance` could not count in 32 bits.
const SMALLEST: f64 = 1e-8;

/// Keywords beside which a schema's own numbers say nothing certain, or are bounded already.
const DECIDED: [&str; 7] = ["$ref", "allOf", "anyOf", "const", "enum", "multipleOf", "oneOf"];

/// Bounds the numbers of a schema and of all schemas in it.
pub(crate) fn bound(schema: &mut Value) {
    let Some(fields) = schema.as_object_mut() else {
        return;
    };
    bound_own(fields);
    for (keyword, value) in fields {
        let is = |keywords: &[&str]| keywords.contains(&keyword.as_str());
        match value {
            Value::Object(named) if is(&NAMED_SCHEMAS) => named.values_mut().for_each(bound),
            Value::Array(several) if is(&SCHEMAS) => several.iter_mut().for_each(bound),
            schema if is(&SCHEMA) => bound(schema),
            _ => {}
        }
    }
}

fn bound_own(fields: &mut Map<String, Value>) {
    let is_number = match fields.get("type") {
        Some(Value::String(name)) => names_a_number(name),
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).any(names_a_number),
        _ => false,
    };
    if !is_number || fields.keys().any(|keyword| DECIDED.contains(&keyword.as_str())) {
        return;
    }
    let bounds = ["minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"];
    let bounds = bounds.map(|keyword| fields.get(keyword).and_then(Value::as_f64));
    if bounds.iter().flatten().any(|bound| bound.abs() >= LARGEST as f64) {
        return;
    }
    if let [None, None, ..] = bounds {
        fields.insert("minimum".to_owned(), json!(-LARGEST));
    }
    if let [.., None, None] = bounds {
        fields.insert("maximum".to_owned(), json!(LARGEST));
    }
    if !is_integer(fields) && bounds.iter().flatten().all(|bound| has_few_places(*bound)) {
        fields.insert("multipleOf".to_owned(), json!(SMALLEST));
    }
}

fn names_a_number(name: &str) -> bool {
    ["integer", "number"].contains(&name)
}

/// Integers need no bound behind the point.
fn is_integer(fields: &Map<String, Value>) -> bool {
    let is_number = |value: &Value| value == "number";
    match fields.get("type") {
        Some(Value::Array(names)) => !names.iter().any(is_number),
        name => !name.is_some_and(is_number),
    }
}

fn has_few_places(bound: f64) -> bool {
    let places = bound.to_string().split_once('.').map_or(0, |(_, places)| places.len());
    places < 8
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bounded(mut schema: Value) -> Value {
        bound(&mut schema);
        schema
    }

    #[test]
    fn numbers_without_bounds_get_some() {
        let integer = bounded(json!({"type": "integer", "minimum": 3}));
        assert_eq!(integer, json!({"type": "integer", "minimum": 3, "maximum": LARGEST}));
        let number = bounded(json!({"type": ["number", "null"], "exclusiveMaximum": 2.5}));
        let wanted = json!({
            "type": ["number", "null"],
            "exclusiveMaximum": 2.5,
            "minimum": -LARGEST,
            "multipleOf": SMALLEST,
        });
        assert_eq!(number, wanted);
    }

    #[test]
    fn what_is_decided_or_would_lose_values_stays() {
        for schema in [
            json!({"type": "number", "enum": [0.123_456_789_123]}),
            json!({"type": "number", "multipleOf": 0.5}),
            json!({"type": "integer", "minimum": 9_007_199_254_740_993_i64}),
            json!({"type": "string"}),
            json!({"properties": {"type": {"const": 1}}}),
            json!(true),
        ] {
            assert_eq!(bounded(schema.clone()), schema);
        }
        let fine = bounded(json!({"type": "number", "minimum": 1e-12, "maximum": 2e-12}));
        assert_eq!(fine.get("multipleOf"), None);
    }

    #[test]
    fn every_schema_in_a_schema_is_bounded() {
        let inner = json!({"type": "integer"});
        let schema = json!({
            "properties": {"a": inner},
            "items": {"anyOf": [inner]},
            "$defs": {"b": {"additionalProperties": inner}},
            "examples": [inner],
        });
        let text = bounded(schema).to_string();
        assert_eq!(text.matches(&LARGEST.to_string()).count(), 6, "{text}");
    }
}
