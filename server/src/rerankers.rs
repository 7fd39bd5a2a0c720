//! The rerankers by name.

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use alloquy_core::{Error, ErrorKind};
use alloquy_retrieval::{Passage, Reranker};

use crate::embedders::TokenCounter;
use crate::error::{ApiError, ApiResult};

/// A reranker under the name that requests use.
///
/// ```
/// use alloquy_core::Result;
/// use alloquy_core::media::Digest;
/// use alloquy_retrieval::{Passage, Reranker};
/// use alloquy_server::{ServedModel, ServedReranker, Server};
/// use alloquy_testing::EchoModel;
///
/// /// Prefers short texts.
/// #[derive(Debug)]
/// struct Short;
///
/// #[async_trait::async_trait]
/// impl Reranker for Short {
///     fn digest(&self) -> Digest {
///         Digest::of(b"short")
///     }
///
///     async fn rerank(&self, _text: &str, mut passages: Vec<Passage>) -> Result<Vec<Passage>> {
///         passages.sort_by_key(|passage| passage.text.len());
///         Ok(passages)
///     }
/// }
///
/// let short = ServedReranker::new("short", Short).tokens(|text| text.split_whitespace().count());
/// assert_eq!(short.name(), "short");
/// let server = Server::builder().model(ServedModel::loaded("echo", EchoModel)).reranker(short).build()?;
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone)]
pub struct ServedReranker {
    name: String,
    reranker: Arc<dyn Reranker>,
    tokens: Option<TokenCounter>,
    created: SystemTime,
}

impl ServedReranker {
    /// Serves a reranker, which stays in memory.
    pub fn new(name: impl Into<String>, reranker: impl Reranker + 'static) -> Self {
        Self { name: name.into(), reranker: Arc::new(reranker), tokens: None, created: SystemTime::now() }
    }

    /// Sets the function that counts the tokens of a text, for keys whose tokens are limited. Without one, they cannot use the reranker.
    #[must_use]
    pub fn tokens(mut self, count: impl Fn(&str) -> usize + Send + Sync + 'static) -> Self {
        self.tokens = Some(Arc::new(count));
        self
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn created(&self) -> SystemTime {
        self.created
    }

    /// Returns how many tokens the model reads, where they are counted: it reads the question with each text.
    pub(crate) fn token_count(&self, query: &str, texts: &[String]) -> Option<usize> {
        let count = self.tokens.as_ref()?;
        let of_texts: usize = texts.iter().map(|text| count(text)).sum();
        Some(of_texts.saturating_add(count(query).saturating_mul(texts.len())))
    }

    /// Returns the places of texts and their scores, the best first.
    ///
    /// # Errors
    /// Those of the model.
    pub(crate) async fn ranked(&self, query: &str, texts: &[String]) -> ApiResult<Vec<(usize, f64)>> {
        let mut passages = Vec::with_capacity(texts.len());
        for (index, text) in texts.iter().enumerate() {
            passages.push(Passage::new(index.to_string(), text));
        }
        let mut ranked = Vec::with_capacity(texts.len());
        for passage in self.reranker.rerank(query, passages).await? {
            let Some(index) = passage.id.parse().ok().filter(|index| *index < texts.len()) else {
                let message = format!("the reranker {:?} returned a text that it was not given", self.name);
                return Err(Error::new(ErrorKind::Model, message).into());
            };
            ranked.push((index, passage.score));
        }
        Ok(ranked)
    }
}

impl fmt::Debug for ServedReranker {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = formatter.debug_struct("ServedReranker");
        debug.field("name", &self.name).field("reranker", &self.reranker).finish_non_exhaustive()
    }
}

/// The rerankers of a server.
#[derive(Clone, Debug, Default)]
pub(crate) struct ServedRerankers(Vec<ServedReranker>);

impl ServedRerankers {
    pub(crate) fn new(rerankers: Vec<ServedReranker>) -> Self {
        Self(rerankers)
    }

    /// Returns all, in their order.
    pub(crate) fn list(&self) -> &[ServedReranker] {
        &self.0
    }

    /// Returns the one of this name.
    pub(crate) fn find(&self, name: &str) -> Option<&ServedReranker> {
        self.0.iter().find(|reranker| reranker.name() == name)
    }

    /// Returns the one of this name.
    ///
    /// # Errors
    /// 404 for another name, also for that of another kind of model.
    pub(crate) fn get(&self, name: &str) -> ApiResult<&ServedReranker> {
        self.find(name).ok_or_else(|| {
            let names: Vec<_> = self.0.iter().map(ServedReranker::name).collect();
            let message = if names.is_empty() {
                "no reranker is served: start the server with --reranker NAME=MODEL".to_owned()
            } else {
                format!("there is no reranker {name:?}, one of: {}", names.join(", "))
            };
            ApiError::not_found(message).param("model").code("model_not_found")
        })
    }
}
