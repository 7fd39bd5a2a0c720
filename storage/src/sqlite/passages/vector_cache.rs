//! The vectors of owners, in memory: comparing them there takes a tenth of the time of reading them.

use alloquy_core::media::Digest;
use alloquy_retrieval::{VectorSettings, Vectors};
use rusqlite::Transaction;

use crate::failure::Failure;

/// The most bytes of vectors that stay in memory beside those that were used last: 160,000 vectors of 384 numbers.
const MOST: usize = 256 * 1024 * 1024;

/// The vectors of an owner, in the order of their passages.
#[derive(Debug)]
pub(super) struct OwnerVectors {
    owner: i64,
    version: Digest,
    bytes: usize,
    pub(super) passages: Vec<i64>,
    pub(super) vectors: Vectors,
}

/// The vectors of the owners who asked last.
#[derive(Debug, Default)]
pub(super) struct VectorCache {
    /// The one that was used last is the last.
    owners: Vec<OwnerVectors>,
}

impl VectorCache {
    /// Returns the vectors of an owner in this version, from memory or from the database.
    pub(super) fn of(
        &mut self,
        unit: &Transaction<'_>,
        owner: i64,
        version: Digest,
        settings: &VectorSettings,
    ) -> Result<&OwnerVectors, Failure> {
        let place = self.owners.iter().position(|vectors| vectors.owner == owner);
        let known = place.map(|place| self.owners.remove(place));
        let vectors = match known {
            Some(vectors) if vectors.version == version => vectors,
            _ => read(unit, owner, version, settings)?,
        };
        let mut bytes = vectors.bytes;
        let mut first = self.owners.len();
        for (place, other) in self.owners.iter().enumerate().rev() {
            bytes += other.bytes;
            if bytes > MOST {
                break;
            }
            first = place;
        }
        self.owners.drain(..first);
        self.owners.push(vectors);
        self.owners.last().ok_or_else(|| Failure::damaged("the vectors in memory", "they are gone"))
    }
}

fn read(
    unit: &Transaction<'_>,
    owner: i64,
    version: Digest,
    settings: &VectorSettings,
) -> Result<OwnerVectors, Failure> {
    let mut passages = Vec::new();
    let mut vectors = Vectors::new(settings.dimensions, settings.format)?;
    let mut bytes = 0;
    let sql = "SELECT passage, vector FROM vectors WHERE owner = ?1 ORDER BY passage";
    let mut statement = unit.prepare_cached(sql)?;
    let mut rows = statement.query([owner])?;
    while let Some(row) = rows.next()? {
        let vector = row.get_ref(1)?.as_blob().map_err(|error| Failure::damaged("a vector", error))?;
        vectors.push_bytes(vector)?;
        bytes += vector.len() + size_of::<i64>();
        passages.push(row.get(0)?);
    }
    Ok(OwnerVectors { owner, version, bytes, passages, vectors })
}
