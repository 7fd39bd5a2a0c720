//! The arguments of a call as OpenAI's API has them: JSON in a string.

use serde_json::Value;

use super::place::Place;
use crate::Result;

/// Reads arguments: a string that holds an object becomes the object; anything else stays as it is.
///
/// A whole number beyond 64 bits has no exact value here, so a string with one stays a string.
pub(super) fn read(value: &Value) -> Value {
    value.as_str().and_then(object).unwrap_or_else(|| value.clone())
}

/// Writes an object as a string, and anything else as it is.
///
/// # Errors
/// `Unsupported` for text that reads as an object: a reader could not tell it from one.
pub(super) fn write(arguments: &Value, place: &Place<'_>) -> Result<Value> {
    match arguments {
        Value::Object(_) => Ok(arguments.to_string().into()),
        Value::String(text) if object(text).is_some() => {
            Err(place.unsupported("the arguments are text that reads as an object"))
        }
        other => Ok(other.clone()),
    }
}

fn object(text: &str) -> Option<Value> {
    let value: Value = serde_json::from_str(text).ok()?;
    (value.is_object() && numbers(text).all(is_exact)).then_some(value)
}

/// Says whether the value of a number's text is exact where it is a whole one.
fn is_exact(number: &str) -> bool {
    let whole = !number.contains(['.', 'e', 'E']);
    !whole || number.parse::<i64>().is_ok() || number.parse::<u64>().is_ok()
}

/// Returns the text of every number in valid JSON: what stands outside strings and begins with a digit or `-`.
fn numbers(text: &str) -> impl Iterator<Item = &str> {
    let mut in_string = false;
    let mut escaped = false;
    let outside = text.split(move |character: char| {
        let quote = character == '"' && !escaped;
        escaped = in_string && character == '\\' && !escaped;
        in_string ^= quote;
        in_string || quote || !(character.is_ascii_alphanumeric() || "+-.".contains(character))
    });
    outside.filter(|word| word.starts_with(|first: char| first == '-' || first.is_ascii_digit()))
}
