//! Sends drawn requests, and reads their answers to the end.

use std::time::Duration;

use super::TestServer;
use super::grammar::Drawn;

/// How long an answer may be silent.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long a stream of changes is read, which never ends by itself.
const GLANCE: Duration = Duration::from_millis(50);

/// How a request is sent.
#[derive(Clone, Copy)]
pub(crate) struct Sending<'a> {
    server: &'a TestServer,
    key: Option<&'a str>,
    is_damaged: bool,
}

/// What was sent, and what came back.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) drawn: Drawn,
    pub(crate) status: u16,
    /// The names of the headers, sorted.
    pub(crate) headers: Vec<String>,
    pub(crate) text: String,
}

impl<'a> Sending<'a> {
    pub(crate) fn new(server: &'a TestServer) -> Self {
        Self { server, key: None, is_damaged: false }
    }

    pub(crate) fn with_key(server: &'a TestServer, key: &'a str) -> Self {
        Self { key: Some(key), ..Self::new(server) }
    }

    /// Leaves out the last character of a body.
    pub(crate) fn damaged(mut self, is_damaged: bool) -> Self {
        self.is_damaged = is_damaged;
        self
    }

    pub(crate) async fn send(self, drawn: Drawn) -> Outcome {
        let mut request = self.server.request(&drawn.method, &drawn.path);
        if let Some(key) = self.key {
            request = request.bearer_auth(key);
        }
        if let Some(body) = &drawn.body {
            let mut text = body.to_string();
            if self.is_damaged {
                text.pop();
            }
            request = request.header("content-type", "application/json").body(text);
        }
        let response = request.send().await.unwrap_or_else(|error| panic!("{drawn:?}: {error}"));
        let status = response.status().as_u16();
        let mut headers: Vec<String> = response.headers().keys().map(ToString::to_string).collect();
        // A connection is closed after a while, whatever was requested.
        headers.retain(|name| name != "connection");
        headers.sort();
        let text = read(response, &drawn).await;
        Outcome { drawn, status, headers, text }
    }
}

async fn read(mut response: reqwest::Response, drawn: &Drawn) -> String {
    let mut bytes = Vec::new();
    let is_endless = drawn.path.contains("/events");
    let patience = if is_endless { GLANCE } else { PATIENCE };
    loop {
        match tokio::time::timeout(patience, response.chunk()).await {
            Ok(Ok(Some(chunk))) => bytes.extend_from_slice(&chunk),
            Ok(Ok(None)) => break,
            Ok(Err(error)) => panic!("{drawn:?}: the answer broke off: {error}"),
            Err(_) if is_endless => break,
            Err(_) => panic!("{drawn:?}: the answer does not end"),
        }
    }
    String::from_utf8(bytes).unwrap()
}
