//! The trace of a client, as W3C's Trace Context writes it in headers.

use axum::http::HeaderMap;

/// The header of the span that a request belongs to.
const PARENT: &str = "traceparent";
/// The header of what the programs of a trace note for each other.
const STATE: &str = "tracestate";
/// The most characters of all headers `tracestate` that are passed on, which is as many as every program has to.
const STATE_LENGTH: usize = 512;
/// The most entries of it.
const ENTRIES: usize = 32;
/// The most characters of a name, and of a value.
const WORD_LENGTH: usize = 256;

/// The trace of a client: the headers `traceparent` and `tracestate` of a request.
///
/// ```
/// use alloquy_server::{Server, ServedModel};
/// use alloquy_testing::EchoModel;
///
/// let builder = Server::builder().model(ServedModel::loaded("echo", EchoModel)).follow_traces(|span, trace| {
///     tracing::debug!(parent: span, parent = trace.parent(), state = trace.state(), "the request belongs to a trace");
/// });
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientTrace {
    parent: String,
    state: Option<String>,
}

impl ClientTrace {
    /// Reads the headers of a request; `None` without `traceparent`.
    pub(crate) fn of(headers: &HeaderMap) -> Option<Self> {
        let parent = headers.get(PARENT)?.to_str().ok()?.to_owned();
        Some(Self { parent, state: state_of(headers) })
    }

    /// Returns the text of `traceparent`, as the client has sent it. See [`ClientTrace`].
    pub fn parent(&self) -> &str {
        &self.parent
    }

    /// Returns the entries of `tracestate`, with a comma between them. See [`ClientTrace`].
    ///
    /// `None` if there are none, if one is malformed, or if there are more than 32 of them or more than 512 characters: a trace is valid
    /// without them.
    pub fn state(&self) -> Option<&str> {
        self.state.as_deref()
    }
}

/// Reads the headers `tracestate`, of which there may be several.
fn state_of(headers: &HeaderMap) -> Option<String> {
    let mut entries: Vec<(&str, &str)> = Vec::new();
    for header in headers.get_all(STATE) {
        for entry in header.to_str().ok()?.split(',') {
            // The specification allows empty entries, since programs leave some out.
            let entry = entry.trim_matches([' ', '\t']);
            if entry.is_empty() {
                continue;
            }
            let (name, value) = entry.split_once('=')?;
            let is_known = entries.iter().any(|(other, _)| *other == name);
            if is_known || !is_name(name) || !is_value(value) {
                return None;
            }
            entries.push((name, value));
        }
    }
    let texts: Vec<String> = entries.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let state = texts.join(",");
    (!state.is_empty() && entries.len() <= ENTRIES && state.len() <= STATE_LENGTH).then_some(state)
}

fn is_name(name: &str) -> bool {
    let is_begun = name.starts_with(|sign: char| sign.is_ascii_lowercase() || sign.is_ascii_digit());
    let is_of_name =
        |sign: char| sign.is_ascii_lowercase() || sign.is_ascii_digit() || "_-*/@".contains(sign);
    is_begun && name.len() <= WORD_LENGTH && name.chars().all(is_of_name)
}

fn is_value(value: &str) -> bool {
    // Spaces at its end were not part of it.
    let is_of_value = |sign: char| (' '..='~').contains(&sign) && sign != ',' && sign != '=';
    !value.is_empty() && value.len() <= WORD_LENGTH && value.chars().all(is_of_value)
}
