//! Connections: accepted up to a number, with limits of their own, and ended gracefully.

use std::sync::Arc;
use std::time::Duration;

use alloquy_core::{Error, ErrorKind, Result};
use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::sync::{Notify, Semaphore};

use crate::limits::RequestLimits;

/// The least that hyper accepts as a limit of headers.
const LEAST_HEADER_BYTES: usize = 8192;
/// How long accepting waits after a failure, such as no free file handle.
const PAUSE: Duration = Duration::from_millis(50);

/// Answers connections until `end` is notified. Returns once nothing new is accepted, and with what waits for those that are open.
pub(crate) async fn accept(
    listener: TcpListener,
    router: &Router,
    limits: &RequestLimits,
    end: &Notify,
) -> Result<GracefulShutdown> {
    let protocol = protocol(limits);
    let graceful = GracefulShutdown::new();
    let places = Arc::new(Semaphore::new(limits.connections.min(Semaphore::MAX_PERMITS)));
    loop {
        let place = tokio::select! {
            place = Arc::clone(&places).acquire_owned() => place.map_err(closed)?,
            () = end.notified() => return Ok(graceful),
        };
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = end.notified() => return Ok(graceful),
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(PAUSE).await;
                continue;
            }
        };
        // Small events are sent at once.
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "a connection was closed at once");
        }
        let service = TowerToHyperService::new(router.clone());
        let connection = graceful.watch(protocol.serve_connection(TokioIo::new(stream), service));
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection ended");
            }
            drop(place);
        });
    }
}

fn protocol(limits: &RequestLimits) -> http1::Builder {
    let mut protocol = http1::Builder::new();
    protocol
        .timer(TokioTimer::new())
        .header_read_timeout(limits.header_time)
        .max_headers(limits.headers)
        .max_buf_size(limits.header_bytes.max(LEAST_HEADER_BYTES));
    protocol
}

fn closed(source: tokio::sync::AcquireError) -> Error {
    Error::new(ErrorKind::Backend, "no connection can be accepted").with_source(source)
}
