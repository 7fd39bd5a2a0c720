//! Who may send requests: the check of keys, and the check of the `Host` header.

use std::net::IpAddr;
use std::sync::{Arc, PoisonError, RwLock};

use alloquy_core::{Error, ErrorKind, Owner, Result};
use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, HOST};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::Next;
use axum::response::Response;

use crate::caller::Caller;
use crate::error::{ApiError, ApiResult};
use crate::keys::{KeyFile, KeyLimits};
use crate::metrics_token::MetricsToken;
use crate::tally::Tally;

/// The header of keys in Anthropic's API.
const API_KEY: &str = "x-api-key";

/// The keys and the names of the server. Copies share the keys.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    keys: Option<Arc<RwLock<KeyFile>>>,
    hosts: Arc<[String]>,
    /// The owner of requests where there are no keys.
    owner: Owner,
    /// What reads the metrics of a server with keys.
    metrics: Option<MetricsToken>,
}

impl Access {
    /// Access with these keys under these names; without keys, everybody on this machine has it, as one owner.
    pub(crate) fn new(keys: Option<KeyFile>, hosts: Vec<String>, owner: Owner) -> Self {
        let hosts = hosts.into_iter().map(|host| host.to_ascii_lowercase()).collect();
        Self { keys: keys.map(|keys| Arc::new(RwLock::new(keys))), hosts, owner, metrics: None }
    }

    /// Sets the token of the metrics.
    pub(crate) fn metrics_token(mut self, token: Option<MetricsToken>) -> Self {
        self.metrics = token;
        self
    }

    /// Returns whether requests need a key.
    pub(crate) fn has_keys(&self) -> bool {
        self.keys.is_some()
    }

    /// Replaces the keys.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for a server without keys: it would begin to refuse its clients.
    pub(crate) fn replace_keys(&self, file: KeyFile) -> Result<()> {
        let Some(keys) = &self.keys else {
            let message = "this server was started without keys: start it again with a file of keys";
            return Err(Error::new(ErrorKind::Invalid, message));
        };
        // The keys are valid even if a thread panicked while it held the lock.
        *keys.write().unwrap_or_else(PoisonError::into_inner) = file;
        Ok(())
    }

    fn caller(&self, headers: &HeaderMap, tally: Tally) -> ApiResult<Caller> {
        let Some(keys) = &self.keys else {
            let owner = self.owner.clone();
            return Ok(Caller { owner, limits: KeyLimits::default(), tally });
        };
        let Some(secret) = secret(headers) else {
            let message = "no key is given: send it as the header \"Authorization: Bearer KEY\"";
            return Err(unauthorized(message));
        };
        let keys = keys.read().unwrap_or_else(PoisonError::into_inner);
        match keys.find(secret) {
            Some(key) => Ok(Caller { owner: key.owner.clone(), limits: key.limits.clone(), tally }),
            None => Err(unauthorized("the key is unknown or revoked: `alloquy keys add` creates one")),
        }
    }

    /// Checks who reads the metrics. They count the requests of all owners, so the key of one of them is not enough.
    fn check_metrics(&self, headers: &HeaderMap) -> ApiResult<()> {
        match &self.metrics {
            Some(token) if secret(headers).is_some_and(|secret| token.is(secret)) => Ok(()),
            Some(_) => {
                let message = "the metrics need their own token: send it as \"Authorization: Bearer TOKEN\"";
                Err(unauthorized(message))
            }
            None if self.has_keys() => {
                let message = "the metrics of a server with keys need a token of their own: start it with --metrics-token-file FILE";
                Err(unauthorized(message))
            }
            None => self.check_host(headers),
        }
    }

    /// Checks the name under which a client reached the server. A web page elsewhere can give its own name the address of this
    /// machine, and then send requests here; they have its name in this header.
    fn check_host(&self, headers: &HeaderMap) -> ApiResult<()> {
        let mut given = headers.get_all(HOST).iter();
        let host = given.next().and_then(|host| host.to_str().ok());
        let (Some(host), None) = (host, given.next()) else {
            return Err(ApiError::new(StatusCode::BAD_REQUEST, "a request has one header Host, with a name"));
        };
        let name = without_port(host).to_ascii_lowercase();
        if is_loopback(&name) || self.hosts.iter().any(|known| *known == name || known == "*") {
            return Ok(());
        }
        let message = format!("{host:?} is not a name of this server: start it with --host {name}");
        Err(ApiError::new(StatusCode::FORBIDDEN, message).code("host_not_allowed"))
    }
}

fn unauthorized(message: &str) -> ApiError {
    ApiError::new(StatusCode::UNAUTHORIZED, message).code("invalid_api_key")
}

fn secret(headers: &HeaderMap) -> Option<&str> {
    if let Some(key) = headers.get(API_KEY) {
        return key.to_str().ok();
    }
    let (scheme, secret) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| secret.trim())
}

/// Returns the name of a host: `[::1]:8080` is `::1`.
fn without_port(host: &str) -> &str {
    if let Some((address, _)) = host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        return address;
    }
    host.rsplit_once(':').map_or(host, |(name, _)| name)
}

fn is_loopback(name: &str) -> bool {
    name == "localhost" || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Refuses requests under other names.
pub(crate) async fn check_host(State(access): State<Access>, request: Request, next: Next) -> ApiResult {
    access.check_host(request.headers())?;
    Ok(next.run(request).await)
}

/// Refuses the metrics to those who may not read them.
pub(crate) async fn check_metrics(State(access): State<Access>, request: Request, next: Next) -> ApiResult {
    access.check_metrics(request.headers())?;
    Ok(next.run(request).await)
}

/// Refuses requests without a valid key, and adds the [`Caller`] to the others.
pub(crate) async fn check_key(State(access): State<Access>, mut request: Request, next: Next) -> ApiResult {
    let tally = request.extensions().get::<Tally>().cloned().unwrap_or_default();
    let caller = access.caller(request.headers(), tally)?;
    request.extensions_mut().insert(caller);
    let response: Response = next.run(request).await;
    Ok(response)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_this_machine_need_no_setting() {
        let cases = [
            ("localhost", true),
            ("LOCALHOST:8080", true),
            ("127.0.0.1:80", true),
            ("[::1]:80", true),
            ("api.example.org:443", true),
            ("evil.example", false),
            ("localhost.evil.example", false),
            ("127.0.0.1.evil.example", false),
            ("192.168.0.7", false),
        ];
        let access = Access::new(None, vec!["API.example.org".to_owned()], Owner::local());
        for (host, allowed) in cases {
            let headers = HeaderMap::from_iter([(HOST, host.parse().unwrap())]);
            assert_eq!(access.check_host(&headers).is_ok(), allowed, "{host}");
        }
        assert!(access.check_host(&HeaderMap::new()).is_err());
    }
}
