//! Filters and tests where minijinja's differ from Jinja2's.
//!
//! Reference: `jinja2/filters.py` and `jinja2/tests.py` of Jinja2 3.1.

use std::borrow::Cow;

use minijinja::value::{Kwargs, Rest, Value, ValueKind};
use minijinja::{AutoEscape, Error, ErrorKind, Output, State, escape_formatter, filters};

use super::arguments::Arguments;
use super::guards;
use super::limits::Limits;
use super::python;

/// `length`: an undefined value has none.
pub(super) fn length(value: &Value) -> Result<usize, Error> {
    if value.is_undefined() {
        return Ok(0);
    }
    filters::length(value)
}

/// `string`: as Python's `str`.
pub(super) fn string(value: &Value) -> Result<Value, Error> {
    if value.kind() == ValueKind::String {
        return Ok(value.clone());
    }
    python::text(value).map(Value::from)
}

/// `trim`: with Python's idea of white space.
pub(super) fn trim(value: &Value, characters: Option<&str>) -> Result<Value, Error> {
    let text = python::text(value)?;
    let unwanted = |character: char| match characters {
        Some(characters) => characters.contains(character),
        None => python::is_space(character),
    };
    Ok(Value::from(text.trim_matches(unwanted)))
}

/// `replace(old, new, count=none)`.
pub(super) fn replace(value: &Value, old: &Value, new: &Value, count: Option<Value>) -> Result<Value, Error> {
    let (text, old, new) = (python::text(value)?, python::text(old)?, python::text(new)?);
    let count = match count.filter(|count| !count.is_none()) {
        Some(count) => usize::try_from(i64::try_from(count)?).ok(),
        None => None,
    };
    Ok(Value::from(match count {
        Some(count) => text.replacen(&old, &new, count),
        None => text.replace(&old, &new),
    }))
}

/// `default(value="", boolean=false)`, with either argument by name.
pub(super) fn default(value: &Value, positional: Rest<Value>, named: Kwargs) -> Result<Value, Error> {
    let arguments = Arguments::new(positional, named);
    let other = arguments.get(0, "default_value")?.unwrap_or_else(|| Value::from(""));
    let boolean = arguments.is_true(1, "boolean")?;
    arguments.finish(2)?;
    Ok(match value.is_undefined() || (boolean && !value.is_true()) {
        true => other,
        false => value.clone(),
    })
}

/// `indent(width=4, first=false, blank=false)`: a width may be a text, and a last line feed stays.
pub(super) fn indent(value: &Value, positional: Rest<Value>, named: Kwargs) -> Result<Value, Error> {
    let arguments = Arguments::new(positional, named);
    let margin = margin(arguments.get(0, "width")?)?;
    let first = arguments.is_true(1, "first")?;
    let blank = arguments.is_true(2, "blank")?;
    arguments.finish(3)?;
    // Jinja2 adds a line feed before it splits, so that a last one survives.
    let text = python::text(value)?
        + "
";
    let mut indented = String::with_capacity(text.len());
    for (index, line) in python::lines(&text).into_iter().enumerate() {
        let wanted = if index == 0 { first } else { blank || !line.is_empty() };
        indented.push_str(if index == 0 {
            ""
        } else {
            "
"
        });
        indented.push_str(if wanted { &margin } else { "" });
        indented.push_str(line);
    }
    Ok(Value::from(indented))
}

/// The widest a template may indent.
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

/// `dictsort(case_sensitive=false, by="key", reverse=false)`: minijinja takes the arguments by name only.
pub(super) fn dictsort(value: &Value, positional: Rest<Value>, named: Kwargs) -> Result<Value, Error> {
    let arguments = Arguments::new(positional, named);
    let mut by_name = Vec::new();
    for (position, name) in ["case_sensitive", "by", "reverse"].into_iter().enumerate() {
        by_name.extend(arguments.get(position, name)?.map(|value| (name, value)));
    }
    arguments.finish(3)?;
    filters::dictsort(value, by_name.into_iter().collect())
}

/// `iterable`: whatever Python can loop over, which none is not and an undefined value is.
pub(super) fn is_iterable(value: &Value) -> bool {
    match value.kind() {
        ValueKind::None => false,
        ValueKind::Undefined => true,
        _ => value.try_iter().is_ok(),
    }
}

/// `sequence`: whatever has a length and takes an index, texts and dicts among them.
pub(super) fn is_sequence(value: &Value) -> bool {
    matches!(
        value.kind(),
        ValueKind::Seq | ValueKind::Iterable | ValueKind::String | ValueKind::Map | ValueKind::Undefined
    )
}

/// `number`: Python's truth values are numbers too.
pub(super) fn is_number(value: &Value) -> bool {
    matches!(value.kind(), ValueKind::Number | ValueKind::Bool)
}

/// `callable`: macros and functions.
pub(super) fn is_callable(value: &Value) -> bool {
    value.kind() == ValueKind::Plain && value.as_object().is_some()
}

/// Prints `{{ value }}` as Python would; inside `{% autoescape %}` the engine's own way stands.
pub(super) fn print(
    output: &mut Output<'_>,
    state: &mut State<'_, '_>,
    value: &Value,
    limits: Limits,
) -> Result<(), Error> {
    let text = match (value.kind(), value.as_str()) {
        _ if !matches!(state.auto_escape(), AutoEscape::None) => {
            return escape_formatter(output, state, value);
        }
        (ValueKind::String, Some(text)) => Cow::Borrowed(text),
        _ => Cow::Owned(python::text(value)?),
    };
    guards::pass(state, limits, text.len())?;
    output.write_str(&text).map_err(Error::from)
}
