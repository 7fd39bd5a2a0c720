//! Values as models write them in calls: JSON, Python literals, Gemma's own. Knows values, not calls.
//!
//! Three notations differ in how they quote and in what they name, so one reader takes the difference as data. No
//! digit of a whole number is lost: one that does not fit into 64 bits, and a number beyond a double's range, becomes
//! the string of its digits. Other numbers are the nearest double, as in every reader of JSON.

use serde_json::{Map, Number, Value};

/// How values are written.
#[derive(Debug, PartialEq)]
pub(crate) struct Notation {
    /// What errors call it.
    pub(crate) name: &'static str,
    /// What strings stand in, the longest first.
    pub(crate) quotes: &'static [&'static str],
    /// What a backslash does in a string.
    pub(crate) escapes: Escapes,
    /// Words for true, false and nothing.
    pub(crate) words: &'static [(&'static str, Word)],
    /// The key of an object may stand without quotes.
    pub(crate) bare_keys: bool,
}

/// What a backslash does in a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Escapes {
    /// Nothing.
    None,
    /// What JSON says.
    Json,
    /// What Python says.
    Python,
}

/// What a word stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Word {
    True,
    False,
    Null,
}

/// JSON (RFC 8259); strings may contain line breaks as they are, which models write.
pub(crate) static JSON: Notation = Notation {
    name: "JSON",
    quotes: &["\""],
    escapes: Escapes::Json,
    words: &[("true", Word::True), ("false", Word::False), ("null", Word::Null)],
    bare_keys: false,
};

/// Python's literals, and JSON's words, which templates print among them.
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

/// Says whether a field of data is left out.
#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
pub(super) fn is_false(value: &bool) -> bool {
    !value
}

/// Nested deeper than this, a value is refused: readers call themselves.
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

    /// Returns what is not read yet.
    pub(crate) fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// Returns how many bytes are read.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// Says whether an object begins at `place`.
    pub(crate) fn begins_object(&self, place: usize) -> bool {
        self.text.get(place..).is_some_and(|text| text.starts_with('{'))
    }

    /// Says that something else was expected here.
    pub(crate) fn expected<T>(&self, what: &str) -> Result<T, String> {
        let name = self.notation.name;
        match self.rest().chars().next() {
            Some(found) => {
                Err(format!("not valid {name}: expected {what} at byte {}, not {found:?}", self.at))
            }
            None => Err(format!("not valid {name}: expected {what} at the end")),
        }
    }

    /// Passes over white space, and over Python's comments.
    pub(crate) fn space(&mut self) {
        self.at = self.text.len() - self.behind_space().len();
    }

    fn behind_space(&self) -> &'t str {
        let mut rest = self.rest().trim_start();
        while self.notation.escapes == Escapes::Python && rest.starts_with('#') {
            rest = rest.split_once('\n').map_or("", |(_, next)| next.trim_start());
        }
        rest
    }

    /// Passes over `token`, and white space before it, if it stands here.
    pub(crate) fn takes(&mut self, token: &str) -> bool {
        let rest = self.behind_space();
        let found = rest.starts_with(token);
        if found {
            self.at = self.text.len() - rest.len() + token.len();
        }
        found
    }

    /// Passes over `token`.
    pub(crate) fn take(&mut self, token: &str) -> Result<(), String> {
        self.space();
        if self.takes(token) { Ok(()) } else { self.expected(&format!("`{token}`")) }
    }

    /// Says whether nothing but white space is left.
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

    /// Reads `key: value, …` between two brackets, in order; a key that comes twice is an error.
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

    /// Reads the key of a field. Python's may be numbers, which JSON has as text.
    pub(crate) fn key(&mut self) -> Result<String, String> {
        self.space();
        if self.quote().is_some() {
            return self.string();
        }
        let python = self.notation.escapes == Escapes::Python;
        if python && self.rest().starts_with(|first: char| first.is_ascii_digit() || first == '-') {
            return self.number().map(|number| number.as_str().map_or(number.to_string(), str::to_owned));
        }
        let is_bare = |symbol: char| is_name(symbol) || symbol == ' ';
        let key =
            if self.notation.bare_keys { self.word(is_bare).trim_end().to_owned() } else { String::new() };
        if key.is_empty() { self.expected("a key") } else { Ok(key) }
    }

    /// Passes over the comma before what comes next, if not `close` does.
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

    /// Reads what a type is called with: an object, with the type's name as `__type__`, as LiteRT-LM has it.
    fn object_of(&mut self, name: &str) -> Result<Map<String, Value>, String> {
        let fields = Map::from_iter([("__type__".to_owned(), name.into())]);
        self.take("(")?;
        self.parameters(fields)
    }

    /// Reads `a=1, b=2)` into `fields`; a name that comes twice is an error.
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

    /// Returns the quotation mark that stands here.
    fn quote(&self) -> Option<&'static str> {
        self.notation.quotes.iter().copied().find(|quote| self.rest().starts_with(quote))
    }

    /// Reads a string; Python's strings that stand side by side are one.
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

    /// Reads what follows a backslash. A backslash that means nothing stays, as Python has it; in JSON it is an error.
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

    /// Reads `\u` and its digits; beyond the first plane it takes two of them.
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

/// What names of functions, parameters and words are made of.
pub(crate) fn is_name(symbol: char) -> bool {
    symbol.is_alphanumeric() || "_-.".contains(symbol)
}

/// Reads a number as JSON or Python writes it. See the head of this file for what does not fit.
fn number(text: &str) -> Option<Value> {
    let digits = text.replace('_', "");
    let unsigned = digits.trim_start_matches(['+', '-']);
    let plain = digits.trim_start_matches('+');
    if digits.len() > unsigned.len() + 1 || !unsigned.contains(|symbol: char| symbol.is_ascii_digit()) {
        return None;
    }
    if unsigned.bytes().all(|digit| digit.is_ascii_digit()) {
        let leading_zero = unsigned.len() > 1 && unsigned.starts_with('0');
        let fits = || plain.parse().map(i64::into).or_else(|_| plain.parse().map(u64::into)).ok();
        return (!leading_zero).then(|| fits().map_or_else(|| plain.into(), Value::Number));
    }
    if !unsigned.starts_with(|symbol: char| symbol.is_ascii_digit() || symbol == '.')
        || unsigned.contains(['x', 'X'])
    {
        return None;
    }
    let double: f64 = plain.parse().ok()?;
    Some(Number::from_f64(double).map_or_else(|| plain.into(), Value::Number))
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
    fn pythons_comments_are_passed_over() {
        let text = "{ # it's\n'a': '# no', # and \"\n 1: [2, # two\n]}";
        assert_eq!(Reader::new(text, &PYTHON).value(), Ok(json!({"a": "# no", "1": [2]})));
        assert!(Reader::new("{\"a\": 1 # one\n}", &JSON).value().is_err());
    }

    #[test]
    fn strings_are_what_json_says() {
        let string = |text: &str| Reader::new(text, &JSON).value();
        assert_eq!(string(r#""\ud83d\ude00 \u00e9 \/ \\""#), Ok(json!("😀 é / \\")));
        for text in [r#""\ud83d""#, r#""\q""#, r#""\u00g0""#, r#""a"#, "\"\\"] {
            assert!(string(text).is_err(), "{text}");
        }
    }

    #[test]
    fn deep_nesting_is_refused() {
        assert!(Reader::new(&"[".repeat(100_000), &JSON).value().is_err());
    }
}
