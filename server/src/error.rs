//! Errors as clients of OpenAI's API expect them: a status, and a body that says what was wrong and where.

use std::time::Duration;

use alloquy_core::error::Upstream;
use alloquy_core::{Error, ErrorKind};
use alloquy_guards::limits::RetryAfter;
use axum::Json;
use axum::http::header::RETRY_AFTER;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::Serialize;
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

/// The body of an error.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct ErrorBody {
    error: ErrorFields,
}

/// What was wrong, and where.
#[derive(Debug, JsonSchema, Serialize)]
struct ErrorFields {
    /// A sentence for people.
    message: String,
    /// The family of the error.
    #[serde(rename = "type")]
    kind: &'static str,
    /// The field or the parameter that was wrong.
    param: Option<String>,
    /// What programs compare.
    code: Option<&'static str>,
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

    /// The server ends.
    pub(crate) fn ending() -> Self {
        let message = "the server ends and takes no new requests: send them to another one, or try again";
        let error = Self::new(StatusCode::SERVICE_UNAVAILABLE, message).code("shutting_down");
        Self { retry_after: Some(RETRY), ..error }
    }

    /// Returns the status.
    pub(crate) fn status(&self) -> StatusCode {
        self.status
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

    /// Returns the sentence.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// Returns what programs compare.
    pub(crate) fn code_text(&self) -> Option<&'static str> {
        self.code
    }

    /// Returns the field that is wrong.
    pub(crate) fn param_text(&self) -> Option<&str> {
        self.param.as_deref()
    }

    /// Returns whether what was requested was stopped.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.code == Some("cancelled")
    }

    /// Returns whether what was requested does not exist.
    pub(crate) fn is_not_found(&self) -> bool {
        self.status == StatusCode::NOT_FOUND
    }

    /// Returns whether the client can change what is wrong.
    pub(crate) fn is_of_client(&self) -> bool {
        self.status.is_client_error()
    }

    /// Returns the body.
    pub(crate) fn body(&self) -> Value {
        let message = self.message.clone();
        let error = ErrorFields { message, kind: self.kind(), param: self.param.clone(), code: self.code };
        json!(ErrorBody { error })
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
        if let Some(upstream) = error.upstream() {
            return upstream_failed(&error, upstream);
        }
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

/// What a server elsewhere has answered for a remote model. Its words are for the operator, who has an account there: the client
/// learns what it can do.
fn upstream_failed(error: &Error, upstream: Upstream) -> ApiError {
    tracing::error!(status = upstream.status, error = format!("{error:#}"), "the server of a model failed");
    let wait = upstream.retry_after.unwrap_or(RETRY);
    match (error.kind(), upstream.status) {
        (ErrorKind::ContextOverflow, _) => {
            let message = "the request is longer than the context of the model: send less";
            ApiError::new(StatusCode::BAD_REQUEST, message).code("context_length_exceeded")
        }
        (_, Some(429)) => ApiError::busy("the server of this model has too many requests: try again", wait),
        (ErrorKind::Busy, _) | (_, Some(408 | 503 | 504 | 529)) => {
            let message = "the server of this model is overloaded or does not answer: try again";
            let error = ApiError::new(StatusCode::SERVICE_UNAVAILABLE, message).code("upstream");
            ApiError { retry_after: Some(wait), ..error }
        }
        (ErrorKind::Invalid, Some(400 | 413 | 422)) => {
            let message = "the server of this model refused the request as not valid: the log has its words";
            ApiError::new(StatusCode::BAD_REQUEST, message).code("invalid_value")
        }
        _ => {
            let message = "the server of this model failed or refused this server: the log has its words";
            ApiError::new(StatusCode::BAD_GATEWAY, message).code("upstream")
        }
    }
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
    fn a_server_elsewhere_is_not_quoted() {
        let cases = [
            (ErrorKind::Invalid, Some(401), 502, "upstream"),
            (ErrorKind::Invalid, Some(403), 502, "upstream"),
            (ErrorKind::NotFound, Some(404), 502, "upstream"),
            (ErrorKind::Unsupported, Some(501), 502, "upstream"),
            (ErrorKind::Backend, Some(500), 502, "upstream"),
            (ErrorKind::Backend, None, 502, "upstream"),
            (ErrorKind::Busy, None, 503, "upstream"),
            (ErrorKind::Busy, Some(503), 503, "upstream"),
            (ErrorKind::Busy, Some(429), 429, "rate_limit_exceeded"),
            (ErrorKind::Invalid, Some(400), 400, "invalid_value"),
            (ErrorKind::ContextOverflow, Some(400), 400, "context_length_exceeded"),
        ];
        for (kind, answered, status, code) in cases {
            let mut upstream = Upstream::default();
            upstream.status = answered;
            upstream.retry_after = Some(Duration::from_secs(7));
            let error = Error::new(kind, "secret").from_upstream(upstream).context("model \"tea\"");
            let error = ApiError::from(Error::new(ErrorKind::Model, "secret").with_source(error.clone()));
            assert!(!error.message.contains("secret"), "{error:?}");
            let error = ApiError::from(Error::new(kind, "secret").from_upstream(upstream));
            assert_eq!((error.status.as_u16(), error.code), (status, Some(code)), "{kind:?} {answered:?}");
            assert!(!error.message.contains("secret"), "{error:?}");
            let is_temporary = [429, 503].contains(&status);
            assert_eq!(error.retry_after, is_temporary.then_some(Duration::from_secs(7)), "{error:?}");
        }
    }

    #[test]
    fn the_place_of_an_error_is_its_param() {
        assert_eq!(place("messages[2].content[1]: expected a string"), Some("messages[2].content[1]"));
        assert_eq!(place("no message is asked: nothing"), None);
        assert_eq!(place("temperature"), None);
    }
}
