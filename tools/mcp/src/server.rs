//! A server as a source of tools.

use std::sync::Arc;

use alloquy_core::tool::ToolProvider;
use alloquy_core::{Result, Tool};
use rmcp::service::RoleClient;
use rmcp::transport::IntoTransport;

use crate::catalogue::RefusedTool;
use crate::connection::{Connection, Program};
use crate::limits::McpLimits;
use crate::tool::McpTool;

/// A server of the Model Context Protocol, as a source of tools.
///
/// It works under any runtime or none, because the connection has a thread of its own. Clones share the connection, which
/// ends when the last of them and of its tools is dropped. A program that was started for the connection ends with it.
///
/// After a server has exited, calls of its tools return an error that the model can read.
///
/// ```no_run
/// use alloquy_core::tool::Toolbox;
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
    /// Connects through the transport that `transport` makes on the server's thread, and reads the list of tools.
    pub(crate) async fn connect<T, E, A, F>(
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
        let connection = Connection::open(name, limits, program, transport).await?;
        Ok(Self { connection: Arc::new(connection), prefix: String::new() })
    }

    /// Returns the tools that the server lists but that are not offered, with the reason.
    pub fn refused(&self) -> Vec<RefusedTool> {
        self.connection.catalogue().refused()
    }

    /// Returns the name that the server reports, or else the program or address that it was connected by.
    pub fn name(&self) -> &str {
        self.connection.name()
    }

    /// Returns the server's instructions for its use, which a host may put into a system message.
    pub fn instructions(&self) -> Option<String> {
        self.connection.service().peer_info()?.instructions.clone()
    }

    /// Offers the tools under names that begin with `prefix`, so that the names of two servers do not clash.
    #[must_use]
    pub fn prefixed(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = prefix.into();
        self
    }

    /// Returns whether the connection is closed. The tools stay on offer, because a tool that was shown to a model must not
    /// vanish within a turn.
    pub fn is_closed(&self) -> bool {
        self.connection.service().is_transport_closed()
    }
}

impl ToolProvider for McpServer {
    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        let mut tools: Vec<Arc<dyn Tool>> = Vec::new();
        for tool in self.connection.catalogue().offered() {
            tools.push(Arc::new(McpTool::new(Arc::clone(&self.connection), &self.prefix, &tool)));
        }
        tools
    }
}
