//! A connection to a server: connects, calls tools, and keeps the list of tools up to date.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use alloquy_core::{Error, ErrorKind, Result};
use rmcp::model::{
    CallToolRequestParams, CallToolResult, ClientCapabilities, ClientConfig, Implementation,
    PaginatedRequestParams,
};
use rmcp::service::{
    ClientInitializeError, NotificationContext, Peer, RoleClient, RunningService, ServiceError,
};
use rmcp::transport::IntoTransport;
use rmcp::{ClientHandler, ServiceExt};
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

use crate::catalogue::Catalogue;
use crate::guarded::Guarded;
use crate::limits::McpLimits;
use crate::worker::Worker;

/// Returns the text of the innermost error. Those around it name types of the protocol's library only.
fn cause(error: &(dyn std::error::Error + 'static)) -> String {
    let mut last = error;
    while let Some(source) = last.source() {
        last = source;
    }
    last.to_string()
}

/// A program, which ends when it is dropped.
pub(crate) type Program = Box<dyn std::any::Any + Send + Sync>;

/// A connection, and the thread that it runs on.
pub(crate) struct Connection {
    name: String,
    service: Arc<RunningService<RoleClient, Client>>,
    catalogue: Catalogue,
    limits: McpLimits,
    worker: Worker,
    /// The program that is the server, if there is one: it ends with the connection.
    _program: Option<Program>,
}

impl Connection {
    /// Connects through the transport that `transport` makes on the server's thread, and reads the list of tools.
    pub(crate) async fn open<T, E, A, F>(
        name: String,
        limits: McpLimits,
        program: Option<Program>,
        transport: F,
    ) -> Result<Self>
    where
        F: Future<Output = Result<T>> + Send + 'static,
        T: IntoTransport<RoleClient, E, A> + Send + 'static,
        E: std::error::Error + Send + Sync + 'static,
        A: 'static,
    {
        let worker = Worker::start()?;
        let catalogue = Catalogue::default();
        let changed = Arc::new(Notify::new());
        let client = Client { changed: Arc::clone(&changed) };
        let quoted = format!("{name:?}");
        let listed = catalogue.clone();
        let service = worker.run(async move {
            let connected = connected(client, transport, limits, &quoted, &listed);
            let service = timeout(limits.start, connected).await.unwrap_or_else(|_| {
                let seconds = limits.start.as_secs_f64();
                let message =
                    format!("the server {quoted} did not start and list its tools within {seconds} s");
                Err(Error::new(ErrorKind::Tool, message))
            })?;
            tokio::spawn(refreshed(service.peer().clone(), changed, listed, limits));
            Ok::<_, Error>(service)
        });
        let service = Arc::new(service.await??);
        let named =
            service.peer_info().and_then(|info| info.server_info.as_ref().map(|info| info.name.clone()));
        let name = named.unwrap_or(name);
        Ok(Self { name, service, catalogue, limits, worker, _program: program })
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn service(&self) -> &RunningService<RoleClient, Client> {
        &self.service
    }

    pub(crate) fn catalogue(&self) -> &Catalogue {
        &self.catalogue
    }

    /// Calls a tool. Dropping the future sends a cancellation to the server.
    pub(crate) async fn call(&self, request: CallToolRequestParams) -> Result<CallToolResult> {
        let service = Arc::clone(&self.service);
        let limit = self.limits.call;
        let call = async move {
            let call = service.call_tool(request);
            match limit {
                Some(limit) => timeout(limit, call).await.ok(),
                None => Some(call.await),
            }
        };
        match self.worker.run(call).await? {
            Some(result) => result.map_err(|error| self.failed(error)),
            None => {
                let name = &self.name;
                let seconds = limit.unwrap_or_default().as_secs_f64();
                let message = format!("the server {name:?} did not answer within {seconds} s");
                Err(Error::new(ErrorKind::Tool, message))
            }
        }
    }

    fn failed(&self, error: ServiceError) -> Error {
        let name = &self.name;
        let message = match &error {
            // The server's own words help the model most.
            ServiceError::McpError(said) => return Error::new(ErrorKind::Tool, said.message.to_string()),
            ServiceError::TransportClosed
            | ServiceError::TransportSend(_)
            | ServiceError::Cancelled { .. } => {
                format!("the server {name:?} is gone, and its tools with it")
            }
            _ => format!("the server {name:?} did not answer as it should"),
        };
        Error::new(ErrorKind::Tool, message).with_source(error)
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Connection").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Initializes the connection and reads the list of tools.
async fn connected<T, E, A>(
    client: Client,
    transport: impl Future<Output = Result<T>>,
    limits: McpLimits,
    quoted: &str,
    catalogue: &Catalogue,
) -> Result<RunningService<RoleClient, Client>>
where
    T: IntoTransport<RoleClient, E, A> + Send + 'static,
    E: std::error::Error + Send + Sync + 'static,
    A: 'static,
{
    let transport = Guarded::new(transport.await?.into_transport());
    let service = client.serve(transport).await.map_err(|error| match &error {
        ClientInitializeError::TransportError { error, .. } => unconnected(quoted, &*error.error),
        error => unconnected(quoted, error),
    })?;
    catalogue.set(tools(service.peer(), limits).await.map_err(|error| unconnected(quoted, &*error))?);
    Ok(service)
}

fn unconnected(quoted: &str, error: &(dyn std::error::Error + 'static)) -> Error {
    let message = format!("cannot connect to the server {quoted}");
    Error::new(ErrorKind::Tool, message).with_source(std::io::Error::other(cause(error)))
}

/// Reads the list of tools page by page, within the limits.
async fn tools(
    peer: &Peer<RoleClient>,
    limits: McpLimits,
) -> Result<Vec<rmcp::model::Tool>, Box<dyn std::error::Error + Send + Sync>> {
    let mut tools = Vec::new();
    let mut bytes = 0;
    let mut cursor = None;
    // The pages are limited too, because a server could send empty ones without an end.
    for _page in 0..=limits.tools {
        let page = peer.list_tools(Some(PaginatedRequestParams::default().with_cursor(cursor))).await?;
        for tool in page.tools {
            bytes += serde_json::to_vec(&tool)?.len();
            tools.push(tool);
            if tools.len() > limits.tools {
                return Err(format!("it lists more than {} tools, which is the limit", limits.tools).into());
            }
            if bytes > limits.listing {
                return Err(format!(
                    "its list of tools has more than {} bytes, which is the limit",
                    limits.listing
                )
                .into());
            }
        }
        cursor = page.next_cursor;
        if cursor.is_none() {
            return Ok(tools);
        }
    }
    Err(format!("its list of tools has more than {} pages, which is the limit", limits.tools).into())
}

/// How long to wait after a list of tools before the next one is read, however often the server reports a change.
const CALM: Duration = Duration::from_millis(250);

/// Reads the list of tools after the server reported a change: once, however many reports came in the meantime.
async fn refreshed(peer: Peer<RoleClient>, changed: Arc<Notify>, catalogue: Catalogue, limits: McpLimits) {
    while !peer.is_transport_closed() {
        changed.notified().await;
        match timeout(limits.start, tools(&peer, limits)).await {
            Ok(Ok(tools)) => catalogue.set(tools),
            Ok(Err(error)) => {
                tracing::warn!(%error, "the tools of a server changed, and it does not list them");
            }
            Err(_) => tracing::warn!("the tools of a server changed, and it did not list them in time"),
        }
        sleep(CALM).await;
    }
}

/// This side of the connection. It offers the server nothing, and receives the notification that the tools changed.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    changed: Arc<Notify>,
}

impl ClientHandler for Client {
    fn get_info(&self) -> ClientConfig {
        let this = Implementation::new("alloquy", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), this)
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.changed.notify_one();
    }
}
