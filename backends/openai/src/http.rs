//! The client of HTTP: requests with the key, answers of limited length, and failures by kind.

use std::fmt;
use std::net::IpAddr;
use std::time::{Duration, SystemTime};

use alloquy_core::{Error, ErrorKind, Result};
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER};
use reqwest::{Client, Method, Request, Response, Url};
use serde_json::Value;
use tokio::time::timeout;

use crate::fault::{self, Fault};
use crate::server::{RemoteRetries, RemoteServer, RemoteTimeouts};

/// How many bytes an answer that is not a stream may have. llama.cpp's `/props` contains the whole chat template.
const ANSWER: usize = 16 << 20;

/// How long an answer that is not a stream may take.
const ANSWER_TIME: Duration = Duration::from_secs(30);

/// Speaks to one server.
#[derive(Clone)]
pub(crate) struct Http {
    client: Client,
    base: Url,
    /// The key and what else the protocol requires.
    headers: Vec<(HeaderName, HeaderValue)>,
    pub(crate) timeouts: RemoteTimeouts,
    pub(crate) retries: RemoteRetries,
}

impl Http {
    pub(crate) fn new(server: &RemoteServer) -> Result<Self> {
        let mut http = Self::without_key(server)?;
        http.show_key(server, AUTHORIZATION)?;
        Ok(http)
    }

    /// Speaks Anthropic's protocol, which has the key in a header of its own.
    pub(crate) fn of_anthropic(server: &RemoteServer) -> Result<Self> {
        let mut http = Self::without_key(server)?;
        let version = HeaderName::from_static("anthropic-version");
        http.headers.push((version, HeaderValue::from_static("2023-06-01")));
        http.show_key(server, HeaderName::from_static("x-api-key"))?;
        Ok(http)
    }

    /// Adds the header with the key of the server, which is `usual` if none is set.
    fn show_key(&mut self, server: &RemoteServer, usual: HeaderName) -> Result<()> {
        let name = server.header_of_key(usual)?;
        if let Some(key) = &server.key {
            let value = if name == AUTHORIZATION { secret(&key.bearer())? } else { secret(key.secret())? };
            self.headers.push((name, value));
        }
        Ok(())
    }

    fn without_key(server: &RemoteServer) -> Result<Self> {
        let base = address(&server.url)?;
        // It fails when another part of the process has chosen a provider already, which serves as well.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut client = Client::builder()
            .connect_timeout(server.timeouts.connect)
            .tcp_nodelay(true)
            // A request with prompts and a key is for this server alone.
            .redirect(reqwest::redirect::Policy::none())
            .tls_certs_merge(server.certificates()?);
        // A proxy of the environment has another machine where this one is meant.
        if is_loopback(&base) {
            client = client.no_proxy();
        }
        let client = client.build().map_err(|source| {
            Error::new(ErrorKind::Backend, "cannot make a client of HTTP").with_source(source)
        })?;
        Ok(Self { client, base, headers: Vec::new(), timeouts: server.timeouts, retries: server.retries })
    }

    /// Returns the address, as messages name it.
    pub(crate) fn address(&self) -> &str {
        self.base.as_str().trim_end_matches('/')
    }

    /// Reads JSON from a path.
    pub(crate) async fn get(&self, path: &str) -> Result<Value, Fault> {
        self.json(ANSWER_TIME, Method::GET, path, None).await
    }

    /// Checks that a path answers with a success, whatever it says.
    pub(crate) async fn reach(&self, path: &str) -> Result<(), Fault> {
        self.read(ANSWER_TIME, ANSWER, Method::GET, path, None).await.map(|_| ())
    }

    /// Sends JSON to a path, and reads JSON.
    pub(crate) async fn post(&self, path: &str, body: &Value) -> Result<Value, Fault> {
        self.post_within(ANSWER_TIME, path, body).await
    }

    /// Sends JSON to a path, and reads JSON that may take so long.
    pub(crate) async fn post_within(&self, time: Duration, path: &str, body: &Value) -> Result<Value, Fault> {
        self.json(time, Method::POST, path, Some(body.to_string())).await
    }

    /// Sends JSON to a path, and reads an answer of at most `most` bytes that may take so long.
    #[cfg(feature = "retrieval")]
    pub(crate) async fn post_text(
        &self,
        time: Duration,
        most: usize,
        path: &str,
        body: String,
    ) -> Result<String, Fault> {
        self.read(time, most, Method::POST, path, Some(body)).await
    }

    /// Sends JSON to a path, and returns the answer once it has begun as a success.
    pub(crate) async fn stream(&self, path: &str, body: String) -> Result<Response, Fault> {
        self.send(Method::POST, path, Some(body), "text/event-stream").await
    }

    async fn json(
        &self,
        time: Duration,
        method: Method,
        path: &str,
        body: Option<String>,
    ) -> Result<Value, Fault> {
        let text = self.read(time, ANSWER, method, path, body).await?;
        serde_json::from_str(&text).map_err(|source| {
            let message = format!("{}{path} did not answer with JSON: check the address", self.address());
            Fault::lasting(Error::new(ErrorKind::Backend, message).with_source(source))
        })
    }

    /// Sends a request, and reads an answer of at most `most` bytes that may take so long.
    async fn read(
        &self,
        time: Duration,
        most: usize,
        method: Method,
        path: &str,
        body: Option<String>,
    ) -> Result<String, Fault> {
        let answer = async {
            let response = self.send(method, path, body, "application/json").await?;
            self.text(response, most).await
        };
        match timeout(time, answer).await {
            Ok(answer) => answer,
            Err(_) => Err(Fault::passing(late(self.address(), path, time))),
        }
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<String>,
        accept: &str,
    ) -> Result<Response, Fault> {
        let mut request =
            self.client.request(method, format!("{}{path}", self.address())).header(ACCEPT, accept);
        for (name, value) in &self.headers {
            request = request.header(name, value.clone());
        }
        if let Some(body) = body {
            request = request.header(CONTENT_TYPE, "application/json").body(body);
        }
        let request = request.build().map_err(|source| self.unreachable(source))?;
        let response = self.execute(request).await.map_err(|source| self.unreachable(source))?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let wait = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok());
        let wait = wait.and_then(|value| fault::retry_after(value, SystemTime::now()));
        let text = self.text(response, 1 << 16).await.unwrap_or_default();
        Err(fault::of_status(status.as_u16(), &text, wait))
    }

    /// Sends a request, on a new connection if the server has just closed the kept one. llama.cpp closes it after each stream,
    /// without saying so before.
    async fn execute(&self, request: Request) -> reqwest::Result<Response> {
        let again = request.try_clone();
        match (self.client.execute(request).await, again) {
            (Err(error), Some(again)) if error.is_request() && !error.is_connect() && !error.is_timeout() => {
                tracing::debug!(%error, "the kept connection was closed and a new one is tried");
                self.client.execute(again).await
            }
            (answer, _) => answer,
        }
    }

    /// Reads an answer of at most `most` bytes as text.
    async fn text(&self, mut response: Response, most: usize) -> Result<String, Fault> {
        let mut bytes = Vec::new();
        while let Some(piece) = response.chunk().await.map_err(|source| self.unreachable(source))? {
            if bytes.len() + piece.len() > most {
                let message = format!("an answer of {} has more than {most} bytes", self.address());
                return Err(Fault::lasting(Error::new(ErrorKind::Backend, message)));
            }
            bytes.extend_from_slice(&piece);
        }
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Returns the failure of a connection.
    pub(crate) fn unreachable(&self, source: reqwest::Error) -> Fault {
        let message = format!("the connection to {} failed: check that the server runs", self.address());
        Fault::passing(Error::new(ErrorKind::Backend, message).with_source(source.without_url()))
    }
}

/// Returns the error for an answer that did not come in time.
pub(crate) fn late(address: &str, path: &str, waited: Duration) -> Error {
    let message =
        format!("{address}{path} did not answer within {waited:?}: set `RemoteTimeouts` if it needs longer");
    Error::new(ErrorKind::Busy, message)
}

/// Returns the value of a header that is never printed.
fn secret(value: &str) -> Result<HeaderValue> {
    let mut value = HeaderValue::from_str(value).map_err(|_| {
        // The cause would quote the key.
        Error::new(ErrorKind::Invalid, "the key of the server is not the value of a header")
    })?;
    value.set_sensitive(true);
    Ok(value)
}

/// Returns whether a server is on this machine.
fn is_loopback(base: &Url) -> bool {
    let Some(host) = base.host_str() else { return false };
    let address = host.trim_start_matches('[').trim_end_matches(']');
    match address.parse::<IpAddr>() {
        Ok(address) => address.is_loopback(),
        Err(_) => host == "localhost" || host.ends_with(".localhost"),
    }
}

fn address(url: &str) -> Result<Url> {
    let parsed = Url::parse(url)
        .ok()
        .filter(|parsed| matches!(parsed.scheme(), "http" | "https") && parsed.has_host());
    let Some(parsed) = parsed else {
        let message =
            format!("address {url:?} is not one of a server: write it like \"http://localhost:8000\"");
        return Err(Error::new(ErrorKind::Invalid, message));
    };
    // The address is printed, so the secret is not quoted here either.
    if !parsed.username().is_empty() || parsed.password().is_some() {
        let message = "an address must not contain a user or a password: set the key with `RemoteServer::key`, or \
             with ALLOQUY_REMOTE_KEY for the command line";
        return Err(Error::new(ErrorKind::Invalid, message));
    }
    if parsed.query().is_some() || parsed.fragment().is_some() {
        let message = format!("address {url:?} has a query: write the address of the server alone");
        return Err(Error::new(ErrorKind::Invalid, message));
    }
    let base = parsed.as_str().trim_end_matches('/');
    let base = base.strip_suffix("/v1").unwrap_or(base);
    Url::parse(base)
        .map_err(|source| Error::new(ErrorKind::Invalid, "the address is not valid").with_source(source))
}

impl fmt::Debug for Http {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Http").field("address", &self.address()).finish_non_exhaustive()
    }
}
