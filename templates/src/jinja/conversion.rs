//! Converts JSON to values of the engine, and weighs it.

use minijinja::Value;
use serde_json::{Map, Number, Value as Json};

use super::dict::Dict;
use super::weight::Weight;

/// Converts a value.
pub(super) fn value(json: &Json) -> Value {
    weighed(json).0
}

/// Converts an object.
pub(super) fn object(fields: &Map<String, Json>) -> Value {
    weighed_object(fields).0
}

fn weighed(json: &Json) -> (Value, Weight) {
    match json {
        Json::Null => (Value::from(()), Weight::default()),
        Json::Bool(truth) => (Value::from(*truth), Weight::default()),
        Json::Number(number) => (number_value(number), Weight::default()),
        Json::String(text) => (Value::from(text.as_str()), Weight::of_text(text)),
        Json::Array(items) => {
            let mut weight = Weight::default();
            let mut converted = Vec::with_capacity(items.len());
            for item in items {
                let (item, own) = weighed(item);
                weight.add_item(own);
                converted.push(item);
            }
            (Value::from(converted), weight)
        }
        Json::Object(fields) => weighed_object(fields),
    }
}

fn weighed_object(fields: &Map<String, Json>) -> (Value, Weight) {
    let mut weight = Weight::default();
    let mut converted = Vec::with_capacity(fields.len());
    for (key, field) in fields {
        let (field, own) = weighed(field);
        weight.add_field(key, own);
        converted.push((Value::from(key.as_str()), field));
    }
    (Value::from_object(Dict::new(converted, weight)), weight)
}

fn number_value(number: &Number) -> Value {
    match (number.as_u64(), number.as_i64()) {
        (Some(natural), _) => Value::from(natural),
        (None, Some(integer)) => Value::from(integer),
        (None, None) => number.as_f64().map_or_else(Value::default, Value::from),
    }
}
