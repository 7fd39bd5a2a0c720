//! `tojson` as Hugging Face defines it: Python's `json.dumps` without HTML escapes.
//!
//! Reference: the `json` module of Python 3 and the filter of `transformers.utils.chat_template_utils`.

use std::borrow::Cow;

use minijinja::value::{DynObject, ValueKind};
use minijinja::{Error, ErrorKind, Value};

use super::arguments::Arguments;
use super::dict::Dict;
use super::ledger::{excess, refusal};
use super::limits::{NESTING, TEXT_BYTES};
use super::number;

/// `tojson(value, ensure_ascii=false, indent=none, separators=none, sort_keys=false)`.
pub(super) fn tojson(value: &Value, arguments: Arguments) -> Result<Value, Error> {
    let style = Style::read(&arguments)?;
    arguments.finish(4)?;
    let mut writer = Writer { style, text: String::with_capacity(USUAL_BYTES), depth: 0 };
    writer.value(value)?;
    Ok(Value::from(writer.text))
}

/// The bytes that most values need at most.
const USUAL_BYTES: usize = 256;

struct Style {
    ascii: bool,
    indent: Option<String>,
    item_separator: String,
    key_separator: String,
    sort_keys: bool,
}

impl Style {
    fn read(arguments: &Arguments) -> Result<Self, Error> {
        let indent = indentation(arguments.get(1, "indent")?)?;
        let (item_separator, key_separator) =
            match arguments.get(2, "separators")?.filter(|pair| !pair.is_none()) {
                Some(pair) => separators(&pair)?,
                None if indent.is_some() => (",".to_owned(), ": ".to_owned()),
                None => (", ".to_owned(), ": ".to_owned()),
            };
        Ok(Self {
            ascii: arguments.is_true(0, "ensure_ascii")?,
            indent,
            item_separator,
            key_separator,
            sort_keys: arguments.is_true(3, "sort_keys")?,
        })
    }

    /// Returns whether a byte begins a character that needs an escape.
    fn escapes(&self, byte: u8) -> bool {
        byte < b' ' || matches!(byte, b'"' | b'\\') || (self.ascii && !byte.is_ascii())
    }
}

/// Returns the indentation: a number of spaces, or the text itself. With a number below one there are line breaks only.
fn indentation(value: Option<Value>) -> Result<Option<String>, Error> {
    let Some(value) = value.filter(|value| !value.is_none() && !value.is_undefined()) else {
        return Ok(None);
    };
    if let Some(text) = value.as_str() {
        return Ok(Some(text.to_owned()));
    }
    match i64::try_from(value)? {
        width if width > MAX_INDENTATION => {
            Err(refusal(format!("indentation {width} is more than {MAX_INDENTATION}")))
        }
        width => Ok(Some(" ".repeat(usize::try_from(width).unwrap_or(0)))),
    }
}

fn separators(pair: &Value) -> Result<(String, String), Error> {
    let both = pair.try_iter()?.checked().collect::<Result<Vec<_>, _>>()?;
    match both.as_slice() {
        [item, key] => Ok((item.to_string(), key.to_string())),
        _ => Err(Error::new(ErrorKind::InvalidOperation, format!("separators must be a pair, not {pair:?}"))),
    }
}

/// The widest indentation of a level.
const MAX_INDENTATION: i64 = 256;

struct Writer {
    style: Style,
    text: String,
    depth: usize,
}

impl Writer {
    fn value(&mut self, value: &Value) -> Result<(), Error> {
        match value.kind() {
            ValueKind::None => self.text.push_str("null"),
            ValueKind::Bool => self.text.push_str(if value.is_true() { "true" } else { "false" }),
            ValueKind::Number => self.text.push_str(&number::json(value)),
            ValueKind::String => self.string(value.as_str().unwrap_or_default()),
            ValueKind::Iterable if value.len().is_none() => return Err(unserialisable(value.kind())),
            ValueKind::Seq | ValueKind::Iterable => self.list(value)?,
            ValueKind::Map => self.map(value)?,
            kind => return Err(unserialisable(kind)),
        }
        if self.text.len() > TEXT_BYTES {
            Err(excess(format!("a value takes more than {TEXT_BYTES} bytes of JSON")))
        } else {
            Ok(())
        }
    }

    fn list(&mut self, list: &Value) -> Result<(), Error> {
        match list.downcast_object_ref::<Vec<Value>>() {
            Some(items) => self.items(items.iter().map(|item| Ok(Cow::Borrowed(item)))),
            None => self.items(list.try_iter()?.checked().map(|item| item.map(Cow::Owned))),
        }
    }

    fn items<'v>(&mut self, list: impl Iterator<Item = Result<Cow<'v, Value>, Error>>) -> Result<(), Error> {
        self.open('[')?;
        let mut items = 0;
        for item in list {
            self.item(items);
            self.value(&*item?)?;
            items += 1;
        }
        self.close(']', items);
        Ok(())
    }

    fn map(&mut self, map: &Value) -> Result<(), Error> {
        if let Some(dict) = map.downcast_object_ref::<Dict>().filter(|_| !self.style.sort_keys) {
            return self
                .pairs(dict.fields().iter().map(|(key, value)| (Cow::Borrowed(key), Cow::Borrowed(value))));
        }
        let mut pairs: Vec<_> =
            map.as_object().and_then(DynObject::try_iter_pairs).into_iter().flatten().collect();
        if self.style.sort_keys {
            pairs.sort_by(|(left, _), (right, _)| left.cmp(right));
        }
        self.pairs(pairs.into_iter().map(|(key, value)| (Cow::Owned(key), Cow::Owned(value))))
    }

    fn pairs<'v>(
        &mut self,
        pairs: impl Iterator<Item = (Cow<'v, Value>, Cow<'v, Value>)>,
    ) -> Result<(), Error> {
        self.open('{')?;
        let mut items = 0;
        for (key, value) in pairs {
            self.item(items);
            self.key(&key)?;
            self.text.push_str(&self.style.key_separator);
            self.value(&value)?;
            items += 1;
        }
        self.close('}', items);
        Ok(())
    }

    /// Writes a key. Numbers, booleans and none are written as values, in quotes.
    fn key(&mut self, key: &Value) -> Result<(), Error> {
        if key.as_str().is_some() {
            return self.value(key);
        }
        if !matches!(key.kind(), ValueKind::None | ValueKind::Bool | ValueKind::Number) {
            return Err(unserialisable(key.kind()));
        }
        self.text.push('"');
        self.value(key)?;
        self.text.push('"');
        Ok(())
    }

    fn open(&mut self, bracket: char) -> Result<(), Error> {
        self.text.push(bracket);
        self.depth += 1;
        if self.depth > NESTING {
            Err(Error::new(ErrorKind::InvalidOperation, format!("values nest deeper than {NESTING} levels")))
        } else {
            Ok(())
        }
    }

    fn item(&mut self, index: usize) {
        if index > 0 {
            self.text.push_str(&self.style.item_separator);
        }
        self.line();
    }

    fn close(&mut self, bracket: char, items: usize) {
        self.depth -= 1;
        if items > 0 {
            self.line();
        }
        self.text.push(bracket);
    }

    fn line(&mut self) {
        if let Some(indent) = &self.style.indent {
            self.text.push('\n');
            self.text.push_str(&indent.repeat(self.depth));
        }
    }

    /// Writes a string. Runs without an escape are copied at once.
    fn string(&mut self, string: &str) {
        self.text.push('"');
        let mut rest = string;
        while let Some(plain) = rest.bytes().position(|byte| self.style.escapes(byte)) {
            self.text.push_str(rest.get(..plain).unwrap_or_default());
            let mut characters = rest.get(plain..).unwrap_or_default().chars();
            if let Some(character) = characters.next() {
                self.character(character);
            }
            rest = characters.as_str();
        }
        self.text.push_str(rest);
        self.text.push('"');
    }

    fn character(&mut self, character: char) {
        match character {
            '"' => self.text.push_str("\\\""),
            '\\' => self.text.push_str("\\\\"),
            '\n' => self.text.push_str("\\n"),
            '\r' => self.text.push_str("\\r"),
            '\t' => self.text.push_str("\\t"),
            '\u{8}' => self.text.push_str("\\b"),
            '\u{c}' => self.text.push_str("\\f"),
            character if character < ' ' || (self.style.ascii && !character.is_ascii()) => {
                self.escape(character);
            }
            // json.dumps leaves DEL alone in both modes.
            character => self.text.push(character),
        }
    }

    /// Writes `\uXXXX`; a surrogate pair for characters beyond the first plane.
    fn escape(&mut self, character: char) {
        for unit in character.encode_utf16(&mut [0; 2]) {
            self.text.push_str(&format!("\\u{unit:04x}"));
        }
    }
}

fn unserialisable(kind: ValueKind) -> Error {
    Error::new(ErrorKind::InvalidOperation, format!("a value of type {kind} is not JSON serializable"))
}
