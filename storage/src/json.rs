//! Writes values as JSON that reads back the same.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::failure::Failure;

/// Writes a value as JSON, and fails unless it reads back as the same value.
///
/// Some values do not: those nested deeper than the reader allows, times before 1970. Acknowledged, they would be lost.
pub(crate) fn encode<T: Serialize + DeserializeOwned + PartialEq>(value: &T) -> Result<String, Failure> {
    let json = serde_json::to_string(value).map_err(Failure::NotJson)?;
    let again: T = serde_json::from_str(&json).map_err(Failure::NotJson)?;
    if again == *value { Ok(json) } else { Err(Failure::Inexact) }
}

/// Reads a stored value; an error names it as `what`.
pub(crate) fn decode<T: DeserializeOwned>(json: &[u8], what: &str) -> Result<T, Failure> {
    serde_json::from_slice(json).map_err(|error| Failure::damaged(what, error))
}
