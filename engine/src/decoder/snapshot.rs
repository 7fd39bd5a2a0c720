//! Snapshots: the state of a session as bytes, which another process can read. The state itself is defined by the session.
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
//! | … | the units: `0` and a token's four bytes, or `1` and the digest of a piece of media. A `2` follows the last one if the session had more units |
//! | … | the state |
//! | 32 | BLAKE3 of everything above, which is three times as fast as SHA-256 |
//!
//! Numbers are little-endian. Every length is checked against the existing bytes before memory is allocated for it.
//!
//! The key verifies everything before the state, so a session may restore the state while it is read. The checksum at the end
//! decides whether that session is kept.

use crate::Session;
use alloquy_core::Result;
use alloquy_core::media::Digest;
use alloquy_core::prompt::PromptUnit;

mod header;
mod reading;
mod refusal;
mod source;
mod state_reader;

use self::header::{DIGEST, Head, Header, UNITS, encode};

pub use header::{Beginning, SnapshotIdentity};
pub use reading::Reading;
pub use refusal::SnapshotError;
pub use source::SnapshotSource;
pub use state_reader::StateReader;

/// The state of a session after some units, with all that decides whether another session may continue from it.
///
/// [`Decoder::snapshot`](crate::decoder::Decoder::snapshot) makes one, and [`Decoder::restore`](crate::decoder::Decoder::restore) takes it back.
///
/// ```
/// use alloquy_engine::decoder::{Snapshot, SnapshotError};
///
/// assert_eq!(Snapshot::read(b"no snapshot".to_vec()).unwrap_err(), SnapshotError::Foreign);
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Snapshot {
    head: Head,
    /// Where the state begins. It ends at the checksum.
    state: usize,
    bytes: Vec<u8>,
}

impl Snapshot {
    /// Saves the state of `session` after `units`, which are the first that it holds.
    ///
    /// # Errors
    /// As [`Session::snapshot`].
    pub fn take(origin: SnapshotIdentity, units: &[PromptUnit], session: &dyn Session) -> Result<Self> {
        Self::of(origin, Beginning { units: units.to_vec(), was_longer: false }, session)
    }

    /// As [`Snapshot::take`], for a session that may have held more than these units.
    ///
    /// # Errors
    /// As [`Session::snapshot`].
    pub fn of(origin: SnapshotIdentity, beginning: Beginning, session: &dyn Session) -> Result<Self> {
        let encoded = encode(&beginning);
        let mut bytes = before_state(&encoded);
        session.snapshot(beginning.units.len(), &mut bytes)?;
        Ok(Self::whole(origin, beginning, &encoded, bytes))
    }

    /// Makes a snapshot of a state that is no session's, such as where a server has saved it.
    ///
    /// ```
    /// use alloquy_core::media::Digest;
    /// use alloquy_core::prompt::PromptUnit;
    /// use alloquy_engine::decoder::snapshot::Beginning;
    /// use alloquy_engine::decoder::{Snapshot, SnapshotIdentity};
    ///
    /// let origin = SnapshotIdentity::new(Digest::of(b"model"), Digest::of(b"template"));
    /// let beginning = Beginning { units: vec![PromptUnit::Token(72)], was_longer: false };
    /// let snapshot = Snapshot::of_state(origin, beginning, b"saved as 72.bin");
    /// assert_eq!(snapshot.state(), b"saved as 72.bin");
    /// ```
    pub fn of_state(origin: SnapshotIdentity, beginning: Beginning, state: &[u8]) -> Self {
        let encoded = encode(&beginning);
        let mut bytes = before_state(&encoded);
        bytes.extend_from_slice(state);
        Self::whole(origin, beginning, &encoded, bytes)
    }

    /// Writes the header before units and state, and the checksum after them.
    fn whole(origin: SnapshotIdentity, beginning: Beginning, encoded: &[u8], mut bytes: Vec<u8>) -> Self {
        let state = UNITS + encoded.len();
        let key = origin.key(encoded);
        let header = Header { units: encoded.len() as u64, state: (bytes.len() - state) as u64, origin, key };
        bytes.splice(..UNITS, header.bytes());
        let checksum = checksum(&bytes);
        // Growth by doubling would take the memory of another session.
        bytes.reserve_exact(DIGEST);
        bytes.extend_from_slice(checksum.as_bytes());
        Self { head: Head { origin, key, beginning }, state, bytes }
    }

    /// Reads a snapshot. It takes as long as hashing its bytes.
    ///
    /// # Errors
    /// [`SnapshotError::Foreign`], [`SnapshotError::OtherVersion`], [`SnapshotError::Cut`] and
    /// [`SnapshotError::Damaged`]: reading any bytes is safe.
    pub fn read(bytes: Vec<u8>) -> Result<Self, SnapshotError> {
        let reading = Reading::open(bytes.as_slice(), bytes.len() as u64)?;
        let head = reading.head.clone();
        let length = reading.left as usize;
        reading.finish()?;
        Ok(Self { head, state: bytes.len() - DIGEST - length, bytes })
    }

    /// Returns how many bytes of a snapshot of `length` bytes are before its state, from its first bytes. `None` where these are no
    /// snapshot's, or too few.
    ///
    /// ```
    /// use alloquy_engine::decoder::Snapshot;
    ///
    /// assert_eq!(Snapshot::head_length(b"no snapshot", 11), None);
    /// ```
    pub fn head_length(first: &[u8], length: u64) -> Option<u64> {
        let header = Header::read(first, length).ok()?;
        header.check_length(length).ok()?;
        (UNITS as u64).checked_add(header.units)
    }

    /// Checks that sessions of `origin` can continue from this snapshot.
    ///
    /// # Errors
    /// [`SnapshotError::OtherModel`] and [`SnapshotError::OtherTemplate`].
    pub fn check(&self, origin: &SnapshotIdentity) -> Result<(), SnapshotError> {
        self.head.check(origin)
    }

    /// Returns the model and the template that it was computed with.
    pub fn origin(&self) -> &SnapshotIdentity {
        &self.head.origin
    }

    /// Returns the key: of model, template and units.
    pub fn key(&self) -> Digest {
        self.head.key
    }

    /// Returns the units that are computed.
    pub fn units(&self) -> &[PromptUnit] {
        &self.head.beginning.units
    }

    /// Returns the state that the session has saved.
    pub fn state(&self) -> &[u8] {
        self.bytes.get(self.state..self.bytes.len() - DIGEST).unwrap_or_default()
    }

    /// Returns the bytes for [`Snapshot::read`].
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

impl std::fmt::Debug for Snapshot {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Snapshot({} units in {} bytes)", self.units().len(), self.bytes.len())
    }
}

/// Returns room for a header, and the units.
fn before_state(encoded: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; UNITS];
    bytes.extend_from_slice(encoded);
    bytes
}

/// Hashes on all cores: half a gigabyte takes one core an eighth of a second.
fn checksum(bytes: &[u8]) -> blake3::Hash {
    blake3::Hasher::new().update_rayon(bytes).finalize()
}
