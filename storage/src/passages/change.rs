//! A change of passages, as a database writes it.

use std::collections::{BTreeMap, HashSet};

use alloquy_core::media::Digest;
use alloquy_core::query::Filter;
use alloquy_core::{Error, ErrorKind};
use alloquy_retrieval::{Bm25, Passage, WordOptions};

use crate::failure::Failure;
use crate::json::encode;

/// A passage with everything that a database stores of it.
#[derive(Clone, Debug)]
pub(crate) struct PreparedPassage {
    pub(crate) id: String,
    pub(crate) source: Option<String>,
    /// The passage as JSON.
    pub(crate) body: String,
    /// Differs for a passage that differs, or that has another vector than its embedder computes.
    pub(crate) digest: Digest,
    /// How often it has each word, and how many words it has.
    pub(crate) words: BTreeMap<String, u32>,
    pub(crate) length: u32,
    /// Its metadata as an index has it.
    pub(crate) metadata: Vec<(String, Vec<u8>)>,
    pub(crate) vector: Option<Vec<f32>>,
}

impl PreparedPassage {
    pub(crate) fn new(options: &WordOptions, passage: &Passage) -> Result<Self, Failure> {
        let passage = passage.clone().score(0.0);
        let words = options.words_of(&passage);
        let length = u32::try_from(words.len()).unwrap_or(u32::MAX);
        let body = encode(&passage)?;
        Ok(Self {
            digest: Digest::of(body.as_bytes()),
            body,
            words: Bm25::counted(words),
            length,
            metadata: Filter::index(&passage.metadata),
            id: passage.id,
            source: passage.source,
            vector: None,
        })
    }

    /// Sets a vector that the embedder did not compute.
    pub(crate) fn with_vector(mut self, vector: Vec<f32>) -> Self {
        let mut bytes = self.body.clone().into_bytes();
        bytes.extend(vector.iter().flat_map(|number| number.to_le_bytes()));
        self.digest = Digest::of(&bytes);
        self.vector = Some(vector);
        self
    }
}

/// Which passages a change removes.
#[derive(Clone, Debug)]
pub(crate) enum Removal {
    Nothing,
    /// Those with these ids.
    Ids(HashSet<String>),
    /// Those of a document, or of all, that the change neither adds nor keeps.
    Others {
        source: Option<String>,
    },
}

/// What one transaction changes.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    pub(crate) added: Vec<PreparedPassage>,
    /// The ids and digests of passages that were found stored, and stay.
    pub(crate) kept: Vec<(String, Digest)>,
    pub(crate) removal: Removal,
}

impl Change {
    pub(crate) fn is_empty(&self) -> bool {
        self.added.is_empty() && matches!(self.removal, Removal::Nothing)
    }

    /// Returns the ids of the passages that are stored after the change.
    pub(crate) fn ids(&self) -> HashSet<&str> {
        let added = self.added.iter().map(|passage| passage.id.as_str());
        added.chain(self.kept.iter().map(|(id, _)| id.as_str())).collect()
    }

    /// Fails unless the passages that stay are stored, as those are that a transaction finds.
    ///
    /// They were looked for before the transaction, because vectors take long to compute. If another call has replaced some of them since,
    /// the document would have some passages of each.
    pub(crate) fn check_kept(&self, known: &HashSet<String>) -> Result<(), Failure> {
        let Some((id, _)) = self.kept.iter().find(|(id, _)| !known.contains(id)) else { return Ok(()) };
        let message = format!("another call has changed passage {id:?} since this one began: call again");
        Err(Error::new(ErrorKind::Conflict, message).into())
    }
}

/// What a transaction has changed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Changed {
    pub(crate) added: usize,
    pub(crate) removed: usize,
}

/// What a change of passages did.
///
/// [`PassageDatabase`](crate::PassageDatabase) has an example.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PassageReport {
    /// How many passages are new or have changed.
    pub added: usize,
    /// How many were there before.
    pub kept: usize,
    /// How many are gone.
    pub removed: usize,
    /// The ids of new ones that are longer than the embedder reads: their vectors lack the ends.
    pub cut: Vec<String>,
}

/// Fewer removed passages than these are not worth writing all blocks again.
const FEW: usize = 1_000;

/// Returns whether blocks have so many removed passages that they are to be written again without them.
pub(crate) fn is_sparse(removed: usize, passages: u64) -> bool {
    removed > FEW && removed as u64 > passages / 4
}

/// Returns the version after a change: a digest of the former one, of the digests of removed passages, and of those of added ones. So two
/// databases with the same version have the same passages, whatever the keys of their rows are.
pub(crate) fn next_version(before: Digest, mut removed: Vec<Vec<u8>>, added: &[PreparedPassage]) -> Digest {
    // Databases return them in any order.
    removed.sort_unstable();
    let mut bytes = before.as_bytes().to_vec();
    for digest in removed {
        bytes.push(b'-');
        bytes.extend(digest);
    }
    for passage in added {
        bytes.push(b'+');
        bytes.extend(passage.digest.as_bytes());
    }
    Digest::of(&bytes)
}

/// Returns the version of an owner without passages.
pub(crate) fn first_version() -> Digest {
    Digest::of(b"no passages")
}
