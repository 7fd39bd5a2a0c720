//! Connections: accepted up to a number, with limits of their own, and ended gracefully.

mod timed;

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::header::{CONNECTION, TRANSFER_ENCODING};
use axum::http::{HeaderValue, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::Service as _;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::limits::RequestLimits;
use timed::TimedStream;

/// The least that hyper accepts as a limit of headers.
const LEAST_HEADER_BYTES: usize = 8192;
/// How long accepting waits after a failure, such as no free file handle.
const PAUSE: Duration = Duration::from_millis(50);

/// Accepts connections and answers their requests.
pub(crate) struct Connections {
    listener: TcpListener,
    router: Router,
    protocol: http1::Builder,
    limits: RequestLimits,
    places: Arc<Semaphore>,
}

impl Connections {
    pub(crate) fn new(listener: TcpListener, router: Router, limits: RequestLimits) -> Self {
        let places = Arc::new(Semaphore::new(limits.connections.min(Semaphore::MAX_PERMITS)));
        Self { listener, router, protocol: protocol(&limits), limits, places }
    }

    /// Accepts connections until the future is dropped. `open` ends those that are open then.
    pub(crate) async fn accept(&self, open: &GracefulShutdown) -> Infallible {
        loop {
            // The semaphore is never closed.
            let Ok(place) = Arc::clone(&self.places).acquire_owned().await else { continue };
            match self.listener.accept().await {
                Ok((stream, _)) => self.answer(stream, place, open),
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    }

    /// Answers the requests of a connection in a task of its own.
    fn answer(&self, stream: TcpStream, place: OwnedSemaphorePermit, open: &GracefulShutdown) {
        // Small events are sent at once.
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "a connection was closed at once");
        }
        let stream = TimedStream::new(stream, self.limits.stalled_time);
        let router = TowerToHyperService::new(self.router.clone());
        let most = self.limits.requests_of_connection;
        let count = AtomicUsize::new(0);
        let service = hyper::service::service_fn(move |request: hyper::Request<Incoming>| {
            // A proxy in front may have seen another end of a body in chunks, and other requests after it: none is read.
            let is_in_chunks = request.headers().contains_key(TRANSFER_ENCODING);
            let is_last = count.fetch_add(1, Ordering::Relaxed).saturating_add(1) >= most || is_in_chunks;
            let answered = router.call(request);
            async move { answered.await.map(|response| closing(response, is_last)) }
        });
        let connection = open.watch(self.protocol.serve_connection(TokioIo::new(stream), service));
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection ended");
            }
            drop(place);
        });
    }
}

/// Ends a connection after this response, if it is the last one.
fn closing(mut response: Response<Body>, is_last: bool) -> Response<Body> {
    if is_last {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

fn protocol(limits: &RequestLimits) -> http1::Builder {
    let mut protocol = http1::Builder::new();
    protocol
        .timer(TokioTimer::new())
        // It begins with the end of the response before, so it ends idle connections too.
        .header_read_timeout(limits.header_time)
        .max_headers(limits.headers)
        .max_buf_size(limits.header_bytes.max(LEAST_HEADER_BYTES));
    protocol
}
