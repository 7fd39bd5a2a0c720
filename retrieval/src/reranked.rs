//! A retriever whose passages are ordered again.

use std::num::NonZeroUsize;
use std::sync::Arc;

use alloquy_core::media::Digest;
use alloquy_core::{Owner, Result};
use async_trait::async_trait;

use crate::fuse::sort_passages;
use crate::{Found, Lookup, Reranker, Retriever};

/// A retriever whose best passages a [`Reranker`] orders again.
///
/// Scores, and [`Lookup::min_score`], are those of the reranker.
///
/// ```
/// use std::sync::Arc;
///
/// use alloquy_core::media::Digest;
/// use alloquy_core::{Owner, Result};
/// use alloquy_retrieval::{Lookup, MemoryRetriever, Passage, Reranked, Reranker, Retriever};
///
/// /// Prefers short passages.
/// #[derive(Debug)]
/// struct Short;
///
/// #[async_trait::async_trait]
/// impl Reranker for Short {
///     fn digest(&self) -> Digest {
///         Digest::of(b"short")
///     }
///     async fn rerank(&self, _text: &str, passages: Vec<Passage>) -> Result<Vec<Passage>> {
///         Ok(passages.into_iter().map(|passage| { let score = -(passage.text.len() as f64); passage.score(score) }).collect())
///     }
/// }
///
/// # pollster::block_on(async {
/// let passages = MemoryRetriever::default();
/// passages.add(&Owner::local(), [Passage::new("1", "tea, tea, tea"), Passage::new("2", "tea")]);
/// let found = Reranked::new(Arc::new(passages), Arc::new(Short)).find(&Owner::local(), &Lookup::new("tea")).await?;
/// assert_eq!(found.passages[0].id, "2");
/// # Ok::<(), alloquy_core::Error>(())
/// # }).unwrap();
/// ```
#[derive(Clone, Debug)]
pub struct Reranked {
    name: String,
    retriever: Arc<dyn Retriever>,
    reranker: Arc<dyn Reranker>,
    depth: NonZeroUsize,
}

impl Reranked {
    /// How many passages of the retriever are ordered again: each may take the time of a model call.
    pub const DEPTH: NonZeroUsize = NonZeroUsize::MIN.saturating_add(29);

    /// Creates a retriever that orders the passages of `retriever` by `reranker`.
    pub fn new(retriever: Arc<dyn Retriever>, reranker: Arc<dyn Reranker>) -> Self {
        Self { name: format!("reranked {}", retriever.name()), retriever, reranker, depth: Self::DEPTH }
    }

    /// Sets how many passages are ordered again; [`Reranked::DEPTH`] otherwise. Zero counts as one.
    #[must_use]
    pub fn depth(mut self, depth: usize) -> Self {
        self.depth = NonZeroUsize::new(depth).unwrap_or(NonZeroUsize::MIN);
        self
    }

    fn version_of(&self, version: Digest) -> Digest {
        let mut bytes = version.as_bytes().to_vec();
        bytes.extend(self.reranker.digest().as_bytes());
        bytes.extend(self.depth.to_string().as_bytes());
        Digest::of(&bytes)
    }
}

#[async_trait]
impl Retriever for Reranked {
    fn name(&self) -> &str {
        &self.name
    }

    async fn version(&self, owner: &Owner) -> Result<Digest> {
        Ok(self.version_of(self.retriever.version(owner).await?))
    }

    async fn find(&self, owner: &Owner, lookup: &Lookup) -> Result<Found> {
        let deeper = Lookup { limit: self.depth.max(lookup.limit), min_score: None, ..lookup.clone() };
        let mut found = self.retriever.find(owner, &deeper).await?;
        if !found.passages.is_empty() {
            found.passages = self.reranker.rerank(&lookup.text, found.passages).await?;
        }
        sort_passages(&mut found.passages);
        found.passages.retain(|passage| lookup.min_score.is_none_or(|least| passage.score >= least));
        found.passages.truncate(lookup.limit.get());
        found.version = self.version_of(found.version);
        Ok(found)
    }
}
