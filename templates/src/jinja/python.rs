//! Prints values, and splits and pads texts, as Python does.

use std::borrow::Cow;
use std::fmt::Write;

use minijinja::Error;
use minijinja::value::{Value, ValueKind, from_args};

use super::ledger::{excess, refusal};
use super::limits::{NESTING, TEXT_BYTES};
use super::{generator, number, range};

/// The width to which a template may pad a text.
const MAX_PADDING: usize = 1 << 16;

/// Prints a value as `str(value)`.
pub(super) fn text(value: &Value) -> Result<String, Error> {
    match value.kind() {
        ValueKind::Number => Ok(number::repr(value)),
        ValueKind::Iterable if generator::is_generator(value) => Ok(value.to_string()),
        ValueKind::Seq if range::is_range(value) => Ok(value.to_string()),
        ValueKind::Map if is_namespace(value) => Ok(format!("<Namespace {}>", repr(value)?)),
        ValueKind::Seq | ValueKind::Map | ValueKind::Iterable | ValueKind::Bytes => repr(value),
        _ => Ok(value.to_string()),
    }
}

/// Returns whether a value is a `namespace`.
pub(super) fn is_namespace(value: &Value) -> bool {
    value.as_object().is_some_and(|object| object.type_name().contains("Namespace"))
}

/// Prints a value as `str(value)`, without copying a text.
pub(super) fn printed(value: &Value) -> Result<Cow<'_, str>, Error> {
    match (value.kind(), value.as_str()) {
        (ValueKind::String, Some(text)) => Ok(Cow::Borrowed(text)),
        _ => text(value).map(Cow::Owned),
    }
}

/// Escapes HTML as `markupsafe.escape`.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '\'' => escaped.push_str("&#39;"),
            '"' => escaped.push_str("&#34;"),
            character => escaped.push(character),
        }
    }
    escaped
}

/// Prints a value as `repr(value)`.
pub(super) fn repr(value: &Value) -> Result<String, Error> {
    let mut text = String::new();
    write_repr(&mut text, value, 0)?;
    Ok(text)
}

fn write_repr(text: &mut String, value: &Value, depth: usize) -> Result<(), Error> {
    if depth > NESTING {
        return Err(refusal(format!("values nest deeper than {NESTING} levels")));
    }
    match value.kind() {
        ValueKind::Undefined => text.push_str("Undefined"),
        // Written in place, because lists of numbers may be long.
        ValueKind::Number if value.is_integer() => {
            write!(text, "{value}").map_err(|error| refusal(error.to_string()))?;
        }
        ValueKind::Number => text.push_str(&number::repr(value)),
        ValueKind::Seq if range::is_range(value) => text.push_str(&value.to_string()),
        ValueKind::Map => write_map(text, value, depth)?,
        ValueKind::Seq | ValueKind::Iterable => write_list(text, value, depth)?,
        ValueKind::String => write_string(text, value.as_str().unwrap_or_default()),
        ValueKind::Bytes => write_bytes(text, value.as_bytes().unwrap_or_default()),
        ValueKind::Bool | ValueKind::None => text.push_str(&format!("{value:?}")),
        _ => text.push_str(&value.to_string()),
    }
    if text.len() > TEXT_BYTES {
        return Err(excess(format!("a value prints as more than {TEXT_BYTES} bytes")));
    }
    Ok(())
}

/// Writes a text in single quotes, or in double quotes if it contains single ones and no double ones.
fn write_string(text: &mut String, string: &str) {
    let quote = if string.contains('\'') && !string.contains('"') { '"' } else { '\'' };
    text.push(quote);
    for character in string.chars() {
        match character {
            '\\' => text.push_str("\\\\"),
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            '\t' => text.push_str("\\t"),
            character if character == quote => text.extend(['\\', quote]),
            character if is_printable(character) => text.push(character),
            character => write_code(text, character),
        }
    }
    text.push(quote);
}

fn write_code(text: &mut String, character: char) {
    let code = u32::from(character);
    text.push_str(&match code {
        0..=0xff => format!("\\x{code:02x}"),
        0x100..=0xffff => format!("\\u{code:04x}"),
        _ => format!("\\U{code:08x}"),
    });
}

fn write_bytes(text: &mut String, bytes: &[u8]) {
    let quote = if bytes.contains(&b'\'') && !bytes.contains(&b'"') { '"' } else { '\'' };
    text.extend(['b', quote]);
    for byte in bytes {
        match char::from(*byte) {
            '\\' => text.push_str("\\\\"),
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            '\t' => text.push_str("\\t"),
            character if character == quote => text.extend(['\\', quote]),
            character @ ' '..='~' => text.push(character),
            _ => text.push_str(&format!("\\x{byte:02x}")),
        }
    }
    text.push(quote);
}

/// Returns `str.isprintable` of a character: false for control, format, private and separating characters except the space.
///
/// Characters that Unicode has not assigned count as printable.
fn is_printable(character: char) -> bool {
    !matches!(
        character,
        '\0'..='\u{1f}'
            | '\u{7f}'..='\u{a0}'
            | '\u{ad}'
            | '\u{600}'..='\u{605}'
            | '\u{61c}'
            | '\u{6dd}'
            | '\u{70f}'
            | '\u{890}'..='\u{891}'
            | '\u{8e2}'
            | '\u{1680}'
            | '\u{180e}'
            | '\u{2000}'..='\u{200f}'
            | '\u{2028}'..='\u{202f}'
            | '\u{205f}'..='\u{206f}'
            | '\u{3000}'
            | '\u{e000}'..='\u{f8ff}'
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{110bd}'
            | '\u{110cd}'
            | '\u{13430}'..='\u{1343f}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0001}'
            | '\u{e0020}'..='\u{e007f}'
            | '\u{f0000}'..='\u{10ffff}'
    )
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

/// Returns Python's `str.isspace` of a character: true for Unicode's white space and four ASCII separators.
pub(super) fn is_space(character: char) -> bool {
    character.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&character)
}

/// Splits a text into lines as `str.splitlines` does.
pub(super) fn lines(text: &str) -> Vec<&str> {
    lines_and_ends(text).into_iter().map(|(line, _)| line).collect()
}

/// Splits a text into lines with their ends. Python has more line ends than the line feed, and `\r\n` is one of them.
pub(super) fn lines_and_ends(text: &str) -> Vec<(&str, &str)> {
    let mut lines = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let length = rest.find(ends_line).unwrap_or(rest.len());
        let (line, tail) = rest.split_at(length);
        let end = if tail.starts_with("\r\n") { 2 } else { tail.chars().next().map_or(0, char::len_utf8) };
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

/// Pads a text as `str.center`, `ljust`, `rjust` and `zfill` do.
pub(super) fn pad(string: &str, name: &str, arguments: &[Value]) -> Result<Value, Error> {
    let (width, fill): (usize, Option<char>) = from_args(arguments)?;
    if width > MAX_PADDING {
        return Err(refusal(format!("width {width} is more than {MAX_PADDING}")));
    }
    let missing = width.saturating_sub(string.chars().count());
    let fill = fill.unwrap_or(if name == "zfill" { '0' } else { ' ' });
    // CPython puts the odd character on the left only where the width is odd.
    let left = match name {
        "ljust" => 0,
        "center" => missing / 2 + (missing & width & 1),
        _ => missing,
    };
    let (sign, digits) = match string.strip_prefix(['-', '+']).filter(|_| name == "zfill") {
        Some(digits) => string.split_at(string.len() - digits.len()),
        None => ("", string),
    };
    let mut padded = sign.to_owned();
    padded.extend(std::iter::repeat_n(fill, left));
    padded.push_str(digits);
    padded.extend(std::iter::repeat_n(fill, missing - left));
    Ok(Value::from(padded))
}
