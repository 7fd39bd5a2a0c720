//! Requests to the Hub: redirects, waiting, and trying again.

use std::error::Error as StdError;
use std::time::{Duration, SystemTime};

use ureq::http::{Response, StatusCode, header};
use ureq::tls::{RootCerts, TlsConfig};
use ureq::{Agent, Body};
use url::Url;

use crate::error::{HubError, Result};
use crate::event::{Events, pause};

/// How often a request is tried in succession without receiving anything new.
pub(crate) const TRIES: u32 = 6;

/// How many redirects are followed.
const REDIRECTS: usize = 10;

/// The longest that a pull waits because a server asks it to.
const LONGEST_WAIT: Duration = Duration::from_secs(300);

/// How much of an error's page is read.
const ERROR_BYTES: u64 = 64 << 10;

/// A client of one Hub.
#[derive(Clone, Debug)]
pub(crate) struct Http {
    agent: Agent,
    endpoint: Url,
    token: Option<String>,
    /// The pause before the second try; later ones double.
    first_wait: Duration,
}

/// The answer to a request, and what the Hub says about an error.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) url: String,
    pub(crate) response: Response<Body>,
}

/// A request that may succeed if it is tried again.
struct Passing {
    error: HubError,
    /// How long the server asks to wait.
    wait: Option<Duration>,
}

impl Http {
    pub(crate) fn new(endpoint: Url, token: Option<String>, first_wait: Duration) -> Self {
        // The certificates of the system, so that a proxy of a company may read along where its machines trust it.
        let tls = TlsConfig::builder().root_certs(RootCerts::PlatformVerifier).build();
        let config = Agent::config_builder()
            .tls_config(tls)
            .http_status_as_error(false)
            // Followed here, so that the token goes to the Hub alone.
            .max_redirects(0)
            .max_redirects_will_error(false)
            .user_agent(concat!("alloquy/", env!("CARGO_PKG_VERSION")))
            .timeout_connect(Some(Duration::from_secs(20)))
            .timeout_recv_response(Some(Duration::from_secs(60)))
            .timeout_per_read(Some(Duration::from_secs(60)))
            .build();
        Self { agent: config.new_agent(), endpoint, token, first_wait }
    }

    /// Returns the address of the server, without a slash at the end.
    pub(crate) fn endpoint(&self) -> &str {
        self.endpoint.as_str().trim_end_matches('/')
    }

    pub(crate) fn has_token(&self) -> bool {
        self.token.is_some()
    }

    /// Requests a path of the Hub, from byte `from` on. Tries again where that may help.
    pub(crate) fn get(&self, path: &str, from: u64, events: Events<'_>) -> Result<Answer> {
        let url = self.url(path)?;
        let mut tries = 1;
        loop {
            let passing = match self.get_once(&url, from)? {
                Ok(answer) => return Ok(answer),
                Err(passing) => passing,
            };
            if tries == TRIES {
                return Err(tried(passing.error, tries));
            }
            let wait = passing.wait.unwrap_or_else(|| self.wait(tries));
            if wait > LONGEST_WAIT {
                return Err(HubError::RateLimited { host: host(&url), wait });
            }
            pause(wait, &passing.error.to_string(), events)?;
            tries += 1;
        }
    }

    /// Returns the pause after so many tries in succession.
    pub(crate) fn wait(&self, tries: u32) -> Duration {
        self.first_wait * 2_u32.saturating_pow(tries.saturating_sub(1))
    }

    fn url(&self, path: &str) -> Result<Url> {
        let url = format!("{}/{}", self.endpoint(), path);
        Url::parse(&url).map_err(|error| HubError::Endpoint { endpoint: url, reason: error.to_string() })
    }

    /// The outer error is final, the inner one may pass.
    fn get_once(&self, url: &Url, from: u64) -> Result<Result<Answer, Passing>> {
        let mut url = url.clone();
        for _ in 0..=REDIRECTS {
            let mut request = self.agent.get(url.as_str());
            if from > 0 {
                request = request.header(header::RANGE, format!("bytes={from}-"));
            }
            if let Some(token) = self.token.as_ref().filter(|_| url.origin() == self.endpoint.origin()) {
                request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
            }
            let response = match request.call() {
                Ok(response) => response,
                Err(error) => return Ok(Err(Passing { error: lost(&url, 1, error), wait: None })),
            };
            if response.status().is_redirection() {
                url = target(&url, &response)?;
                continue;
            }
            if may_pass(response.status()) {
                let wait = retry_after(&response);
                return Ok(Err(Passing { error: status(&url, response), wait }));
            }
            return Ok(Ok(Answer { url: url.into(), response }));
        }
        Err(HubError::Answer { url: url.into(), reason: format!("it redirects more than {REDIRECTS} times") })
    }
}

/// Returns the error of a connection that failed.
pub(crate) fn lost(url: &Url, tries: u32, source: impl StdError + Send + Sync + 'static) -> HubError {
    HubError::Connection { host: host(url), tries, source: Box::new(source) }
}

/// Returns the error after the last try.
fn tried(error: HubError, tries: u32) -> HubError {
    match error {
        HubError::Connection { host, source, .. } => HubError::Connection { host, tries, source },
        other => other,
    }
}

fn host(url: &Url) -> String {
    url.host_str().unwrap_or(url.as_str()).to_owned()
}

/// Returns the address that a redirect names.
fn target(url: &Url, response: &Response<Body>) -> Result<Url> {
    let location = response.headers().get(header::LOCATION).and_then(|location| location.to_str().ok());
    let target = location.and_then(|location| url.join(location).ok());
    let target = target.filter(|target| matches!(target.scheme(), "http" | "https"));
    let Some(target) = target else {
        let reason = format!("it redirects to {:?}", location.unwrap_or_default());
        return Err(HubError::Answer { url: url.to_string(), reason });
    };
    if url.scheme() == "https" && target.scheme() == "http" {
        let reason = format!("it redirects from https to {target}");
        return Err(HubError::Answer { url: url.to_string(), reason });
    }
    Ok(target)
}

/// Returns whether the same request may succeed later.
fn may_pass(status: StatusCode) -> bool {
    status.is_server_error() || matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::REQUEST_TIMEOUT)
}

/// Reads how long the server asks to wait: seconds, or a date.
///
/// Reference: RFC 9110, section 10.2.3.
fn retry_after(response: &Response<Body>) -> Option<Duration> {
    let text = response.headers().get(header::RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let date = httpdate::parse_http_date(text).ok()?;
    Some(date.duration_since(SystemTime::now()).unwrap_or_default())
}

/// Returns the error of an answer with a status that was not expected.
pub(crate) fn status(url: &Url, mut response: Response<Body>) -> HubError {
    let status = response.status();
    let message = header_text(&response, "x-error-message").or_else(|| page(&mut response));
    HubError::Status {
        url: url.to_string(),
        status: status.as_u16(),
        message: message.unwrap_or_else(|| status.canonical_reason().unwrap_or("no reason given").to_owned()),
    }
}

/// Returns the text of a header.
pub(crate) fn header_text(response: &Response<Body>, name: &str) -> Option<String> {
    Some(response.headers().get(name)?.to_str().ok()?.to_owned())
}

/// Returns the first line of a short text, or the `error` of a JSON object.
fn page(response: &mut Response<Body>) -> Option<String> {
    let text = response.body_mut().with_config().limit(ERROR_BYTES).read_to_string().ok()?;
    let json: Option<serde_json::Value> = serde_json::from_str(&text).ok();
    if let Some(error) = json.as_ref().and_then(|json| json.get("error")?.as_str()) {
        return Some(error.to_owned());
    }
    let line = text.lines().next()?.trim();
    let is_readable = !line.is_empty() && line.len() < 300 && !line.starts_with('<');
    is_readable.then(|| line.to_owned())
}
