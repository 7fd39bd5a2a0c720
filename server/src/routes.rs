//! The table of routes. A protocol is a file or a folder with a function `routes`, and a line here.

use axum::Router;
use axum::extract::{Request, State};
use axum::http::header::{ETAG, RETRY_AFTER};
use axum::http::{HeaderValue, Method, StatusCode};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::cors::{AllowHeaders, AllowOrigin, CorsLayer};

use crate::access::{Access, check_host, check_key, check_metrics};
use crate::app::App;
use crate::error::{ApiError, ApiResult};
use crate::observation::{FollowTrace, Observer, REQUEST_ID, observe};
use crate::{
    chat_completions, conversations, embeddings, error_form, flow_runs, health, messages, metrics_page,
    model_list, ollama, openapi, page, prompts, rerank, responses, tool_list, trees, usage,
};

/// The routes of all protocols.
fn protocols() -> Router<App> {
    Router::new()
        .merge(chat_completions::routes())
        .merge(conversations::routes())
        .merge(embeddings::routes())
        .merge(messages::routes())
        .merge(rerank::routes())
        .merge(model_list::routes())
        .merge(ollama::routes())
        .merge(responses::routes())
        .merge(trees::routes())
        .merge(prompts::routes())
        .merge(flow_runs::routes())
        .merge(tool_list::routes())
        .merge(usage::routes())
        .merge(page::about_routes())
}

/// Builds the router. From the outside: the request is observed, errors get the form of their protocol, panics become errors, the name of the
/// server is checked, then whether it ends, then the key.
pub(crate) fn router(
    app: App,
    access: &Access,
    origins: &[HeaderValue],
    follow: Option<FollowTrace>,
    has_page: bool,
) -> Router {
    let metrics = metrics_page::routes().method_not_allowed_fallback(other_method);
    let metrics = metrics.layer(from_fn_with_state(access.clone(), check_metrics));
    let observer = Observer { metrics: app.metrics().clone(), follow };
    let mut router = protocols()
        .fallback(unknown)
        .method_not_allowed_fallback(other_method)
        .layer(from_fn_with_state(access.clone(), check_key))
        .layer(from_fn_with_state(app.clone(), check_running));
    if !origins.is_empty() {
        // Outside of the check of keys: browsers ask for permission without one.
        router = router.layer(cors(origins));
    }
    if has_page {
        let page = page::routes().method_not_allowed_fallback(other_method);
        router = router.merge(page.layer(from_fn_with_state(app.clone(), check_running)));
    }
    router
        .layer(from_fn_with_state(access.clone(), check_host))
        .merge(health::routes().merge(openapi::routes()).method_not_allowed_fallback(other_method))
        .merge(metrics)
        .layer(CatchPanicLayer::custom(panicked))
        // Outside of all that refuse a request.
        .layer(from_fn(error_form::of_path))
        .layer(from_fn_with_state(observer, observe))
        .with_state(app)
}

fn cors(origins: &[HeaderValue]) -> CorsLayer {
    CorsLayer::new()
        .allow_origin(AllowOrigin::list(origins.iter().cloned()))
        .allow_methods([Method::GET, Method::POST, Method::PUT, Method::PATCH, Method::DELETE])
        // Clients in pages send headers of their own, such as the version of their library.
        .allow_headers(AllowHeaders::mirror_request())
        .expose_headers([ETAG, RETRY_AFTER, REQUEST_ID])
}

/// Refuses new requests once the server ends. Those that run have passed.
async fn check_running(State(app): State<App>, request: Request, next: Next) -> ApiResult {
    if app.is_draining() {
        return Err(ApiError::ending());
    }
    Ok(next.run(request).await)
}

async fn unknown(request: Request) -> ApiError {
    let method = request.method();
    let path = request.uri().path();
    let message =
        format!("there is no {method} {path} here; GET /v1/models shows that the server is reached");
    ApiError::new(StatusCode::NOT_FOUND, message).code("unknown_url")
}

async fn other_method(request: Request) -> ApiError {
    let method = request.method();
    let path = request.uri().path();
    let message = format!("{path} does not accept {method}");
    ApiError::new(StatusCode::METHOD_NOT_ALLOWED, message).code("method_not_allowed")
}

#[allow(clippy::needless_pass_by_value, reason = "the layer passes the panic by value")]
fn panicked(panic: Box<dyn std::any::Any + Send>) -> Response {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or_default();
    tracing::error!(panic = text, "a handler panicked");
    ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "the server failed; its log says why").into_response()
}
