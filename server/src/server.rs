//! The server: its life and its end.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use alloquy_core::{Error, ErrorKind, Result};
use axum::Router;
use axum::http::HeaderValue;
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio::time::timeout;

use crate::access::Access;
use crate::app::App;
use crate::connections::Connections;
use crate::handle::ServerHandle;
use crate::observation::FollowTrace;
use crate::routes;

/// How long cancelled replies may take to end, once the server ends.
const CANCELLING: Duration = Duration::from_secs(5);

/// Serves models and stored conversations over HTTP.
///
/// ```
/// use alloquy_server::{Server, ServedModel};
/// use alloquy_testing::EchoModel;
///
/// # async fn serve() -> alloquy_core::Result<()> {
/// let server = Server::builder().model(ServedModel::loaded("echo", EchoModel)).build()?;
/// let listener = tokio::net::TcpListener::bind("127.0.0.1:8080").await.expect("a free port");
/// let handle = server.handle();
/// tokio::spawn(async move {
///     tokio::time::sleep(std::time::Duration::from_secs(60)).await;
///     handle.shut_down();
/// });
/// server.serve(listener).await
/// # }
/// ```
#[derive(Clone)]
pub struct Server {
    pub(crate) app: App,
    pub(crate) access: Access,
    pub(crate) origins: Vec<HeaderValue>,
    pub(crate) follow: Option<FollowTrace>,
    pub(crate) has_page: bool,
    pub(crate) end: Arc<Notify>,
}

impl fmt::Debug for Server {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Server").field("origins", &self.origins).finish_non_exhaustive()
    }
}

impl Server {
    /// Returns the routes, for a host that has a server of its own. Limits of connections and headers are then the host's, and so
    /// is the check that a server without keys is reached from this machine alone.
    ///
    /// ```
    /// use alloquy_server::{Server, ServedModel};
    /// use alloquy_testing::EchoModel;
    ///
    /// let server = Server::builder().model(ServedModel::loaded("echo", EchoModel)).build()?;
    /// let routes = axum::Router::new().nest("/llm", server.router());
    /// # Ok::<(), alloquy_core::Error>(())
    /// ```
    pub fn router(&self) -> Router {
        routes::router(self.app.clone(), &self.access, &self.origins, self.follow.clone(), self.has_page)
    }

    /// Returns the handle that ends the server.
    pub fn handle(&self) -> ServerHandle {
        ServerHandle {
            access: self.access.clone(),
            models: self.app.models().clone(),
            prompts: self.app.prompts().cloned(),
            flows: self.app.flows().clone(),
            end: Arc::clone(&self.end),
        }
    }

    /// Checks that a server without keys is reached from this machine alone.
    ///
    /// ```
    /// use alloquy_server::{Server, ServedModel};
    /// use alloquy_testing::EchoModel;
    ///
    /// let server = Server::builder().model(ServedModel::loaded("echo", EchoModel)).build()?;
    /// assert!(server.check_address("127.0.0.1:8080".parse().unwrap()).is_ok());
    /// assert!(server.check_address("0.0.0.0:8080".parse().unwrap()).is_err());
    /// # Ok::<(), alloquy_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for another address and no keys.
    pub fn check_address(&self, address: SocketAddr) -> Result<()> {
        if address.ip().is_loopback() || self.access.has_keys() {
            return Ok(());
        }
        let message = format!(
            "{address} can be reached from other machines, and there are no keys: create one with `alloquy keys add OWNER` and \
             start the server with --keys FILE, or bind 127.0.0.1"
        );
        Err(Error::new(ErrorKind::Invalid, message))
    }

    /// Serves until [`ServerHandle::shut_down`]. Running replies may then end within [`RequestLimits::drain`](crate::RequestLimits::drain); after it they are
    /// cancelled, and those that are stored are kept as far as they came. Until then `/health` and `/ready` are answered, and all else
    /// is refused with 503. What models hold of the last turns is then saved, where snapshots have a place, for at most ten seconds. The
    /// store is closed last.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for an address that [`Server::check_address`] refuses, and those of the store at the end.
    pub async fn serve(self, listener: TcpListener) -> Result<()> {
        let address = listener.local_addr().map_err(|source| {
            Error::new(ErrorKind::Backend, "the listener has no address").with_source(source)
        })?;
        self.check_address(address)?;
        let connections = Connections::new(listener, self.router(), *self.app.limits());
        let open = GracefulShutdown::new();
        tokio::select! {
            never = connections.accept(&open) => match never {},
            () = self.end.notified() => self.app.drain(),
        }
        // Probes are answered until the end, and everything else that is new is refused with 503.
        let late = GracefulShutdown::new();
        tokio::select! {
            never = connections.accept(&late) => match never {},
            () = self.drain_and_save(open) => {}
        }
        self.app.models().flush().await?;
        self.app.store().close().await
    }

    /// Waits until no reply runs, and saves what models hold of the last ones.
    async fn drain_and_save(&self, open: GracefulShutdown) {
        self.drain(open).await;
        self.app.save_snapshots().await;
    }

    /// Waits until the running replies have ended, and cancels those that take too long.
    async fn drain(&self, open: GracefulShutdown) {
        let most = self.app.limits().drain;
        let turns = self.app.turns();
        let drained = timeout(most, async {
            open.shutdown().await;
            turns.ended().await;
        });
        if drained.await.is_ok() {
            return;
        }
        tracing::warn!("replies still run after {} seconds and are cancelled", most.as_secs());
        turns.cancel();
        // A model that does not listen to the cancellation is left alone; its text so far is stored when it is dropped.
        if timeout(CANCELLING, turns.ended()).await.is_err() {
            tracing::warn!("a model does not end its reply");
        }
    }
}
