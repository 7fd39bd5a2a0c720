//! Single values that metadata is compared with, and their order as bytes, which all stores share.

use serde_json::{Map, Number, Value};

use crate::media::Digest;
use crate::{Error, ErrorKind};

/// Longer strings are compared by this many bytes and then by their digest, so that an index entry stays small.
const LONGEST: usize = 512;

/// The first byte of a value's key. Values of two types are never equal, and sort in this order.
const NULL: u8 = 1;
const BOOL: u8 = 2;
const NUMBER: u8 = 3;
const TEXT: u8 = 4;
const LIST: u8 = 5;
const OBJECT: u8 = 6;

/// A value that metadata is compared with: null, a truth value, a number or a string.
///
/// Numbers are compared by their exact value: `1` equals `1.0`. Strings are compared byte by byte; the order of strings
/// with the same first 512 bytes is unspecified.
///
/// ```
/// use alloquy_core::query::MetadataValue;
///
/// assert_eq!(MetadataValue::from(1).key(), MetadataValue::from(1.0).key());
/// assert!(MetadataValue::from(-3).key() < MetadataValue::from(0.5).key());
/// assert!(MetadataValue::from(u64::MAX - 1).key() < MetadataValue::from(u64::MAX).key());
/// assert_ne!(MetadataValue::from(1).key(), MetadataValue::from("1").key());
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum MetadataValue {
    /// JSON's null, which is a value: an absent value is not null.
    Null,
    /// A truth value.
    Bool(bool),
    /// A number.
    Number(Number),
    /// A string.
    Text(String),
}

impl MetadataValue {
    /// Returns bytes that sort like the values, for the index of a store.
    pub fn key(&self) -> Vec<u8> {
        match self {
            Self::Null => vec![NULL],
            Self::Bool(value) => vec![BOOL, u8::from(*value)],
            Self::Number(number) => number_key(number),
            Self::Text(text) => text_key(text),
        }
    }

    /// Returns whether two values can be compared.
    pub(super) fn is_of_type_of(&self, other: &MetadataValue) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }
}

/// Returns the key of any JSON value. All lists have one key, and so have all objects.
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

/// Returns the nearest double as bytes that sort, and the distance of the number from it, so that whole numbers of 64
/// bits stay distinct.
fn number_key(number: &Number) -> Vec<u8> {
    // Every number of serde_json is a double, an i64 or a u64; anything else would sort first.
    let double = number.as_f64().unwrap_or(f64::NEG_INFINITY);
    let whole = number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from));
    let rest = whole.map_or(0, |whole| whole - double as i128);
    // A 64-bit number is at most 1024 away from the nearest double.
    let rest = i16::try_from(rest).unwrap_or_default();
    let bits = (double + 0.0).to_bits();
    // Negative doubles sort in reverse, and below the positive ones: see IEEE 754's total order.
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

/// Returns the keys between which all values of the type of `key` are.
pub(super) fn type_bounds(key: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let kind = key.first().copied().unwrap_or_default();
    (vec![kind], vec![kind + 1])
}

/// Lists every value of `metadata` under its JSON pointer, including lists and objects, for an index.
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

/// Escapes a name for a JSON pointer (RFC 6901).
pub(super) fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

impl From<&str> for MetadataValue {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for MetadataValue {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<bool> for MetadataValue {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<i32> for MetadataValue {
    fn from(value: i32) -> Self {
        Self::Number(value.into())
    }
}

impl From<i64> for MetadataValue {
    fn from(value: i64) -> Self {
        Self::Number(value.into())
    }
}

impl From<u64> for MetadataValue {
    fn from(value: u64) -> Self {
        Self::Number(value.into())
    }
}

impl From<f64> for MetadataValue {
    /// Infinities and NaN become null, as in JSON.
    fn from(value: f64) -> Self {
        Number::from_f64(value).map_or(Self::Null, Self::Number)
    }
}

impl TryFrom<Value> for MetadataValue {
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
