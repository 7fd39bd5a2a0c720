//! Python's `%` between a text and the values for its places.
//!
//! Reference: "printf-style String Formatting" of the Python 3 library reference.

use minijinja::value::{Value, ValueKind};
use minijinja::{Error, ErrorKind};

use super::{number, python};

/// The largest width of a place, and the most digits of a number.
const MAX_WIDTH: usize = 1 << 10;

/// Fills in the places of `format` with the items of a tuple, the fields of a dict, or one value.
pub(super) fn format(format: &str, values: &Value, limit: usize) -> Result<String, Error> {
    let mut values = Values::of(values)?;
    let mut text = String::new();
    let mut rest = format;
    while let Some((plain, place)) = rest.split_once('%') {
        text.push_str(plain);
        let (place, after) = Place::read(place, &mut values)?;
        place.write(&mut text, &mut values)?;
        if text.len() > limit {
            return Err(error(&format!("the text has more than {limit} bytes")));
        }
        rest = after;
    }
    text.push_str(rest);
    if values.is_used() {
        Ok(text)
    } else {
        Err(error("not all arguments converted during string formatting"))
    }
}

struct Values {
    positional: Vec<Value>,
    next: usize,
    dict: Option<Value>,
    /// Whether the value may stay unused, because Python accepts it for lookups by key.
    may_rest: bool,
}

impl Values {
    fn of(values: &Value) -> Result<Self, Error> {
        let dict = Some(values.clone()).filter(|values| values.kind() == ValueKind::Map);
        let positional = if values.is_tuple() { values.try_iter()?.collect() } else { vec![values.clone()] };
        let may_rest = matches!(values.kind(), ValueKind::Map | ValueKind::Seq) && !values.is_tuple();
        Ok(Self { positional, next: 0, dict, may_rest })
    }

    fn take(&mut self) -> Result<Value, Error> {
        let value = self.positional.get(self.next).cloned();
        self.next += 1;
        value.ok_or_else(|| error("not enough arguments for format string"))
    }

    /// Returns whether all values were used. A dict may stay unused, and so may a list that is the only value.
    fn is_used(&self) -> bool {
        self.next >= self.positional.len() || self.may_rest
    }
}

#[derive(Default)]
struct Place {
    key: Option<String>,
    left: bool,
    zero: bool,
    sign: Option<char>,
    alternate: bool,
    width: usize,
    precision: Option<usize>,
    conversion: char,
}

impl Place {
    fn read<'a>(text: &'a str, values: &mut Values) -> Result<(Self, &'a str), Error> {
        let mut place = Self::default();
        let mut rest = text;
        if let Some(keyed) = rest.strip_prefix('(') {
            let (key, after) = keyed.split_once(')').ok_or_else(|| error("incomplete format key"))?;
            place.key = Some(key.to_owned());
            rest = after;
        }
        rest = place.flags(rest);
        (place.width, rest) = size(rest, values)?;
        if let Some(precision) = rest.strip_prefix('.') {
            let (digits, after) = size(precision, values)?;
            (place.precision, rest) = (Some(digits), after);
        }
        rest = rest.trim_start_matches(['h', 'l', 'L']);
        let mut characters = rest.chars();
        place.conversion = characters.next().ok_or_else(|| error("incomplete format"))?;
        Ok((place, characters.as_str()))
    }

    fn flags<'a>(&mut self, text: &'a str) -> &'a str {
        let mut rest = text;
        while let Some(flag) = rest.chars().next().filter(|flag| "-+ 0#".contains(*flag)) {
            match flag {
                '-' => self.left = true,
                '0' => self.zero = true,
                '#' => self.alternate = true,
                '+' => self.sign = Some('+'),
                _ => self.sign = self.sign.or(Some(' ')),
            }
            rest = rest.get(1..).unwrap_or_default();
        }
        rest
    }

    fn write(&self, text: &mut String, values: &mut Values) -> Result<(), Error> {
        if self.conversion == '%' {
            text.push('%');
            return Ok(());
        }
        let value = match (&self.key, &values.dict) {
            (Some(key), Some(dict)) => dict.get_item(&Value::from(key.as_str()))?,
            (Some(_), None) => return Err(error("format requires a mapping")),
            (None, _) => values.take()?,
        };
        let (sign, digits) = self.convert(&value)?;
        self.pad(text, sign, &digits);
        Ok(())
    }

    /// Returns the sign and the text after it.
    fn convert(&self, value: &Value) -> Result<(&'static str, String), Error> {
        match self.conversion {
            's' => Ok(("", self.cut(python::text(value)?))),
            'r' | 'a' => Ok(("", self.cut(python::repr(value)?))),
            'c' => Ok(("", character(value)?)),
            'd' | 'i' | 'u' => Ok(self.signed(truncated(value)?, |integer| integer.to_string())),
            'x' => Ok(self.signed(integer(value)?, |integer| self.prefixed("0x", format!("{integer:x}")))),
            'X' => Ok(self.signed(integer(value)?, |integer| self.prefixed("0X", format!("{integer:X}")))),
            'o' => Ok(self.signed(integer(value)?, |integer| self.prefixed("0o", format!("{integer:o}")))),
            'f' | 'F' | 'e' | 'E' | 'g' | 'G' => self.float(value),
            other => Err(error(&format!("unsupported format character {other:?}"))),
        }
    }

    fn cut(&self, text: String) -> String {
        match self.precision {
            Some(most) => text.chars().take(most).collect(),
            None => text,
        }
    }

    fn prefixed(&self, prefix: &str, digits: String) -> String {
        if self.alternate { format!("{prefix}{digits}") } else { digits }
    }

    fn signed(&self, integer: i128, digits: impl Fn(u128) -> String) -> (&'static str, String) {
        let digits = digits(integer.unsigned_abs());
        let missing = self.precision.unwrap_or(0).saturating_sub(digits.len());
        (self.sign_of(integer < 0), "0".repeat(missing) + &digits)
    }

    fn sign_of(&self, is_negative: bool) -> &'static str {
        if is_negative {
            return "-";
        }
        match self.sign {
            Some('+') => "+",
            Some(_) => " ",
            None => "",
        }
    }

    fn float(&self, value: &Value) -> Result<(&'static str, String), Error> {
        let number = float(value)?;
        let precision = self.precision.unwrap_or(6);
        let digits = match self.conversion.to_ascii_lowercase() {
            _ if number.is_nan() => "nan".to_owned(),
            _ if number.is_infinite() => "inf".to_owned(),
            'f' => format!("{:.precision$}", number.abs()),
            'e' => number::scientific(number.abs(), precision),
            _ => number::general(number.abs(), precision),
        };
        let digits = if self.conversion.is_ascii_uppercase() { digits.to_uppercase() } else { digits };
        Ok((self.sign_of(number.is_sign_negative() && !number.is_nan()), digits))
    }

    fn pad(&self, text: &mut String, sign: &str, digits: &str) {
        let missing = self.width.saturating_sub(sign.len() + digits.chars().count());
        let is_number = !matches!(self.conversion, 's' | 'r' | 'a' | 'c');
        if self.left {
            text.extend([sign, digits, &" ".repeat(missing)]);
        } else if self.zero && is_number {
            text.extend([sign, &"0".repeat(missing), digits]);
        } else {
            text.extend([&" ".repeat(missing), sign, digits]);
        }
    }
}

/// Reads a width or a precision: digits, or a star for the next value.
fn size<'a>(text: &'a str, values: &mut Values) -> Result<(usize, &'a str), Error> {
    let (size, rest) = match text.strip_prefix('*') {
        Some(rest) => (usize::try_from(values.take()?)?, rest),
        None => {
            let end = text.find(|digit: char| !digit.is_ascii_digit()).unwrap_or(text.len());
            let (digits, rest) = text.split_at(end);
            (digits.parse().unwrap_or(if digits.is_empty() { 0 } else { usize::MAX }), rest)
        }
    };
    if size > MAX_WIDTH {
        Err(error(&format!("width {size} is more than {MAX_WIDTH}")))
    } else {
        Ok((size, rest))
    }
}

fn character(value: &Value) -> Result<String, Error> {
    match value.as_str() {
        Some(text) if text.chars().count() == 1 => Ok(text.to_owned()),
        Some(_) => Err(error("%c requires int or char")),
        None => u32::try_from(value.clone())
            .ok()
            .and_then(char::from_u32)
            .map(String::from)
            .ok_or_else(|| error("%c requires int or char")),
    }
}

/// Returns an integer; a float loses its fraction.
fn truncated(value: &Value) -> Result<i128, Error> {
    match value.kind() {
        ValueKind::Number if !value.is_integer() => Ok(float(value)? as i128),
        _ => integer(value),
    }
}

fn integer(value: &Value) -> Result<i128, Error> {
    match value.kind() {
        ValueKind::Bool => Ok(i128::from(value.is_true())),
        ValueKind::Number if value.is_integer() => i128::try_from(value.clone()),
        kind => Err(error(&format!("a number is required, not {kind}"))),
    }
}

fn float(value: &Value) -> Result<f64, Error> {
    match value.kind() {
        ValueKind::Bool => Ok(f64::from(u8::from(value.is_true()))),
        ValueKind::Number => f64::try_from(value.clone()),
        kind => Err(error(&format!("must be real number, not {kind}"))),
    }
}

fn error(words: &str) -> Error {
    Error::new(ErrorKind::InvalidOperation, words.to_owned())
}
