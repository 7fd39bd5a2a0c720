//! The methods that Python's strings, lists and dicts have.
//!
//! These are the methods that minijinja lacks or implements differently; others are minijinja's own. Methods that change a
//! value (`append`, `update`, …) stay unknown, as Hugging Face's sandbox refuses them.
//!
//! Reference: "Text Sequence Type" of the Python 3 library reference.

use minijinja::value::{Tuple, Value, ValueKind, from_args};
use minijinja::{Error, State};
use minijinja_contrib::pycompat;

use super::arguments::Arguments;
use super::ledger::{self, record, refusal, reserve};
use super::limits::Limits;
use super::python::{is_space, lines, lines_and_ends, pad, repr};
use super::weight::ITEM_BYTES;
use super::{filters, lists};

/// Calls a method of a Python value.
pub(super) fn call(
    state: &mut State<'_, '_>,
    limits: Limits,
    value: &Value,
    name: &str,
    arguments: &[Value],
) -> Result<Value, Error> {
    let found = match value.kind() {
        ValueKind::String => bounded(state, limits, value, name, arguments)?,
        ValueKind::Seq | ValueKind::Iterable => list_method(value, name, arguments)?,
        ValueKind::Map => {
            let key = arguments.first().and_then(Value::as_str).unwrap_or_default();
            ledger::characters(state, limits, key.len())?;
            dict_method(value, name, arguments)?
        }
        _ => None,
    };
    let result = match found {
        Some(result) => result,
        None => pycompat::unknown_method_callback(state, value, name, arguments)?,
    };
    record(state, limits, result)
}

/// Calls a method of a text. If the result may be far larger than the text, there must be room for it.
fn bounded(
    state: &mut State<'_, '_>,
    limits: Limits,
    value: &Value,
    name: &str,
    arguments: &[Value],
) -> Result<Option<Value>, Error> {
    let string = value.as_str().unwrap_or_default();
    ledger::search(state, limits, string.len())?;
    match name {
        "replace" => {
            let (old, new, count): (&Value, &Value, Option<Value>) = from_args(arguments)?;
            filters::replace(state, limits, value, (old, new), count).map(Some)
        }
        "join" => {
            let (list,): (&Value,) = from_args(arguments)?;
            lists::joined(state, limits, list, string).map(|text| Some(Value::from(text)))
        }
        "format" => {
            let mut longest = widest(string)?;
            for argument in arguments {
                longest = longest.max(ledger::weigh(state, limits, argument)?);
            }
            let places = string.matches('{').count();
            reserve(state, limits, string.len().saturating_add(places.saturating_mul(longest)))?;
            Ok(None)
        }
        "title" | "swapcase" => {
            ledger::characters(state, limits, string.len())?;
            string_method(string, name, arguments)
        }
        "split" | "rsplit" | "splitlines" => {
            reserve(state, limits, pieces(string, arguments).saturating_mul(ITEM_BYTES))?;
            string_method(string, name, arguments)
        }
        _ => string_method(string, name, arguments),
    }
}

/// The largest number in a format.
const MAX_WIDTH: usize = 1 << 10;

/// Returns the largest number in a format. Refuses larger ones than [`MAX_WIDTH`], and widths that are another value, as in
/// `{:{}}`.
fn widest(format: &str) -> Result<usize, Error> {
    let mut widest = 0;
    let numbers = format.split(|character: char| !character.is_ascii_digit());
    for digits in numbers.filter(|digits| !digits.is_empty()) {
        match digits.parse() {
            Ok(width) if width <= MAX_WIDTH => widest = widest.max(width),
            _ => return Err(refusal(format!("width {digits} is more than {MAX_WIDTH}"))),
        }
    }
    let mut pieces = format.split('{').peekable();
    while let Some(piece) = pieces.next() {
        // `{:{}}` splits into `:` and `}}`: the first place is still open when the next begins.
        if !piece.contains('}') && piece.contains(':') && pieces.peek().is_some() {
            return Err(refusal("a format within a format is not supported".to_owned()));
        }
    }
    Ok(widest)
}

/// Returns the most pieces that a text is split into.
fn pieces(string: &str, arguments: &[Value]) -> usize {
    match arguments.first().and_then(Value::as_str) {
        Some(separator) => string.matches(separator).count() + 1,
        None => string.chars().filter(|character| is_space(*character)).count() + 1,
    }
}

fn string_method(string: &str, name: &str, arguments: &[Value]) -> Result<Option<Value>, Error> {
    let result = match name {
        "strip" => strip(string, Side::Both, arguments)?.into(),
        "lstrip" => strip(string, Side::Left, arguments)?.into(),
        "rstrip" => strip(string, Side::Right, arguments)?.into(),
        "removeprefix" => string.strip_prefix(from_args::<(&str,)>(arguments)?.0).unwrap_or(string).into(),
        "removesuffix" => string.strip_suffix(from_args::<(&str,)>(arguments)?.0).unwrap_or(string).into(),
        "startswith" => has_end(string, arguments, |text, end| text.starts_with(end))?,
        "endswith" => has_end(string, arguments, |text, end| text.ends_with(end))?,
        "partition" => partition(string, arguments)?,
        "rpartition" => rpartition(string, arguments)?,
        "split" => split(string, arguments, Side::Left)?,
        "rsplit" => split(string, arguments, Side::Right)?,
        "splitlines" => splitlines(string, arguments)?,
        "find" | "rfind" | "index" | "rindex" | "count" => search(string, name, arguments)?,
        "isspace" => (!string.is_empty() && string.chars().all(is_space)).into(),
        "swapcase" => string.chars().map(swap_case).collect::<String>().into(),
        "casefold" => casefold(string).into(),
        "title" => title(string).into(),
        "capitalize" => capitalize(string).into(),
        "expandtabs" => expandtabs(string, arguments)?,
        "encode" => encode(string, arguments)?,
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
    let mut stripped = string;
    if side != Side::Right {
        stripped = stripped.trim_start_matches(|character| is_stripped(character, characters));
    }
    if side != Side::Left {
        stripped = stripped.trim_end_matches(|character| is_stripped(character, characters));
    }
    Ok(stripped)
}

/// Returns whether a character is one of `characters`, or white space if these are not given.
fn is_stripped(character: char, characters: Option<&str>) -> bool {
    match characters {
        Some(characters) => characters.contains(character),
        None => is_space(character),
    }
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
        "" => Err(refusal("empty separator".to_owned())),
        separator => Ok(separator),
    }
}

/// `split(sep=none, maxsplit=-1)` from either end; without a separator at runs of white space.
fn split(string: &str, arguments: &[Value], from: Side) -> Result<Value, Error> {
    let arguments = Arguments::of(arguments.to_vec());
    let separator = arguments.get(0, "sep")?.filter(|separator| !separator.is_none());
    let most = arguments.get(1, "maxsplit")?.map_or(Ok(-1), i64::try_from)?;
    arguments.finish(2)?;
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let separator = match &separator {
        Some(separator) => separator.as_str().ok_or_else(|| refusal("must be str or None".to_owned()))?,
        None => return Ok(words(string, most, from).into_iter().map(Value::from).collect()),
    };
    if separator.is_empty() {
        return Err(refusal("empty separator".to_owned()));
    }
    let most = most.saturating_add(1);
    let pieces: Vec<_> = match from {
        Side::Right => string.rsplitn(most, separator).collect(),
        _ => string.splitn(most, separator).collect(),
    };
    Ok(in_order(pieces, from).into_iter().map(Value::from).collect())
}

fn in_order(mut pieces: Vec<&str>, from: Side) -> Vec<&str> {
    if from == Side::Right {
        pieces.reverse();
    }
    pieces
}

fn words(string: &str, most: usize, from: Side) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = string.trim_matches(is_space);
    while !rest.is_empty() {
        let cut = match from {
            _ if words.len() == most => None,
            Side::Right => rest.rsplit_once(is_space).map(|(before, word)| (word, before)),
            _ => rest.split_once(is_space),
        };
        let (word, tail) = cut.unwrap_or((rest, ""));
        words.push(word);
        rest = match from {
            Side::Right => tail.trim_end_matches(is_space),
            _ => tail.trim_start_matches(is_space),
        };
    }
    in_order(words, from)
}

/// `startswith` and `endswith`: checks the text between two positions for a prefix or suffix, or for one of a tuple.
fn has_end(string: &str, arguments: &[Value], has: fn(&str, &str) -> bool) -> Result<Value, Error> {
    let (ends, start, stop): (&Value, Option<i64>, Option<i64>) = from_args(arguments)?;
    let Some(part) = between(string, start, stop).map(|(_, part)| part) else {
        return Ok(Value::from(false));
    };
    if let Some(end) = ends.as_str() {
        return Ok(Value::from(has(part, end)));
    }
    for end in ends.try_iter()?.checked() {
        let end = end?;
        match end.as_str() {
            Some(end) if has(part, end) => return Ok(Value::from(true)),
            Some(_) => {}
            None => return Err(refusal(format!("must be str or a tuple of str, not {}", end.kind()))),
        }
    }
    Ok(Value::from(false))
}

/// Returns the text between two positions in characters, and how many characters precede it.
fn between(string: &str, start: Option<i64>, stop: Option<i64>) -> Option<(usize, &str)> {
    if start.is_none() && stop.is_none() {
        return Some((0, string));
    }
    let length = string.chars().count();
    let start = start.map_or(0, |position| from_start(position, length));
    let stop = stop.map_or(length, |position| from_start(position, length)).min(length);
    if start > stop {
        return None;
    }
    let part = string.get(byte_of(string, start)..byte_of(string, stop))?;
    Some((start, part))
}

/// Returns a position from the start. A negative one counts from the end.
fn from_start(position: i64, length: usize) -> usize {
    match usize::try_from(position) {
        Ok(position) => position,
        Err(_) => length.saturating_sub(usize::try_from(position.unsigned_abs()).unwrap_or(usize::MAX)),
    }
}

/// Returns the byte where the character at a position begins.
fn byte_of(string: &str, position: usize) -> usize {
    string.char_indices().nth(position).map_or(string.len(), |(byte, _)| byte)
}

fn splitlines(string: &str, arguments: &[Value]) -> Result<Value, Error> {
    let (keep_ends,): (Option<Value>,) = from_args(arguments)?;
    Ok(if keep_ends.is_some_and(|keep| keep.is_true()) {
        lines_and_ends(string).into_iter().map(|(line, end)| Value::from(format!("{line}{end}"))).collect()
    } else {
        lines(string).into_iter().map(Value::from).collect()
    })
}

/// `find`, `index`, `rfind`, `rindex` and `count`, with positions in characters. If the text is not found, `find` returns -1 and
/// `index` fails.
fn search(string: &str, name: &str, arguments: &[Value]) -> Result<Value, Error> {
    let (wanted, start, stop): (&str, Option<i64>, Option<i64>) = from_args(arguments)?;
    let part = between(string, start, stop);
    if name == "count" {
        return Ok(Value::from(part.map_or(0, |(_, part)| part.matches(wanted).count())));
    }
    let found = part.and_then(|(before, part)| {
        let byte = if name.starts_with('r') { part.rfind(wanted) } else { part.find(wanted) };
        part.get(..byte?).map(|skipped| before + skipped.chars().count())
    });
    match found {
        Some(position) => Ok(Value::from(position)),
        None if name.ends_with("find") => Ok(Value::from(-1)),
        None => Err(refusal(format!("substring {wanted:?} not found"))),
    }
}

/// Folds the case: lower case, and in addition `ß` becomes `ss` and the final sigma the common one.
fn casefold(string: &str) -> String {
    string.chars().flat_map(char::to_lowercase).collect::<String>().replace('ß', "ss").replace('ς', "σ")
}

fn capitalize(string: &str) -> String {
    let mut characters = string.chars();
    let first = characters.next().map(title_case).unwrap_or_default();
    first + &characters.as_str().to_lowercase()
}

/// Returns the title case of a character. It differs from upper case for ligatures and `ß`.
fn title_case(character: char) -> String {
    match character {
        'Ǆ' | 'ǅ' | 'ǆ' => "ǅ".to_owned(),
        'Ǉ' | 'ǈ' | 'ǉ' => "ǈ".to_owned(),
        'Ǌ' | 'ǋ' | 'ǌ' => "ǋ".to_owned(),
        'Ǳ' | 'ǲ' | 'ǳ' => "ǲ".to_owned(),
        'ß' => "Ss".to_owned(),
        character => character.to_uppercase().collect(),
    }
}

/// The widest tab.
const MAX_TAB: usize = 64;

fn expandtabs(string: &str, arguments: &[Value]) -> Result<Value, Error> {
    let (width,): (Option<usize>,) = from_args(arguments)?;
    let width = width.unwrap_or(8);
    if width > MAX_TAB {
        return Err(refusal(format!("width {width} is more than {MAX_TAB}")));
    }
    let mut expanded = String::with_capacity(string.len());
    let mut column = 0;
    for character in string.chars() {
        match character {
            '\t' if width > 0 => {
                let spaces = width - column % width;
                expanded.extend(std::iter::repeat_n(' ', spaces));
                column += spaces;
            }
            '\t' => {}
            '\n' | '\r' => {
                expanded.push(character);
                column = 0;
            }
            character => {
                expanded.push(character);
                column += 1;
            }
        }
    }
    Ok(Value::from(expanded))
}

fn encode(string: &str, arguments: &[Value]) -> Result<Value, Error> {
    let (encoding,): (Option<&str>,) = from_args(arguments)?;
    match encoding.unwrap_or("utf-8").to_lowercase().as_str() {
        "utf-8" | "utf8" => Ok(Value::from_bytes(string.as_bytes().to_vec())),
        "ascii" if string.is_ascii() => Ok(Value::from_bytes(string.as_bytes().to_vec())),
        other => Err(refusal(format!("encoding {other:?} is not supported, there are utf-8 and ascii"))),
    }
}

fn swap_case(character: char) -> String {
    if character.is_uppercase() {
        character.to_lowercase().collect()
    } else {
        character.to_uppercase().collect()
    }
}

/// Capitalizes every letter after a character without case, even after an apostrophe. The `title` filter differs.
fn title(string: &str) -> String {
    let mut titled = String::with_capacity(string.len());
    let mut inside = false;
    for character in string.chars() {
        if inside {
            titled.extend(character.to_lowercase());
        } else {
            titled.push_str(&title_case(character));
        }
        inside = character.is_lowercase() || character.is_uppercase();
    }
    titled
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
    Err(refusal(format!("{} is not in list", repr(wanted)?)))
}

/// Calls a method of a dict. The copy of a dict is the dict itself, because a template cannot change it.
fn dict_method(dict: &Value, name: &str, arguments: &[Value]) -> Result<Option<Value>, Error> {
    if name != "copy" {
        return Ok(None);
    }
    let () = from_args(arguments)?;
    Ok(Some(dict.clone()))
}
