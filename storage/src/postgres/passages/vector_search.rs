//! How vectors are compared.

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
