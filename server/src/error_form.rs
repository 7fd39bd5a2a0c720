//! The form of errors by path: clients of other protocols than OpenAI's read other bodies.
//!
//! An [`ApiError`] is a response in OpenAI's form, and carries itself. So a check in front of all routes, such as that of keys, needs to
//! know no protocol, and its error has the right body all the same.

use axum::Json;
use axum::extract::Request;
use axum::http::header::CONTENT_LENGTH;
use axum::http::{HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde_json::{Value, json};

use crate::error::ApiError;
use crate::observation;

/// The header with which Anthropic's clients name the version of their protocol.
pub(crate) const ANTHROPIC_VERSION: &str = "anthropic-version";

/// The header with the id of a request, for Anthropic's clients.
const ANTHROPIC_REQUEST_ID: &str = "request-id";

/// The protocols that have error bodies of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ErrorForm {
    OpenAi,
    Anthropic,
    Ollama,
}

impl ErrorForm {
    fn of(request: &Request) -> Self {
        let path = request.uri().path();
        let is_messages = path == "/v1/messages" || path.starts_with("/v1/messages/");
        if is_messages || request.headers().contains_key(ANTHROPIC_VERSION) {
            Self::Anthropic
        } else if path.starts_with("/api/") {
            Self::Ollama
        } else {
            Self::OpenAi
        }
    }
}

/// An error in Anthropic's form.
#[derive(JsonSchema)]
#[allow(dead_code, reason = "it describes what is written as JSON")]
pub(crate) struct AnthropicErrorBody {
    /// Always `error`.
    #[schemars(rename = "type")]
    kind: String,
    error: AnthropicError,
    request_id: String,
}

#[derive(JsonSchema)]
#[allow(dead_code, reason = "it describes what is written as JSON")]
struct AnthropicError {
    /// The family of the error.
    #[schemars(rename = "type")]
    kind: String,
    message: String,
}

/// An error in Ollama's form.
#[derive(JsonSchema)]
#[allow(dead_code, reason = "it describes what is written as JSON")]
pub(crate) struct OllamaErrorBody {
    error: String,
}

/// Writes the error of a response in the form of the protocol of the path.
pub(crate) async fn of_path(request: Request, next: Next) -> Response {
    let form = ErrorForm::of(&request);
    let id = request.headers().get(observation::REQUEST_ID).cloned();
    let mut response = next.run(request).await;
    let error = response.extensions_mut().remove::<ApiError>();
    match (form, error) {
        (ErrorForm::Anthropic, Some(error)) => response = with_body(response, anthropic(&error, id.as_ref())),
        (ErrorForm::Ollama, Some(error)) => response = with_body(response, ollama(&error)),
        _ => {}
    }
    if form == ErrorForm::Anthropic
        && let Some(id) = id
    {
        response.headers_mut().insert(ANTHROPIC_REQUEST_ID, id);
    }
    response
}

/// Replaces the body, and keeps the status and the other headers, such as `Retry-After`.
fn with_body(response: Response, body: Value) -> Response {
    let (mut parts, _) = response.into_parts();
    parts.headers.remove(CONTENT_LENGTH);
    let (_, body) = Json(body).into_response().into_parts();
    Response::from_parts(parts, body)
}

/// Returns the event of a stream of Messages that fails midway.
pub(crate) fn anthropic_event(error: &ApiError) -> Value {
    json!({"type": "error", "error": {"type": anthropic_kind(error.status()), "message": error.message()}})
}

/// Returns the body of an error in Anthropic's form.
fn anthropic(error: &ApiError, request_id: Option<&HeaderValue>) -> Value {
    let request_id = request_id.and_then(|id| id.to_str().ok()).unwrap_or_default();
    let mut body = anthropic_event(error);
    if let Value::Object(fields) = &mut body {
        fields.insert("request_id".to_owned(), request_id.into());
    }
    body
}

/// Returns the family of an error, as Anthropic's clients know it.
fn anthropic_kind(status: StatusCode) -> &'static str {
    match status {
        StatusCode::UNAUTHORIZED => "authentication_error",
        StatusCode::FORBIDDEN => "permission_error",
        StatusCode::NOT_FOUND => "not_found_error",
        StatusCode::REQUEST_TIMEOUT => "timeout_error",
        StatusCode::PAYLOAD_TOO_LARGE => "request_too_large",
        StatusCode::TOO_MANY_REQUESTS => "rate_limit_error",
        StatusCode::SERVICE_UNAVAILABLE => "overloaded_error",
        status if status.is_server_error() => "api_error",
        _ => "invalid_request_error",
    }
}

/// Returns an error in Ollama's form, also as the last line of a stream.
pub(crate) fn ollama(error: &ApiError) -> Value {
    json!({"error": error.message()})
}
