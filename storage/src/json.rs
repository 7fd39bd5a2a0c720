//! What is stored as JSON, and the promise that it reads back the same.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::failure::Failure;

/// Writes a value and reads it back, since what reads back otherwise would be lost once acknowledged: values nested
/// deeper than the reader goes, times before 1970.
pub(crate) fn encode<T: Serialize + DeserializeOwned + PartialEq>(value: &T) -> Result<String, Failure> {
    let json = serde_json::to_string(value).map_err(Failure::NotJson)?;
    let again: T = serde_json::from_str(&json).map_err(Failure::NotJson)?;
    match again == *value {
        true => Ok(json),
        false => Err(Failure::Inexact),
    }
}

/// Reads a stored value; `what` names it should it be damaged.
pub(crate) fn decode<T: DeserializeOwned>(json: &[u8], what: impl Fn() -> String) -> Result<T, Failure> {
    serde_json::from_slice(json).map_err(|error| Failure::damaged(what(), error))
}
