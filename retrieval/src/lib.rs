//! Retrieval for conversations with language models: what finds passages, and how passages get into a prompt.
//!
//! A [`Retriever`] finds [passages](Passage) for a [`Lookup`].

#![cfg_attr(docsrs, feature(doc_cfg))]

mod chunker;
mod dictionary;
mod document;
mod embedding;
mod evaluation;
mod facts;
mod fuse;
mod hybrid;
mod index;
#[cfg(feature = "testing")]
pub mod laws;
mod lookup;
mod lookup_key;
mod mapped;
mod ngrams;
mod owners;
mod passage;
mod postings;
mod prompts;
mod reranked;
mod retriever;
mod stems;
mod table;
mod vector_index;
mod vectors;
mod word_index;
mod words;

pub use chunker::{Chunk, Chunker};
pub use dictionary::MemoryRetriever;
pub use document::{Document, Heading};
pub use evaluation::{Evaluation, JudgedAnswer, JudgedQuestion, evaluate};
pub use facts::{PassageName, RETRIEVAL_KEY, RetrievalFacts, RetrievalOutcome};
pub use fuse::fuse;
pub use hybrid::Hybrid;
pub use index::{
    Index, IndexOptions, IndexProgress, IndexReport, IndexSettings, IndexedDocument, SkippedDocument,
    VectorSettings,
};
pub use lookup::Lookup;
pub use lookup_key::lookup_key;
pub use ngrams::NgramEmbedder;
pub use passage::{FailedRetriever, Found, HEADING, Passage};
pub use prompts::{OnFailure, PromptPassages, Reuse};
pub use reranked::Reranked;
pub use retriever::{Embedder, Embeddings, Reranker, Retriever, TextKind};
pub use stems::StemLanguage;
pub use vector_index::VectorIndex;
pub use vectors::{VectorFormat, Vectors};
pub use word_index::WordIndex;
pub use words::WordOptions;
