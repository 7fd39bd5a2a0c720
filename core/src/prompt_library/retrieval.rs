//! The passages of documents that a prompt asks for.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::TextTemplate;

/// Passages of documents that a prompt asks for: where to search, for what, and how its text shows them.
///
/// [`Prompt::retrievals`](super::Prompt::retrievals) lists them, and a [`ValueSource`](super::ValueSource) finds them: that of
/// `alloquy-retrieval`.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PromptRetrieval {
    /// The name of the retriever; empty if the prompt names none.
    pub retriever: String,
    /// The name in the prompt's text that the passages replace.
    pub placeholder: String,
    /// The query.
    pub query: Arc<dyn TextTemplate>,
    /// The largest number of passages; absent, the retriever decides.
    pub limit: Option<usize>,
    /// Values that entries of a passage's metadata must have.
    pub filters: Map<String, Value>,
    /// The text before the passages, if there are any.
    pub header: Option<Arc<dyn TextTemplate>>,
    /// The text of one passage. It reads `content`, `score`, `index` (from 1), `id`, `source`, and the names of the
    /// passage's metadata.
    pub item: Option<Arc<dyn TextTemplate>>,
}

impl PromptRetrieval {
    /// Creates a retrieval without a header, whose passages are shown as they are.
    pub fn new(
        retriever: impl Into<String>,
        placeholder: impl Into<String>,
        query: Arc<dyn TextTemplate>,
    ) -> Self {
        Self {
            retriever: retriever.into(),
            placeholder: placeholder.into(),
            query,
            limit: None,
            filters: Map::new(),
            header: None,
            item: None,
        }
    }
}
