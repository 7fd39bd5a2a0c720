//! The rerankers by name.

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use alloquy_core::{Error, ErrorKind};
use alloquy_retrieval::{Passage, Reranker};

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
/// let short = ServedReranker::new("short", Short);
/// assert_eq!(short.name(), "short");
/// let server = Server::builder().model(ServedModel::loaded("echo", EchoModel)).reranker(short).build()?;
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone)]
pub struct ServedReranker {
    name: String,
    reranker: Arc<dyn Reranker>,
    created: SystemTime,
}

impl ServedReranker {
    /// Serves a reranker, which stays in memory.
    pub fn new(name: impl Into<String>, reranker: impl Reranker + 'static) -> Self {
        Self { name: name.into(), reranker: Arc::new(reranker), created: SystemTime::now() }
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn created(&self) -> SystemTime {
        self.created
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
