//! Adds bounds to the numbers of a schema that have none.
//!
//! A schema rarely says how many digits a number may have. A model that may not generate what it would prefer tends to
//! generate zeros without end.

use serde_json::{Map, Value, json};

use crate::schema::{NAMED_SCHEMAS, SCHEMA, SCHEMAS};

/// The largest integer up to which every integer is exactly one double (RFC 8259, section 6).
const LARGEST: i64 = (1 << 53) - 1;

/// One in the last decimal place that is allowed. One place more would overflow the 32 bits that `llguidance` counts in.
const SMALLEST: f64 = 1e-8;

/// Keywords that bound the numbers of a schema themselves, or that combine it with other schemas.
const DECIDED: [&str; 7] = ["$ref", "allOf", "anyOf", "const", "enum", "multipleOf", "oneOf"];

/// Bounds the numbers of a schema and of all schemas in it.
pub(crate) fn bound(schema: &mut Value) {
    let Some(fields) = schema.as_object_mut() else {
        return;
    };
    bound_own(fields);
    for (keyword, value) in fields {
        let keyword = keyword.as_str();
        match value {
            Value::Object(named) if NAMED_SCHEMAS.contains(&keyword) => named.values_mut().for_each(bound),
            Value::Array(several) if SCHEMAS.contains(&keyword) => several.iter_mut().for_each(bound),
            schema if SCHEMA.contains(&keyword) => bound(schema),
            _ => {}
        }
    }
}

/// Adds bounds to the numbers of a schema itself, where it has none.
fn bound_own(fields: &mut Map<String, Value>) {
    let is_number = match fields.get("type") {
        Some(Value::String(name)) => names_a_number(name),
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).any(names_a_number),
        _ => false,
    };
    if !is_number || fields.keys().any(|keyword| DECIDED.contains(&keyword.as_str())) {
        return;
    }
    let keywords = ["minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"];
    let bounds = keywords.map(|keyword| fields.get(keyword).and_then(Value::as_f64));
    // No value would be left between a bound beyond `LARGEST`, such as `"minimum": 9007199254740993`, and `LARGEST`.
    if bounds.iter().flatten().any(|bound| bound.abs() >= LARGEST as f64) {
        return;
    }
    if let [None, None, ..] = bounds {
        fields.insert("minimum".to_owned(), json!(-LARGEST));
    }
    if let [.., None, None] = bounds {
        fields.insert("maximum".to_owned(), json!(LARGEST));
    }
    // Integers have no decimal places. A bound of many places, as 1e-12, would be out of reach in steps of `SMALLEST`.
    if allows_fractions(fields) && bounds.iter().flatten().all(|bound| has_few_places(*bound)) {
        fields.insert("multipleOf".to_owned(), json!(SMALLEST));
    }
}

fn names_a_number(name: &str) -> bool {
    ["integer", "number"].contains(&name)
}

fn allows_fractions(fields: &Map<String, Value>) -> bool {
    match fields.get("type") {
        Some(Value::Array(names)) => names.iter().any(|name| name == "number"),
        Some(name) => name == "number",
        None => false,
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
    fn schemas_that_decide_or_would_lose_values_are_unchanged() {
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
