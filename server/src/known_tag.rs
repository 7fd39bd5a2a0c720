//! What a client has already, as its header `If-None-Match` says.

use axum::http::HeaderMap;
use axum::http::header::IF_NONE_MATCH;

/// Returns whether a client has what an ETag names.
pub(crate) fn is_known(headers: &HeaderMap, tag: &str) -> bool {
    let opaque = tag.trim_start_matches("W/");
    for value in headers.get_all(IF_NONE_MATCH) {
        let known = value.to_str().unwrap_or_default();
        for one in known.split(',') {
            let one = one.trim();
            if one == "*" || one.trim_start_matches("W/") == opaque {
                return true;
            }
        }
    }
    false
}
