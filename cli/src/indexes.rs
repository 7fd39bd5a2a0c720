//! Opens the index of documents that the settings name, with what it was made with.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use alloquy::core::{Error, ErrorKind, Result};
use alloquy::retrieval::{Chunker, Index, IndexOptions, IndexSettings, StemLanguage};

use crate::arguments::{IndexArguments, StoreArguments};
use crate::embedders::Embedding;
use crate::resume::snapshots;

/// The name of the default folder, beside the store.
const FOLDER: &str = "index";

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
    let embedding = match &arguments.embedder {
        Some(name) => Embedding::named(name)?,
        None => Embedding::of_index(folder, settings.vectors.as_ref())?,
    };
    Index::open(folder, options(&settings, &embedding)?, embedding.embedder)
}

/// Opens an index to add documents, which is made if there is none.
///
/// # Errors
/// [`ErrorKind::Conflict`] if it was made with something else than what is wanted, and those of [`Index::open`].
pub(crate) fn for_adding(folder: &Path, wanted: &Wanted) -> Result<Arc<Index>> {
    let settings = Index::settings(folder)?;
    let embedding = match (&wanted.embedder, &settings) {
        (Some(name), _) => Embedding::named(name)?,
        (None, Some(settings)) => Embedding::of_index(folder, settings.vectors.as_ref())?,
        (None, None) => Embedding::usual(),
    };
    let mut options = match &settings {
        Some(settings) => options(settings, &embedding)?,
        None => IndexOptions::default(),
    };
    let ((mut limit, mut overlap), _) = options.chunker.settings();
    if let (None, Some(longest)) = (&settings, embedding.longest()) {
        limit = limit.min(longest);
    }
    limit = wanted.chunk.unwrap_or(limit);
    // Half of a chunk is the most that may be repeated.
    overlap = wanted.overlap.unwrap_or(overlap.min(limit / 2));
    options.chunker = embedding.counting(Chunker::new(limit, overlap)?);
    if let Some(stems) = wanted.stems {
        options.words.stems = Some(stems);
    }
    let index = Index::open(folder, options, embedding.embedder.clone())?;
    embedding.remember(folder)?;
    Ok(index)
}

/// Returns the options with which an index was made.
fn options(settings: &IndexSettings, embedding: &Embedding) -> Result<IndexOptions> {
    let mut options = IndexOptions::default();
    options.chunker = embedding.counting(Chunker::new(settings.limit, settings.overlap)?);
    options.words = settings.words;
    if let Some(vectors) = &settings.vectors {
        options.vectors = vectors.format;
    }
    Ok(options)
}
