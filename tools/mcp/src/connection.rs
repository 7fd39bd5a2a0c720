//! One connection to a server: how it is made, how a tool is called through it, and how its list of tools is kept up to date.

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

/// What happened in the end: the layers above it tell of types.
fn cause(error: &(dyn std::error::Error + 'static)) -> String {
    let mut last = error;
    while let Some(source) = last.source() {
        last = source;
    }
    last.to_string()
}

/// Whatever ends when it is dropped.
pub(crate) type Program = Box<dyn std::any::Any + Send + Sync>;

/// One connection, and the thread that holds it.
pub(crate) struct Connection {
    name: String,
    service: Arc<RunningService<RoleClient, Client>>,
    catalogue: Catalogue,
    limits: McpLimits,
    worker: Worker,
    /// The program that is the server, where it is one: it ends with the connection.
    _program: Option<Program>,
}

impl Connection {
    /// Connects through whatever `transport` makes on the server's thread, and asks for the tools.
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
        let (quoted, listed) = (format!("{name:?}"), catalogue.clone());
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

    /// Calls a tool. Dropping the future tells the server that nobody waits any more.
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
                let (name, seconds) = (&self.name, limit.unwrap_or_default().as_secs_f64());
                let message = format!("the server {name:?} did not answer within {seconds} s");
                Err(Error::new(ErrorKind::Tool, message))
            }
        }
    }

    fn failed(&self, error: ServiceError) -> Error {
        let name = &self.name;
        let message = match &error {
            // The server's own words are what helps the model.
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

/// Speaks the first words with a server, and asks for its tools.
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

/// Asks for the tools, page by page, as far as the limits go.
async fn tools(
    peer: &Peer<RoleClient>,
    limits: McpLimits,
) -> Result<Vec<rmcp::model::Tool>, Box<dyn std::error::Error + Send + Sync>> {
    let (mut tools, mut bytes, mut cursor) = (Vec::new(), 0, None);
    // A page without tools counts as one, so that there is an end to those, too.
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

/// How long a server is left alone after it has listed its tools, however often it says that they changed.
const CALM: Duration = Duration::from_millis(250);

/// Asks for the tools whenever the server said that they changed: once, however often it said so meanwhile.
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

/// What the server may ask of this side: nothing; and what it tells: that its tools changed.
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
