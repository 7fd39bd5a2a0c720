//! `/` and `/page`: the page with the conversations, whose files are within the program. They are public, and so need no key; what the page
//! shows comes from the API, which needs one.

mod about;

use axum::Router;
use axum::extract::Path;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, HeaderName, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::middleware::map_response;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use rust_embed::{EmbeddedFile, RustEmbed};
use tower_http::compression::CompressionLayer;

use crate::app::App;
use crate::error::{ApiError, ApiResult};
use crate::known_tag::is_known;
use crate::operation::Operation;

/// Where the page is found.
const INDEX: &str = "index.html";
/// The folder of the files whose names have the digests of their contents.
const HASHED: &str = "assets/";

/// The files of the page.
#[derive(RustEmbed)]
#[folder = "page/"]
struct PageFiles;

/// The digest of all files. It is named here so that the files are embedded again when one is added.
const _: &str = include_str!("../page/DIGEST");

/// What the page may do: run and show its own files, and send requests to this server. No text can become a script or an element: there is
/// no policy of Trusted Types that could make one of it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data: blob:; \
                      media-src 'self' data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
                      require-trusted-types-for 'script'; trusted-types 'none'";

/// The headers of every answer here.
const HEADERS: [(HeaderName, &str); 5] = [
    (CONTENT_SECURITY_POLICY, POLICY),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (
        HeaderName::from_static("permissions-policy"),
        "microphone=(self), camera=(), geolocation=(), display-capture=(), payment=(), usb=()",
    ),
];

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/", get(index))
        .route("/page/{*path}", get(one))
        .layer(CompressionLayer::new())
        .layer(map_response(guarded))
}

/// The route of the page that needs a key.
pub(crate) fn about_routes() -> Router<App> {
    about::routes()
}

pub(crate) fn operations() -> Vec<Operation> {
    let mut all = about::operations();
    all.extend([
        Operation::get("/", "Returns the page with the conversations. It needs no key.").text("text/html"),
        Operation::get("/page/{*path}", "Returns a file of the page. It needs no key.")
            .text("application/octet-stream"),
    ]);
    all
}

async fn index(headers: HeaderMap) -> ApiResult {
    found(INDEX, &headers)
}

async fn one(Path(path): Path<String>, headers: HeaderMap) -> ApiResult {
    found(&path, &headers)
}

/// Returns a file, or that the client has it already.
fn found(path: &str, headers: &HeaderMap) -> ApiResult {
    let Some(file) = PageFiles::get(path) else {
        return Err(ApiError::not_found(format!("the page has no file {path:?}: load the page again")));
    };
    let tag = tag_of(&file);
    // The name of such a file changes with its content. Others are looked at again each time, which the tag makes cheap.
    let kept = if path.starts_with(HASHED) { "public, max-age=31536000, immutable" } else { "no-cache" };
    let caching = [(ETAG, tag.clone()), (CACHE_CONTROL, kept.to_owned())];
    if is_known(headers, &tag) {
        return Ok((StatusCode::NOT_MODIFIED, caching).into_response());
    }
    Ok((caching, [(CONTENT_TYPE, content_type(path))], file.data).into_response())
}

/// Returns the ETag of a file. It is a weak one, since the file may be sent compressed.
fn tag_of(file: &EmbeddedFile) -> String {
    let mut tag = "W/\"".to_owned();
    for byte in file.metadata.sha256_hash().iter().take(16) {
        tag.push_str(&format!("{byte:02x}"));
    }
    tag + "\""
}

/// Returns the type of a file by the end of its name.
fn content_type(path: &str) -> &'static str {
    match path.rsplit_once('.').map(|(_, end)| end) {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("json" | "map") => "application/json",
        Some("webmanifest") => "application/manifest+json",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("ico") => "image/x-icon",
        Some("woff2") => "font/woff2",
        Some("wasm") => "application/wasm",
        _ => "text/plain; charset=utf-8",
    }
}

/// Adds what a browser must know of the page to an answer.
async fn guarded(mut response: Response) -> Response {
    for (name, value) in HEADERS {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}
