//! Connects to servers through streamable HTTP.

use std::fmt;
use std::time::Duration;

use alloquy_core::{Error, ErrorKind, Result};
use reqwest::redirect::{Action, Attempt, Policy};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;

use crate::{McpLimits, McpServer};

/// How long a connection to an address may take.
const CONNECT: Duration = Duration::from_secs(10);

/// How many redirections are followed.
const REDIRECTIONS: usize = 5;

/// The address of a server, and the token that it requires.
///
/// ```
/// use alloquy_mcp::HttpEndpoint;
///
/// let endpoint = HttpEndpoint::new("https://example.com/mcp").bearer("secret");
/// assert_eq!(format!("{endpoint:?}"), r#"Endpoint { url: "https://example.com/mcp", bearer: true }"#);
/// ```
#[derive(Clone)]
#[must_use]
pub struct HttpEndpoint {
    url: String,
    bearer: Option<String>,
}

impl HttpEndpoint {
    /// An address that begins with `http://` or `https://`.
    pub fn new(url: impl Into<String>) -> Self {
        Self { url: url.into(), bearer: None }
    }

    /// Sends this token with every request.
    pub fn bearer(mut self, token: impl Into<String>) -> Self {
        self.bearer = Some(token.into());
        self
    }
}

impl From<&str> for HttpEndpoint {
    fn from(url: &str) -> Self {
        Self::new(url)
    }
}

impl fmt::Debug for HttpEndpoint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The token is a secret.
        let bearer = self.bearer.is_some();
        formatter.debug_struct("Endpoint").field("url", &self.url).field("bearer", &bearer).finish()
    }
}

impl McpServer {
    /// Connects to a server through streamable HTTP, within the default limits. Redirections are followed within the same
    /// host only.
    ///
    /// # Errors
    /// [`ErrorKind::Tool`] when no server answers, or it does not speak the protocol or exceeds a limit;
    /// [`ErrorKind::Invalid`] for an address that is not HTTP.
    pub async fn http(endpoint: impl Into<HttpEndpoint>) -> Result<Self> {
        Self::http_within(endpoint, McpLimits::default()).await
    }

    /// Connects to a server as [`McpServer::http`] does, within other limits.
    ///
    /// # Errors
    /// As [`McpServer::http`].
    pub async fn http_within(endpoint: impl Into<HttpEndpoint>, limits: McpLimits) -> Result<Self> {
        let HttpEndpoint { url, bearer } = endpoint.into();
        if !["http://", "https://"].iter().any(|scheme| url.starts_with(scheme)) {
            let message = format!("address {url:?} begins with neither \"http://\" nor \"https://\"");
            return Err(Error::new(ErrorKind::Invalid, message));
        }
        let mut config = StreamableHttpClientTransportConfig::with_uri(url.clone());
        config.max_sse_event_size = limits.message;
        if let Some(token) = bearer {
            config = config.auth_header(token);
        }
        let transport = async { Ok(StreamableHttpClientTransport::with_client(client()?, config)) };
        Self::connect(url, limits, None, transport).await
    }
}

fn client() -> Result<reqwest::Client> {
    // It fails when another part of the process has chosen a provider already, which serves as well.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder()
        .connect_timeout(CONNECT)
        .redirect(Policy::custom(redirected))
        .build()
        .map_err(|source| Error::new(ErrorKind::Tool, "cannot make a client of HTTP").with_source(source))
}

/// Follows a redirection within the same host. To another host it is not followed, and an error: that server would receive
/// the arguments of calls and the token, which are meant for the first.
fn redirected(attempt: Attempt<'_>) -> Action {
    let before = attempt.previous().last();
    let is_same = before.is_some_and(|before| before.origin() == attempt.url().origin());
    if is_same && attempt.previous().len() <= REDIRECTIONS { attempt.follow() } else { attempt.stop() }
}
