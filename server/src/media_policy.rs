//! Which media a request may contain: bytes within the request, and addresses of hosts that the operator allows. Files of this machine
//! are never read.

mod address;
mod allowance;
mod fetcher;
mod host;

use std::sync::Arc;
use std::time::Duration;

use alloquy_core::media::MediaKind;
use alloquy_core::{Error, ErrorKind, Media, Result};
use alloquy_formats::messages::{MediaReference, MediaRules, MediaSource};

use crate::limits::RequestLimits;
use allowance::{Allowance, FetchLimits};
use fetcher::Fetcher;
use host::AllowedHost;

/// Which media a request may contain.
#[derive(Debug, Default)]
pub(crate) struct MediaPolicy {
    /// Fetches from the hosts that are allowed; `None` where none is.
    fetcher: Option<Arc<Fetcher>>,
    /// What the addresses of a request may still take.
    allowance: Allowance,
}

impl MediaPolicy {
    /// A policy that allows these hosts, each as `NAME` or `NAME:PORT`. [`MediaPolicy::of_request`] is the one that fetches.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for what is not the name of a host.
    pub(crate) fn allowing(hosts: &[String], limits: &RequestLimits) -> Result<Self> {
        let hosts: Result<Vec<AllowedHost>> = hosts.iter().map(|host| host.parse()).collect();
        let limits = FetchLimits { bytes: limits.media_bytes, time: limits.media_time };
        let hosts = hosts?;
        let fetcher = (!hosts.is_empty()).then(|| Arc::new(Fetcher::new(hosts, limits)));
        Ok(Self { fetcher, ..Self::default() })
    }

    /// Returns the policy of one request, whose addresses may take this time together, and as many bytes as the media of a document.
    pub(crate) fn of_request(&self, time: Duration) -> Self {
        let together = FetchLimits { bytes: MediaRules::default().max_total_bytes, time };
        Self { fetcher: self.fetcher.clone(), allowance: Allowance::new(together) }
    }

    /// Returns whether a host is allowed, so that reading a request may take as long as fetching does.
    pub(crate) fn fetches(&self) -> bool {
        self.fetcher.is_some()
    }

    /// Returns the rules for the messages of a request.
    pub(crate) fn rules(&self) -> MediaRules<'_> {
        MediaRules { source: self, ..MediaRules::default() }
    }
}

impl MediaSource for MediaPolicy {
    /// Fetches from a host that is allowed, and refuses everything else: a server that opens addresses of its clients opens those of its
    /// own network and disk too. A policy with hosts blocks the thread, which must not be one of a runtime.
    fn fetch(&self, kind: MediaKind, reference: MediaReference<'_>) -> Result<Media> {
        match (reference, &self.fetcher) {
            (MediaReference::Url(url), Some(fetcher)) => fetcher.fetch(kind, url, &self.allowance),
            _ => Err(refused(kind, reference)),
        }
    }
}

fn refused(kind: MediaKind, reference: MediaReference<'_>) -> Error {
    let message = format!(
        "the {kind} is {reference}, and this server opens no addresses: send the bytes as a data URI, data:image/png;base64,…"
    );
    Error::new(ErrorKind::Unsupported, message)
}
