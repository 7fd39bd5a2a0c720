//! What is observed of every HTTP request: its id, its span, its line in the log, and its metrics. No content, no path and no query:
//! they may have ids and texts, so the pattern of the route is noted instead.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::Response;
use hyper::body::{Frame, SizeHint};
use tracing::field::Empty;
use tracing::{Instrument, Span};

use crate::client_trace::ClientTrace;
use crate::metrics::Metrics;
use crate::tally::Tally;

/// The header of a request's id.
pub(crate) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// The longest id of a client that is used.
const ID_LENGTH: usize = 128;
/// The status that is noted where the client left before it had one, as in the logs of nginx.
const CLIENT_LEFT: u16 = 499;
/// The route of requests that no route matches.
const UNKNOWN_ROUTE: &str = "unknown";
/// The routes that programs ask every few seconds. Their lines are for debugging.
const ROUTINE: [&str; 3] = ["/health", "/ready", "/metrics"];

/// What follows the trace of a client: it receives the span of a request, and the headers of the trace.
pub(crate) type FollowTrace = Arc<dyn Fn(&Span, &ClientTrace) + Send + Sync>;

/// What observes all requests. Copies share it.
#[derive(Clone)]
pub(crate) struct Observer {
    pub(crate) metrics: Metrics,
    pub(crate) follow: Option<FollowTrace>,
}

impl Observer {
    /// Follows the trace of the client, where it is in one.
    fn follow(&self, span: &Span, headers: &HeaderMap) {
        if let (Some(follow), Some(trace)) = (&self.follow, ClientTrace::of(headers)) {
            follow(span, &trace);
        }
    }
}

/// Observes a request until the last byte of its response was sent, or its client has left.
pub(crate) async fn observe(State(observer): State<Observer>, mut request: Request, next: Next) -> Response {
    let id = id_of(request.headers());
    let tally = Tally::default();
    request.extensions_mut().insert(tally.clone());
    let id_value = HeaderValue::from_str(&id).ok();
    if let Some(id) = &id_value {
        // A protocol with a header of its own for ids has the same one.
        request.headers_mut().insert(REQUEST_ID, id.clone());
    }
    let mut exchange = Exchange::begin(observer.metrics.clone(), &request, &id, tally);
    observer.follow(&exchange.span, request.headers());
    let mut response = next.run(request).instrument(exchange.span.clone()).await;
    exchange.answered(response.status());
    if let Some(id) = id_value {
        response.headers_mut().insert(REQUEST_ID, id);
    }
    let body = std::mem::take(response.body_mut());
    // Nothing is sent of an empty body, nor after HEAD.
    exchange.is_complete = body.is_end_stream() || exchange.method == "HEAD";
    *response.body_mut() = Body::new(ObservedBody { body, exchange });
    response
}

/// Returns the id that a client or a proxy gave, or a new one. An id is written into logs, so one with other signs is replaced.
fn id_of(headers: &HeaderMap) -> String {
    let given = headers.get(REQUEST_ID).and_then(|given| given.to_str().ok());
    match given.filter(|given| is_id(given)) {
        Some(given) => given.to_owned(),
        None => new_id(),
    }
}

fn is_id(text: &str) -> bool {
    !text.is_empty() && text.len() <= ID_LENGTH && text.chars().all(is_of_id)
}

fn is_of_id(sign: char) -> bool {
    sign.is_ascii_alphanumeric() || "-_.:".contains(sign)
}

fn new_id() -> String {
    let mut random = [0; 16];
    // Without random bytes the id is the same for all requests, which harms only who reads the log.
    if getrandom::fill(&mut random).is_err() {
        tracing::debug!("the system has no random bytes for the id of a request");
    }
    format!("req_{:032x}", u128::from_be_bytes(random))
}

/// A request and its response. It is counted and logged when it is dropped.
struct Exchange {
    metrics: Metrics,
    tally: Tally,
    span: Span,
    start: Instant,
    method: &'static str,
    route: String,
    id: String,
    status: u16,
    is_complete: bool,
}

impl Exchange {
    fn begin(metrics: Metrics, request: &Request, id: &str, tally: Tally) -> Self {
        let method = name_of(request.method());
        let path = request.extensions().get::<MatchedPath>();
        let route = path.map_or(UNKNOWN_ROUTE, MatchedPath::as_str).to_owned();
        let span = tracing::info_span!(
            "request",
            "otel.name" = format!("{method} {route}"),
            "otel.kind" = "server",
            "http.request.method" = method,
            "http.route" = route,
            "http.response.status_code" = Empty,
            "gen_ai.request.model" = Empty,
            "gen_ai.usage.input_tokens" = Empty,
            "gen_ai.usage.output_tokens" = Empty,
            "gen_ai.usage.cache_read.input_tokens" = Empty,
            "alloquy.request_id" = id,
        );
        metrics.http_began();
        let id = id.to_owned();
        let start = Instant::now();
        Self { metrics, tally, span, start, method, route, id, status: CLIENT_LEFT, is_complete: false }
    }

    fn answered(&mut self, status: StatusCode) {
        self.status = status.as_u16();
    }

    fn log(&self) {
        let usage = self.tally.usage();
        let model = self.tally.model_name();
        self.span.record("http.response.status_code", self.status);
        if let Some(model) = model {
            self.span.record("gen_ai.request.model", model);
            self.span.record("gen_ai.usage.input_tokens", usage.prompt);
            self.span.record("gen_ai.usage.output_tokens", usage.generated);
            self.span.record("gen_ai.usage.cache_read.input_tokens", usage.cached);
        }
        let milliseconds = u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX);
        let Self { id, method, route, status, is_complete, .. } = self;
        // The span has all of these as well, so the line is outside of it.
        if ROUTINE.contains(&self.route.as_str()) {
            tracing::debug!(parent: None, id, method, route, status, milliseconds, "answered");
            return;
        }
        tracing::info!(
            parent: None, id, method, route, status, milliseconds, complete = is_complete, model,
            input_tokens = model.map(|_| usage.prompt),
            cached_tokens = model.map(|_| usage.cached),
            output_tokens = model.map(|_| usage.generated),
            "answered"
        );
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        self.metrics.http_ended(self.method, &self.route, self.status, self.start.elapsed());
        self.log();
    }
}

/// Returns the name of a known method, so that metrics have no names of a client's own.
fn name_of(method: &Method) -> &'static str {
    match method.as_str() {
        "GET" => "GET",
        "HEAD" => "HEAD",
        "POST" => "POST",
        "PUT" => "PUT",
        "PATCH" => "PATCH",
        "DELETE" => "DELETE",
        "OPTIONS" => "OPTIONS",
        _ => "_OTHER",
    }
}

/// A body that notes its end.
struct ObservedBody {
    body: Body,
    exchange: Exchange,
}

impl HttpBody for ObservedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        // A body of a known length is not polled after its last byte.
        self.exchange.is_complete = matches!(polled, Poll::Ready(None)) || self.body.is_end_stream();
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
