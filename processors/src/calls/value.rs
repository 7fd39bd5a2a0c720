//! Reads values as models write them in calls: JSON, Python literals and Gemma's notation.
//!
//! The three notations differ only in their quotation marks and words, so there is one reader with a [`Notation`].
//!
//! No digit of a whole number is lost. A whole number of more than 64 bits becomes the string of its digits, as does a number
//! beyond the range of a double. Other numbers become the nearest double, as in every reader of JSON.

use serde_json::{Map, Number, Value};

/// How values are written.
#[derive(Debug, PartialEq)]
pub(crate) struct Notation {
    /// The name in errors.
    pub(crate) name: &'static str,
    /// The quotation marks, the longest first.
    pub(crate) quotes: &'static [&'static str],
    /// What a backslash does in a string.
    pub(crate) escapes: Escapes,
    /// The words for true, false and null.
    pub(crate) words: &'static [(&'static str, Word)],
    /// Whether the keys of objects may be without quotation marks.
    pub(crate) bare_keys: bool,
}

/// What a backslash does in a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Escapes {
    /// Nothing.
    None,
    /// The escapes of JSON.
    Json,
    /// The escapes of Python.
    Python,
}

/// The meaning of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Word {
    True,
    False,
    Null,
}

/// JSON (RFC 8259). Strings may contain unescaped line breaks, because models write these.
pub(crate) static JSON: Notation = Notation {
    name: "JSON",
    quotes: &["\""],
    escapes: Escapes::Json,
    words: &[("true", Word::True), ("false", Word::False), ("null", Word::Null)],
    bare_keys: false,
};

/// Python's literals. The words of JSON are read too, because templates print these among Python's.
pub(crate) static PYTHON: Notation = Notation {
    name: "Python",
    quotes: &["\"\"\"", "'''", "\"", "'"],
    escapes: Escapes::Python,
    words: &[
        ("True", Word::True),
        ("False", Word::False),
        ("None", Word::Null),
        ("true", Word::True),
        ("false", Word::False),
        ("null", Word::Null),
    ],
    bare_keys: false,
};

/// Returns whether a field is left out of serialized data.
#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
pub(super) fn is_false(value: &bool) -> bool {
    !value
}

/// Values that are nested more deeply are refused, because the reader is recursive.
const DEPTH: usize = 100;

/// Reads values from the beginning of a text on. Every error says what was expected, and where.
#[derive(Clone, Debug)]
pub(crate) struct Reader<'t> {
    text: &'t str,
    at: usize,
    depth: usize,
    notation: &'static Notation,
}

impl<'t> Reader<'t> {
    pub(crate) fn new(text: &'t str, notation: &'static Notation) -> Self {
        Self { text, at: 0, depth: 0, notation }
    }

    /// Returns the text that was not read yet.
    pub(crate) fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// Returns how many bytes were read.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// Returns whether an object begins at `place`.
    pub(crate) fn begins_object(&self, place: usize) -> bool {
        self.text.get(place..).is_some_and(|text| text.starts_with('{'))
    }

    /// Returns the error that something else was expected here.
    pub(crate) fn expected<T>(&self, what: &str) -> Result<T, String> {
        let name = self.notation.name;
        match self.rest().chars().next() {
            Some(found) => {
                Err(format!("not valid {name}: expected {what} at byte {}, not {found:?}", self.at))
            }
            None => Err(format!("not valid {name}: expected {what} at the end")),
        }
    }

    /// Skips white space, and comments in Python.
    pub(crate) fn space(&mut self) {
        self.at = self.text.len() - self.after_space().len();
    }

    fn after_space(&self) -> &'t str {
        let mut rest = self.rest().trim_start();
        while self.notation.escapes == Escapes::Python && rest.starts_with('#') {
            rest = rest.split_once('\n').map_or("", |(_, next)| next.trim_start());
        }
        rest
    }

    /// Skips `token` and the white space before it, if it is next. Returns whether it was.
    pub(crate) fn takes(&mut self, token: &str) -> bool {
        let rest = self.after_space();
        let found = rest.starts_with(token);
        if found {
            self.at = self.text.len() - rest.len() + token.len();
        }
        found
    }

    /// Skips `token`, which must be next.
    pub(crate) fn take(&mut self, token: &str) -> Result<(), String> {
        self.space();
        if self.takes(token) { Ok(()) } else { self.expected(&format!("`{token}`")) }
    }

    /// Returns whether only white space is left.
    pub(crate) fn is_done(&mut self) -> bool {
        self.space();
        self.rest().is_empty()
    }

    /// Reads characters as long as they are `kind`.
    pub(crate) fn word(&mut self, kind: impl Fn(char) -> bool) -> &'t str {
        let rest = self.rest();
        let end = rest.find(|symbol| !kind(symbol)).unwrap_or(rest.len());
        self.at += end;
        rest.get(..end).unwrap_or_default()
    }

    /// Reads any value.
    pub(crate) fn value(&mut self) -> Result<Value, String> {
        self.space();
        self.depth += 1;
        if self.depth > DEPTH {
            return Err(format!("values are nested deeper than {DEPTH}"));
        }
        let value = match self.rest().chars().next() {
            Some('{') => self.object("{", "}", ":").map(Value::Object),
            Some('[') => self.list("[", "]"),
            Some('(') if self.notation.escapes == Escapes::Python => self.list("(", ")"),
            Some('0'..='9' | '-' | '+' | '.') => self.number(),
            _ if self.quote().is_some() => self.string().map(Value::String),
            _ => self.named(),
        };
        self.depth -= 1;
        value
    }

    /// Reads `key: value, …` between two brackets, in order. A repeated key is an error.
    pub(crate) fn object(
        &mut self,
        open: &str,
        close: &str,
        colon: &str,
    ) -> Result<Map<String, Value>, String> {
        self.take(open)?;
        let mut fields = Map::new();
        while !self.takes(close) {
            let key = self.key()?;
            self.take(colon)?;
            let value = self.value()?;
            if fields.insert(key.clone(), value).is_some() {
                return Err(format!("{key:?} comes twice"));
            }
            self.comma(close)?;
        }
        Ok(fields)
    }

    /// Reads the key of a field. Numbers, which Python allows as keys, become text.
    pub(crate) fn key(&mut self) -> Result<String, String> {
        self.space();
        if self.quote().is_some() {
            return self.string();
        }
        let python = self.notation.escapes == Escapes::Python;
        if python && self.rest().starts_with(|first: char| first.is_ascii_digit() || first == '-') {
            return self.number().map(|number| number.as_str().map_or(number.to_string(), str::to_owned));
        }
        if !self.notation.bare_keys {
            return self.expected("a key");
        }
        let key = self.word(|symbol| is_name(symbol) || symbol == ' ').trim_end();
        if key.is_empty() { self.expected("a key") } else { Ok(key.to_owned()) }
    }

    /// Skips the comma before the next item; `close` may come instead.
    pub(crate) fn comma(&mut self, close: &str) -> Result<(), String> {
        self.space();
        if self.takes(",") || self.rest().starts_with(close) {
            return Ok(());
        }
        self.expected(&format!("`,` or `{close}`"))
    }

    fn list(&mut self, open: &str, close: &str) -> Result<Value, String> {
        self.take(open)?;
        let mut values = Vec::new();
        while !self.takes(close) {
            values.push(self.value()?);
            self.comma(close)?;
        }
        Ok(values.into())
    }

    fn named(&mut self) -> Result<Value, String> {
        let mut ahead = self.clone();
        let word = ahead.word(is_name);
        match self.notation.words.iter().find(|(name, _)| *name == word) {
            Some((_, meaning)) => {
                self.at = ahead.at;
                Ok(match meaning {
                    Word::True => Value::Bool(true),
                    Word::False => Value::Bool(false),
                    Word::Null => Value::Null,
                })
            }
            None if self.notation.escapes == Escapes::Python && ahead.rest().starts_with('(') => {
                self.at = ahead.at;
                self.object_of(word).map(Value::Object)
            }
            None => self.expected("a value"),
        }
    }

    /// Reads the call of a type, such as `Point(x=1)`, as an object with the type's name as `__type__`. LiteRT-LM does the same.
    fn object_of(&mut self, name: &str) -> Result<Map<String, Value>, String> {
        let fields = Map::from_iter([("__type__".to_owned(), name.into())]);
        self.take("(")?;
        self.parameters(fields)
    }

    /// Reads `a=1, b=2)` into `fields`. A repeated name is an error.
    pub(crate) fn parameters(
        &mut self,
        mut fields: Map<String, Value>,
    ) -> Result<Map<String, Value>, String> {
        while !self.takes(")") {
            self.space();
            let name = self.word(is_name).to_owned();
            if name.is_empty() || !self.takes("=") {
                return self.expected("an argument with a name");
            }
            let value = self.value()?;
            if fields.insert(name.clone(), value).is_some() {
                return Err(format!("{name:?} comes twice"));
            }
            self.comma(")")?;
        }
        Ok(fields)
    }

    fn number(&mut self) -> Result<Value, String> {
        let mut ahead = self.clone();
        let word = ahead.word(|symbol| symbol.is_ascii_alphanumeric() || "+-._".contains(symbol));
        let Some(value) = number(word) else {
            return self.expected("a number");
        };
        self.at = ahead.at;
        Ok(value)
    }

    /// Returns the quotation mark that is next.
    fn quote(&self) -> Option<&'static str> {
        self.notation.quotes.iter().copied().find(|quote| self.rest().starts_with(quote))
    }

    /// Reads a string. In Python, adjacent strings are one.
    pub(crate) fn string(&mut self) -> Result<String, String> {
        let mut string = String::new();
        loop {
            let Some(quote) = self.quote() else {
                return self.expected("a string");
            };
            self.at += quote.len();
            self.quoted(quote, &mut string)?;
            let mut ahead = self.clone();
            ahead.space();
            if self.notation.escapes != Escapes::Python || ahead.quote().is_none() {
                return Ok(string);
            }
            self.at = ahead.at;
        }
    }

    fn quoted(&mut self, quote: &str, string: &mut String) -> Result<(), String> {
        while let Some(symbol) = self.rest().chars().next() {
            if self.rest().starts_with(quote) {
                self.at += quote.len();
                return Ok(());
            }
            self.at += symbol.len_utf8();
            match symbol {
                '\\' if self.notation.escapes != Escapes::None => self.escape(string)?,
                symbol => string.push(symbol),
            }
        }
        self.expected(&format!("`{quote}`"))
    }

    /// Reads what follows a backslash. An unknown escape is kept as it is in Python, and is an error in JSON.
    fn escape(&mut self, string: &mut String) -> Result<(), String> {
        let Some(symbol) = self.rest().chars().next() else {
            return self.expected("an escape");
        };
        let python = self.notation.escapes == Escapes::Python;
        self.at += symbol.len_utf8();
        match symbol {
            '"' | '\\' => string.push(symbol),
            '/' if !python => string.push('/'),
            'n' => string.push('\n'),
            't' => string.push('\t'),
            'r' => string.push('\r'),
            'b' => string.push('\u{8}'),
            'f' => string.push('\u{c}'),
            'u' => string.push(self.unicode()?),
            '\'' if python => string.push('\''),
            '\n' if python => {}
            'x' if python => string.push(self.hex(2).and_then(char::from_u32).ok_or("a broken escape \\x")?),
            'U' if python => string.push(self.hex(8).and_then(char::from_u32).ok_or("a broken escape \\U")?),
            other if python => string.extend(['\\', other]),
            other => return Err(format!("not valid JSON: unknown escape \\{other}")),
        }
        Ok(())
    }

    fn hex(&mut self, digits: usize) -> Option<u32> {
        let text = self.rest().get(..digits)?;
        let number =
            text.bytes().all(|digit| digit.is_ascii_hexdigit()).then(|| u32::from_str_radix(text, 16));
        self.at += digits;
        number?.ok()
    }

    /// Reads the digits of `\u`. A character beyond the first plane has two such escapes: `\ud83d\ude00`.
    fn unicode(&mut self) -> Result<char, String> {
        let broken = "a broken escape \\u".to_owned();
        let first = self.hex(4).ok_or_else(|| broken.clone())?;
        if let Some(symbol) = char::from_u32(first) {
            return Ok(symbol);
        }
        let second = if self.rest().starts_with("\\u") {
            self.at += 2;
            self.hex(4)
        } else {
            None
        };
        let halves = [Some(first), second].into_iter().flatten().filter_map(|half| u16::try_from(half).ok());
        char::decode_utf16(halves).next().and_then(Result::ok).ok_or(broken)
    }
}

/// Returns whether a character may be in the name of a function, a parameter or a word.
pub(crate) fn is_name(symbol: char) -> bool {
    symbol.is_alphanumeric() || "_-.".contains(symbol)
}

/// Reads a number of JSON or Python. The head of this file describes numbers that do not fit.
fn number(text: &str) -> Option<Value> {
    let digits = text.replace('_', "");
    let unsigned = digits.trim_start_matches(['+', '-']);
    let plain = digits.trim_start_matches('+');
    if digits.len() > unsigned.len() + 1 || !unsigned.contains(|symbol: char| symbol.is_ascii_digit()) {
        return None;
    }
    if unsigned.bytes().all(|digit| digit.is_ascii_digit()) {
        if unsigned.len() > 1 && unsigned.starts_with('0') {
            return None;
        }
        return Some(whole_number(plain));
    }
    if !unsigned.starts_with(|symbol: char| symbol.is_ascii_digit() || symbol == '.')
        || unsigned.contains(['x', 'X'])
    {
        return None;
    }
    let double: f64 = plain.parse().ok()?;
    Some(Number::from_f64(double).map_or_else(|| plain.into(), Value::Number))
}

fn whole_number(digits: &str) -> Value {
    if let Ok(number) = digits.parse::<i64>() {
        return number.into();
    }
    if let Ok(number) = digits.parse::<u64>() {
        return number.into();
    }
    digits.into()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{JSON, PYTHON, Reader};

    #[test]
    fn no_digit_of_a_whole_number_is_lost() {
        let text =
            "[18446744073709551615, -9223372036854775808, 18446744073709551616, 1e400, 0.1, 1e3, -0.0]";
        let expected = json!([u64::MAX, i64::MIN, "18446744073709551616", "1e400", 0.1, 1000.0, -0.0]);
        assert_eq!(Reader::new(text, &JSON).value(), Ok(expected));
        for text in ["01", "1-2", "--1", "1x", "-", ".", "0x10", "1e"] {
            assert!(Reader::new(text, &JSON).value().is_err(), "{text}");
        }
    }

    #[test]
    fn pythons_literals_are_read() {
        let text = r#"{'a': (1, 2,), 'b': [True, None], "c": 'it\'s' ' one', 'd': '''"x"''', 'e': 1_000, 'f': "\x41\q"}"#;
        let expected =
            json!({"a": [1, 2], "b": [true, null], "c": "it's one", "d": "\"x\"", "e": 1000, "f": "A\\q"});
        assert_eq!(Reader::new(text, &PYTHON).value(), Ok(expected));
    }

    #[test]
    fn pythons_comments_are_skipped() {
        let text = "{ # it's\n'a': '# no', # and \"\n 1: [2, # two\n]}";
        assert_eq!(Reader::new(text, &PYTHON).value(), Ok(json!({"a": "# no", "1": [2]})));
        assert!(Reader::new("{\"a\": 1 # one\n}", &JSON).value().is_err());
    }

    #[test]
    fn strings_are_what_json_says() {
        let text = r#""\ud83d\ude00 \u00e9 \/ \\""#;
        assert_eq!(Reader::new(text, &JSON).value(), Ok(json!("😀 é / \\")));
        for text in [r#""\ud83d""#, r#""\q""#, r#""\u00g0""#, r#""a"#, "\"\\"] {
            assert!(Reader::new(text, &JSON).value().is_err(), "{text}");
        }
    }

    #[test]
    fn deep_nesting_is_refused() {
        assert!(Reader::new(&"[".repeat(100_000), &JSON).value().is_err());
    }
}
