//! The bytes of a snapshot, from any reader.

use std::io::{self, Cursor, Read};

/// The bytes of a snapshot, read once from the first to the last.
///
/// ```
/// use std::io::Read;
/// use alloquy_engine::decoder::SnapshotSource;
///
/// let kept: &[u8] = b"kept elsewhere";
/// let mut source = SnapshotSource::new(kept, kept.len() as u64);
/// let mut bytes = Vec::new();
/// source.read_to_end(&mut bytes)?;
/// assert_eq!((bytes.as_slice(), source.length()), (kept, 14));
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct SnapshotSource {
    reader: Box<dyn Read + Send>,
    length: u64,
}

impl SnapshotSource {
    /// Creates a source of the next `length` bytes of `reader`.
    pub fn new(reader: impl Read + Send + 'static, length: u64) -> Self {
        Self { reader: Box::new(reader), length }
    }

    /// Returns how many bytes there are, read or not.
    pub fn length(&self) -> u64 {
        self.length
    }
}

impl Read for SnapshotSource {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.reader.read(into)
    }
}

impl From<Vec<u8>> for SnapshotSource {
    fn from(bytes: Vec<u8>) -> Self {
        let length = bytes.len() as u64;
        Self::new(Cursor::new(bytes), length)
    }
}

impl std::fmt::Debug for SnapshotSource {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "SnapshotSource({} bytes)", self.length)
    }
}
