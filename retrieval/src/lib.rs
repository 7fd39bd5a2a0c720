//! Retrieval for conversations with language models: what finds passages, and how passages get into a prompt.
//!
//! A [`Retriever`] finds [passages](Passage) for a [`Lookup`].

mod lookup;
mod passage;
mod retriever;

pub use lookup::Lookup;
pub use passage::{FailedRetriever, Found, Passage};
pub use retriever::{Embedder, Embeddings, Reranker, Retriever, TextKind};
