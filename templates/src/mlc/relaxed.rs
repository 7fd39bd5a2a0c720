//! Reads JSON with `//` comments and trailing commas, which MLC's documentation shows.

use serde_json::{Map, Value};

use super::warning::Warning;

/// Reads an object. Text that is not JSON is read without its comments and trailing commas, with a warning.
///
/// # Errors
/// That of JSON, with the line and the column of the text.
pub(super) fn object(json: &str) -> serde_json::Result<(Map<String, Value>, Vec<Warning>)> {
    let error = match serde_json::from_str(json) {
        Ok(fields) => return Ok((fields, Vec::new())),
        Err(error) => error,
    };
    let mut stripped = json.to_owned();
    // Comments are replaced by spaces, so that the position of an error stays the same.
    match json_strip_comments::strip(&mut stripped) {
        Ok(()) if stripped != json => Ok((serde_json::from_str(&stripped)?, vec![Warning::RelaxedJson])),
        _ => Err(error),
    }
}
