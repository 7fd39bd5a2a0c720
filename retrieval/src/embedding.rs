//! Vectors of many texts, in batches, checked.

use alloquy_core::{Error, ErrorKind, Result};

use crate::{Embedder, Embeddings, TextKind};

/// How many texts a model reads at once: more are hardly faster, and take more memory.
pub(crate) const BATCH: usize = 64;

/// Computes the vectors of at most [`BATCH`] texts.
pub(crate) async fn embed(embedder: &dyn Embedder, texts: &[&str], kind: TextKind) -> Result<Embeddings> {
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

/// Computes the vector of a question.
pub(crate) async fn embed_query(embedder: &dyn Embedder, text: &str) -> Result<Vec<f32>> {
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
