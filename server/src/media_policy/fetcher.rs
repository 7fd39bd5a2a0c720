//! Fetches media from hosts that are allowed: the name is resolved once, the addresses are checked, and the connection goes to exactly
//! those. So a name whose answer changes between two questions reaches nothing else.

use std::net::{IpAddr, SocketAddr};

use alloquy_core::media::MediaKind;
use alloquy_core::{Error, ErrorKind, Media, Result};
use reqwest::redirect::Policy;
use reqwest::{Client, Response, Url};
use tokio::net::lookup_host;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::address::is_public;
use super::allowance::{Allowance, FetchLimits};
use super::host::{AllowedHost, allowed};

/// How many pieces are fetched at once, for all clients.
const AT_ONCE: usize = 16;

/// Fetches media from hosts that are allowed.
#[derive(Debug)]
pub(super) struct Fetcher {
    hosts: Vec<AllowedHost>,
    /// The limits of one piece.
    limits: FetchLimits,
    /// Whether a connection to an address is allowed. Tests reach this machine by another function; there is no setting for it.
    is_reachable: fn(IpAddr) -> bool,
    places: Semaphore,
}

impl Fetcher {
    pub(super) fn new(hosts: Vec<AllowedHost>, limits: FetchLimits) -> Self {
        Self { hosts, limits, is_reachable: is_public, places: Semaphore::new(AT_ONCE) }
    }

    /// Fetches a piece of media, as far as the allowance of its request goes, and blocks the thread meanwhile.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] for an address that is not allowed, and [`ErrorKind::Invalid`] where it has no media of the kind.
    pub(super) fn fetch(&self, kind: MediaKind, url: &str, allowance: &Allowance) -> Result<Media> {
        let parsed =
            allowed(url, &self.hosts).map_err(|reason| failed(ErrorKind::Unsupported, kind, url, &reason))?;
        let Ok(runtime) = Handle::try_current() else {
            return Err(failed(ErrorKind::Backend, kind, url, "cannot be opened without a runtime"));
        };
        let Some(limits) = allowance.next(self.limits) else {
            let reason = "is one too many for this request: send fewer, or the bytes as data URIs";
            return Err(failed(ErrorKind::Invalid, kind, url, reason));
        };
        let bytes = runtime.block_on(timeout(limits.time, self.bytes(parsed, limits.bytes)));
        let late = format!("did not answer within {} seconds", limits.time.as_secs_f32());
        let bytes = bytes.unwrap_or(Err(late));
        let bytes = bytes.map_err(|reason| failed(ErrorKind::Invalid, kind, url, &reason))?;
        allowance.spend(bytes.len());
        // What the host says of the type is not asked: the bytes decide.
        let Some(media_type) = kind.type_of(&bytes) else {
            let reason = format!("does not begin as one of: {}", kind.known_types().join(", "));
            return Err(failed(ErrorKind::Invalid, kind, url, &reason));
        };
        Ok(Media::new(media_type, bytes))
    }

    async fn bytes(&self, url: Url, most: usize) -> Result<Vec<u8>, String> {
        // The semaphore is never closed.
        let _place = self.places.acquire().await.map_err(|closed| closed.to_string())?;
        let addresses = self.resolved(&url).await?;
        let client = client(&url, &addresses)?;
        let answer = client.get(url).send().await;
        let response = answer.map_err(|_| "cannot be reached".to_owned())?;
        let status = response.status();
        if !status.is_success() {
            return Err(format!("answered with the status {}", status.as_u16()));
        }
        body(response, most).await
    }

    /// Resolves the name of a host. Where one of its addresses is not public, none is used.
    async fn resolved(&self, url: &Url) -> Result<Vec<SocketAddr>, String> {
        let unknown = "is of a host without an address";
        let port = url.port_or_known_default().ok_or(unknown)?;
        let name = url.host_str().ok_or(unknown)?.trim_start_matches('[').trim_end_matches(']');
        let found = lookup_host((name, port)).await.map_err(|_| unknown.to_owned())?;
        let addresses: Vec<SocketAddr> = found.collect();
        if addresses.is_empty() {
            return Err(unknown.to_owned());
        }
        if !addresses.iter().all(|address| (self.is_reachable)(address.ip())) {
            return Err("is of a host that is not on the public internet".to_owned());
        }
        Ok(addresses)
    }
}

/// Reads a body up to the most bytes.
async fn body(mut response: Response, most: usize) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    while let Some(piece) = response.chunk().await.map_err(|_| "was cut off".to_owned())? {
        if bytes.len() + piece.len() > most {
            return Err(format!("has more than {most} bytes"));
        }
        bytes.extend_from_slice(&piece);
    }
    Ok(bytes)
}

/// Makes a client that connects to these addresses alone, and follows nothing elsewhere.
fn client(url: &Url, addresses: &[SocketAddr]) -> Result<Client, String> {
    // It fails when another part of the process has chosen a provider already, which serves as well.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = Client::builder().redirect(Policy::none()).no_proxy().referer(false);
    let builder = builder.resolve_to_addrs(url.host_str().unwrap_or_default(), addresses);
    builder.build().map_err(|_| "cannot be opened: this server has no client of HTTP".to_owned())
}

fn failed(kind_of_error: ErrorKind, kind: MediaKind, url: &str, reason: &str) -> Error {
    Error::new(kind_of_error, format!("the {kind} is the address {url:?}, which {reason}"))
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;

    const PNG: &[u8] = b"\x89PNG\r\n\x1a\n rest";

    /// A host that gives one answer to each connection, and returns its port.
    fn host(answer: Vec<u8>) -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        std::thread::spawn(move || {
            while let Ok((mut stream, _)) = listener.accept() {
                let _ = stream.read(&mut [0; 4096]);
                let _ = stream.write_all(&answer);
            }
        });
        port
    }

    fn answer(status: &str, headers: &str, body: &[u8]) -> Vec<u8> {
        let head = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n{headers}\r\n", body.len());
        [head.as_bytes(), body].concat()
    }

    /// Fetches from `localhost`, which only tests can reach.
    async fn fetched(port: u16, is_reachable: fn(IpAddr) -> bool) -> Result<Media> {
        let together = FetchLimits { bytes: 1000, time: Duration::from_secs(60) };
        fetched_within(port, is_reachable, &Arc::new(Allowance::new(together))).await
    }

    async fn fetched_within(
        port: u16,
        is_reachable: fn(IpAddr) -> bool,
        allowance: &Arc<Allowance>,
    ) -> Result<Media> {
        let hosts = vec![format!("localhost:{port}").parse().unwrap()];
        let limits = FetchLimits { bytes: 1000, time: Duration::from_millis(500) };
        let fetcher = Fetcher { is_reachable, ..Fetcher::new(hosts, limits) };
        let url = format!("http://localhost:{port}/a");
        let allowance = Arc::clone(allowance);
        tokio::task::spawn_blocking(move || fetcher.fetch(MediaKind::Image, &url, &allowance)).await.unwrap()
    }

    #[tokio::test]
    async fn the_bytes_decide_what_it_is() {
        let port = host(answer("200 OK", "content-type: text/html\r\n", PNG));
        let media = fetched(port, |_| true).await.unwrap();
        assert_eq!((media.media_type(), media.bytes().unwrap().to_vec()), ("image/png", PNG.to_vec()));
    }

    #[tokio::test]
    async fn what_is_wrong_is_refused() {
        let elsewhere = host(answer("200 OK", "", PNG));
        let redirect = format!("location: http://localhost:{elsewhere}/\r\n");
        let endless = [b"HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n".as_slice(), PNG].concat();
        let cases = [
            (answer("302 Found", &redirect, b""), "the status 302"),
            (answer("404 Not Found", "", PNG), "the status 404"),
            (answer("200 OK", "", b"<html>"), "does not begin as one of"),
            (answer("200 OK", "", &[0; 1001]), "more than 1000 bytes"),
            (endless, "was cut off"),
        ];
        for (answer, words) in cases {
            let error = fetched(host(answer), |_| true).await.unwrap_err();
            assert!(error.to_string().contains(words), "{words}: {error}");
        }
        // One that accepts and says nothing.
        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        let error = fetched(silent.local_addr().unwrap().port(), |_| true).await.unwrap_err();
        assert!(error.to_string().contains("did not answer within"), "{error}");
    }

    #[tokio::test]
    async fn the_addresses_of_a_request_have_limits_together() {
        let port = host(answer("200 OK", "", PNG));
        let time = Duration::from_secs(60);
        let cases = [
            (FetchLimits { bytes: 2 * PNG.len(), time }, 2, "one too many"),
            (FetchLimits { bytes: 2 * PNG.len() + 1, time }, 2, "more than 1 bytes"),
            (FetchLimits { bytes: 1000, time: Duration::ZERO }, 0, "one too many"),
        ];
        for (together, fetches, words) in cases {
            let allowance = Arc::new(Allowance::new(together));
            for _ in 0..fetches {
                fetched_within(port, |_| true, &allowance).await.unwrap();
            }
            let error = fetched_within(port, |_| true, &allowance).await.unwrap_err();
            assert!(error.to_string().contains(words), "{words}: {error}");
        }
    }

    #[tokio::test]
    async fn this_machine_is_not_reached_under_an_allowed_name() {
        let port = host(answer("200 OK", "", PNG));
        let error = fetched(port, is_public).await.unwrap_err();
        assert!(error.to_string().contains("not on the public internet"), "{error}");
    }
}
