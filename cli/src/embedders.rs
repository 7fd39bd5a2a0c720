//! What computes the vectors of an index: groups of characters, or a model in ONNX files.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use alloquy::core::{Error, ErrorKind, Result};
use alloquy::onnx::OnnxEmbedder;
use alloquy::retrieval::{Chunker, Embedder, IndexSettings, NgramEmbedder, VectorSettings};
use alloquy_server::ServedEmbedder;

use crate::found;

/// The name of the embedder that needs no model.
const NGRAMS: &str = "ngrams";

/// The name of no embedder: the index has no vectors.
const NONE: &str = "none";

/// The file in the folder of an index with the path of the model that computes its vectors.
const MODEL: &str = "embedder";

/// As many tokens of what a model reads are left for the headings of a passage, but at most a quarter.
const FOR_HEADINGS: usize = 32;

/// Returns the folder of a model.
fn folder(name: &str) -> Result<PathBuf> {
    let path = found::resolved(Path::new(name));
    if path.exists() {
        return Ok(path);
    }
    let message = format!(
        "{name:?} is no embedder: write the folder of a model of embeddings, such as all-MiniLM-L6-v2, or {NGRAMS}, \
         or {NONE} for an index of words alone"
    );
    Err(Error::new(ErrorKind::Invalid, message))
}

fn no_vectors() -> Error {
    let message = format!("{NONE} has no vectors to serve: name a model of embeddings, or {NGRAMS}");
    Error::new(ErrorKind::Invalid, message)
}

/// What computes the vectors of an index, and counts the tokens of its passages.
#[derive(Clone, Default)]
pub(crate) struct Embedding {
    /// `None` for no vectors.
    pub(crate) embedder: Option<Arc<dyn Embedder>>,
    /// The model, where there is one.
    model: Option<(PathBuf, Arc<OnnxEmbedder>)>,
}

impl Embedding {
    /// Opens what the argument `--embedder` names.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for an unknown name, and those of a model.
    pub(crate) fn named(name: &str) -> Result<Self> {
        match name {
            NGRAMS => Ok(Self::of(NgramEmbedder::default())),
            NONE => Ok(Self::default()),
            other => Self::model(&folder(other)?),
        }
    }

    /// Checks what the argument `--embedding` names, and loads nothing.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for an unknown name, and for none.
    pub(crate) fn check(name: &str) -> Result<()> {
        match name {
            NGRAMS => Ok(()),
            NONE => Err(no_vectors()),
            other => folder(other).map(drop),
        }
    }

    /// Returns the model under a name of the server.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for none.
    pub(crate) fn served(self, name: String) -> Result<ServedEmbedder> {
        let served = ServedEmbedder::new(name, self.embedder.ok_or_else(no_vectors)?);
        Ok(match self.model {
            Some((_, model)) => served.tokens(move |text| model.count_tokens(text).unwrap_or_default()),
            None => served,
        })
    }

    /// Opens the usual embedder of a new index.
    pub(crate) fn usual() -> Self {
        Self::of(NgramEmbedder::default())
    }

    /// Opens what an index was made with.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] if the index does not say what that is, and those of a model.
    pub(crate) fn of_index(folder: &Path, vectors: Option<&VectorSettings>) -> Result<Self> {
        let Some(vectors) = vectors else { return Ok(Self::default()) };
        if is_ngrams(vectors) {
            return Ok(Self::of(NgramEmbedder::new(vectors.dimensions)));
        }
        match remembered(folder) {
            Some(path) if path.exists() => Self::model(&path),
            Some(path) => {
                let message = format!(
                    "the index in {folder:?} was made with the model in {path:?}, which does not exist: name its folder with --embedder"
                );
                Err(Error::new(ErrorKind::Invalid, message))
            }
            None => {
                let message = format!(
                    "the vectors of the index in {folder:?} were made by an embedder that it does not name: name it with --embedder"
                );
                Err(Error::new(ErrorKind::Invalid, message))
            }
        }
    }

    /// Counts the tokens of passages as the model does; without a model, tokens are words.
    pub(crate) fn counting(&self, chunker: Chunker) -> Chunker {
        let Some((_, model)) = &self.model else { return chunker };
        let counter = Arc::clone(model);
        // A text that cannot be counted is cut into the smallest parts.
        let count = move |text: &str| counter.count_tokens(text).unwrap_or(usize::MAX);
        chunker.counter(format!("tokens of {}", model.info().name), Arc::new(count))
    }

    /// Returns the most tokens of a passage that the model reads whole, with its headings.
    pub(crate) fn longest(&self) -> Option<usize> {
        let (_, model) = self.model.as_ref()?;
        let tokens = model.info().max_tokens;
        Some((tokens - FOR_HEADINGS.min(tokens / 4)).max(1))
    }

    /// Stores where the model is, so that later calls need not name it.
    ///
    /// # Errors
    /// [`ErrorKind::Store`] if the file cannot be written.
    pub(crate) fn remember(&self, folder: &Path) -> Result<()> {
        let Some((path, _)) = &self.model else { return Ok(()) };
        if remembered(folder).as_ref() == Some(path) {
            return Ok(());
        }
        let Some(text) = path.to_str() else { return Ok(()) };
        fs::write(folder.join(MODEL), text).map_err(|source| {
            let message = format!("{:?} cannot be written: check its permissions", folder.join(MODEL));
            Error::new(ErrorKind::Store, message).with_source(source)
        })
    }

    fn of(embedder: impl Embedder + 'static) -> Self {
        Self { embedder: Some(Arc::new(embedder)), model: None }
    }

    fn model(path: &Path) -> Result<Self> {
        let embedder = Arc::new(OnnxEmbedder::load(path)?);
        let whole = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        Ok(Self { embedder: Some(embedder.clone()), model: Some((whole, embedder)) })
    }
}

impl fmt::Debug for Embedding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let model = self.model.as_ref().map(|(path, _)| path);
        formatter.debug_struct("Embedding").field("model", &model).finish_non_exhaustive()
    }
}

/// Returns the name of what computes the vectors of an index.
pub(crate) fn embedder_name(folder: &Path, settings: &IndexSettings) -> String {
    match &settings.vectors {
        None => NONE.to_owned(),
        Some(vectors) if is_ngrams(vectors) => NGRAMS.to_owned(),
        Some(_) => match remembered(folder) {
            Some(path) => path.display().to_string(),
            None => "another".to_owned(),
        },
    }
}

fn remembered(folder: &Path) -> Option<PathBuf> {
    fs::read_to_string(folder.join(MODEL)).ok().map(PathBuf::from)
}

fn is_ngrams(vectors: &VectorSettings) -> bool {
    NgramEmbedder::new(vectors.dimensions).digest() == vectors.embedder
}
