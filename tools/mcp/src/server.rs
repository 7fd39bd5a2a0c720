//! A server: how it is connected to, what it calls itself, and which tools it has now.

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use alloquy_core::{Error, ErrorKind, Result, Tool, ToolSource};
use rmcp::model::{CallToolRequestParams, CallToolResult, ClientCapabilities, ClientConfig, Implementation};
use rmcp::service::{ClientInitializeError, NotificationContext, RoleClient, RunningService, ServiceError};
use rmcp::transport::IntoTransport;
use rmcp::{ClientHandler, ServiceExt};

use crate::tool::McpTool;
use crate::worker::Worker;

/// A server of the Model Context Protocol, as a source of tools.
///
/// It works under any runtime or none: it is spoken to from a thread of its own. Clones share the connection, which
/// ends when the last of them and of its tools is dropped; a program that was started for it ends then, too.
///
/// A server that dies takes nothing with it: calls of its tools answer with an error that the model can read.
///
/// ```no_run
/// use alloquy_core::Toolbox;
/// use alloquy_mcp::McpServer;
/// use std::process::Command;
///
/// # async fn connect() -> alloquy_core::Result<()> {
/// # #[cfg(feature = "stdio")] {
/// let mut program = Command::new("python3");
/// program.args(["-m", "mcp_server_time"]);
/// let server = McpServer::program(program).await?;
/// let toolbox = Toolbox::default().source(server);
/// # }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct McpServer {
    connection: Arc<Connection>,
    prefix: String,
}

impl McpServer {
    /// Connects through whatever `transport` makes on the server's thread, and asks for the tools.
    pub(crate) async fn connect<T, E, A, F>(name: String, transport: F) -> Result<Self>
    where
        F: Future<Output = Result<T>> + Send + 'static,
        T: IntoTransport<RoleClient, E, A> + Send + 'static,
        E: std::error::Error + Send + Sync + 'static,
        A: 'static,
    {
        let worker = Worker::start()?;
        let catalogue = Catalogue::default();
        let client = Client { catalogue: catalogue.clone() };
        let quoted = format!("{name:?}");
        let service = worker.run(async move {
            let failed = |error: &(dyn std::error::Error + 'static)| {
                let message = format!("cannot connect to the server {quoted}");
                Error::new(ErrorKind::Tool, message).with_source(std::io::Error::other(cause(error)))
            };
            let service = client.serve(transport.await?).await.map_err(|error| match &error {
                ClientInitializeError::TransportError { error, .. } => failed(&*error.error),
                error => failed(error),
            })?;
            let tools = service.list_all_tools().await.map_err(|error| failed(&error))?;
            service.service().catalogue.set(tools);
            Ok::<_, Error>(service)
        });
        let service = Arc::new(service.await??);
        let named =
            service.peer_info().and_then(|info| info.server_info.as_ref().map(|info| info.name.clone()));
        let name = named.unwrap_or(name);
        let connection = Connection { name, service, catalogue, worker };
        Ok(Self { connection: Arc::new(connection), prefix: String::new() })
    }

    /// Returns what the server calls itself.
    pub fn name(&self) -> &str {
        &self.connection.name
    }

    /// Returns what the server says of its use, for a system message.
    pub fn instructions(&self) -> Option<String> {
        self.connection.service.peer_info()?.instructions.clone()
    }

    /// Offers the tools under names that begin with `prefix`, so that those of two servers do not clash.
    #[must_use]
    pub fn prefixed(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = prefix.into();
        self
    }

    /// Says whether the server is gone. Its tools stay on offer, since what a model was told of must not vanish within
    /// a turn.
    pub fn is_closed(&self) -> bool {
        self.connection.service.is_transport_closed()
    }
}

impl ToolSource for McpServer {
    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        let tool = |tool: rmcp::model::Tool| -> Arc<dyn Tool> {
            Arc::new(McpTool::new(Arc::clone(&self.connection), &self.prefix, &tool))
        };
        self.connection.catalogue.get().into_iter().map(tool).collect()
    }
}

/// What happened in the end: the layers above it tell of types.
fn cause(error: &(dyn std::error::Error + 'static)) -> String {
    let mut last = error;
    while let Some(source) = last.source() {
        last = source;
    }
    last.to_string()
}

/// One connection, and the thread that holds it.
pub(crate) struct Connection {
    name: String,
    service: Arc<RunningService<RoleClient, Client>>,
    catalogue: Catalogue,
    worker: Worker,
}

impl Connection {
    /// Calls a tool. Dropping the future tells the server that nobody waits any more.
    pub(crate) async fn call(&self, request: CallToolRequestParams) -> Result<CallToolResult> {
        let service = Arc::clone(&self.service);
        let result = self.worker.run(async move { service.call_tool(request).await }).await?;
        result.map_err(|error| self.failed(error))
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

/// The tools that the server last told of. Clones share it.
#[derive(Clone, Debug, Default)]
struct Catalogue(Arc<RwLock<Vec<rmcp::model::Tool>>>);

impl Catalogue {
    fn get(&self) -> Vec<rmcp::model::Tool> {
        // A list is replaced whole, so it is whole whatever happened to the thread that held the lock.
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, tools: Vec<rmcp::model::Tool>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = tools;
    }
}

/// What the server may ask of this side: nothing; and what it tells: that its tools changed.
#[derive(Clone, Debug)]
struct Client {
    catalogue: Catalogue,
}

impl ClientHandler for Client {
    fn get_info(&self) -> ClientConfig {
        let this = Implementation::new("alloquy", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), this)
    }

    async fn on_tool_list_changed(&self, context: NotificationContext<RoleClient>) {
        match context.peer.list_all_tools().await {
            Ok(tools) => self.catalogue.set(tools),
            Err(error) => tracing::warn!(%error, "the tools of a server changed, and it does not list them"),
        }
    }
}
