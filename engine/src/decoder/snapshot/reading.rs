//! A snapshot on its way back: its head at once, its state when a session takes it, and at the end whether it was whole.

use std::io::{self, Read};

use super::header::{Beginning, DIGEST, Head, Header, SnapshotOrigin, UNITS, decode};
use super::refusal::SnapshotRefusal;
use super::source::SnapshotSource;

/// So many bytes are hashed on every core; fewer are hashed sooner on one.
const WORTH_SHARING: usize = 128 << 10;

/// How much of a state that nobody wants is read at once.
const CHUNK: usize = 1 << 20;

/// A snapshot whose head is read, and whose state is what is read of it.
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
    /// Those of [`Snapshot::read`](super::Snapshot::read), but for what its state says.
    pub fn of(source: SnapshotSource) -> Result<Self, SnapshotRefusal> {
        let length = source.length();
        Self::open(source, length)
    }
}

impl<R: Read> Reading<R> {
    /// Reads the head of a snapshot of `length` bytes. Its key says whether it is whole.
    pub(super) fn open(source: R, length: u64) -> Result<Self, SnapshotRefusal> {
        let mut hashed = Hashed { source, hasher: blake3::Hasher::new() };
        let header = Header::read(&hashed.first(UNITS as u64)?, length)?;
        header.check_length(length)?;
        let encoded = hashed.first(header.units)?;
        if header.origin.key(&encoded) != header.key {
            return Err(SnapshotRefusal::Damaged);
        }
        let beginning = decode(&encoded).ok_or(SnapshotRefusal::Damaged)?;
        let head = Head { origin: header.origin, key: header.key, beginning };
        Ok(Self { head, hashed, left: header.state })
    }

    /// Says whether what was computed with `origin` can go on from this.
    ///
    /// # Errors
    /// Those of [`Snapshot::check`](super::Snapshot::check).
    pub fn check(&self, origin: &SnapshotOrigin) -> Result<(), SnapshotRefusal> {
        self.head.check(origin)
    }

    /// Returns the units that are computed.
    pub fn beginning(&self) -> &Beginning {
        &self.head.beginning
    }

    /// Reads what is left, and says whether all of it was what was written.
    ///
    /// # Errors
    /// [`SnapshotRefusal::Damaged`] when it was not, [`SnapshotRefusal::Unreadable`] when that cannot be found out.
    pub fn finish(mut self) -> Result<(), SnapshotRefusal> {
        let mut chunk = vec![0; CHUNK];
        while self.read(&mut chunk).map_err(|error| unreadable(&error))? > 0 {}
        let mut written = [0; DIGEST];
        match self.hashed.source.read_exact(&mut written) {
            Ok(()) if self.hashed.hasher.finalize() == written => Ok(()),
            Err(error) if error.kind() != io::ErrorKind::UnexpectedEof => Err(unreadable(&error)),
            _ => Err(SnapshotRefusal::Damaged),
        }
    }
}

impl<R> std::fmt::Debug for Reading<R> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Reading({} units, {} bytes left)", self.head.beginning.units.len(), self.left)
    }
}

/// What is read is the state.
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
    /// The next `count` bytes, or fewer where the source ends: no length is believed before its bytes are there.
    fn first(&mut self, count: u64) -> Result<Vec<u8>, SnapshotRefusal> {
        let mut bytes = Vec::new();
        self.by_ref().take(count).read_to_end(&mut bytes).map_err(|error| unreadable(&error))?;
        Ok(bytes)
    }
}

impl<R: Read> Read for Hashed<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.source.read(into)?;
        let read = into.get(..count).unwrap_or_default();
        match count < WORTH_SHARING {
            true => self.hasher.update(read),
            false => self.hasher.update_rayon(read),
        };
        Ok(count)
    }
}

fn unreadable(error: &io::Error) -> SnapshotRefusal {
    SnapshotRefusal::Unreadable { message: error.to_string() }
}
