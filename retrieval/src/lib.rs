//! Retrieval for conversations with language models: what finds passages, and how passages get into a prompt.
//!
//! A [`Retriever`] finds [passages](Passage) for a [`Lookup`].

mod facts;
mod lookup;
mod lookup_key;
mod passage;
mod prompts;
mod retriever;

pub use facts::{PassageName, RETRIEVAL_KEY, RetrievalFacts, RetrievalOutcome};
pub use lookup::Lookup;
pub use lookup_key::lookup_key;
pub use passage::{FailedRetriever, Found, Passage};
pub use prompts::{OnFailure, PromptPassages, Reuse};
pub use retriever::{Embedder, Embeddings, Reranker, Retriever, TextKind};
