//! Whether what was found is what a row expects: values, and the few patterns that rows know.

use serde_json::Value;

/// Compares whole values. Numbers are equal as numbers: LiteRT-LM makes each a double, and nobody can tell `1` from
/// `1.0` by it. An error equals an error: the words and the kinds are each project's own.
pub(crate) fn matches(expected: &Value, found: &Value) -> bool {
    if let Some(pattern) = pattern(expected) {
        return pattern.matches(found);
    }
    match (expected, found) {
        (Value::Number(left), Value::Number(right)) => left == right || left.as_f64() == right.as_f64(),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| matches(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            let same =
                |(key, left): (&String, &Value)| right.get(key).is_some_and(|right| matches(left, right));
            left.len() == right.len() && left.iter().all(same)
        }
        _ => expected == found,
    }
}

enum Pattern<'a> {
    Error,
    Unordered(&'a [Value]),
    Contains(&'a str),
    Not(&'a Value),
    All(&'a [Value]),
}

fn pattern(expected: &Value) -> Option<Pattern<'_>> {
    let object = expected.as_object()?;
    if object.contains_key("error") && object.keys().all(|key| key == "error" || key == "message") {
        return Some(Pattern::Error);
    }
    let (key, value) = object.iter().next().filter(|_| object.len() == 1)?;
    match (key.as_str(), value) {
        ("unordered", Value::Array(items)) => Some(Pattern::Unordered(items)),
        ("contains", Value::String(text)) => Some(Pattern::Contains(text)),
        ("not", value) => Some(Pattern::Not(value)),
        ("all", Value::Array(patterns)) => Some(Pattern::All(patterns)),
        _ => None,
    }
}

impl Pattern<'_> {
    fn matches(&self, found: &Value) -> bool {
        match self {
            Self::Error => {
                found.as_object().is_some_and(|object| object.len() == 1 && object.contains_key("error"))
            }
            Self::Unordered(items) => {
                let found = found.as_array().map(Vec::as_slice).unwrap_or_default();
                let mut left: Vec<&Value> = found.iter().collect();
                let mut takes = |item: &Value| {
                    let place = left.iter().position(|found| matches(item, found));
                    place.map(|place| left.swap_remove(place)).is_some()
                };
                found.len() == items.len() && items.iter().all(&mut takes)
            }
            Self::Contains(text) => found.as_str().is_some_and(|found| found.contains(text)),
            Self::Not(pattern) => !matches(pattern, found),
            Self::All(patterns) => patterns.iter().all(|pattern| matches(pattern, found)),
        }
    }
}
