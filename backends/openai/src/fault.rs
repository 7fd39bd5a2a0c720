//! What an answer of a server that is not a reply means.

use std::time::{Duration, SystemTime};

use alloquy_core::error::Upstream;
use alloquy_core::{Error, ErrorKind};
use serde_json::Value;

use crate::wire::quoted;

/// How the message of a status begins.
const ANSWERED: &str = "the server answered";

/// A failure, and whether the same request may succeed later.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) error: Error,
    pub(crate) is_passing: bool,
    /// How long the server wants to be left alone.
    pub(crate) retry_after: Option<Duration>,
}

impl Fault {
    /// A failure that another attempt meets again.
    pub(crate) fn lasting(error: Error) -> Self {
        Self { error: marked(error), is_passing: false, retry_after: None }
    }

    /// Returns whether the server wants a key, or another one.
    pub(crate) fn is_about_key(&self) -> bool {
        ["401", "403"]
            .iter()
            .any(|status| self.error.to_string().starts_with(&format!("{ANSWERED} {status} ")))
    }

    /// A failure that another attempt may not meet.
    pub(crate) fn passing(error: Error) -> Self {
        Self { error: marked(error), is_passing: true, retry_after: None }
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self::lasting(error)
    }
}

/// Marks an error of the connection, which has no status, as one of the server's.
fn marked(error: Error) -> Error {
    let is_of_server = matches!(error.kind(), ErrorKind::Backend | ErrorKind::Busy);
    if is_of_server && error.upstream().is_none() {
        return error.from_upstream(Upstream::default());
    }
    error
}

/// Returns the failure of an answer with a status that is not a success.
pub(crate) fn of_status(status: u16, body: &str, retry_after: Option<Duration>) -> Fault {
    let parsed = serde_json::from_str(body).unwrap_or(Value::Null);
    let mut upstream = Upstream::answered(status);
    upstream.retry_after = retry_after;
    let error = Error::new(kind(status, &parsed, body), sentence(status, &parsed, body));
    let error = error.from_upstream(upstream);
    Fault { error, is_passing: matches!(status, 408 | 429 | 502..=504 | 529), retry_after }
}

/// Returns the failure that an event of a stream reports, if it reports one.
pub(crate) fn of_event(event: &Value) -> Option<Fault> {
    let error = event.get("error").filter(|error| !error.is_null())?;
    let status = error.get("code").and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok());
    // Anthropic's errors within a stream have a type, and no number.
    let typed = match error.get("type").and_then(Value::as_str) {
        Some("overloaded_error") => 529,
        Some("rate_limit_error") => 429,
        Some("invalid_request_error") => 400,
        _ => 500,
    };
    let status = status.filter(|status| (400..600).contains(status)).unwrap_or(typed);
    Some(of_status(status, &event.to_string(), None))
}

fn kind(status: u16, body: &Value, text: &str) -> ErrorKind {
    match status {
        400 | 413 | 422 if is_overflow(body, text) => ErrorKind::ContextOverflow,
        400 | 401 | 403 | 413 | 422 => ErrorKind::Invalid,
        404 => ErrorKind::NotFound,
        405 | 501 => ErrorKind::Unsupported,
        408 | 429 | 503 | 504 | 529 => ErrorKind::Busy,
        // llama.cpp reports a prompt that does not fit as an error of the server in some versions.
        500 if is_overflow(body, text) => ErrorKind::ContextOverflow,
        _ => ErrorKind::Backend,
    }
}

/// Returns whether the server says that the prompt does not fit. Only llama.cpp has a type for it.
fn is_overflow(body: &Value, text: &str) -> bool {
    if body.pointer("/error/type").and_then(Value::as_str) == Some("exceed_context_size_error") {
        return true;
    }
    let text = text.to_lowercase();
    let signs = [
        "maximum context length",
        "context length",
        "context size",
        "max_model_len",
        "max_seq_len",
        "maximum model length",
        // Of llama.cpp, for embeddings.
        "too large to process",
    ];
    signs.iter().any(|sign| text.contains(sign))
}

fn sentence(status: u16, body: &Value, text: &str) -> String {
    let places = ["/error/message", "/message", "/detail", "/error"];
    let said = places.iter().find_map(|place| body.pointer(place).and_then(Value::as_str)).unwrap_or(text);
    let said = quoted(said);
    let advice = match status {
        400 if text.contains("max_completion_tokens") => {
            ": set up the model with `RemoteChatBuilder::max_completion_tokens`"
        }
        401 | 403 => {
            ": set the key of the server with `RemoteServer::key`, or with ALLOQUY_REMOTE_KEY for the command line"
        }
        404 => ": check the address, the dialect and the name of the model",
        429 | 503 | 529 => ": it is overloaded, so try again later",
        _ => "",
    };
    format!("{ANSWERED} {status} {said:?}{advice}")
}

/// Reads `Retry-After`: seconds, or a date.
///
/// Reference: RFC 9110, section 10.2.3.
pub(crate) fn retry_after(value: &str, now: SystemTime) -> Option<Duration> {
    let value = value.trim();
    if let Ok(seconds) = value.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let date = httpdate::parse_http_date(value).ok()?;
    // A date that has passed asks for no wait.
    Some(date.duration_since(now).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_a_number_of_seconds_or_a_date() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_770);
        let cases = [
            ("7", Some(7)),
            (" 120 ", Some(120)),
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(7)),
            ("Sun, 06 Nov 1994 08:00:00 GMT", Some(0)),
            ("soon", None),
            ("-1", None),
            ("", None),
        ];
        for (value, seconds) in cases {
            assert_eq!(retry_after(value, now), seconds.map(Duration::from_secs), "{value:?}");
        }
    }
}
