//! JSON as MLC's documentation writes it: with `//` comments and commas behind the last item. Knows no field.

use serde_json::{Map, Value};

use super::warning::Warning;

/// Reads an object; what is no JSON is read without its comments and its commas at the end, with a warning.
///
/// # Errors
/// That of JSON, with the line and the column of the text.
pub(super) fn object(json: &str) -> serde_json::Result<(Map<String, Value>, Vec<Warning>)> {
    let error = match serde_json::from_str(json) {
        Ok(fields) => return Ok((fields, Vec::new())),
        Err(error) => error,
    };
    let mut stripped = json.to_owned();
    // Spaces take the place of what goes, so that an error that remains is where it was.
    match json_strip_comments::strip(&mut stripped) {
        Ok(()) if stripped != json => Ok((serde_json::from_str(&stripped)?, vec![Warning::RelaxedJson])),
        _ => Err(error),
    }
}
