//! Hosts from which media may be fetched, and the addresses of requests that name one of them.

use std::str::FromStr;

use alloquy_core::{Error, ErrorKind, Result};
use reqwest::Url;

/// A host from which media may be fetched: its name, and its port where that is not the usual one of the scheme.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AllowedHost {
    name: String,
    port: Option<u16>,
}

impl FromStr for AllowedHost {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        // Read as the address of a request is, so that both are written alike.
        let parsed = Url::parse(&format!("http://{text}/")).ok();
        let parsed = parsed.filter(|url| url.path() == "/" && url.query().is_none() && !has_account(url));
        let name = parsed.as_ref().and_then(name_of).filter(|_| !text.contains(['/', '*', '?', '#']));
        let Some(name) = name else {
            let message = format!(
                "{text:?} is not a host of media: write its name, such as images.example.org or images.example.org:8443"
            );
            return Err(Error::new(ErrorKind::Invalid, message));
        };
        // 80 is left out, as the usual port of HTTP.
        let port = parsed.and_then(|url| url.port());
        Ok(Self { name, port })
    }
}

impl AllowedHost {
    /// Returns whether an address is one of this host.
    fn has(&self, url: &Url) -> bool {
        let is_port = match self.port {
            Some(port) => url.port_or_known_default() == Some(port),
            None => url.port().is_none(),
        };
        is_port && name_of(url).as_ref() == Some(&self.name)
    }
}

/// Reads the address of a piece of media.
///
/// # Errors
/// What is wrong with it, as the end of a sentence.
pub(super) fn allowed(url: &str, hosts: &[AllowedHost]) -> Result<Url, String> {
    let Ok(url) = Url::parse(url) else { return Err("is not valid".to_owned()) };
    if !["http", "https"].contains(&url.scheme()) {
        return Err(format!("has the scheme {:?}: http and https are possible", url.scheme()));
    }
    if has_account(&url) {
        return Err("has a user or a password: leave them out".to_owned());
    }
    if !hosts.iter().any(|host| host.has(&url)) {
        return Err("is of a host that this server does not open: send the bytes as a data URI".to_owned());
    }
    Ok(url)
}

fn has_account(url: &Url) -> bool {
    !url.username().is_empty() || url.password().is_some()
}

/// Returns the name without the dot of the root.
fn name_of(url: &Url) -> Option<String> {
    let name = url.host_str()?.trim_end_matches('.').to_ascii_lowercase();
    (!name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_a_name_and_perhaps_a_port() {
        let cases = [
            ("images.example.org", true),
            ("images.example.org:8443", true),
            ("93.184.216.34", true),
            ("[2606:2800:220:1::1]:8443", true),
            ("", false),
            ("*", false),
            ("*.example.org", false),
            ("https://example.org", false),
            ("example.org/images", false),
            ("ann@example.org", false),
            ("example.org?x", false),
            ("example.org:x", false),
        ];
        for (text, expected) in cases {
            assert_eq!(text.parse::<AllowedHost>().is_ok(), expected, "{text}");
        }
    }

    #[test]
    fn addresses_of_allowed_hosts_alone_are_opened() {
        let hosts: Vec<AllowedHost> =
            ["Images.example.org", "other.example.org:8443", "safe.example.org:443"]
                .map(|host| host.parse().unwrap())
                .into();
        let cases = [
            ("https://images.example.org/a.png", true),
            ("http://images.example.org/a.png?b=c", true),
            ("https://IMAGES.example.org./a.png", true),
            ("https://images.example.org:443/a.png", true),
            ("https://other.example.org:8443/", true),
            ("https://safe.example.org/", true),
            ("https://safe.example.org:443/", true),
            ("http://safe.example.org/", false),
            ("https://other.example.org/", false),
            ("https://images.example.org:22/", false),
            ("https://example.org/", false),
            ("https://images.example.org.evil.example/", false),
            ("https://evil.example/images.example.org", false),
            ("https://images.example.org@evil.example/", false),
            ("https://ann:secret@images.example.org/", false),
            ("https://evil.example#@images.example.org/", false),
            ("https://evil.example\\@images.example.org/", false),
            ("ftp://images.example.org/a.png", false),
            ("file:///etc/passwd", false),
            ("file://images.example.org/etc/passwd", false),
            ("gopher://images.example.org/", false),
            ("https://", false),
            ("http://127.0.0.1/", false),
            ("http://2130706433/", false),
            ("http://0x7f.1/", false),
            ("http://[::1]/", false),
        ];
        for (url, expected) in cases {
            assert_eq!(allowed(url, &hosts).is_ok(), expected, "{url}");
        }
    }
}
