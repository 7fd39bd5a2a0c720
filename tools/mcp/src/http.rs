//! Servers elsewhere, spoken to through streamable HTTP.

use std::fmt;
use std::time::Duration;

use alloquy_core::{Error, ErrorKind, Result};
use reqwest::redirect::{Action, Attempt, Policy};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;

use crate::{McpLimits, McpServer};

/// How long an address may take to take a connection up.
const CONNECT: Duration = Duration::from_secs(10);

/// How many redirections are followed.
const REDIRECTIONS: usize = 5;

/// Where a server is, and what opens its door.
///
/// ```
/// use alloquy_mcp::Endpoint;
///
/// let endpoint = Endpoint::new("https://example.com/mcp").bearer("secret");
/// assert_eq!(format!("{endpoint:?}"), r#"Endpoint { url: "https://example.com/mcp", bearer: true }"#);
/// ```
#[derive(Clone)]
#[must_use]
pub struct Endpoint {
    url: String,
    bearer: Option<String>,
}

impl Endpoint {
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

impl From<&str> for Endpoint {
    fn from(url: &str) -> Self {
        Self::new(url)
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The token itself is nobody's business.
        let bearer = self.bearer.is_some();
        formatter.debug_struct("Endpoint").field("url", &self.url).field("bearer", &bearer).finish()
    }
}

impl McpServer {
    /// Connects to a server through streamable HTTP, within the usual limits. A redirection is followed to the same host alone.
    ///
    /// # Errors
    /// [`ErrorKind::Tool`] when nobody is there, does not speak the protocol, or is beyond a limit; [`ErrorKind::Invalid`] for an
    /// address of another kind.
    pub async fn http(endpoint: impl Into<Endpoint>) -> Result<Self> {
        Self::http_within(endpoint, McpLimits::default()).await
    }

    /// As [`McpServer::http`], within other limits.
    ///
    /// # Errors
    /// As [`McpServer::http`].
    pub async fn http_within(endpoint: impl Into<Endpoint>, limits: McpLimits) -> Result<Self> {
        let Endpoint { url, bearer } = endpoint.into();
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
    // Whoever was first has chosen what computes the cryptography of this process, which is all the same here.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder()
        .connect_timeout(CONNECT)
        .redirect(Policy::custom(redirected))
        .build()
        .map_err(|source| Error::new(ErrorKind::Tool, "cannot make a client of HTTP").with_source(source))
}

/// Follows a redirection within a host; any other is the answer, and an error. A server elsewhere was not chosen by anybody here, and
/// would be sent what is meant for the first: the arguments of calls, and the token.
fn redirected(attempt: Attempt<'_>) -> Action {
    let before = attempt.previous().last();
    let is_same = before.is_some_and(|before| before.origin() == attempt.url().origin());
    if is_same && attempt.previous().len() <= REDIRECTIONS { attempt.follow() } else { attempt.stop() }
}
