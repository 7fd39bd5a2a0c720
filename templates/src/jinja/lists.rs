//! The engine's filters on lists, within limits, and for the values that Python can iterate.

use minijinja::value::{Kwargs, Rest, Value, ValueKind, ValueOrKwargs};
use minijinja::{Environment, Error, ErrorKind, State, filters};

use super::arguments::Arguments;
use super::generator::Generator;
use super::ledger::{self, record, refusal, reserve};
use super::limits::Limits;
use super::weight::ITEM_BYTES;
use super::{operators, python};

/// Filters whose results Python computes one by one.
const LAZY: [&str; 8] = ["map", "select", "reject", "selectattr", "rejectattr", "unique", "batch", "slice"];

/// Filters that take none as an empty list.
const FORGIVING: [&str; 5] = ["map", "select", "reject", "selectattr", "rejectattr"];

pub(super) fn add_to(environment: &mut Environment<'_>, limits: Limits) {
    let eager = [
        ("list", Value::from_function(filters::list)),
        ("sort", Value::from_function(filters::sort)),
        ("groupby", Value::from_function(filters::groupby)),
        ("min", Value::from_function(filters::min)),
        ("max", Value::from_function(filters::max)),
        ("reverse", Value::from_function(filters::reverse)),
        ("first", Value::from_function(first)),
        ("last", Value::from_function(last)),
    ];
    let lazy = [
        ("map", Value::from_function(filters::map)),
        ("select", Value::from_function(filters::select)),
        ("reject", Value::from_function(filters::reject)),
        ("selectattr", Value::from_function(filters::selectattr)),
        ("rejectattr", Value::from_function(filters::rejectattr)),
        ("unique", Value::from_function(filters::unique)),
        ("batch", Value::from_function(filters::batch)),
        ("slice", Value::from_function(filters::slice)),
    ];
    for (name, filter) in eager.into_iter().chain(lazy) {
        environment.add_filter(name, move |state: &mut State<'_, '_>, arguments: Rest<ValueOrKwargs>| {
            bounded(state, limits, name, &filter, &arguments.into_values())
        });
    }
    environment.add_filter(
        "dictsort",
        move |state: &mut State<'_, '_>, value: &Value, arguments: Rest<ValueOrKwargs>| {
            enter(state, limits, "dictsort", value)?;
            let sorted = dictsort(value, Arguments::new(arguments))?;
            record(state, limits, sorted)
        },
    );
    environment.add_filter(
        "sum",
        move |state: &mut State<'_, '_>, value: &Value, arguments: Rest<ValueOrKwargs>| {
            sum(state, limits, value, Arguments::new(arguments))
        },
    );
    environment.add_filter(
        "join",
        move |state: &mut State<'_, '_>, value: &Value, arguments: Rest<ValueOrKwargs>| {
            join(state, limits, value, Arguments::new(arguments))
        },
    );
}

fn bounded(
    state: &mut State<'_, '_>,
    limits: Limits,
    name: &'static str,
    filter: &Value,
    arguments: &[Value],
) -> Result<Value, Error> {
    if let Some(list) = arguments.first() {
        enter(state, limits, name, list)?;
    }
    if matches!(name, "batch" | "slice") {
        room_for_groups(state, limits, arguments)?;
    }
    let result = filter.call(state, arguments)?;
    let result = record(state, limits, result)?;
    if LAZY.contains(&name) { Generator::over(&result) } else { Ok(result) }
}

/// `first`: of an undefined value, an undefined one.
fn first(value: Value) -> Result<Value, Error> {
    match value.kind() {
        ValueKind::Undefined => Ok(value),
        _ => filters::first(&value),
    }
}

/// `last`: of an undefined value, an undefined one; of a dict, its last key.
fn last(value: Value) -> Result<Value, Error> {
    match value.kind() {
        ValueKind::Undefined => Ok(value),
        ValueKind::Map => Ok(value.try_iter()?.last().unwrap_or_default()),
        _ => filters::last(value),
    }
}

/// Counts the work of a filter on a list.
fn enter(state: &mut State<'_, '_>, limits: Limits, name: &str, list: &Value) -> Result<(), Error> {
    match (list.kind(), list.as_str()) {
        // In these Jinja2 checks whether the list is true before it iterates it.
        (ValueKind::None, _) if FORGIVING.contains(&name) => Ok(()),
        (ValueKind::None, _) => Err(refusal(format!("'NoneType' object is not iterable: {name}"))),
        (ValueKind::String, Some(text)) => reserve(state, limits, text.len().saturating_mul(ITEM_BYTES)),
        _ if matches!(name, "first" | "last") => Ok(()),
        _ => {
            ledger::weigh(state, limits, list)?;
            ledger::spend(state, limits, list.len().unwrap_or(0) as u64 * steps(name))
        }
    }
}

/// Returns the steps that a filter takes for an item, beyond that of iterating it.
fn steps(name: &str) -> u64 {
    match name {
        "unique" => 16,
        "map" => 8,
        "select" | "reject" | "selectattr" | "rejectattr" | "groupby" => 2,
        _ => 0,
    }
}

/// Checks that there is room for the groups of `batch` and `slice`, which are filled up to a size that the template chooses.
fn room_for_groups(state: &mut State<'_, '_>, limits: Limits, arguments: &[Value]) -> Result<(), Error> {
    let size = arguments.get(1).and_then(|size| i64::try_from(size.clone()).ok()).unwrap_or(0);
    let size = usize::try_from(size).unwrap_or(0);
    reserve(state, limits, size.saturating_mul(2 * ITEM_BYTES))
}

/// `sum(attribute=none, start=0)`.
fn sum(
    state: &mut State<'_, '_>,
    limits: Limits,
    value: &Value,
    arguments: Arguments,
) -> Result<Value, Error> {
    let attribute = arguments.get(0, "attribute")?.filter(|attribute| !attribute.is_none());
    let mut total = arguments.get(1, "start")?.unwrap_or_else(|| Value::from(0));
    arguments.finish(2)?;
    enter(state, limits, "sum", value)?;
    let value = mapped(state, value, attribute)?;
    for item in value.try_iter()?.checked() {
        total = operators::add(state, limits, &total, &item?)?;
    }
    Ok(total)
}

/// Returns the attribute of each item, or the list itself if no attribute is given.
fn mapped(state: &mut State<'_, '_>, list: &Value, attribute: Option<Value>) -> Result<Value, Error> {
    match attribute {
        Some(attribute) => {
            let named: Kwargs = [("attribute", attribute)].into_iter().collect();
            state.apply_filter("map", &[list.clone(), named.into()])
        }
        None => Ok(list.clone()),
    }
}

/// `join(d="", attribute=none)`.
fn join(
    state: &mut State<'_, '_>,
    limits: Limits,
    value: &Value,
    arguments: Arguments,
) -> Result<Value, Error> {
    let separator = arguments.get(0, "d")?.unwrap_or_else(|| Value::from(""));
    let attribute = arguments.get(1, "attribute")?.filter(|attribute| !attribute.is_none());
    arguments.finish(2)?;
    enter(state, limits, "join", value)?;
    let value = mapped(state, value, attribute)?;
    let text = joined(state, limits, &value, &python::printed(&separator)?)?;
    record(state, limits, Value::from(text))
}

/// Prints the items of a list with a separator between them.
pub(super) fn joined(
    state: &mut State<'_, '_>,
    limits: Limits,
    list: &Value,
    separator: &str,
) -> Result<String, Error> {
    let mut text = String::new();
    for (index, item) in list.try_iter()?.checked().enumerate() {
        let item = item?;
        let piece = python::printed(&item)?;
        let length = text.len() + separator.len() + piece.len();
        if length > limits.output_bytes {
            return reserve(state, limits, usize::MAX).map(|()| text);
        }
        if index > 0 {
            text.push_str(separator);
        }
        text.push_str(&piece);
    }
    reserve(state, limits, text.len())?;
    Ok(text)
}

/// `dictsort(case_sensitive=false, by="key", reverse=false)`. minijinja accepts the arguments by name only.
fn dictsort(value: &Value, arguments: Arguments) -> Result<Value, Error> {
    let mut by_name = Vec::new();
    for (position, name) in ["case_sensitive", "by", "reverse"].into_iter().enumerate() {
        by_name.extend(arguments.get(position, name)?.map(|value| (name, value)));
    }
    arguments.finish(3)?;
    filters::dictsort(value, by_name.into_iter().collect())
}

/// `length`: 0 for an undefined value, and an error for a generator.
pub(super) fn length(value: &Value) -> Result<usize, Error> {
    match value.kind() {
        ValueKind::Undefined => Ok(0),
        ValueKind::Iterable if value.len().is_none() => {
            Err(Error::new(ErrorKind::InvalidOperation, "object of type 'generator' has no len()"))
        }
        _ => filters::length(value),
    }
}
