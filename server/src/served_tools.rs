//! The tools of the host that requests may name: servers of the Model Context Protocol, or any others, by their labels.

use std::sync::Arc;

use alloquy_core::tool::Toolbox;
use alloquy_core::{Error, ErrorKind, Result};

/// Tools under the label by which requests name them, as `{"type": "mcp", "server_label": "time"}`.
///
/// They run in this process or in servers that the host has connected to. The rules of the toolbox hold for every request: its timeout,
/// and its approval, which is beside the one that a request demands.
///
/// ```
/// use alloquy_core::tool::Toolbox;
/// use alloquy_server::{ServedModel, ServedTools, Server};
/// use alloquy_testing::EchoModel;
///
/// // With the crate alloquy-mcp: Toolbox::default().source(McpServer::program(command).await?)
/// let time = ServedTools::new("time", Toolbox::default());
/// let server = Server::builder().model(ServedModel::loaded("echo", EchoModel)).tools(time).build()?;
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ServedTools {
    label: String,
    toolbox: Toolbox,
    url: Option<String>,
}

impl ServedTools {
    /// Serves the tools of a toolbox. Each request sees those that it has then.
    pub fn new(label: impl Into<String>, toolbox: Toolbox) -> Self {
        Self { label: label.into(), toolbox, url: None }
    }

    /// Sets the address of their server. A request may repeat it as `server_url`; any other address is refused.
    #[must_use]
    pub fn url(mut self, url: impl Into<String>) -> Self {
        self.url = Some(url.into());
        self
    }

    /// Returns the label.
    pub fn label(&self) -> &str {
        &self.label
    }

    pub(crate) fn toolbox(&self) -> &Toolbox {
        &self.toolbox
    }

    pub(crate) fn address(&self) -> Option<&str> {
        self.url.as_deref()
    }
}

/// The tools of the host by their labels.
#[derive(Clone, Debug, Default)]
pub(crate) struct ToolServers(Arc<[ServedTools]>);

impl ToolServers {
    /// # Errors
    /// [`ErrorKind::Invalid`] for a label that is empty or used twice.
    pub(crate) fn new(servers: Vec<ServedTools>) -> Result<Self> {
        for (index, server) in servers.iter().enumerate() {
            let label = &server.label;
            if label.is_empty() || servers.iter().take(index).any(|other| other.label == *label) {
                let message = format!(
                    "the label {label:?} of tools is empty or taken: each needs a name of its own, which requests send as server_label"
                );
                return Err(Error::new(ErrorKind::Invalid, message));
            }
        }
        Ok(Self(servers.into()))
    }

    /// Returns the tools of a label.
    pub(crate) fn get(&self, label: &str) -> Option<&ServedTools> {
        self.0.iter().find(|server| server.label == label)
    }

    /// Returns all of them.
    pub(crate) fn all(&self) -> &[ServedTools] {
        &self.0
    }

    /// Returns the labels.
    pub(crate) fn labels(&self) -> Vec<&str> {
        self.0.iter().map(ServedTools::label).collect()
    }
}
