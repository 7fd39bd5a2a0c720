//! The arguments of a call as OpenAI's API has them: JSON in a string.

use std::borrow::Cow;

use alloquy_core::Result;
use serde_json::Value;

use super::place::Place;

/// Reads arguments: a string that holds an object becomes the object; anything else stays as it is.
///
/// As everywhere in calls, a whole number beyond 64 bits, and a number beyond a double's range, becomes the string of
/// its digits.
pub(crate) fn read(value: &Value) -> Value {
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
    let value: Value = serde_json::from_str(&with_large_numbers_quoted(text)).ok()?;
    value.is_object().then_some(value)
}

/// Puts quotes around the numbers that have no exact value here: `{"id": 12345678901234567890123}` becomes
/// `{"id": "12345678901234567890123"}`.
fn with_large_numbers_quoted(text: &str) -> Cow<'_, str> {
    let mut large = Vec::new();
    for (at, number) in numbers(text) {
        // A number before a colon is no JSON, as keys are strings: it stays as it is, and the parser refuses the text.
        let rest = text.get(at + number.len()..).unwrap_or_default();
        let is_key = rest.trim_start().starts_with(':');
        if is_number(number) && !fits(number) && !is_key {
            large.push((at, number));
        }
    }
    if large.is_empty() {
        return text.into();
    }
    let mut quoted = String::new();
    let mut end = 0;
    for (at, number) in large {
        quoted.push_str(text.get(end..at).unwrap_or_default());
        quoted.extend(["\"", number, "\""]);
        end = at + number.len();
    }
    quoted.push_str(text.get(end..).unwrap_or_default());
    quoted.into()
}

/// Returns whether a number has a value here: an exact one for a whole number, the nearest double for any other.
fn fits(number: &str) -> bool {
    if number.contains(['.', 'e', 'E']) {
        number.parse().is_ok_and(f64::is_finite)
    } else {
        number.parse::<i64>().is_ok() || number.parse::<u64>().is_ok()
    }
}

/// Returns whether a text is a number of JSON's: RFC 8259, section 6.
fn is_number(text: &str) -> bool {
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, "0"));
    let whole = whole.strip_prefix('-').unwrap_or(whole);
    let leading_zero = whole.len() > 1 && whole.starts_with('0');
    let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    is_digits(whole) && !leading_zero && is_digits(fraction) && is_digits(exponent)
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|digit| digit.is_ascii_digit())
}

/// Returns the words that may be numbers, with their places: outside strings, beginning with a digit or `-`.
fn numbers(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut in_string = false;
    let mut escaped = false;
    let outside = text.split(move |character: char| {
        let quote = character == '"' && !escaped;
        escaped = in_string && character == '\\' && !escaped;
        in_string ^= quote;
        in_string || quote || !(character.is_ascii_alphanumeric() || "+-.".contains(character))
    });
    let words = outside.filter(|word| word.starts_with(|first: char| first == '-' || first.is_ascii_digit()));
    words.map(|word| (word.as_ptr() as usize - text.as_ptr() as usize, word))
}
