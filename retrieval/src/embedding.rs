//! Vectors of many texts, in batches, checked.

use std::borrow::Borrow;

use alloquy_core::{Error, ErrorKind, Result};

use crate::{Embedder, Embeddings, Passage, TextKind};

/// How many texts a model reads at once: more are hardly faster, and take more memory.
pub(crate) const BATCH: usize = 64;

/// Computes the vectors of at most [`BATCH`] texts.
async fn embed(embedder: &dyn Embedder, texts: &[&str], kind: TextKind) -> Result<Embeddings> {
    let embeddings = embedder.embed(texts, kind).await?;
    if embeddings.vectors.len() != texts.len() {
        let message = format!(
            "the embedder returned {} vectors for {} texts: it must return one for each",
            embeddings.vectors.len(),
            texts.len()
        );
        return Err(Error::new(ErrorKind::Model, message));
    }
    Ok(embeddings)
}

/// Computes the vectors of passages: of their headings and texts, 64 at once.
///
/// ```
/// use alloquy_retrieval::{NgramEmbedder, Passage, embed_passages};
///
/// # pollster::block_on(async {
/// let embeddings = embed_passages(&NgramEmbedder::new(256), &[Passage::new("1", "Green tea")]).await?;
/// assert_eq!(embeddings.vectors[0].len(), 256);
/// # Ok::<(), alloquy_core::Error>(())
/// # }).unwrap();
/// ```
///
/// # Errors
/// Those of the embedder, and [`ErrorKind::Model`] if it does not return a vector for each text.
pub async fn embed_passages(embedder: &dyn Embedder, passages: &[Passage]) -> Result<Embeddings> {
    let mut all = Embeddings::default();
    for batch in passages.chunks(BATCH) {
        let embeddings = embed_batch(embedder, batch).await?;
        let before = all.vectors.len();
        all.cut.extend(embeddings.cut.iter().map(|index| before + index));
        all.vectors.extend(embeddings.vectors);
    }
    Ok(all)
}

/// Computes the vectors of passages at once.
pub(crate) async fn embed_batch<P>(embedder: &dyn Embedder, batch: &[P]) -> Result<Embeddings>
where
    P: Borrow<Passage> + Sync,
{
    let texts: Vec<String> = batch.iter().map(|passage| passage.borrow().text_with_heading()).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    embed(embedder, &texts, TextKind::Passage).await
}

/// Computes the vector of a question.
///
/// ```
/// use alloquy_retrieval::{NgramEmbedder, embed_query};
///
/// # pollster::block_on(async {
/// assert_eq!(embed_query(&NgramEmbedder::new(256), "Which tea is green?").await?.len(), 256);
/// # Ok::<(), alloquy_core::Error>(())
/// # }).unwrap();
/// ```
///
/// # Errors
/// Those of the embedder, and [`ErrorKind::Model`] for a vector of another length or with a number that is not finite.
pub async fn embed_query(embedder: &dyn Embedder, text: &str) -> Result<Vec<f32>> {
    let embeddings = embed(embedder, &[text], TextKind::Query).await?;
    let vector = embeddings.vectors.into_iter().next().unwrap_or_default();
    let dimensions = embedder.dimensions();
    if vector.len() != dimensions || vector.iter().any(|number| !number.is_finite()) {
        let message = format!(
            "the embedder returned {} numbers for a question: it must return {dimensions} finite ones",
            vector.len()
        );
        return Err(Error::new(ErrorKind::Model, message));
    }
    Ok(vector)
}
