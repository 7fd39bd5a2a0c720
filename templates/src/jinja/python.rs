//! How Python prints values, and the methods its strings, lists and dicts have.
//!
//! minijinja's own set of methods stands behind ours: here is what it lacks or does otherwise.
//! Methods that change a value (`append`, `update`, …) stay unknown, as Hugging Face's sandbox refuses them.

use minijinja::value::{Tuple, Value, ValueKind, from_args};
use minijinja::{Error, ErrorKind, State};
use minijinja_contrib::pycompat;

use super::limits::NESTING;
use super::number;

/// The widest a template may pad a text to.
const MAX_PADDING: usize = 1 << 16;

/// Prints a value as `str(value)`.
pub(super) fn text(value: &Value) -> Result<String, Error> {
    match value.kind() {
        ValueKind::Number => Ok(number::repr(value)),
        ValueKind::Seq | ValueKind::Map | ValueKind::Iterable => repr(value),
        _ => Ok(value.to_string()),
    }
}

/// Prints a value as `repr(value)`.
pub(super) fn repr(value: &Value) -> Result<String, Error> {
    let mut text = String::new();
    write_repr(&mut text, value, 0)?;
    Ok(text)
}

fn write_repr(text: &mut String, value: &Value, depth: usize) -> Result<(), Error> {
    if depth > NESTING {
        return Err(Error::new(
            ErrorKind::InvalidOperation,
            format!("values nest deeper than {NESTING} levels"),
        ));
    }
    match value.kind() {
        ValueKind::Undefined => text.push_str("Undefined"),
        ValueKind::Number => text.push_str(&number::repr(value)),
        ValueKind::Map => write_map(text, value, depth)?,
        ValueKind::Seq | ValueKind::Iterable => write_list(text, value, depth)?,
        _ => text.push_str(&format!("{value:?}")),
    }
    Ok(())
}

fn write_list(text: &mut String, list: &Value, depth: usize) -> Result<(), Error> {
    text.push(if list.is_tuple() { '(' } else { '[' });
    let mut items = 0;
    for item in list.try_iter()?.checked() {
        if items > 0 {
            text.push_str(", ");
        }
        write_repr(text, &item?, depth + 1)?;
        items += 1;
    }
    if list.is_tuple() && items == 1 {
        text.push(',');
    }
    text.push(if list.is_tuple() { ')' } else { ']' });
    Ok(())
}

fn write_map(text: &mut String, map: &Value, depth: usize) -> Result<(), Error> {
    text.push('{');
    for (items, key) in map.try_iter()?.checked().enumerate() {
        let key = key?;
        if items > 0 {
            text.push_str(", ");
        }
        write_repr(text, &key, depth + 1)?;
        text.push_str(": ");
        write_repr(text, &map.get_item(&key)?, depth + 1)?;
    }
    text.push('}');
    Ok(())
}

/// Says whether Python's `str.isspace` holds: Unicode's white space and four separators of old.
pub(super) fn is_space(character: char) -> bool {
    character.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&character)
}

/// Calls a method that a template expects of a Python value.
pub(super) fn method(
    state: &mut State<'_, '_>,
    value: &Value,
    name: &str,
    arguments: &[Value],
) -> Result<Value, Error> {
    let found = match value.kind() {
        ValueKind::String => string_method(value.as_str().unwrap_or_default(), name, arguments)?,
        ValueKind::Seq | ValueKind::Iterable => list_method(value, name, arguments)?,
        ValueKind::Map => dict_method(value, name, arguments)?,
        _ => None,
    };
    match found {
        Some(result) => Ok(result),
        None => pycompat::unknown_method_callback(state, value, name, arguments),
    }
}

fn string_method(string: &str, name: &str, arguments: &[Value]) -> Result<Option<Value>, Error> {
    let result = match name {
        "strip" => strip(string, Side::Both, arguments)?.into(),
        "lstrip" => strip(string, Side::Left, arguments)?.into(),
        "rstrip" => strip(string, Side::Right, arguments)?.into(),
        "removeprefix" => string.strip_prefix(from_args::<(&str,)>(arguments)?.0).unwrap_or(string).into(),
        "removesuffix" => string.strip_suffix(from_args::<(&str,)>(arguments)?.0).unwrap_or(string).into(),
        "partition" => partition(string, arguments)?,
        "rpartition" => rpartition(string, arguments)?,
        "rsplit" => return rsplit(string, arguments),
        "splitlines" => splitlines(string, arguments)?,
        "index" | "rindex" => index(string, name, arguments)?,
        "isspace" => (!string.is_empty() && string.chars().all(is_space)).into(),
        "swapcase" => string.chars().map(swap_case).collect::<String>().into(),
        "title" => title(string).into(),
        "zfill" | "ljust" | "rjust" | "center" => pad(string, name, arguments)?,
        _ => return Ok(None),
    };
    Ok(Some(result))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Left,
    Right,
    Both,
}

fn strip<'a>(string: &'a str, side: Side, arguments: &[Value]) -> Result<&'a str, Error> {
    let (characters,): (Option<&str>,) = from_args(arguments)?;
    let unwanted = |character: char| match characters {
        Some(characters) => characters.contains(character),
        None => is_space(character),
    };
    let string = if side == Side::Right { string } else { string.trim_start_matches(unwanted) };
    Ok(if side == Side::Left { string } else { string.trim_end_matches(unwanted) })
}

fn partition(string: &str, arguments: &[Value]) -> Result<Value, Error> {
    let separator = separator(arguments)?;
    Ok(match string.split_once(separator) {
        Some((before, after)) => triple(before, separator, after),
        None => triple(string, "", ""),
    })
}

fn rpartition(string: &str, arguments: &[Value]) -> Result<Value, Error> {
    let separator = separator(arguments)?;
    Ok(match string.rsplit_once(separator) {
        Some((before, after)) => triple(before, separator, after),
        None => triple("", "", string),
    })
}

fn triple(before: &str, separator: &str, after: &str) -> Value {
    Value::from(Tuple::from(vec![Value::from(before), Value::from(separator), Value::from(after)]))
}

fn separator(arguments: &[Value]) -> Result<&str, Error> {
    let (separator,): (&str,) = from_args(arguments)?;
    match separator {
        "" => Err(Error::new(ErrorKind::InvalidOperation, "empty separator")),
        separator => Ok(separator),
    }
}

/// With a separator only; without one Python splits at runs of white space, which no template asks for.
fn rsplit(string: &str, arguments: &[Value]) -> Result<Option<Value>, Error> {
    let (text, limit): (&str, Option<i64>) = from_args(arguments)?;
    separator(arguments.get(..1).unwrap_or_default())?;
    let pieces = match limit.and_then(|limit| usize::try_from(limit).ok()) {
        Some(limit) => string.rsplitn(limit.saturating_add(1), text).collect::<Vec<_>>(),
        None => string.rsplit(text).collect(),
    };
    Ok(Some(pieces.into_iter().rev().map(Value::from).collect()))
}

fn splitlines(string: &str, arguments: &[Value]) -> Result<Value, Error> {
    let (keep_ends,): (Option<Value>,) = from_args(arguments)?;
    Ok(match keep_ends.is_some_and(|keep| keep.is_true()) {
        true => lines_and_ends(string)
            .into_iter()
            .map(|(line, end)| Value::from(format!("{line}{end}")))
            .collect(),
        false => lines(string).into_iter().map(Value::from).collect(),
    })
}

/// Splits a text into lines as `str.splitlines` does.
pub(super) fn lines(text: &str) -> Vec<&str> {
    lines_and_ends(text).into_iter().map(|(line, _)| line).collect()
}

/// Python ends a line at more places than a line feed, and takes a carriage return with one as a single end.
fn lines_and_ends(text: &str) -> Vec<(&str, &str)> {
    let mut lines = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let length = rest.find(ends_line).unwrap_or(rest.len());
        let (line, tail) = rest.split_at(length);
        let end = match tail.starts_with("\r\n") {
            true => 2,
            false => tail.chars().next().map_or(0, char::len_utf8),
        };
        let (end, after) = tail.split_at(end);
        lines.push((line, end));
        rest = after;
    }
    lines
}

fn ends_line(character: char) -> bool {
    matches!(
        character,
        '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{1c}'..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}'
    )
}

/// The position in characters; unlike `find`, an absent text is an error.
fn index(string: &str, name: &str, arguments: &[Value]) -> Result<Value, Error> {
    let (wanted,): (&str,) = from_args(arguments)?;
    let found = if name == "index" { string.find(wanted) } else { string.rfind(wanted) };
    match found.and_then(|found| string.get(..found)) {
        Some(before) => Ok(Value::from(before.chars().count())),
        None => Err(Error::new(ErrorKind::InvalidOperation, format!("substring {wanted:?} not found"))),
    }
}

fn swap_case(character: char) -> String {
    match character.is_uppercase() {
        true => character.to_lowercase().collect(),
        false => character.to_uppercase().collect(),
    }
}

/// Upper case after whatever has no case, even an apostrophe; the `title` filter is gentler.
fn title(string: &str) -> String {
    let mut titled = String::with_capacity(string.len());
    let mut inside = false;
    for character in string.chars() {
        match inside {
            true => titled.extend(character.to_lowercase()),
            false => titled.extend(character.to_uppercase()),
        }
        inside = character.is_lowercase() || character.is_uppercase();
    }
    titled
}

fn pad(string: &str, name: &str, arguments: &[Value]) -> Result<Value, Error> {
    let (width, fill): (usize, Option<char>) = from_args(arguments)?;
    if width > MAX_PADDING {
        return Err(Error::new(
            ErrorKind::InvalidOperation,
            format!("width {width} is more than {MAX_PADDING}"),
        ));
    }
    let missing = width.saturating_sub(string.chars().count());
    let fill = fill.unwrap_or(if name == "zfill" { '0' } else { ' ' });
    // CPython puts the odd character on the left only where the width is odd.
    let left = match name {
        "ljust" => 0,
        "center" => missing / 2 + (missing & width & 1),
        _ => missing,
    };
    let run = |length: usize| std::iter::repeat_n(fill, length).collect::<String>();
    let (sign, digits) = match string.strip_prefix(['-', '+']).filter(|_| name == "zfill") {
        Some(digits) => string.split_at(string.len() - digits.len()),
        None => ("", string),
    };
    Ok(Value::from(format!("{sign}{}{digits}{}", run(left), run(missing - left))))
}

fn list_method(list: &Value, name: &str, arguments: &[Value]) -> Result<Option<Value>, Error> {
    Ok(match name {
        "index" => Some(list_index(list, arguments)?),
        "copy" => Some(list.try_iter()?.checked().collect::<Result<Vec<_>, _>>()?.into()),
        _ => None,
    })
}

fn list_index(list: &Value, arguments: &[Value]) -> Result<Value, Error> {
    let (wanted,): (&Value,) = from_args(arguments)?;
    for (index, item) in list.try_iter()?.checked().enumerate() {
        if item? == *wanted {
            return Ok(Value::from(index));
        }
    }
    Err(Error::new(ErrorKind::InvalidOperation, format!("{} is not in list", repr(wanted)?)))
}

/// A template cannot change a dict, so its copy is itself.
fn dict_method(dict: &Value, name: &str, arguments: &[Value]) -> Result<Option<Value>, Error> {
    if name != "copy" {
        return Ok(None);
    }
    let () = from_args(arguments)?;
    Ok(Some(dict.clone()))
}
