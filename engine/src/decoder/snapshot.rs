//! What a session has computed, as bytes that outlive the process. Reads no disk; what the state means is the session's.
//!
//! | bytes | what |
//! |---|---|
//! | 8 | `ALQYSNAP` |
//! | 4 | the version of this layout, 4 |
//! | 8 | how many bytes the units take |
//! | 8 | how many bytes the state takes |
//! | 32 | the model: [`Engine::identity`](crate::Engine::identity) |
//! | 32 | the template |
//! | 32 | the key: SHA-256 of the version, the two digests and the units |
//! | … | the units: `0` and a token's four bytes, or `1` and the digest of a picture or a sound; at their end a `2` where the session had gone on otherwise than the prompt |
//! | … | the state |
//! | 32 | BLAKE3 of everything above, which takes a third of SHA-256's time |
//!
//! Numbers are little-endian. Every length is checked against the bytes that are there before anything is made of it.
//!
//! The key vouches for all that stands before the state, so that a session may take the state while it is read; at its end
//! the checksum says whether that session is to be kept.

use crate::Session;
use alloquy_core::Result;
use alloquy_core::media::Digest;
use alloquy_core::prompt::Unit;

mod header;
mod reading;
mod refusal;
mod source;
mod state_reader;

use self::header::{DIGEST, Head, Header, UNITS, encode};

pub use header::{Beginning, SnapshotOrigin};
pub use reading::Reading;
pub use refusal::SnapshotRefusal;
pub use source::SnapshotSource;
pub use state_reader::StateReader;

/// What a session has computed of some units, with all that says whether another one may go on from it.
///
/// [`Decoder::snapshot`](crate::decoder::Decoder::snapshot) makes one, and [`Decoder::restore`](crate::decoder::Decoder::restore) takes it back.
///
/// ```
/// use alloquy_engine::decoder::{Snapshot, SnapshotRefusal};
///
/// assert_eq!(Snapshot::read(b"no snapshot".to_vec()).unwrap_err(), SnapshotRefusal::Foreign);
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Snapshot {
    head: Head,
    /// Where the state begins, which goes on up to the checksum.
    state: usize,
    bytes: Vec<u8>,
}

impl Snapshot {
    /// Writes down what `session` has computed of `units`, which are the first that it holds.
    ///
    /// # Errors
    /// As [`Session::snapshot`].
    pub fn take(origin: SnapshotOrigin, units: &[Unit], session: &dyn Session) -> Result<Self> {
        Self::of(origin, Beginning { units: units.to_vec(), went_on: false }, session)
    }

    /// As [`Snapshot::take`], for a session that may have held more than these units.
    ///
    /// # Errors
    /// As [`Session::snapshot`].
    pub fn of(origin: SnapshotOrigin, beginning: Beginning, session: &dyn Session) -> Result<Self> {
        let encoded = encode(&beginning);
        let state = UNITS + encoded.len();
        let mut bytes = vec![0; UNITS];
        bytes.extend_from_slice(&encoded);
        session.snapshot(beginning.units.len(), &mut bytes)?;
        let key = origin.key(&encoded);
        let header = Header { units: encoded.len() as u64, state: (bytes.len() - state) as u64, origin, key };
        bytes.splice(..UNITS, header.bytes());
        let checksum = checksum(&bytes);
        // Growing by as much again would take the memory of another session.
        bytes.reserve_exact(DIGEST);
        bytes.extend_from_slice(checksum.as_bytes());
        Ok(Self { head: Head { origin, key, beginning }, state, bytes })
    }

    /// Reads a snapshot back. It takes as long as hashing its bytes does.
    ///
    /// # Errors
    /// [`SnapshotRefusal::Foreign`], [`SnapshotRefusal::OtherVersion`], [`SnapshotRefusal::Cut`] and
    /// [`SnapshotRefusal::Damaged`]: whatever the bytes are, reading them is safe.
    pub fn read(bytes: Vec<u8>) -> Result<Self, SnapshotRefusal> {
        let reading = Reading::open(bytes.as_slice(), bytes.len() as u64)?;
        let (head, length) = (reading.head.clone(), reading.left as usize);
        reading.finish()?;
        Ok(Self { head, state: bytes.len() - DIGEST - length, bytes })
    }

    /// Says whether what was computed with `origin` can go on from this.
    ///
    /// # Errors
    /// [`SnapshotRefusal::OtherModel`] and [`SnapshotRefusal::OtherTemplate`].
    pub fn check(&self, origin: &SnapshotOrigin) -> Result<(), SnapshotRefusal> {
        self.head.check(origin)
    }

    /// Returns what it was computed with.
    pub fn origin(&self) -> &SnapshotOrigin {
        &self.head.origin
    }

    /// Returns the key: of model, template and units.
    pub fn key(&self) -> Digest {
        self.head.key
    }

    /// Returns the units that are computed.
    pub fn units(&self) -> &[Unit] {
        &self.head.beginning.units
    }

    /// Returns what the session has written.
    pub fn state(&self) -> &[u8] {
        self.bytes.get(self.state..self.bytes.len() - DIGEST).unwrap_or_default()
    }

    /// Returns the bytes that [`Snapshot::read`] reads.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

impl std::fmt::Debug for Snapshot {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Snapshot({} units in {} bytes)", self.units().len(), self.bytes.len())
    }
}

/// Hashes on every core: for half a gigabyte one takes an eighth of a second.
fn checksum(bytes: &[u8]) -> blake3::Hash {
    blake3::Hasher::new().update_rayon(bytes).finalize()
}
