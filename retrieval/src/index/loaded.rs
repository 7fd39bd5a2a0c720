//! An owner's index in memory, with the vectors in their files.

use std::path::Path;

use alloquy_core::media::Digest;
use alloquy_core::{Owner, Result};

use super::manifest::Manifest;
use super::segment;
use crate::postings::Postings;
use crate::table::PassageTable;
use crate::words::WordOptions;
use crate::{Lookup, Passage, Vectors};

/// The passages of all segments in their order, removed ones as empty rows.
#[derive(Debug)]
pub(super) struct Loaded {
    pub(super) manifest: Manifest,
    /// The digest of the manifest that it was loaded from.
    pub(super) digest: Digest,
    pub(super) passages: PassageTable,
    postings: Postings,
    pub(super) vectors: Vec<Vectors>,
}

impl Loaded {
    /// Loads what a manifest lists.
    pub(super) fn load(
        folder: &Path,
        manifest: Manifest,
        digest: Digest,
        options: &WordOptions,
    ) -> Result<Self> {
        let mut passages = PassageTable::default();
        let mut postings = Postings::default();
        let mut vectors = Vec::new();
        for entry in &manifest.segments {
            let first = postings.rows();
            segment::words(folder, entry, &mut postings)?;
            for (row, passage) in segment::passages(folder, entry)?.into_iter().enumerate() {
                if entry.removed.binary_search(&row).is_ok() {
                    postings.remove(first + row, options.words_of(&passage));
                    passages.push_empty();
                } else {
                    passages.push(passage);
                }
            }
            if entry.vectors.is_some() {
                vectors.push(segment::vectors(folder, entry)?);
            }
        }
        Ok(Self { manifest, digest, passages, postings, vectors })
    }

    /// Reads the manifest of an owner and loads what it lists.
    pub(super) fn read(folder: &Path, owner: &Owner, options: &WordOptions) -> Result<Self> {
        let (manifest, bytes) = Manifest::read(folder, owner)?;
        let loaded = Self::load(folder, manifest.clone(), Digest::of(&bytes), options);
        if loaded.is_ok() {
            return loaded;
        }
        // Another program may have replaced the segments since the manifest was read.
        let (again, bytes) = Manifest::read(folder, owner)?;
        if again == manifest { loaded } else { Self::load(folder, again, Digest::of(&bytes), options) }
    }

    /// Finds passages by words.
    pub(super) fn by_words(&self, lookup: &Lookup, options: &WordOptions) -> Vec<Passage> {
        let scores = self.postings.scores(options, options.words(&lookup.text));
        self.passages.best(lookup, scores)
    }

    /// Finds passages by a vector.
    pub(super) fn by_vector(&self, lookup: &Lookup, vector: &[f32]) -> Result<Vec<Passage>> {
        let mut scores = Vec::new();
        for vectors in &self.vectors {
            scores.extend(vectors.similarities(vector)?.into_iter().map(f64::from));
        }
        Ok(self.passages.best(lookup, scores.into_iter().enumerate()))
    }
}
