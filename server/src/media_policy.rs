//! Which media a request may contain: bytes within the request. Nothing is fetched, neither from a network nor from a disk.

use alloquy_core::media::MediaKind;
use alloquy_core::{Error, ErrorKind, Media, Result};
use alloquy_formats::messages::{MediaReference, MediaRules, MediaSource};

/// Which media a request may contain.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MediaPolicy;

impl MediaPolicy {
    /// Returns the rules for the messages of a request.
    pub(crate) fn rules(&self) -> MediaRules<'_> {
        MediaRules { source: self, ..MediaRules::default() }
    }
}

impl MediaSource for MediaPolicy {
    /// Refuses. A server that opens addresses of its clients opens those of its own network and disk too.
    fn fetch(&self, kind: MediaKind, reference: MediaReference<'_>) -> Result<Media> {
        let message = format!(
            "the {kind} is {reference}, and this server opens no addresses: send the bytes as a data URI, data:image/png;base64,…"
        );
        Err(Error::new(ErrorKind::Unsupported, message))
    }
}
