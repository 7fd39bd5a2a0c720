//! Changes of an owner's index: what is new, what is kept, what is gone.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use alloquy_core::Result;
use serde::Serialize;

use super::loaded::Loaded;
use super::lock::Lock;
use super::manifest::{Manifest, SegmentEntry};
use super::options::IndexOptions;
use super::segment;
use crate::embedding::{BATCH, embed_batch};
use crate::{Document, Embedder, Passage, Vectors};

/// As many new passages are one segment: what is lost when a program is killed, and how often files are written.
const SEGMENT: usize = 2_048;
/// More segments are merged.
const SEGMENTS: usize = 8;

/// What a change of an index did.
///
/// [`Index`](crate::Index) has an example.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct IndexReport {
    /// How many passages are new.
    pub added: usize,
    /// How many were there before.
    pub kept: usize,
    /// How many are gone.
    pub removed: usize,
    /// How many of the new ones are longer than the embedder reads: their vectors lack the ends.
    pub cut: usize,
    /// The documents that were not added, with the reasons.
    pub skipped: Vec<SkippedDocument>,
}

/// A document that was not added to an index.
///
/// [`IndexReport`] lists them, and [`Index`](crate::Index) has an example.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SkippedDocument {
    /// Its name.
    pub source: String,
    /// Why it was not added.
    pub reason: String,
}

/// How far a change of an index is.
///
/// [`Index::add`](crate::Index::add) reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct IndexProgress {
    /// How many documents were cut into passages.
    pub documents: usize,
    /// How many documents there are.
    pub of: usize,
    /// How many new passages have their words and vectors.
    pub passages: usize,
}

/// What happens to documents of the index that are not among the given ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Others {
    Keep,
    Remove,
}

/// A change in progress. The folder is locked as long as it exists.
pub(super) struct Update<'a> {
    options: &'a IndexOptions,
    embedder: Option<&'a dyn Embedder>,
    folder: &'a Path,
    manifest: Manifest,
    loaded: Arc<Loaded>,
    /// The passages of each document, with their rows.
    known: HashMap<String, HashMap<String, usize>>,
    added: Vec<Arc<Passage>>,
    removed: Vec<usize>,
    report: IndexReport,
    progress: IndexProgress,
    notify: &'a (dyn Fn(IndexProgress) + Send + Sync),
    _lock: Lock,
}

impl<'a> Update<'a> {
    /// Begins a change of what is loaded.
    pub(super) fn new(
        options: &'a IndexOptions,
        embedder: Option<&'a dyn Embedder>,
        folder: &'a Path,
        lock: Lock,
        loaded: Arc<Loaded>,
        notify: &'a (dyn Fn(IndexProgress) + Send + Sync),
    ) -> Self {
        let mut known: HashMap<String, HashMap<String, usize>> = HashMap::new();
        for (row, passage) in loaded.passages.passages() {
            let source = passage.source.clone().unwrap_or_default();
            known.entry(source).or_default().insert(passage.id.clone(), row);
        }
        Self {
            options,
            embedder,
            folder,
            manifest: loaded.manifest.clone(),
            loaded,
            known,
            added: Vec::new(),
            removed: Vec::new(),
            report: IndexReport::default(),
            progress: IndexProgress { documents: 0, of: 0, passages: 0 },
            notify,
            _lock: lock,
        }
    }

    /// Adds documents, each in place of what has its name, and writes all changes.
    pub(super) async fn documents(mut self, documents: Vec<Document>, others: Others) -> Result<IndexReport> {
        self.progress.of = documents.len();
        let mut sources = HashMap::new();
        for document in documents {
            if let Some(()) = sources.insert(document.source().to_owned(), ()) {
                self.skip(&document, "another document before it has this name: give each a name of its own");
            } else {
                self.document(&document);
            }
            self.progress.documents += 1;
            if self.added.len() >= SEGMENT {
                self.commit().await?;
            }
            (self.notify)(self.progress);
        }
        if others == Others::Remove {
            let gone: Vec<usize> = self.known.drain().flat_map(|(_, rows)| rows.into_values()).collect();
            self.removed.extend(gone);
        }
        self.commit().await?;
        self.finish()
    }

    /// Removes documents by their names.
    pub(super) async fn without(mut self, sources: &[&str]) -> Result<IndexReport> {
        for source in sources {
            match self.known.remove(*source) {
                Some(rows) => self.removed.extend(rows.into_values()),
                None => {
                    let reason = "the index has no document of this name".to_owned();
                    self.report.skipped.push(SkippedDocument { source: (*source).to_owned(), reason });
                }
            }
        }
        self.commit().await?;
        self.finish()
    }

    /// Merges segments and removes files that are no longer used.
    fn finish(mut self) -> Result<IndexReport> {
        if self.merge()? {
            self.manifest.write(self.folder)?;
        }
        segment::sweep(self.folder, &self.manifest.segments);
        Ok(self.report)
    }

    fn skip(&mut self, document: &Document, reason: &str) {
        let source = document.source().to_owned();
        self.report.skipped.push(SkippedDocument { source, reason: reason.to_owned() });
    }

    /// Compares the passages of a document with those that are there.
    fn document(&mut self, document: &Document) {
        let passages = self.options.chunker.passages(document);
        if passages.is_empty() {
            self.skip(document, "it has no text");
        }
        let mut known = self.known.remove(document.source()).unwrap_or_default();
        for passage in passages {
            let row = known.get(&passage.id).copied();
            // The metadata of a document may have changed.
            if row.is_some_and(|row| self.loaded.passages.get(row) == Some(&passage)) {
                known.remove(&passage.id);
                self.report.kept += 1;
            } else {
                self.added.push(Arc::new(passage));
            }
        }
        self.removed.extend(known.into_values());
    }

    /// Writes what was added and removed since the last time.
    async fn commit(&mut self) -> Result<()> {
        let added = std::mem::take(&mut self.added);
        let removed = std::mem::take(&mut self.removed);
        if added.is_empty() && removed.is_empty() {
            return Ok(());
        }
        let vectors = self.vectors(&added).await?;
        self.report.added += added.len();
        self.report.removed += removed.len();
        self.remove(removed);
        if !added.is_empty() {
            let entry = segment::write(self.folder, &added, vectors.as_ref(), &self.options.words)?;
            self.manifest.segments.push(entry);
        }
        self.manifest.segments.retain(|entry| entry.live() > 0);
        self.manifest.write(self.folder)
    }

    /// Marks rows of the segments that were there in the beginning as removed.
    fn remove(&mut self, mut rows: Vec<usize>) {
        rows.sort_unstable();
        let mut rows = rows.into_iter().peekable();
        let mut first = 0;
        for before in &self.loaded.manifest.segments {
            let end = first + before.rows;
            let mut removed = Vec::new();
            while let Some(row) = rows.next_if(|&row| row < end) {
                removed.push(row - first);
            }
            if let Some(entry) = self.manifest.segments.iter_mut().find(|entry| entry.name == before.name) {
                entry.removed.extend(removed);
                entry.removed.sort_unstable();
            }
            first = end;
        }
    }

    /// Computes the vectors of new passages.
    async fn vectors(&mut self, passages: &[Arc<Passage>]) -> Result<Option<Vectors>> {
        let Some(embedder) = self.embedder else {
            self.progress.passages += passages.len();
            return Ok(None);
        };
        let mut vectors = Vectors::new(embedder.dimensions(), self.options.vectors)?;
        for batch in passages.chunks(BATCH) {
            let embeddings = embed_batch(embedder, batch).await?;
            self.report.cut += embeddings.cut.len();
            for (passage, vector) in batch.iter().zip(&embeddings.vectors) {
                let source = passage.source.as_deref().unwrap_or_default();
                vectors.push(vector).map_err(|error| error.context(format!("a passage of {source:?}")))?;
            }
            self.progress.passages += batch.len();
            (self.notify)(self.progress);
        }
        Ok(Some(vectors))
    }

    /// Merges the last segments if there are too many: as many as are together no smaller than the one before them, so that a passage
    /// is written again only when its segment doubles. A segment that is mostly removed is written again too. It returns whether there is something to write.
    ///
    /// Only the end of a change merges: before, rows are those of the segments that were there in the beginning.
    fn merge(&mut self) -> Result<bool> {
        let segments = &self.manifest.segments;
        let sparse = segments
            .iter()
            .position(|entry| entry.removed.len() > 1_000 && entry.removed.len() > entry.live());
        let mut from = segments.len();
        if segments.len() > SEGMENTS {
            let mut rows = 0;
            for (place, entry) in segments.iter().enumerate().rev() {
                if rows > 0 && entry.live() > 2 * rows {
                    break;
                }
                rows += entry.live();
                from = place;
            }
        }
        let from = sparse.map_or(from, |sparse| sparse.min(from));
        let merged = self.manifest.segments.split_off(from);
        if merged.is_empty() {
            return Ok(false);
        }
        let entry = self.merged(&merged)?;
        self.manifest.segments.extend(entry);
        Ok(true)
    }

    /// Writes one segment with what is left of several.
    fn merged(&self, segments: &[SegmentEntry]) -> Result<Option<SegmentEntry>> {
        let mut passages = Vec::new();
        let mut vectors = match self.embedder {
            Some(embedder) => Some(Vectors::new(embedder.dimensions(), self.options.vectors)?),
            None => None,
        };
        for entry in segments {
            let old = vectors.as_ref().map(|_| segment::vectors(self.folder, entry)).transpose()?;
            for (row, passage) in segment::passages(self.folder, entry)?.into_iter().enumerate() {
                if entry.removed.binary_search(&row).is_ok() {
                    continue;
                }
                passages.push(passage);
                if let (Some(vectors), Some(old)) = (&mut vectors, &old) {
                    vectors.push_row(old, row);
                }
            }
        }
        if passages.is_empty() {
            return Ok(None);
        }
        segment::write(self.folder, &passages, vectors.as_ref(), &self.options.words).map(Some)
    }
}
