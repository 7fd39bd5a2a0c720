//! The JSON of a request: read within limits, and refused with the place of what is wrong.

use axum::body::{Bytes, to_bytes};
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use serde::de::DeserializeOwned;

use crate::app::App;
use crate::error::{ApiError, ApiResult};

/// The body of a request as a value of a type. A type with `deny_unknown_fields` refuses unknown ones by name, so that nothing is
/// ignored in silence.
pub(crate) struct JsonBody<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequest<App> for JsonBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, app: &App) -> ApiResult<Self> {
        must_be_json(request.headers())?;
        let bytes = read(request, app).await?;
        parsed(&bytes).map(Self)
    }
}

/// The query of a request's address as a value of a type.
pub(crate) struct QueryOf<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequestParts<App> for QueryOf<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> ApiResult<Self> {
        match Query::from_request_parts(parts, app).await {
            Ok(Query(query)) => Ok(Self(query)),
            Err(rejection) => Err(query_error(&rejection.body_text())),
        }
    }
}

/// Creates the error of a query, with the parameter that it names.
fn query_error(text: &str) -> ApiError {
    let message = text.strip_prefix("Failed to deserialize query string: ").unwrap_or(text);
    let quoted = message.split('`').nth(1);
    let place = message.split_once(": ").map(|(place, _)| place);
    let error = ApiError::new(StatusCode::BAD_REQUEST, message).code("invalid_value");
    match quoted.filter(|_| message.contains("field `")).or(place) {
        Some(param) => error.param(param),
        None => error,
    }
}

/// The parts of a request's path as a value of a type.
pub(crate) struct PathOf<T>(pub(crate) T);

impl<T: DeserializeOwned + Send> FromRequestParts<App> for PathOf<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> ApiResult<Self> {
        match Path::from_request_parts(parts, app).await {
            Ok(Path(path)) => Ok(Self(path)),
            Err(rejection) => Err(ApiError::new(StatusCode::BAD_REQUEST, rejection.body_text())),
        }
    }
}

fn must_be_json(headers: &HeaderMap) -> ApiResult<()> {
    let given = headers.get(CONTENT_TYPE).and_then(|given| given.to_str().ok()).unwrap_or_default();
    let essence = given.split(';').next().unwrap_or_default().trim();
    if essence.eq_ignore_ascii_case("application/json") {
        return Ok(());
    }
    let message = format!("the content type is {given:?}: send JSON as \"application/json\"");
    Err(ApiError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, message).code("unsupported_media_type"))
}

async fn read(request: Request, app: &App) -> ApiResult<Bytes> {
    let limits = app.limits();
    // A length that is announced is refused before anything is read.
    if announced(request.headers()).is_some_and(|length| length > limits.body_bytes as u64) {
        return Err(too_long(limits.body_bytes));
    }
    let body = to_bytes(request.into_body(), limits.body_bytes);
    match tokio::time::timeout(limits.body_time, body).await {
        Ok(Ok(bytes)) => Ok(bytes),
        Ok(Err(error)) if is_too_long(&error) => Err(too_long(limits.body_bytes)),
        Ok(Err(error)) => {
            Err(ApiError::new(StatusCode::BAD_REQUEST, format!("the body cannot be read: {error}")))
        }
        Err(_) => {
            let message = format!("the body did not arrive within {} seconds", limits.body_time.as_secs());
            Err(ApiError::new(StatusCode::REQUEST_TIMEOUT, message).code("body_timeout"))
        }
    }
}

fn announced(headers: &HeaderMap) -> Option<u64> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

fn too_long(most: usize) -> ApiError {
    let message = format!("the body is longer than {most} bytes");
    ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, message).code("body_too_large")
}

fn is_too_long(error: &axum::Error) -> bool {
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        if error.to_string().contains("length limit exceeded") {
            return true;
        }
        cause = error.source();
    }
    error.to_string().contains("length limit exceeded")
}

fn parsed<T: DeserializeOwned>(bytes: &[u8]) -> ApiResult<T> {
    // A list would be read as the fields in their order.
    if bytes.trim_ascii_start().first() != Some(&b'{') {
        let message = "the body is not an object of JSON: it begins with {";
        return Err(ApiError::new(StatusCode::BAD_REQUEST, message).code("invalid_json"));
    }
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let value = serde_path_to_error::deserialize(&mut deserializer).map_err(|error| {
        let path = error.path().to_string();
        let source = error.into_inner();
        match source.is_data().then(|| place(&path, &source)).flatten() {
            Some(place) => ApiError::invalid(place.clone(), format!("{place}: {source}")),
            None => ApiError::new(StatusCode::BAD_REQUEST, format!("the body is not valid: {source}"))
                .code("invalid_json"),
        }
    })?;
    deserializer.end().map_err(|source| {
        let message = format!("the body has more than one JSON value: {source}");
        ApiError::new(StatusCode::BAD_REQUEST, message).code("invalid_json")
    })?;
    Ok(value)
}

/// Returns the place of an error: its path, with the name of a missing field.
fn place(path: &str, error: &serde_json::Error) -> Option<String> {
    let text = error.to_string();
    let missing = text.strip_prefix("missing field `").and_then(|rest| rest.split('`').next());
    match (path, missing) {
        (".", None) => None,
        (".", Some(missing)) => Some(missing.to_owned()),
        (path, None) => Some(path.to_owned()),
        (path, Some(missing)) => Some(format!("{path}.{missing}")),
    }
}
