//! How vectors are compared.

use alloquy_core::{Error, ErrorKind, Result};

/// The most candidates of an HNSW index. A larger limit of a lookup compares all vectors.
pub(super) const MOST_CANDIDATES: usize = 1_000;

/// How a PostgreSQL database finds the nearest vectors.
///
/// [`PassageDatabase::postgres`](crate::PassageDatabase::postgres) has an example.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum VectorSearch {
    /// It compares all vectors of the owner, and misses none.
    #[default]
    Exact,
    /// It follows the index HNSW of `pgvector`, which is made when the passages are opened. A search takes milliseconds among millions of
    /// vectors, and misses some. Where filters leave fewer than the limit, all vectors are compared.
    Hnsw {
        /// How many vectors it considers, from 1 to 1,000: more are slower, and miss less. 100 is usual.
        candidates: usize,
    },
}

impl VectorSearch {
    /// Refuses numbers that the index does not take.
    pub(super) fn check(self) -> Result<()> {
        match self {
            Self::Hnsw { candidates } if !(1..=MOST_CANDIDATES).contains(&candidates) => {
                let message = format!(
                    "a search by HNSW cannot consider {candidates} vectors: write 1 to {MOST_CANDIDATES}, such as 100"
                );
                Err(Error::new(ErrorKind::Invalid, message))
            }
            Self::Exact | Self::Hnsw { .. } => Ok(()),
        }
    }
}
