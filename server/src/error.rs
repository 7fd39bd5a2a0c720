//! Errors as clients of OpenAI's API expect them: a status, and a body that says what was wrong and where.

use std::time::Duration;

use alloquy_core::{Error, ErrorKind};
use alloquy_guards::limits::RetryAfter;
use axum::Json;
use axum::http::header::RETRY_AFTER;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

/// How long a client waits before it tries again, where nothing better is known.
const RETRY: Duration = Duration::from_secs(1);

/// Why a request failed. As a response it has OpenAI's error body; other protocols write its parts in their own form.
#[derive(Clone, Debug)]
pub(crate) struct ApiError {
    status: StatusCode,
    code: Option<&'static str>,
    param: Option<String>,
    message: String,
    retry_after: Option<Duration>,
}

/// The result of a handler.
pub(crate) type ApiResult<T = Response> = Result<T, ApiError>;

impl ApiError {
    /// An error with a status and a sentence.
    pub(crate) fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self { status, code: None, param: None, message: message.into(), retry_after: None }
    }

    /// The value of a field is not valid.
    pub(crate) fn invalid(param: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message).param(param).code("invalid_value")
    }

    /// A field asks for what this server or its model cannot do.
    pub(crate) fn unsupported(param: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message).param(param).code("unsupported_value")
    }

    /// A named thing does not exist.
    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, message).code("not_found")
    }

    /// The server has no room for the request at present.
    pub(crate) fn busy(message: impl Into<String>, retry_after: Duration) -> Self {
        let error = Self::new(StatusCode::TOO_MANY_REQUESTS, message).code("rate_limit_exceeded");
        Self { retry_after: Some(retry_after), ..error }
    }

    /// Returns the status.
    pub(crate) fn status(&self) -> StatusCode {
        self.status
    }

    /// Returns the sentence.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// Sets what programs compare.
    pub(crate) fn code(mut self, code: &'static str) -> Self {
        self.code = Some(code);
        self
    }

    /// Sets the field that is wrong.
    pub(crate) fn param(mut self, param: impl Into<String>) -> Self {
        self.param = Some(param.into());
        self
    }

    /// Returns the body.
    pub(crate) fn body(&self) -> Value {
        json!({"error": {
            "message": self.message,
            "type": self.kind(),
            "param": self.param,
            "code": self.code,
        }})
    }

    /// Returns the family of the error, as OpenAI's clients know it.
    fn kind(&self) -> &'static str {
        match self.status {
            StatusCode::UNAUTHORIZED => "authentication_error",
            StatusCode::FORBIDDEN => "permission_error",
            StatusCode::TOO_MANY_REQUESTS => "rate_limit_error",
            status if status.is_server_error() => "server_error",
            _ => "invalid_request_error",
        }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = (self.status, Json(self.body())).into_response();
        // `error_form` writes it in the form of another protocol.
        response.extensions_mut().insert(self.clone());
        if let Some(wait) = self.retry_after {
            // Whole seconds, rounded up: a client that comes back a moment early is refused again.
            let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds.max(1)));
        }
        response
    }
}

impl From<Error> for ApiError {
    fn from(error: Error) -> Self {
        match error.kind() {
            ErrorKind::Busy => Self::busy(error.to_string(), RetryAfter::of(&error).unwrap_or(RETRY)),
            ErrorKind::Cancelled => {
                let error = Self::new(StatusCode::SERVICE_UNAVAILABLE, error.to_string()).code("cancelled");
                Self { retry_after: Some(RETRY), ..error }
            }
            ErrorKind::NotFound => Self::not_found(error.to_string()),
            ErrorKind::Conflict => Self::new(StatusCode::CONFLICT, error.to_string()).code("conflict"),
            ErrorKind::ContextOverflow => refused(&error, "context_length_exceeded"),
            ErrorKind::Unsupported => refused(&error, "unsupported_value"),
            ErrorKind::Invalid | ErrorKind::Template | ErrorKind::Tokenize => {
                refused(&error, "invalid_value")
            }
            _ => failed(&error),
        }
    }
}

/// What the client can change.
fn refused(error: &Error, code: &'static str) -> ApiError {
    let message = format!("{error:#}");
    let param = place(&message).map(str::to_owned);
    ApiError { param, ..ApiError::new(StatusCode::BAD_REQUEST, message).code(code) }
}

/// Creates the error for a reply that failed midway, with all its causes, which the log alone has.
pub(crate) fn broken_reply(causes: &str) -> ApiError {
    tracing::error!(error = causes, "a reply failed");
    let message = "the model failed while it wrote the reply: the log of the server has the cause";
    ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, message).code("backend")
}

/// What only the operator can change. Causes may name files of the machine, so the log alone has them.
fn failed(error: &Error) -> ApiError {
    tracing::error!(kind = error.kind().as_str(), error = format!("{error:#}"), "a request failed");
    ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).code(error.kind().as_str())
}

/// Returns the place with which a sentence begins, such as `messages[2].content` in `messages[2].content: expected …`.
fn place(message: &str) -> Option<&str> {
    let (place, _) = message.split_once(": ")?;
    let is_place = place.chars().all(|sign| sign.is_ascii_alphanumeric() || "_.[]".contains(sign));
    (is_place && !place.is_empty()).then_some(place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_of_an_error_is_its_param() {
        assert_eq!(place("messages[2].content[1]: expected a string"), Some("messages[2].content[1]"));
        assert_eq!(place("no message is asked: nothing"), None);
        assert_eq!(place("temperature"), None);
    }
}
