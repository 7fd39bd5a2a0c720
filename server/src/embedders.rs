//! The models of vectors by name.

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use alloquy_core::{Error, ErrorKind};
use alloquy_retrieval::{Embedder, TextKind};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::error::{ApiError, ApiResult};

/// How many texts a model reads at once. Between two batches a client that has gone ends the work.
const BATCH: usize = 32;

/// Counts the tokens of a text.
type TokenCounter = Arc<dyn Fn(&str) -> usize + Send + Sync>;

/// A model of vectors under the name that requests use.
///
/// ```
/// use alloquy_retrieval::NgramEmbedder;
/// use alloquy_server::{ServedEmbedder, ServedModel, Server};
/// use alloquy_testing::EchoModel;
///
/// let words = ServedEmbedder::new("words", NgramEmbedder::new(256)).tokens(|text| text.split_whitespace().count());
/// assert_eq!(words.name(), "words");
/// let server = Server::builder().model(ServedModel::loaded("echo", EchoModel)).embedder(words).build()?;
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone)]
pub struct ServedEmbedder {
    name: String,
    embedder: Arc<dyn Embedder>,
    tokens: Option<TokenCounter>,
    created: SystemTime,
}

impl ServedEmbedder {
    /// Serves a model of vectors, which stays in memory.
    pub fn new(name: impl Into<String>, embedder: impl Embedder + 'static) -> Self {
        Self { name: name.into(), embedder: Arc::new(embedder), tokens: None, created: SystemTime::now() }
    }

    /// Sets the function that counts the tokens of a text, for the usage. Without one, it is 0.
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

    pub(crate) fn dimensions(&self) -> usize {
        self.embedder.dimensions()
    }

    /// Computes the vectors of texts.
    ///
    /// # Errors
    /// 400 for no text and for an empty one, and those of the model.
    pub(crate) async fn vectors(&self, texts: &[String], wanted: TextUse) -> ApiResult<Vectors> {
        if texts.is_empty() {
            return Err(ApiError::invalid("input", "input has no text, expected at least 1"));
        }
        if let Some(index) = texts.iter().position(String::is_empty) {
            let place = format!("input[{index}]");
            let message = format!("{place} is empty: an empty text has no vector");
            return Err(ApiError::invalid(place, message));
        }
        let mut all = Vectors::default();
        for batch in texts.chunks(BATCH) {
            let batch: Vec<&str> = batch.iter().map(String::as_str).collect();
            let found = self.embedder.embed(&batch, wanted.kind()).await?;
            if found.vectors.len() != batch.len() {
                let message = format!(
                    "the model {:?} returned {} vectors for {} texts",
                    self.name,
                    found.vectors.len(),
                    batch.len()
                );
                return Err(Error::new(ErrorKind::Model, message).into());
            }
            let before = all.vectors.len();
            all.cut.extend(found.cut.iter().map(|index| before + index));
            all.vectors.extend(found.vectors);
            if let Some(count) = &self.tokens {
                all.tokens += batch.iter().map(|text| count(text)).sum::<usize>();
            }
        }
        Ok(all)
    }
}

impl fmt::Debug for ServedEmbedder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = formatter.debug_struct("ServedEmbedder");
        debug.field("name", &self.name).field("embedder", &self.embedder).finish_non_exhaustive()
    }
}

/// What texts are for: some models read questions and passages in two ways.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum TextUse {
    Query,
    #[default]
    #[serde(alias = "document")]
    Passage,
}

impl TextUse {
    fn kind(self) -> TextKind {
        match self {
            Self::Query => TextKind::Query,
            Self::Passage => TextKind::Passage,
        }
    }
}

/// The vectors of texts.
#[derive(Debug, Default)]
pub(crate) struct Vectors {
    /// One for each text.
    pub(crate) vectors: Vec<Vec<f32>>,
    /// The indices of texts whose ends have no effect.
    pub(crate) cut: Vec<usize>,
    /// How many tokens the texts have.
    pub(crate) tokens: usize,
}

/// The models of vectors of a server.
#[derive(Clone, Debug, Default)]
pub(crate) struct ServedEmbedders(Vec<ServedEmbedder>);

impl ServedEmbedders {
    pub(crate) fn new(embedders: Vec<ServedEmbedder>) -> Self {
        Self(embedders)
    }

    /// Returns all, in their order.
    pub(crate) fn list(&self) -> &[ServedEmbedder] {
        &self.0
    }

    /// Returns the one of this name.
    pub(crate) fn find(&self, name: &str) -> Option<&ServedEmbedder> {
        self.0.iter().find(|embedder| embedder.name() == name)
    }

    /// Returns the one of this name.
    ///
    /// # Errors
    /// 404 for another name, also for that of a model that has no vectors.
    pub(crate) fn get(&self, name: &str) -> ApiResult<&ServedEmbedder> {
        self.find(name).ok_or_else(|| {
            let names: Vec<_> = self.0.iter().map(ServedEmbedder::name).collect();
            let message = if names.is_empty() {
                "no model of vectors is served: start the server with --embedding NAME=MODEL".to_owned()
            } else {
                format!("there is no model of vectors {name:?}, one of: {}", names.join(", "))
            };
            ApiError::not_found(message).param("model").code("model_not_found")
        })
    }
}

/// Checks how many numbers a vector is to have.
///
/// # Errors
/// 400 for another number than the model's: what is left of a shortened vector means nothing to most models.
pub(crate) fn must_have(dimensions: usize, wanted: Option<usize>) -> ApiResult<()> {
    match wanted.filter(|wanted| *wanted != dimensions) {
        Some(wanted) => {
            let message = format!(
                "dimensions is {wanted}, and vectors of this model have {dimensions}: {dimensions}, or leave it out"
            );
            Err(ApiError::unsupported("dimensions", message))
        }
        None => Ok(()),
    }
}
