//! Opens the index of documents that the settings name, with what it was made with.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use alloquy::core::{Error, ErrorKind, Result};
use alloquy::retrieval::{
    Chunker, Embedder, Index, IndexOptions, IndexSettings, NgramEmbedder, StemLanguage, VectorSettings,
};

use crate::arguments::{IndexArguments, StoreArguments};
use crate::resume::snapshots;

/// The name of the default folder, beside the store.
const FOLDER: &str = "index";

/// The name of the embedder that needs no model.
const NGRAMS: &str = "ngrams";

/// The name of no embedder: the index has no vectors.
const NONE: &str = "none";

/// What an index is to be made with, where the arguments say so.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wanted {
    pub(crate) embedder: Option<String>,
    pub(crate) chunk: Option<usize>,
    pub(crate) overlap: Option<usize>,
    pub(crate) stems: Option<StemLanguage>,
}

/// Returns the folder of the index.
pub(crate) fn folder(index: &IndexArguments, store: &StoreArguments) -> Result<PathBuf> {
    if let Some(folder) = &index.index {
        return Ok(folder.clone());
    }
    // Snapshots are beside the store too, whatever kind of store it is.
    let beside = snapshots(store)?;
    Ok(beside.path().parent().unwrap_or(Path::new("")).join(FOLDER))
}

/// Opens an index that exists.
///
/// # Errors
/// [`ErrorKind::NotFound`] if there is none, and those of [`Index::open`].
pub(crate) fn existing(folder: &Path, arguments: &IndexArguments) -> Result<Arc<Index>> {
    let Some(settings) = Index::settings(folder)? else {
        let message = format!(
            "there is no index of documents in {folder:?}: make one with `alloquy index add FOLDER`, or name another one with --index"
        );
        return Err(Error::new(ErrorKind::NotFound, message));
    };
    let embedder = match &arguments.embedder {
        Some(name) => embedder(name)?,
        None => embedder_of(folder, settings.vectors.as_ref())?,
    };
    Index::open(folder, options(&settings)?, embedder)
}

/// Opens an index to add documents, which is made if there is none.
///
/// # Errors
/// [`ErrorKind::Conflict`] if it was made with something else than what is wanted, and those of [`Index::open`].
pub(crate) fn for_adding(folder: &Path, wanted: &Wanted) -> Result<Arc<Index>> {
    let settings = Index::settings(folder)?;
    let mut options = match &settings {
        Some(settings) => options(settings)?,
        None => IndexOptions::default(),
    };
    if wanted.chunk.is_some() || wanted.overlap.is_some() {
        let ((limit, overlap), _) = options.chunker.settings();
        let limit = wanted.chunk.unwrap_or(limit);
        // Half of a chunk is the most that may be repeated.
        let overlap = wanted.overlap.unwrap_or(overlap.min(limit / 2));
        options.chunker = Chunker::new(limit, overlap)?;
    }
    if let Some(stems) = wanted.stems {
        options.words.stems = Some(stems);
    }
    let embedder = match (&wanted.embedder, &settings) {
        (Some(name), _) => embedder(name)?,
        (None, Some(settings)) => embedder_of(folder, settings.vectors.as_ref())?,
        (None, None) => embedder(NGRAMS)?,
    };
    Index::open(folder, options, embedder)
}

/// Opens an embedder by the name that `--embedder` takes. `None` for no vectors.
///
/// # Errors
/// [`ErrorKind::Invalid`] for an unknown name.
pub(crate) fn embedder(name: &str) -> Result<Option<Arc<dyn Embedder>>> {
    match name {
        NGRAMS => Ok(Some(Arc::new(NgramEmbedder::default()))),
        NONE => Ok(None),
        other => {
            let message =
                format!("{other:?} is no embedder: write {NGRAMS}, or {NONE} for an index of words alone");
            Err(Error::new(ErrorKind::Invalid, message))
        }
    }
}

/// Returns the name of the embedder of an index, as far as it is known here.
pub(crate) fn embedder_name(settings: &IndexSettings) -> &'static str {
    match &settings.vectors {
        None => NONE,
        Some(vectors) if is_ngrams(vectors) => NGRAMS,
        Some(_) => "another",
    }
}

/// Returns the embedder that an index was made with.
fn embedder_of(folder: &Path, vectors: Option<&VectorSettings>) -> Result<Option<Arc<dyn Embedder>>> {
    let Some(vectors) = vectors else { return Ok(None) };
    if is_ngrams(vectors) {
        return Ok(Some(Arc::new(NgramEmbedder::new(vectors.dimensions))));
    }
    let message = format!(
        "the vectors of the index in {folder:?} were made by an embedder that it does not name: name it with --embedder"
    );
    Err(Error::new(ErrorKind::Invalid, message))
}

fn is_ngrams(vectors: &VectorSettings) -> bool {
    NgramEmbedder::new(vectors.dimensions).digest() == vectors.embedder
}

/// Returns the options with which an index was made.
fn options(settings: &IndexSettings) -> Result<IndexOptions> {
    let mut options = IndexOptions::default();
    options.chunker = Chunker::new(settings.limit, settings.overlap)?;
    options.words = settings.words;
    if let Some(vectors) = &settings.vectors {
        options.vectors = vectors.format;
    }
    Ok(options)
}
