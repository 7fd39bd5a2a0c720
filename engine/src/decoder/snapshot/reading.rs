//! Reads a snapshot: first its head, then its state when a session needs it, and its checksum at the end.

use std::io::{self, Read};

use super::header::{Beginning, DIGEST, Head, Header, SnapshotIdentity, UNITS, decode};
use super::refusal::SnapshotError;
use super::source::SnapshotSource;

/// How many bytes are hashed on all cores; fewer are hashed faster on one.
const WORTH_SHARING: usize = 128 << 10;

/// How much of an unused state is read at once.
const CHUNK: usize = 1 << 20;

/// A snapshot whose head is read. To read from it is to read its state.
///
/// ```
/// use alloquy_core::media::Digest;
/// use alloquy_core::prompt::PromptUnit;
/// use alloquy_engine::decoder::snapshot::Reading;
/// use alloquy_engine::decoder::{Snapshot, SnapshotIdentity};
/// use alloquy_engine::{CancelToken, Engine};
/// use alloquy_testing::ScriptedEngine;
///
/// let mut session = ScriptedEngine::new([]).open()?;
/// let units = [PromptUnit::Token(72)];
/// session.forward(&units, &CancelToken::default())?;
/// let origin = SnapshotIdentity::new(Digest::of(b"model"), Digest::of(b"template"));
/// let snapshot = Snapshot::take(origin, &units, &*session)?;
///
/// let reading = Reading::of(snapshot.bytes().to_vec().into())?;
/// assert!(reading.check(&origin).is_ok());
/// assert_eq!(reading.beginning().units, units);
/// reading.finish()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Reading<R> {
    pub(super) head: Head,
    hashed: Hashed<R>,
    /// How many bytes of the state are still to come.
    pub(super) left: u64,
}

impl Reading<SnapshotSource> {
    /// Reads the head.
    ///
    /// # Errors
    /// Those of [`Snapshot::read`](super::Snapshot::read), except those of its state.
    pub fn of(source: SnapshotSource) -> Result<Self, SnapshotError> {
        let length = source.length();
        Self::open(source, length)
    }
}

impl<R: Read> Reading<R> {
    /// Reads the head of a snapshot of `length` bytes, and checks its key.
    pub(super) fn open(source: R, length: u64) -> Result<Self, SnapshotError> {
        let mut hashed = Hashed { source, hasher: blake3::Hasher::new() };
        let header = Header::read(&hashed.first(UNITS as u64)?, length)?;
        header.check_length(length)?;
        let encoded = hashed.first(header.units)?;
        if header.origin.key(&encoded) != header.key {
            return Err(SnapshotError::Damaged);
        }
        let beginning = decode(&encoded).ok_or(SnapshotError::Damaged)?;
        let head = Head { origin: header.origin, key: header.key, beginning };
        Ok(Self { head, hashed, left: header.state })
    }

    /// Checks that sessions of `origin` can continue from this snapshot.
    ///
    /// # Errors
    /// Those of [`Snapshot::check`](super::Snapshot::check).
    pub fn check(&self, origin: &SnapshotIdentity) -> Result<(), SnapshotError> {
        self.head.check(origin)
    }

    /// Returns the model and the template that it was computed with.
    pub fn origin(&self) -> &SnapshotIdentity {
        &self.head.origin
    }

    /// Returns the units that are computed.
    pub fn beginning(&self) -> &Beginning {
        &self.head.beginning
    }

    /// Reads the rest, and checks that all bytes are those that were written.
    ///
    /// # Errors
    /// [`SnapshotError::Damaged`] when they are not, [`SnapshotError::Unreadable`] when they cannot be read.
    pub fn finish(mut self) -> Result<(), SnapshotError> {
        let mut chunk = vec![0; CHUNK];
        while self.read(&mut chunk).map_err(|error| unreadable(&error))? > 0 {}
        let mut written = [0; DIGEST];
        match self.hashed.source.read_exact(&mut written) {
            Ok(()) if self.hashed.hasher.finalize() == written => Ok(()),
            Err(error) if error.kind() != io::ErrorKind::UnexpectedEof => Err(unreadable(&error)),
            _ => Err(SnapshotError::Damaged),
        }
    }
}

impl<R> std::fmt::Debug for Reading<R> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Reading({} units, {} bytes left)", self.head.beginning.units.len(), self.left)
    }
}

/// Reads the state.
impl<R: Read> Read for Reading<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.hashed.by_ref().take(self.left).read(into)?;
        self.left -= count as u64;
        Ok(count)
    }
}

/// Bytes that are hashed while they are read.
struct Hashed<R> {
    source: R,
    hasher: blake3::Hasher,
}

impl<R: Read> Hashed<R> {
    /// Reads the next `count` bytes, or fewer where the source ends. A length from outside allocates nothing by itself.
    fn first(&mut self, count: u64) -> Result<Vec<u8>, SnapshotError> {
        let mut bytes = Vec::new();
        self.by_ref().take(count).read_to_end(&mut bytes).map_err(|error| unreadable(&error))?;
        Ok(bytes)
    }
}

impl<R: Read> Read for Hashed<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.source.read(into)?;
        let read = into.get(..count).unwrap_or_default();
        if count < WORTH_SHARING {
            self.hasher.update(read);
        } else {
            self.hasher.update_rayon(read);
        }
        Ok(count)
    }
}

fn unreadable(error: &io::Error) -> SnapshotError {
    SnapshotError::Unreadable { message: error.to_string() }
}
