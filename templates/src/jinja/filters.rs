//! Filters and tests that differ between minijinja and Jinja2.
//!
//! Reference: `jinja2/filters.py` and `jinja2/tests.py` of Jinja2 3.1.

use std::borrow::Cow;

use minijinja::value::{Rest, Value, ValueKind, ValueOrKwargs};
use minijinja::{AutoEscape, Environment, Error, ErrorKind, Output, State};

use super::arguments::Arguments;
use super::ledger;
use super::limits::Limits;
use super::python;

/// Adds filters that read their whole value. That work is counted before the filter is called.
pub(super) fn add_measured(
    environment: &mut Environment<'_>,
    limits: Limits,
    filters: impl IntoIterator<Item = (&'static str, Value)>,
) {
    for (name, filter) in filters {
        environment.add_filter(name, move |state: &mut State<'_, '_>, arguments: Rest<ValueOrKwargs>| {
            let arguments = arguments.into_values();
            if let Some(value) = arguments.first() {
                ledger::scan(state, limits, value)?;
                ledger::characters(state, limits, value.as_str().map_or(0, str::len))?;
            }
            let made = filter.call(state, &arguments)?;
            ledger::record(state, limits, made)
        });
    }
}

/// Adds filters as [`add_measured`] does, for functions that read their arguments by position or name.
pub(super) fn add_of_texts(
    environment: &mut Environment<'_>,
    limits: Limits,
    filters: impl IntoIterator<Item = (&'static str, Filter)>,
) {
    for (name, filter) in filters {
        environment.add_filter(
            name,
            move |state: &mut State<'_, '_>, value: &Value, arguments: Rest<ValueOrKwargs>| {
                ledger::scan(state, limits, value)?;
                let made = filter(value, Arguments::new(arguments))?;
                ledger::record(state, limits, made)
            },
        );
    }
}

/// A filter of a value, with its arguments.
pub(super) type Filter = fn(&Value, Arguments) -> Result<Value, Error>;

/// `string`: as Python's `str`.
pub(super) fn string(value: &Value, arguments: Arguments) -> Result<Value, Error> {
    arguments.finish(0)?;
    if value.kind() == ValueKind::String {
        return Ok(value.clone());
    }
    python::text(value).map(Value::from)
}

/// `trim`: with Python's idea of white space.
pub(super) fn trim(value: &Value, arguments: Arguments) -> Result<Value, Error> {
    let characters = arguments.get(0, "chars")?.filter(|characters| !characters.is_none());
    arguments.finish(1)?;
    let text = match value.as_str() {
        Some(text) => Cow::Borrowed(text),
        None => Cow::Owned(python::text(value)?),
    };
    let trimmed = match &characters {
        Some(characters) => {
            let characters = python::printed(characters)?;
            text.trim_matches(|character: char| characters.contains(character))
        }
        None => text.trim_matches(python::is_space),
    };
    Ok(Value::from(trimmed))
}

/// `replace(old, new, count=none)`.
pub(super) fn replace(
    state: &mut State<'_, '_>,
    limits: Limits,
    value: &Value,
    (old, new): (&Value, &Value),
    count: Option<Value>,
) -> Result<Value, Error> {
    let text = python::printed(value)?;
    let old = python::printed(old)?;
    let new = python::printed(new)?;
    let count = match count.filter(|count| !count.is_none()) {
        Some(count) => usize::try_from(i64::try_from(count)?).ok(),
        None => None,
    };
    ledger::search(state, limits, text.len())?;
    let found = text.matches(old.as_ref()).take(count.unwrap_or(usize::MAX)).count();
    ledger::reserve(state, limits, text.len().saturating_add(found.saturating_mul(new.len())))?;
    let replaced = match count {
        Some(count) => text.replacen(old.as_ref(), &new, count),
        None => text.replace(old.as_ref(), &new),
    };
    ledger::record(state, limits, Value::from(replaced))
}

/// `default(value="", boolean=false)`, with either argument by name.
pub(super) fn default(value: &Value, arguments: Rest<ValueOrKwargs>) -> Result<Value, Error> {
    let arguments = Arguments::new(arguments);
    let other = arguments.get(0, "default_value")?.unwrap_or_else(|| Value::from(""));
    let boolean = arguments.is_true(1, "boolean")?;
    arguments.finish(2)?;
    Ok(if value.is_undefined() || (boolean && !value.is_true()) { other } else { value.clone() })
}

/// `indent(width=4, first=false, blank=false)`: a width may be a text, and a last line feed stays.
pub(super) fn indent(
    state: &mut State<'_, '_>,
    limits: Limits,
    value: &Value,
    arguments: Arguments,
) -> Result<Value, Error> {
    let margin = margin(arguments.get(0, "width")?)?;
    let first = arguments.is_true(1, "first")?;
    let blank = arguments.is_true(2, "blank")?;
    arguments.finish(3)?;
    // Jinja2 adds a line feed before it splits, so that a last one survives.
    let text = python::text(value)? + "\n";
    let lines = python::lines(&text);
    ledger::reserve(state, limits, text.len().saturating_add(lines.len().saturating_mul(margin.len())))?;
    let mut indented = String::with_capacity(text.len());
    for (index, line) in lines.into_iter().enumerate() {
        let wanted = if index == 0 { first } else { blank || !line.is_empty() };
        indented.push_str(if index == 0 { "" } else { "\n" });
        indented.push_str(if wanted { &margin } else { "" });
        indented.push_str(line);
    }
    ledger::record(state, limits, Value::from(indented))
}

/// The widest indentation that a template may use.
const MAX_INDENTATION: usize = 1 << 10;

fn margin(width: Option<Value>) -> Result<String, Error> {
    let Some(width) = width else {
        return Ok(" ".repeat(4));
    };
    if let Some(text) = width.as_str() {
        return Ok(text.to_owned());
    }
    match usize::try_from(width)? {
        width @ 0..=MAX_INDENTATION => Ok(" ".repeat(width)),
        width => Err(Error::new(
            ErrorKind::InvalidOperation,
            format!("indentation {width} is more than {MAX_INDENTATION}"),
        )),
    }
}

/// `iterable`: a value that Python can loop over. An undefined value is one, none is not.
pub(super) fn is_iterable(value: &Value) -> bool {
    match value.kind() {
        ValueKind::None => false,
        ValueKind::Undefined => true,
        // Decided by kind, because reading a generator uses it up.
        ValueKind::Seq | ValueKind::Iterable | ValueKind::Map | ValueKind::String => true,
        _ => false,
    }
}

/// `sequence`: a value with a length and an index, which texts and dicts have, too.
pub(super) fn is_sequence(value: &Value) -> bool {
    match value.kind() {
        ValueKind::Iterable => value.len().is_some(),
        kind => matches!(kind, ValueKind::Seq | ValueKind::String | ValueKind::Map | ValueKind::Undefined),
    }
}

/// `number`: Python's booleans are numbers, too.
pub(super) fn is_number(value: &Value) -> bool {
    matches!(value.kind(), ValueKind::Number | ValueKind::Bool)
}

/// `callable`: macros and functions.
pub(super) fn is_callable(value: &Value) -> bool {
    value.kind() == ValueKind::Plain && value.as_object().is_some()
}

/// Prints `{{ value }}` as Python does. Inside `{% autoescape true %}`, text that is not marked as safe is escaped.
pub(super) fn print(
    output: &mut Output<'_>,
    state: &mut State<'_, '_>,
    value: &Value,
    limits: Limits,
) -> Result<(), Error> {
    let text = printed(state, value)?;
    ledger::pass(state, limits, text.len())?;
    output.write_str(&text).map_err(Error::from)
}

/// Returns the text that a value prints as.
pub(super) fn printed<'v>(state: &State<'_, '_>, value: &'v Value) -> Result<Cow<'v, str>, Error> {
    if !matches!(state.auto_escape(), AutoEscape::None) && !value.is_safe() {
        return Ok(Cow::Owned(python::escape(&python::text(value)?)));
    }
    python::printed(value)
}

/// `attr(name)`: an attribute. The items of a dict are not attributes.
pub(super) fn attr(value: &Value, name: &str) -> Result<Value, Error> {
    match value.kind() {
        ValueKind::Map => Ok(Value::UNDEFINED),
        _ => value.get_attr(name),
    }
}

/// `float(default=0.0)`.
pub(super) fn float(value: &Value, default: Option<Value>) -> Value {
    let read = match (value.as_str(), value.kind()) {
        (Some(text), _) => parsed(text),
        (None, ValueKind::Bool) => Some(f64::from(u8::from(value.is_true()))),
        (None, ValueKind::Number) => f64::try_from(value.clone()).ok(),
        _ => None,
    };
    read.map(Value::from).or(default).unwrap_or_else(|| Value::from(0.0))
}

/// Reads a number as Python's `float` does.
fn parsed(text: &str) -> Option<f64> {
    text.trim_matches(python::is_space).replace('_', "").parse().ok()
}

/// `int(default=0, base=10)`.
pub(super) fn int(value: &Value, arguments: Arguments) -> Result<Value, Error> {
    let default = arguments.get(0, "default")?.unwrap_or_else(|| Value::from(0));
    let base = arguments.get(1, "base")?.map_or(Ok(10), u32::try_from)?;
    arguments.finish(2)?;
    let read = match (value.as_str(), value.kind()) {
        (Some(text), _) => integer(text, base).or_else(|| truncated(parsed(text)?)),
        (None, ValueKind::Bool) => Some(i128::from(value.is_true())),
        (None, ValueKind::Number) if value.is_integer() => return Ok(value.clone()),
        (None, ValueKind::Number) => truncated(f64::try_from(value.clone())?),
        _ => None,
    };
    Ok(read.map_or(default, Value::from))
}

fn truncated(number: f64) -> Option<i128> {
    number.is_finite().then_some(number as i128)
}

fn integer(text: &str, base: u32) -> Option<i128> {
    let text = text.trim_matches(python::is_space).replace('_', "").to_lowercase();
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", text.strip_prefix('+').unwrap_or(&text)),
    };
    let prefix = match base {
        2 => "0b",
        8 => "0o",
        16 => "0x",
        3..=36 => "",
        _ => return None,
    };
    i128::from_str_radix(&format!("{sign}{}", digits.strip_prefix(prefix).unwrap_or(digits)), base).ok()
}
