//! The filters and functions that prompt texts have in addition to those of chat templates.

use minijinja::value::{Rest, Value, ValueKind};
use minijinja::{Environment, Error, State};

use super::super::limits::Limits;
use super::super::{ledger, python};
use super::program::{ANY, FROM};

/// The bytes of a token, on average.
const CHARACTERS_PER_TOKEN: usize = 4;

/// The site of the value that is printed next.
#[derive(Debug, Default)]
pub(super) struct Printing {
    pub(super) site: Option<usize>,
}

pub(super) fn add_to(environment: &mut Environment<'_>, limits: Limits) {
    environment.add_filter(FROM, |state: &mut State<'_, '_>, value: Value, site: usize| {
        state.get_or_insert_extension_with(Printing::default).site = Some(site);
        value
    });
    environment
        .add_function(ANY, move |state: &mut State<'_, '_>, values: Rest<Value>| any(state, limits, &values));
    environment.add_filter(
        "count_tokens",
        move |state: &mut State<'_, '_>, value: Value, _model: Option<Value>| {
            count_tokens(state, limits, &value)
        },
    );
    environment.add_filter(
        "format_code",
        move |state: &mut State<'_, '_>, code: Value, language: Option<Value>| {
            format_code(state, limits, &code, language)
        },
    );
}

/// Returns whether a value is not empty: a text with more than white space, or another value that is true.
fn any(state: &mut State<'_, '_>, limits: Limits, values: &[Value]) -> Result<bool, Error> {
    for value in values {
        let is_full = match value.as_str() {
            Some(text) => {
                ledger::work(state, limits, text.len())?;
                text.contains(|symbol: char| !python::is_space(symbol))
            }
            None => value.is_true(),
        };
        if is_full {
            return Ok(true);
        }
    }
    Ok(false)
}

/// `count_tokens(model=none)`: a fourth of the characters.
fn count_tokens(state: &mut State<'_, '_>, limits: Limits, value: &Value) -> Result<usize, Error> {
    let length = match value.as_str() {
        Some(text) => {
            ledger::search(state, limits, text.len())?;
            text.chars().count()
        }
        None if value.kind() == ValueKind::Undefined => 0,
        None => minijinja::filters::length(value)?,
    };
    Ok(length / CHARACTERS_PER_TOKEN)
}

/// `format_code(language="python")`: a block of code in Markdown.
fn format_code(
    state: &mut State<'_, '_>,
    limits: Limits,
    code: &Value,
    language: Option<Value>,
) -> Result<Value, Error> {
    let language = language.unwrap_or_else(|| Value::from("python"));
    let language = python::printed(&language)?;
    let code = python::printed(code)?;
    ledger::reserve(state, limits, code.len() + language.len())?;
    ledger::record(state, limits, Value::from(format!("```{language}\n{code}\n```")))
}
