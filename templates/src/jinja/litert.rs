//! The differences of LiteRT-LM's renderer from Hugging Face's.
//!
//! Reference: `components/rust/minijinja_template.rs` of LiteRT-LM 0.15, and minijinja 2, by which it prints.

use minijinja::value::{DynObject, Rest, Value, ValueKind};
use minijinja::{Environment, Error, Output, State};

use super::ledger::{self, refusal};
use super::limits::{Limits, NESTING, TEXT_BYTES};
use super::{methods, number, operators};

pub(super) fn add_to(environment: &mut Environment<'_>, limits: Limits) {
    environment.add_test("none", Value::is_undefined);
    environment.add_test("sequence", |value: &Value| value.kind() == ValueKind::Seq);
    environment.add_filter(
        operators::JOINED,
        move |state: &mut State<'_, '_>, first: &Value, others: Rest<Value>| {
            let mut joined = String::new();
            for value in std::iter::once(first).chain(others.iter()) {
                joined.push_str(&text(value)?);
                ledger::reserve(state, limits, joined.len())?;
            }
            ledger::record(state, limits, Value::from(joined))
        },
    );
    for name in ["strip", "lstrip", "rstrip"] {
        environment.add_filter(
            name,
            move |state: &mut State<'_, '_>, value: &Value, characters: Option<Value>| {
                let arguments: Vec<_> = characters.into_iter().collect();
                methods::call(state, limits, value, name, &arguments)
            },
        );
    }
}

/// Prints `{{ value }}`.
pub(super) fn print(
    output: &mut Output<'_>,
    state: &mut State<'_, '_>,
    value: &Value,
    limits: Limits,
) -> Result<(), Error> {
    let text = text(value)?;
    ledger::pass(state, limits, text.len())?;
    output.write_str(&text).map_err(Error::from)
}

fn text(value: &Value) -> Result<String, Error> {
    let mut text = String::new();
    match value.as_str() {
        Some(string) => text.push_str(string),
        None if value.is_undefined() => {}
        None => write(&mut text, value, 0)?,
    }
    Ok(text)
}

fn write(text: &mut String, value: &Value, depth: usize) -> Result<(), Error> {
    if depth > NESTING || text.len() > TEXT_BYTES {
        return Err(refusal("a value is too large to print".to_owned()));
    }
    match value.kind() {
        ValueKind::String => text.push_str(&format!("{:?}", value.as_str().unwrap_or_default())),
        ValueKind::Bool => text.push_str(if value.is_true() { "true" } else { "false" }),
        ValueKind::Number => text.push_str(&number::repr(value)),
        ValueKind::Undefined => text.push_str("undefined"),
        ValueKind::None => text.push_str("none"),
        ValueKind::Seq | ValueKind::Iterable => {
            text.push('[');
            for (index, item) in value.try_iter()?.checked().enumerate() {
                text.push_str(if index > 0 { ", " } else { "" });
                write(text, &item?, depth + 1)?;
            }
            text.push(']');
        }
        ValueKind::Map => {
            text.push('{');
            let pairs = value.as_object().and_then(DynObject::try_iter_pairs);
            for (index, (key, value)) in pairs.into_iter().flatten().enumerate() {
                text.push_str(if index > 0 { ", " } else { "" });
                write(text, &key, depth + 1)?;
                text.push_str(": ");
                write(text, &value, depth + 1)?;
            }
            text.push('}');
        }
        _ => text.push_str(&value.to_string()),
    }
    Ok(())
}
