//! Filters on texts that the engine lacks or implements differently.
//!
//! Reference: `jinja2/filters.py` and `jinja2/utils.py` of Jinja2 3.1.

use minijinja::value::{DynObject, Kwargs, Rest, Value, ValueKind, ValueOrKwargs};
use minijinja::{Environment, Error, ErrorKind, State};

use super::arguments::Arguments;
use super::ledger::{self, excess, record, refusal, reserve};
use super::limits::{Limits, TEXT_BYTES};
use super::{filters, percent, python};

pub(super) fn add_to(environment: &mut Environment<'_>, limits: Limits) {
    environment.add_filter(
        "format",
        move |state: &mut State<'_, '_>, format: &Value, positional: Rest<Value>, named: Kwargs| {
            let values = if positional.is_empty() {
                named.into()
            } else {
                Value::from(minijinja::value::Tuple::from(positional.to_vec()))
            };
            let text = percent::format(&python::printed(format)?, &values, limits.output_bytes)?;
            record(state, limits, Value::from(text))
        },
    );
    for name in ["e", "escape"] {
        environment.add_filter(name, move |state: &mut State<'_, '_>, value: &Value| {
            if value.is_safe() { Ok(value.clone()) } else { escape(state, limits, value) }
        });
    }
    environment.add_filter("forceescape", move |state: &mut State<'_, '_>, value: &Value| {
        escape(state, limits, value)
    });
    environment.add_filter("urlencode", move |state: &mut State<'_, '_>, value: &Value| {
        let bytes = ledger::weigh(state, limits, value)?;
        ledger::characters(state, limits, bytes)?;
        let text = urlencode(value)?;
        reserve(state, limits, text.len())?;
        record(state, limits, Value::from(text))
    });
    environment.add_filter("filesizeformat", filesizeformat);
    let others = [
        ("truncate", Value::from_function(truncate)),
        ("wordcount", Value::from_function(wordcount)),
        ("wordwrap", Value::from_function(wordwrap)),
        ("center", Value::from_function(center)),
        ("xmlattr", Value::from_function(xmlattr)),
        ("striptags", Value::from_function(striptags)),
    ];
    filters::add_measured(environment, limits, others);
}

fn escape(state: &mut State<'_, '_>, limits: Limits, value: &Value) -> Result<Value, Error> {
    let text = python::printed(value)?;
    ledger::search(state, limits, text.len())?;
    reserve(state, limits, text.len().saturating_mul(2))?;
    record(state, limits, Value::from_safe_string(python::escape(&text)))
}

/// Quotes a text, or the pairs of a dict or a list, for a URL.
fn urlencode(value: &Value) -> Result<String, Error> {
    let pairs: Vec<(Value, Value)> = match value.kind() {
        ValueKind::Map => {
            value.as_object().and_then(DynObject::try_iter_pairs).into_iter().flatten().collect()
        }
        ValueKind::Seq | ValueKind::Iterable => value
            .try_iter()?
            .map(|pair| Ok((pair.get_item_by_index(0)?, pair.get_item_by_index(1)?)))
            .collect::<Result<_, Error>>()?,
        _ => return Ok(quoted(&python::text(value)?, "/")),
    };
    let mut text = Vec::new();
    for (key, value) in pairs {
        let pair = format!("{}={}", quoted(&python::text(&key)?, ""), quoted(&python::text(&value)?, ""));
        text.push(pair.replace("%20", "+"));
    }
    Ok(text.join("&"))
}

fn quoted(text: &str, safe: &str) -> String {
    let mut written = String::with_capacity(text.len());
    for byte in text.bytes() {
        let character = char::from(byte);
        if character.is_ascii_alphanumeric() || "_.-~".contains(character) || safe.contains(character) {
            written.push(character);
        } else {
            written.push_str(&format!("%{byte:02X}"));
        }
    }
    written
}

/// `truncate(length=255, killwords=false, end="...", leeway=5)`.
fn truncate(value: &Value, arguments: Rest<ValueOrKwargs>) -> Result<Value, Error> {
    let arguments = Arguments::new(arguments);
    let length = size(arguments.get(0, "length")?, 255)?;
    let cut_words = arguments.is_true(1, "killwords")?;
    let end = arguments.get(2, "end")?.map_or_else(|| "...".to_owned(), |end| end.to_string());
    let leeway = size(arguments.get(3, "leeway")?.filter(|leeway| !leeway.is_none()), 5)?;
    arguments.finish(4)?;
    let text = python::text(value)?;
    let end_length = end.chars().count();
    let Some(kept) = length.checked_sub(end_length) else {
        return Err(refusal(format!("expected length >= {end_length}, got {length}")));
    };
    if text.chars().count() <= length.saturating_add(leeway) {
        return Ok(Value::from(text));
    }
    let kept: String = text.chars().take(kept).collect();
    let kept = match kept.rsplit_once(' ').filter(|_| !cut_words) {
        Some((words, _)) => words,
        None => &kept,
    };
    Ok(Value::from(format!("{kept}{end}")))
}

fn size(value: Option<Value>, default: usize) -> Result<usize, Error> {
    value.map_or(Ok(default), usize::try_from)
}

/// Counts words: runs of letters, digits and underscores.
fn wordcount(value: &Value) -> Result<usize, Error> {
    let text = python::text(value)?;
    Ok(text.split(|character: char| !super::tags::is_word(character)).filter(|word| !word.is_empty()).count())
}

/// `wordwrap(width=79, break_long_words=true, wrapstring="\n", break_on_hyphens=true)`. Lines break at spaces only.
fn wordwrap(value: &Value, arguments: Rest<ValueOrKwargs>) -> Result<Value, Error> {
    let arguments = Arguments::new(arguments);
    let width = size(arguments.get(0, "width")?, 79)?.max(1);
    let breaks = arguments.get(1, "break_long_words")?.is_none_or(|breaks| breaks.is_true());
    let wrap = arguments.get(2, "wrapstring")?.filter(|wrap| !wrap.is_none());
    let wrap = wrap.map_or_else(|| "\n".to_owned(), |wrap| wrap.to_string());
    arguments.get(3, "break_on_hyphens")?;
    arguments.finish(4)?;
    let text = python::text(value)?;
    let most = text.len().saturating_mul(wrap.len().saturating_add(1));
    if most > TEXT_BYTES && wrap.len() > 1 {
        return Err(excess(format!("a wrapped text may take {most} bytes, more than {TEXT_BYTES}")));
    }
    let lines = python::lines(&text).into_iter().map(|line| wrapped(line, width, breaks).join(&wrap));
    Ok(Value::from(lines.collect::<Vec<_>>().join(&wrap)))
}

fn wrapped(line: &str, width: usize, breaks: bool) -> Vec<String> {
    let mut lines = Vec::new();
    let mut current = String::new();
    let mut length = 0;
    for word in line.split_inclusive(' ') {
        let bare = word.trim_end_matches(' ').chars().count();
        if length > 0 && length + bare > width {
            lines.push(std::mem::take(&mut current).trim_end_matches(' ').to_owned());
            length = 0;
        }
        for character in word.chars() {
            if breaks && length >= width && character != ' ' {
                lines.push(std::mem::take(&mut current));
                length = 0;
            }
            current.push(character);
            length += 1;
        }
    }
    let last = current.trim_end_matches(' ');
    if !last.is_empty() {
        lines.push(last.to_owned());
    }
    lines
}

/// `center(width=80)`.
fn center(value: &Value, width: Option<Value>) -> Result<Value, Error> {
    let width = width.unwrap_or_else(|| Value::from(80));
    python::pad(&python::text(value)?, "center", &[width])
}

/// `filesizeformat(binary=false)`.
fn filesizeformat(value: &Value, binary: Option<bool>) -> Result<String, Error> {
    let bytes = match value.as_str() {
        Some(text) => text.trim().parse().map_err(|_| refusal(format!("{text:?} is not a number")))?,
        None => f64::try_from(value.clone())?,
    };
    let (base, units) = if binary.unwrap_or(false) {
        (1024.0, ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "ZiB", "YiB"])
    } else {
        (1000.0, ["kB", "MB", "GB", "TB", "PB", "EB", "ZB", "YB"])
    };
    if bytes < base {
        return Ok(if bytes == 1.0 { "1 Byte".to_owned() } else { format!("{} Bytes", bytes.trunc()) });
    }
    let mut scaled = bytes / base;
    let mut units = units.into_iter().peekable();
    let mut unit = units.next().unwrap_or_default();
    while scaled >= base && units.peek().is_some() {
        scaled /= base;
        unit = units.next().unwrap_or(unit);
    }
    Ok(format!("{scaled:.1} {unit}"))
}

/// `xmlattr(autospace=true)`.
fn xmlattr(value: &Value, autospace: Option<bool>) -> Result<String, Error> {
    let pairs =
        value.as_object().filter(|_| value.kind() == ValueKind::Map).and_then(DynObject::try_iter_pairs);
    let pairs = pairs.ok_or_else(|| Error::new(ErrorKind::InvalidOperation, "xmlattr needs a dict"))?;
    let mut attributes = Vec::new();
    for (key, value) in pairs.filter(|(_, value)| !value.is_none() && !value.is_undefined()) {
        let key = python::text(&key)?;
        if key.contains([' ', '\t', '\n', '\r', '\u{b}', '\u{c}', '/', '>', '=']) {
            return Err(refusal(format!("invalid character in attribute name: {key:?}")));
        }
        attributes.push(format!("{}=\"{}\"", python::escape(&key), python::escape(&python::text(&value)?)));
    }
    let text = attributes.join(" ");
    Ok(if autospace.unwrap_or(true) && !text.is_empty() { format!(" {text}") } else { text })
}

/// Removes comments and tags, joins runs of white space and reads the five entities of XML.
fn striptags(value: &Value) -> Result<String, Error> {
    let text = python::text(value)?;
    let text = without(&without(&text, "<!--", "-->"), "<", ">");
    let words: Vec<_> = text.split(python::is_space).filter(|word| !word.is_empty()).collect();
    let mut text = words.join(" ");
    for (entity, character) in
        [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#34;", "\""), ("&#39;", "'"), ("&amp;", "&")]
    {
        text = text.replace(entity, character);
    }
    Ok(text)
}

fn without(text: &str, open: &str, close: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(open) {
        let Some((_, tail)) = after.split_once(close) else { break };
        kept.push_str(before);
        rest = tail;
    }
    kept + rest
}
