//! What an index was made with: another embedder or other words need another index.

use std::path::{Path, PathBuf};

use alloquy_core::media::Digest;
use alloquy_core::{Error, ErrorKind, Result};
use serde::{Deserialize, Serialize};

use super::files;
use super::options::IndexOptions;
use crate::words::WordOptions;
use crate::{Embedder, VectorFormat};

/// The version of the layout.
const VERSION: u32 = 1;

/// What an index was made with, as its folder says.
///
/// [`Index::settings`](crate::Index::settings) has an example.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct IndexSettings {
    /// The version of the layout of the folder.
    pub version: u32,
    /// The most tokens of a chunk.
    pub limit: usize,
    /// The most tokens of a chunk that repeat the one before.
    pub overlap: usize,
    /// The name of what counts tokens.
    pub counter: String,
    /// How words count.
    pub words: WordOptions,
    /// The embedder, if there are vectors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vectors: Option<VectorSettings>,
}

/// What the vectors of an index were made with.
///
/// [`IndexSettings`] has it, and [`Index`](crate::Index) has an example.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct VectorSettings {
    /// The digest of the embedder.
    pub embedder: Digest,
    /// How many numbers a vector has.
    pub dimensions: usize,
    /// How numbers are stored.
    pub format: VectorFormat,
}

impl VectorSettings {
    /// Returns those of an embedder.
    ///
    /// ```
    /// use alloquy_retrieval::{NgramEmbedder, VectorFormat, VectorSettings};
    ///
    /// let settings = VectorSettings::of(&NgramEmbedder::new(256), VectorFormat::Int8);
    /// assert_eq!(settings.dimensions, 256);
    /// ```
    pub fn of(embedder: &dyn Embedder, format: VectorFormat) -> Self {
        Self { embedder: embedder.digest(), dimensions: embedder.dimensions(), format }
    }
}

impl IndexSettings {
    pub(super) fn of(options: &IndexOptions, embedder: Option<&dyn Embedder>) -> Self {
        let ((limit, overlap), counter) = options.chunker.settings();
        let vectors = embedder.map(|embedder| VectorSettings::of(embedder, options.vectors));
        let counter = counter.to_owned();
        Self { version: VERSION, limit, overlap, counter, words: options.words, vectors }
    }

    /// Reads those of a folder. `None` if there is no index.
    pub(super) fn read(folder: &Path) -> Result<Option<Self>> {
        let path = path(folder);
        let Some(bytes) = files::read(&path)? else { return Ok(None) };
        let settings: Self = serde_json::from_slice(&bytes).map_err(|error| {
            let message = format!("{} is damaged: restore it, or make the index again", path.display());
            Error::new(ErrorKind::Corrupt, message).with_source(error)
        })?;
        Ok(Some(settings))
    }

    pub(super) fn write(&self, folder: &Path) -> Result<()> {
        files::replace_bytes(&path(folder), &self.bytes())?;
        files::sync_folder(folder)
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        // Texts and numbers always serialize.
        serde_json::to_vec_pretty(self).unwrap_or_default()
    }

    /// Checks that a folder made with `self` may be opened with others.
    pub(super) fn check(&self, folder: &Path, others: &Self) -> Result<()> {
        if self.version > VERSION {
            let message = format!(
                "the index in {} has version {} of the layout, and this program reads {VERSION}: use a newer program",
                folder.display(),
                self.version
            );
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        let differences = [
            ("the embedder", embedder(self), embedder(others)),
            ("the format of vectors", format(self), format(others)),
            ("chunks", chunks(self), chunks(others)),
            ("words", format!("{:?}", self.words), format!("{:?}", others.words)),
        ];
        for (what, here, there) in differences {
            if here != there {
                let message = format!(
                    "the index in {} was made with other settings: {what} of the index: {here}; given: {there}. Open it with its own, or \
                     make another index in another folder",
                    folder.display()
                );
                return Err(Error::new(ErrorKind::Conflict, message));
            }
        }
        Ok(())
    }
}

fn embedder(settings: &IndexSettings) -> String {
    match &settings.vectors {
        Some(vectors) => format!("{} of {} dimensions", vectors.embedder, vectors.dimensions),
        None => "none".to_owned(),
    }
}

fn format(settings: &IndexSettings) -> String {
    format!("{:?}", settings.vectors.as_ref().map(|vectors| vectors.format))
}

fn chunks(settings: &IndexSettings) -> String {
    format!("{} {}, of which {} repeated", settings.limit, settings.counter, settings.overlap)
}

fn path(folder: &Path) -> PathBuf {
    folder.join("index.json")
}
