//! How a model of embeddings is opened.

use super::options::TextModelOptions;
use super::pooling::Pooling;

/// How a model of embeddings is opened, where it is not to be as its files say.
///
/// ```no_run
/// use alloquy_onnx::{EmbedderOptions, OnnxEmbedder, Pooling};
///
/// // A folder that has a graph and a tokenizer, and no file of sentence-transformers.
/// let mut options = EmbedderOptions::default();
/// options.pooling = Some(vec![Pooling::Mean]);
/// options.query_prefix = Some("query: ".to_owned());
/// options.passage_prefix = Some("passage: ".to_owned());
/// let embedder = OnnxEmbedder::open("models/e5-small-v2", &options, &mut |_| {})?;
/// assert!(embedder.info().notes.is_empty());
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct EmbedderOptions {
    /// The options that all models of texts have.
    pub model: TextModelOptions,
    /// How the vectors of tokens become one; the vectors of several ways are joined.
    pub pooling: Option<Vec<Pooling>>,
    /// The prefix of a question.
    pub query_prefix: Option<String>,
    /// The prefix of a passage.
    pub passage_prefix: Option<String>,
    /// How many numbers of a vector are kept, from the first on. Models that were trained for it (Matryoshka) lose little.
    pub dimensions: Option<usize>,
}
