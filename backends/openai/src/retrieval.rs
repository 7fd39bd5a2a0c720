//! Embeddings and reranking by a server.

mod answer;
mod embedder;
mod embedder_builder;
mod reranker;
mod reranker_builder;
mod server;

pub use embedder::{RemoteEmbedder, RemoteEmbedderInfo};
pub use embedder_builder::RemoteEmbedderBuilder;
pub use reranker::{RemoteReranker, RemoteRerankerInfo};
pub use reranker_builder::RemoteRerankerBuilder;
