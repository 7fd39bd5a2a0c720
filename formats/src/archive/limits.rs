//! The limits for reading and writing a document. Knows no format.

use alloquy_core::{Error, ErrorKind, Result};

/// The limits for reading and writing. The depth of a tree does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArchiveLimits {
    /// The bytes of a document; 1 GiB unless set.
    pub bytes: usize,
    /// The nodes of a conversation; a million unless set.
    pub nodes: usize,
}

impl Default for ArchiveLimits {
    fn default() -> Self {
        Self { bytes: 1 << 30, nodes: 1_000_000 }
    }
}

impl ArchiveLimits {
    pub(super) fn check_bytes(&self, bytes: usize) -> Result<()> {
        within("bytes", bytes, self.bytes)
    }

    pub(super) fn check_nodes(&self, nodes: usize) -> Result<()> {
        within("nodes", nodes, self.nodes)
    }
}

fn within(what: &str, count: usize, limit: usize) -> Result<()> {
    if count <= limit {
        return Ok(());
    }
    Err(Error::new(ErrorKind::Invalid, format!("{count} {what} are more than the limit of {limit}")))
}
