//! The origins of web pages elsewhere that may send requests.

use alloquy_core::{Error, ErrorKind, Result};
use axum::http::HeaderValue;

/// Reads an origin, such as `https://chat.example.org`.
///
/// # Errors
/// [`ErrorKind::Invalid`] for what is none.
pub(crate) fn origin_of(origin: &str) -> Result<HeaderValue> {
    let is_origin = origin.starts_with("http://") || origin.starts_with("https://");
    match HeaderValue::from_str(origin) {
        Ok(value) if is_origin && !origin.ends_with('/') => Ok(value),
        _ => {
            let message = format!(
                "{origin:?} is not an origin: write the scheme and the name, such as https://chat.example.org"
            );
            Err(Error::new(ErrorKind::Invalid, message))
        }
    }
}
