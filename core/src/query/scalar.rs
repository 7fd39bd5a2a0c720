//! Single values that metadata is compared with, and their order as bytes, which every store shares.

use serde_json::{Map, Number, Value};

use crate::media::Digest;
use crate::{Error, ErrorKind};

/// Longer strings compare by this many bytes, and beyond them by their digest, so that an index entry stays small.
const LONGEST: usize = 512;

/// The first byte of a value's key: values of two types never compare, and stand in this order.
const NULL: u8 = 1;
const BOOL: u8 = 2;
const NUMBER: u8 = 3;
const TEXT: u8 = 4;
const LIST: u8 = 5;
const OBJECT: u8 = 6;

/// A value that metadata is compared with: null, a truth value, a number or a string.
///
/// Numbers compare by what they are worth, exactly: `1` equals `1.0`. Strings compare by their characters as they
/// are; those beyond 512 bytes that begin alike stand in no particular order.
///
/// ```
/// use alloquy_core::query::Scalar;
///
/// assert_eq!(Scalar::from(1).key(), Scalar::from(1.0).key());
/// assert!(Scalar::from(-3).key() < Scalar::from(0.5).key());
/// assert!(Scalar::from(u64::MAX - 1).key() < Scalar::from(u64::MAX).key());
/// assert_ne!(Scalar::from(1).key(), Scalar::from("1").key());
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Scalar {
    /// JSON's null, which is a value: what is absent equals nothing.
    Null,
    /// A truth value.
    Bool(bool),
    /// A number.
    Number(Number),
    /// A string.
    Text(String),
}

impl Scalar {
    /// Returns bytes that stand in the order of the values, for the index of a store.
    pub fn key(&self) -> Vec<u8> {
        match self {
            Self::Null => vec![NULL],
            Self::Bool(value) => vec![BOOL, u8::from(*value)],
            Self::Number(number) => number_key(number),
            Self::Text(text) => text_key(text),
        }
    }

    /// Says whether two values can stand in an order.
    pub(super) fn is_of_type_of(&self, other: &Scalar) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }
}

/// Returns the key of any JSON value; a list or an object has one that says only what it is.
pub(super) fn key_of(value: &Value) -> Vec<u8> {
    match value {
        Value::Null => vec![NULL],
        Value::Bool(value) => vec![BOOL, u8::from(*value)],
        Value::Number(number) => number_key(number),
        Value::String(text) => text_key(text),
        Value::Array(_) => vec![LIST],
        Value::Object(_) => vec![OBJECT],
    }
}

/// The nearest double as bytes that sort, and how far the number is from it: whole numbers of 64 bits stay apart.
fn number_key(number: &Number) -> Vec<u8> {
    // Every JSON number of serde_json is one of the three; anything else would sort first.
    let double = number.as_f64().unwrap_or(f64::NEG_INFINITY);
    let whole = number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from));
    let rest = whole.map_or(0, |whole| whole - double as i128);
    // Doubles of 64-bit numbers are at most 1024 away.
    let rest = i16::try_from(rest).unwrap_or_default();
    let bits = (double + 0.0).to_bits();
    let sorted = if bits >> 63 == 1 { !bits } else { bits | 1 << 63 };
    let rest = (i32::from(rest) + 0x8000) as u16;
    [&[NUMBER][..], &sorted.to_be_bytes(), &rest.to_be_bytes()].concat()
}

fn text_key(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    match bytes.split_at_checked(LONGEST) {
        Some((kept, rest)) if !rest.is_empty() => [&[TEXT][..], kept, Digest::of(bytes).as_bytes()].concat(),
        _ => [&[TEXT][..], bytes].concat(),
    }
}

/// Returns the keys between which all values of the type of `key` stand.
pub(super) fn type_bounds(key: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let kind = key.first().copied().unwrap_or_default();
    (vec![kind], vec![kind + 1])
}

/// Lists every value of `metadata` under its JSON pointer, lists and objects too: what an index holds.
pub(super) fn entries(metadata: &Map<String, Value>) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    let mut pending: Vec<(String, &Map<String, Value>)> = vec![(String::new(), metadata)];
    while let Some((place, fields)) = pending.pop() {
        for (name, value) in fields {
            let place = format!("{place}/{}", escaped(name));
            if let Value::Object(inner) = value {
                pending.push((place.clone(), inner));
            }
            found.push((place, key_of(value)));
        }
    }
    found.sort();
    found
}

/// A name within a JSON pointer (RFC 6901).
pub(super) fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

impl From<&str> for Scalar {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Scalar {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<bool> for Scalar {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<i32> for Scalar {
    fn from(value: i32) -> Self {
        Self::Number(value.into())
    }
}

impl From<i64> for Scalar {
    fn from(value: i64) -> Self {
        Self::Number(value.into())
    }
}

impl From<u64> for Scalar {
    fn from(value: u64) -> Self {
        Self::Number(value.into())
    }
}

impl From<f64> for Scalar {
    /// What is no number is null, as in JSON.
    fn from(value: f64) -> Self {
        Number::from_f64(value).map_or(Self::Null, Self::Number)
    }
}

impl TryFrom<Value> for Scalar {
    type Error = Error;

    fn try_from(value: Value) -> Result<Self, Error> {
        match value {
            Value::Null => Ok(Self::Null),
            Value::Bool(value) => Ok(Self::Bool(value)),
            Value::Number(number) => Ok(Self::Number(number)),
            Value::String(text) => Ok(Self::Text(text)),
            other => {
                let message = format!("metadata is compared with single values, not with {other}");
                Err(Error::new(ErrorKind::Invalid, message))
            }
        }
    }
}
