//! Values that rows write as calls of C++.

use serde_json::Value;

/// What a call is called.
pub(crate) fn name(value: &Value) -> Option<&str> {
    value["$call"].as_str()
}

/// The arguments of a call.
pub(crate) fn arguments(value: &Value) -> &[Value] {
    value["args"].as_array().map(Vec::as_slice).unwrap_or_default()
}

/// A number; `None` for what is none.
pub(crate) fn number(value: &Value) -> Option<f64> {
    match (value, name(value)) {
        (Value::Number(number), _) => number.as_f64(),
        (_, Some("-")) => match arguments(value) {
            [negated] => Some(-number(negated)?),
            [left, right] => Some(number(left)? - number(right)?),
            _ => None,
        },
        (_, Some("std::numeric_limits<float>::infinity")) => Some(f64::INFINITY),
        (_, Some("std::numeric_limits<float>::max")) => Some(f64::from(f32::MAX)),
        (_, Some("std::numeric_limits<float>::min")) => Some(f64::from(f32::MIN_POSITIVE)),
        _ => None,
    }
}

/// A list of numbers: written out, one value many times, a span, or a buffer of such.
pub(crate) fn numbers(value: &Value) -> Option<Vec<f64>> {
    if let Value::Array(items) = value {
        return items.iter().map(number).collect();
    }
    let given = arguments(value);
    match (name(value), value["$new"].as_str()) {
        (Some("std::vector"), _) => {
            let [count, one] = given else { return None };
            Some(vec![number(one)?; count.as_u64()? as usize])
        }
        (Some(buffer), _)
            if buffer.starts_with("CopyToTensorBuffer") || buffer == "CopyFp16ToTensorBuffer" =>
        {
            numbers(given.first()?)
        }
        (None, Some("absl::Span")) => given.iter().map(number).collect(),
        _ => None,
    }
}

/// Finds a call by name, the value itself or anywhere below it.
pub(crate) fn find<'a>(value: &'a Value, wanted: &str) -> Option<&'a Value> {
    if name(value) == Some(wanted) {
        return Some(value);
    }
    match value {
        Value::Object(fields) => fields.values().find_map(|value| find(value, wanted)),
        Value::Array(items) => items.iter().find_map(|value| find(value, wanted)),
        _ => None,
    }
}
