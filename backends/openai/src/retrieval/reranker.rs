//! Orders passages on a server.

use std::sync::Arc;

use alloquy_core::media::Digest;
use alloquy_core::{Error, ErrorKind, Result};
use alloquy_retrieval::{Passage, Reranker, sort_passages};
use async_trait::async_trait;
use serde::Deserialize;
use serde_json::json;

use super::answer::{FRAME, by_index, cut};
use super::server::Server;
use crate::worker::Worker;

/// Where passages are ordered.
const PATH: &str = "/v1/rerank";

/// A reranker on a server that has `/v1/rerank` as vLLM, SGLang, llama.cpp, Jina and Cohere have it.
///
/// A passage is sent as its text with the headings above it. All passages are in one request, as some models compare them with each
/// other. Scores are the server's, and have any range. When the future of [`Reranker::rerank`] is dropped, its connection is closed.
///
/// ```no_run
/// use std::sync::Arc;
///
/// use alloquy_openai::RemoteReranker;
/// use alloquy_retrieval::{Reranked, WordIndex, WordOptions};
///
/// # async fn example() -> alloquy_core::Result<()> {
/// let reranker = RemoteReranker::connect("http://localhost:8000").await?;
/// let words = WordIndex::new(WordOptions::default())?;
/// let retriever = Reranked::new(Arc::new(words), Arc::new(reranker)).depth(20);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// * [`ErrorKind::Backend`]: no server answers; or it returns no score for a passage, two, one that is no number, or an answer that is
///   far longer than scores are
/// * [`ErrorKind::Busy`]: the server is overloaded, after all attempts
/// * [`ErrorKind::ContextOverflow`]: a passage is too long for the server
/// * the kinds of the server's other refusals, which [`RemoteBuilder`](crate::RemoteBuilder) has too
#[derive(Debug)]
pub struct RemoteReranker {
    worker: Worker,
    parts: Arc<RerankerParts>,
    digest: Digest,
}

/// What is known of a reranker on a server.
///
/// [`RemoteRerankerBuilder`](crate::RemoteRerankerBuilder) has an example.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RemoteRerankerInfo {
    /// The address.
    pub url: String,
    /// The name by which the server knows the model.
    pub model: String,
    /// Which weights the model has, as the host says.
    pub revision: Option<String>,
    /// How many characters of a passage are sent; all if there is none.
    pub max_characters: Option<usize>,
}

/// What orders, shared with the thread that asks.
#[derive(Debug)]
pub(super) struct RerankerParts {
    pub(super) server: Server,
    pub(super) info: RemoteRerankerInfo,
}

/// An answer of a server.
#[derive(Deserialize)]
struct Answer {
    results: Vec<Item>,
}

/// One score of an answer.
#[derive(Deserialize)]
struct Item {
    index: usize,
    /// Some servers write `null` for a number that is not finite.
    relevance_score: Option<f64>,
}

impl RemoteReranker {
    /// Asks for a first score.
    pub(super) async fn probed(worker: Worker, parts: RerankerParts) -> Result<Self> {
        let parts = Arc::new(parts);
        let asked = Arc::clone(&parts);
        worker.run(async move { asked.scores("a", &["a".to_owned()]).await }).await??;
        let digest = parts.digest();
        Ok(Self { worker, parts, digest })
    }

    /// Returns what is known of the model.
    pub fn info(&self) -> &RemoteRerankerInfo {
        &self.parts.info
    }
}

#[async_trait]
impl Reranker for RemoteReranker {
    /// Depends on the name of the model, its [revision](crate::RemoteRerankerBuilder::revision) and the longest passage. It does not depend
    /// on the address. It cannot show that the server has other weights under the same name.
    fn digest(&self) -> Digest {
        self.digest
    }

    async fn rerank(&self, text: &str, mut passages: Vec<Passage>) -> Result<Vec<Passage>> {
        if passages.is_empty() {
            return Ok(passages);
        }
        let mut documents = Vec::with_capacity(passages.len());
        for passage in &passages {
            let document = passage.text_with_heading();
            let start = cut(&document, self.parts.info.max_characters).map(str::to_owned);
            documents.push(start.unwrap_or(document));
        }
        let text = text.to_owned();
        let parts = Arc::clone(&self.parts);
        let scores = self.worker.run(async move { parts.scores(&text, &documents).await }).await??;
        for (passage, score) in passages.iter_mut().zip(scores) {
            passage.score = score;
        }
        sort_passages(&mut passages);
        Ok(passages)
    }
}

impl RerankerParts {
    /// Returns the score of each document.
    async fn scores(&self, query: &str, documents: &[String]) -> Result<Vec<f64>> {
        let count = documents.len();
        let body = json!({"model": self.info.model, "query": query, "documents": documents, "top_n": count});
        // Some servers return the documents too, with letters as `\u0000`.
        let sent: usize = documents.iter().map(String::len).sum();
        let most = FRAME + count * 1024 + sent * 6;
        let answer: Answer = self.server.ask(PATH, &body, most).await?;
        let items = answer.results.into_iter().map(|item| (item.index, item.relevance_score));
        let mut scores = Vec::with_capacity(count);
        for score in by_index(items, count, self.server.address())? {
            let Some(score) = score.filter(|score| score.is_finite()) else {
                let message = format!(
                    "{} returned a score that is no number: check that the model is a reranker",
                    self.server.address()
                );
                return Err(Error::new(ErrorKind::Backend, message));
            };
            scores.push(score);
        }
        Ok(scores)
    }

    fn digest(&self) -> Digest {
        let info = &self.info;
        let settings = [
            "remote reranker, format 1".to_owned(),
            format!("model {:?}, revision {:?}", info.model, info.revision),
            format!("characters {:?}", info.max_characters),
        ];
        Digest::of(settings.join("\n").as_bytes())
    }
}
