//! Retrieval for conversations with language models: what finds passages, and how passages get into a prompt.
//!
//! A [`Retriever`] finds [passages](Passage) for a [`Lookup`]. Each passage is a part of a [`Document`], which a [`Chunker`] cut.
//!
//! | retriever | finds passages | they are in |
//! |---|---|---|
//! | [`Index`] | by words, by vectors, by both | a folder |
//! | [`WordIndex`] | by words: BM25, in any language | memory |
//! | [`VectorIndex`] | by vectors that an [`Embedder`] computes | memory |
//! | `PassageDatabase` of `alloquy-storage` | by words, by vectors, by both | a database |
//! | [`MemoryRetriever`] | by how many words they share with the question | memory |
//! | [`Hybrid`] | by several retrievers at once, whose ranks are [joined](fuse()) | |
//! | [`Reranked`] | by a retriever, in the order of a [`Reranker`] | |
//!
//! ```
//! use alloquy_core::Owner;
//! use alloquy_retrieval::{Chunker, Document, Lookup, Retriever, WordIndex, WordOptions};
//!
//! # pollster::block_on(async {
//! let page = Document::markdown("tea.md", "# Tea\n\n## Origin\n\nTea is grown in Assam.\n\n## Kinds\n\nGreen and black.\n");
//! let index = WordIndex::new(WordOptions::default())?;
//! index.add(&Owner::local(), Chunker::default().passages(&page));
//!
//! let found = index.find(&Owner::local(), &Lookup::new("Where does tea come from, and which is its origin?")).await?;
//! assert_eq!(found.passages[0].metadata["heading"], "Tea > Origin");
//! # Ok::<(), alloquy_core::Error>(())
//! # }).unwrap();
//! ```
//!
//! [`evaluate`] measures what a retriever finds. Features:
//!
//! * `stems`: words of one language compare by their [stems](WordOptions::stems).
//! * `testing`: `laws` has the laws of a [`Retriever`], an [`Embedder`] and a [`Reranker`], for tests of your own.

#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing))]

mod bm25;
mod chunker;
mod citations;
mod dictionary;
mod document;
mod documents;
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
mod on_failure;
mod owners;
mod passage;
mod postings;
mod prompts;
mod reranked;
mod retriever;
mod stems;
mod table;
mod time_limit;
mod vector_index;
mod vectors;
mod word_index;
mod words;

pub use bm25::Bm25;
pub use chunker::{Chunk, Chunker};
pub use citations::{Citation, citations};
pub use dictionary::MemoryRetriever;
pub use document::{Document, Heading};
pub use documents::{DOCUMENTS_KEY, DocumentsUse, RetrieveDocuments};
pub use embedding::{embed_passages, embed_query};
pub use evaluation::{Evaluation, JudgedAnswer, JudgedQuestion, evaluate};
pub use facts::{PassageName, RETRIEVAL_KEY, RetrievalFacts, RetrievalOutcome};
pub use fuse::{fuse, fuse_ranks, sort_passages};
pub use hybrid::Hybrid;
pub use index::{
    Index, IndexOptions, IndexProgress, IndexReport, IndexSettings, IndexedDocument, SkippedDocument,
    VectorSettings,
};
pub use lookup::Lookup;
pub use lookup_key::lookup_key;
pub use ngrams::NgramEmbedder;
pub use on_failure::OnFailure;
pub use passage::{FailedRetriever, Found, HEADING, Passage};
pub use prompts::{PromptPassages, Reuse};
pub use reranked::Reranked;
pub use retriever::{Embedder, Embeddings, Reranker, Retriever, TextKind};
pub use stems::StemLanguage;
pub use vector_index::VectorIndex;
pub use vectors::{VectorFormat, Vectors};
pub use word_index::WordIndex;
pub use words::WordOptions;
