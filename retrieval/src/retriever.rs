//! The traits of what finds passages, orders them, and computes vectors of texts.

use std::fmt::Debug;
use std::sync::Arc;

use alloquy_core::media::Digest;
use alloquy_core::{Owner, Result};
use async_trait::async_trait;

use crate::{Found, Lookup, Passage};

/// Finds passages.
///
/// # Contract
/// * The passages are sorted from the best to the worst; those with equal scores are sorted by name. They are at most
///   [`Lookup::limit`], and filters apply before the limit.
/// * The same lookup in the same version of the index finds the same passages.
/// * The documents of another owner are never found.
/// * An empty text finds nothing and is not an error. A failure is an error, never an empty result.
///
/// `laws::retriever`, with the feature `testing`, checks a retriever.
///
/// ```
/// use alloquy_core::media::Digest;
/// use alloquy_core::{Owner, Result};
/// use alloquy_retrieval::{Found, Lookup, Passage, Retriever};
///
/// /// Finds one passage, for whatever is asked.
/// #[derive(Debug)]
/// struct Oracle;
///
/// #[async_trait::async_trait]
/// impl Retriever for Oracle {
///     fn name(&self) -> &str {
///         "oracle"
///     }
///     async fn version(&self, _owner: &Owner) -> Result<Digest> {
///         Ok(Digest::of(b"1"))
///     }
///     async fn find(&self, owner: &Owner, lookup: &Lookup) -> Result<Found> {
///         let passages = if lookup.text.is_empty() { Vec::new() } else { vec![Passage::new("42", "Forty-two.")] };
///         Ok(Found::new(passages, self.version(owner).await?))
///     }
/// }
///
/// # pollster::block_on(async {
/// let found = Oracle.find(&Owner::local(), &Lookup::new("What is the answer?")).await?;
/// assert_eq!(found.passages[0].text, "Forty-two.");
/// # Ok::<(), alloquy_core::Error>(())
/// # }).unwrap();
/// ```
#[async_trait]
pub trait Retriever: Send + Sync + Debug {
    /// Returns its name, which facts and messages mention.
    fn name(&self) -> &str;

    /// Returns the version of an owner's index, without a search. It changes with everything that may change what is found: the
    /// documents, the embedder, the settings.
    ///
    /// # Errors
    /// When the index is unavailable.
    async fn version(&self, owner: &Owner) -> Result<Digest>;

    /// Finds passages.
    ///
    /// # Errors
    /// When the index is unavailable.
    async fn find(&self, owner: &Owner, lookup: &Lookup) -> Result<Found>;
}

#[async_trait]
impl<R: Retriever + ?Sized> Retriever for Arc<R> {
    fn name(&self) -> &str {
        (**self).name()
    }

    async fn version(&self, owner: &Owner) -> Result<Digest> {
        (**self).version(owner).await
    }

    async fn find(&self, owner: &Owner, lookup: &Lookup) -> Result<Found> {
        (**self).find(owner, lookup).await
    }
}

/// Orders passages that were found, and may leave some out.
///
/// A cross-encoder is one: a model that reads a question and a passage together. [`Reranked`](crate::Reranked) has an example.
#[async_trait]
pub trait Reranker: Send + Sync + Debug {
    /// Returns a digest of its model and settings, which differs for others that order differently.
    fn digest(&self) -> Digest;

    /// Orders `passages` by how well they answer `text`, the best first, each with its new score.
    ///
    /// # Errors
    /// Those of its model.
    async fn rerank(&self, text: &str, passages: Vec<Passage>) -> Result<Vec<Passage>>;
}

#[async_trait]
impl<R: Reranker + ?Sized> Reranker for Arc<R> {
    fn digest(&self) -> Digest {
        (**self).digest()
    }

    async fn rerank(&self, text: &str, passages: Vec<Passage>) -> Result<Vec<Passage>> {
        (**self).rerank(text, passages).await
    }
}

/// What a text is: some models read questions and passages in two ways.
///
/// [`Embedder`] uses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TextKind {
    /// A question, or another text to look for.
    Query,
    /// A passage to be found.
    Passage,
}

/// Computes vectors of texts.
///
/// # Contract
/// Vectors have [`Embedder::dimensions`] finite numbers and a length of 1, so that a dot product is a cosine. A text in a batch
/// has the vector that it has alone, within 0.001 in each dimension. A text that the model cuts is one of [`Embeddings::cut`].
///
/// `laws::embedder`, with the feature `testing`, checks an embedder.
///
/// ```
/// use alloquy_core::Result;
/// use alloquy_core::media::Digest;
/// use alloquy_retrieval::{Embedder, Embeddings, TextKind};
///
/// /// Distinguishes texts with an even number of bytes from others.
/// #[derive(Debug)]
/// struct Parity;
///
/// #[async_trait::async_trait]
/// impl Embedder for Parity {
///     fn digest(&self) -> Digest {
///         Digest::of(b"parity")
///     }
///     fn dimensions(&self) -> usize {
///         2
///     }
///     async fn embed(&self, texts: &[&str], _kind: TextKind) -> Result<Embeddings> {
///         let vectors = texts.iter().map(|text| if text.len() % 2 == 0 { vec![1.0, 0.0] } else { vec![0.0, 1.0] });
///         Ok(Embeddings { vectors: vectors.collect(), cut: Vec::new() })
///     }
/// }
///
/// # pollster::block_on(async {
/// let embeddings = Parity.embed(&["tea", "cups"], TextKind::Passage).await?;
/// assert_eq!(embeddings.vectors, [[0.0, 1.0], [1.0, 0.0]]);
/// # Ok::<(), alloquy_core::Error>(())
/// # }).unwrap();
/// ```
#[async_trait]
pub trait Embedder: Send + Sync + Debug {
    /// Returns a digest of its model and settings, which differs for others that compute other vectors.
    fn digest(&self) -> Digest;

    /// Returns how many numbers a vector has.
    fn dimensions(&self) -> usize;

    /// Computes a vector for each text, in their order.
    ///
    /// # Errors
    /// Those of its model.
    async fn embed(&self, texts: &[&str], kind: TextKind) -> Result<Embeddings>;
}

#[async_trait]
impl<E: Embedder + ?Sized> Embedder for Arc<E> {
    fn digest(&self) -> Digest {
        (**self).digest()
    }

    fn dimensions(&self) -> usize {
        (**self).dimensions()
    }

    async fn embed(&self, texts: &[&str], kind: TextKind) -> Result<Embeddings> {
        (**self).embed(texts, kind).await
    }
}

/// The vectors of texts.
///
/// [`Embedder`] has an example.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Embeddings {
    /// A vector for each text.
    pub vectors: Vec<Vec<f32>>,
    /// The indices of texts that are longer than the model reads; their ends have no effect.
    pub cut: Vec<usize>,
}
