//! How an index is made.

use crate::words::WordOptions;
use crate::{Chunker, VectorFormat};

/// How an [`Index`](crate::Index) is made.
///
/// [`Index`](crate::Index) has an example.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct IndexOptions {
    /// What cuts documents.
    pub chunker: Chunker,
    /// How words count.
    pub words: WordOptions,
    /// How the numbers of vectors are stored.
    pub vectors: VectorFormat,
}
