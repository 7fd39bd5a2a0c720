//! Models that read whole texts and do not write any: embeddings, and rerankers.
//!
//! `options` and `files` find a model, `reader` loads it, `sentence` reads how its vectors are made, `graph` runs it in `batches`, and
//! `pooling` makes a vector of a text's tokens.

mod background;
mod batches;
mod embedder;
mod embedder_options;
mod files;
mod graph;
mod note;
mod options;
mod pooling;
mod reader;
mod reranker;
mod sentence;

pub use embedder::{EmbedderInfo, OnnxEmbedder, open_embedder};
pub use embedder_options::EmbedderOptions;
pub use note::TextModelNote;
pub use options::TextModelOptions;
pub use pooling::Pooling;
pub use reranker::{OnnxReranker, PassageScores, RerankerInfo, RerankerOptions, open_reranker};
