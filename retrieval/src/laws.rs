//! What every retriever, embedder and reranker must do: one public suite each, for tests.
//!
//! | suite | for |
//! |---|---|
//! | [`retriever`] | [`Retriever`](crate::Retriever) |
//! | [`embedder`] | [`Embedder`](crate::Embedder) |
//! | [`reranker`] | [`Reranker`](crate::Reranker) |
//!
//! A broken law panics with a sentence. The suites need no async runtime, no file and no database of their own.
//!
//! [`retriever::all`], [`embedder::all`] and [`reranker::all`] have examples.

pub mod embedder;
pub mod reranker;
pub mod retriever;
