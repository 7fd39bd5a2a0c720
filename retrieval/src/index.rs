//! An index of documents in a folder.

mod files;
mod loaded;
mod lock;
mod manifest;
mod options;
mod segment;
mod settings;
mod update;
mod varint;
mod word_file;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use alloquy_core::media::Digest;
use alloquy_core::{Error, ErrorKind, Owner, Result};
use async_trait::async_trait;
use serde::Serialize;
use serde_json::{Map, Value};

use self::loaded::Loaded;
use self::lock::Lock;
use self::manifest::Manifest;
use self::update::{Others, Update};
use crate::embedding::embed_query;
use crate::owners::Owners;
use crate::{Document, Embedder, Found, Hybrid, Lookup, Retriever, Vectors};

pub use options::IndexOptions;
pub use settings::{IndexSettings, VectorSettings};
pub use update::{IndexProgress, IndexReport, SkippedDocument};

/// An index of documents in a folder: their passages, words and vectors.
///
/// Each owner has documents of its own. Adding a document again keeps its unchanged passages with their vectors, adds what is new, and
/// removes what is gone. A change is written as a whole: whenever a program is killed, the index is as it was after the last 2,048 passages.
/// Several programs may read an index while one changes it; the next search sees the change.
///
/// Passages and words are loaded into memory when an owner's index is first used; vectors stay in their files, which are mapped. A search
/// reads them without yielding to the async runtime, for about as long as [`Vectors`] takes.
///
/// ```
/// use std::sync::Arc;
///
/// use alloquy_core::Owner;
/// use alloquy_retrieval::{Document, Index, IndexOptions, Lookup, NgramEmbedder, Retriever};
///
/// # let folder = tempfile::tempdir().unwrap();
/// # let folder = folder.path();
/// # pollster::block_on(async {
/// let index = Index::open(folder, IndexOptions::default(), Some(Arc::new(NgramEmbedder::default())))?;
/// let owner = Owner::local();
/// let tea = Document::markdown("tea.md", "# Tea\n\nTea is grown in Assam.\n");
/// let report = index.add(&owner, vec![tea.clone()], &|_| {}).await?;
/// assert_eq!((report.added, report.kept), (1, 0));
///
/// let found = index.hybrid().find(&owner, &Lookup::new("Where is tea grown?")).await?;
/// assert_eq!(found.passages[0].source.as_deref(), Some("tea.md"));
///
/// let report = index.add(&owner, vec![tea], &|_| {}).await?;
/// assert_eq!((report.added, report.kept), (0, 1));
/// # Ok::<(), alloquy_core::Error>(())
/// # }).unwrap();
/// ```
#[derive(Debug)]
pub struct Index {
    folder: PathBuf,
    options: IndexOptions,
    settings: IndexSettings,
    embedder: Option<Arc<dyn Embedder>>,
    loaded: Owners<Option<Arc<Loaded>>>,
}

/// A document of an index.
///
/// [`Index::documents`] lists them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct IndexedDocument {
    /// Its name.
    pub source: String,
    /// How many passages it has.
    pub passages: usize,
    /// What all of its passages have in their metadata, such as what [`Document::metadata`] adds.
    pub metadata: Map<String, Value>,
}

impl Index {
    /// Opens the index in a folder, which is made if it is absent. Without an embedder the index has no vectors.
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`] if the index was made with another embedder or other options, with both; [`ErrorKind::Corrupt`] if it is
    /// damaged, [`ErrorKind::Store`] if the folder cannot be used, [`ErrorKind::Invalid`] for options that are not possible.
    pub fn open(
        folder: impl Into<PathBuf>,
        options: IndexOptions,
        embedder: Option<Arc<dyn Embedder>>,
    ) -> Result<Arc<Self>> {
        let folder = folder.into();
        options.words.check()?;
        if let Some(embedder) = &embedder {
            Vectors::new(embedder.dimensions(), options.vectors)?;
        }
        let settings = IndexSettings::of(&options, embedder.as_deref());
        match IndexSettings::read(&folder)? {
            Some(here) => here.check(&folder, &settings)?,
            None => {
                files::create_folder(&folder)?;
                settings.write(&folder)?;
            }
        }
        Ok(Arc::new(Self { folder, options, settings, embedder, loaded: Owners::default() }))
    }

    /// Returns what the index in a folder was made with. `None` if there is no index.
    ///
    /// ```
    /// use alloquy_retrieval::{Index, IndexOptions};
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let folder = folder.path();
    /// assert_eq!(Index::settings(folder)?, None);
    /// Index::open(folder, IndexOptions::default(), None)?;
    /// assert_eq!(Index::settings(folder)?.unwrap().limit, 200);
    /// # Ok::<(), alloquy_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Corrupt`] if it is damaged, [`ErrorKind::Store`] if it cannot be read.
    pub fn settings(folder: impl AsRef<Path>) -> Result<Option<IndexSettings>> {
        IndexSettings::read(folder.as_ref())
    }

    /// Adds documents. One with the name of another replaces it; its unchanged passages are kept.
    ///
    /// `progress` is called after each document, and after each 64 vectors.
    ///
    /// # Errors
    /// Those of the embedder and of the folder, and [`ErrorKind::Busy`] while another change runs. Whole parts that were written before
    /// stay: the same call again continues.
    pub async fn add(
        &self,
        owner: &Owner,
        documents: Vec<Document>,
        progress: &(dyn Fn(IndexProgress) + Send + Sync),
    ) -> Result<IndexReport> {
        let folder = self.owner_folder(owner);
        self.update(&folder, owner, progress)?.documents(documents, Others::Keep).await
    }

    /// Makes these documents the only ones: adds them as [`Index::add`] does, and removes all others.
    ///
    /// # Errors
    /// Those of [`Index::add`].
    pub async fn sync(
        &self,
        owner: &Owner,
        documents: Vec<Document>,
        progress: &(dyn Fn(IndexProgress) + Send + Sync),
    ) -> Result<IndexReport> {
        let folder = self.owner_folder(owner);
        self.update(&folder, owner, progress)?.documents(documents, Others::Remove).await
    }

    /// Removes documents by their names. Those that are not there are [skipped](IndexReport::skipped).
    ///
    /// # Errors
    /// Those of the folder, and [`ErrorKind::Busy`] while another change runs.
    pub async fn remove(&self, owner: &Owner, sources: &[&str]) -> Result<IndexReport> {
        let folder = self.owner_folder(owner);
        self.update(&folder, owner, &|_| {})?.without(sources).await
    }

    /// Lists the documents of an owner by name.
    ///
    /// # Errors
    /// Those of the folder.
    pub fn documents(&self, owner: &Owner) -> Result<Vec<IndexedDocument>> {
        let mut documents: BTreeMap<String, IndexedDocument> = BTreeMap::new();
        for (_, passage) in self.current(owner)?.passages.passages() {
            let source = passage.source.clone().unwrap_or_default();
            match documents.get_mut(&source) {
                Some(document) => {
                    document.passages += 1;
                    document.metadata.retain(|name, value| passage.metadata.get(name) == Some(value));
                }
                None => {
                    let metadata = passage.metadata.clone();
                    documents.insert(source.clone(), IndexedDocument { source, passages: 1, metadata });
                }
            }
        }
        Ok(documents.into_values().collect())
    }

    /// Returns the retriever by words, `words`.
    pub fn words(self: &Arc<Self>) -> Arc<dyn Retriever> {
        Arc::new(ByWords { index: self.clone() })
    }

    /// Returns the retriever by vectors, `vectors`.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] if the index has no embedder.
    pub fn vectors(self: &Arc<Self>) -> Result<Arc<dyn Retriever>> {
        let Some(embedder) = self.embedder.clone() else {
            let message = format!(
                "the index in {} has no vectors: make one in another folder with an embedder, or search by words",
                self.folder.display()
            );
            return Err(Error::new(ErrorKind::Unsupported, message));
        };
        Ok(Arc::new(ByVectors { index: self.clone(), embedder }))
    }

    /// Returns the retriever by words and vectors with their usual weights; without an embedder, that by words.
    pub fn hybrid(self: &Arc<Self>) -> Arc<dyn Retriever> {
        match self.vectors() {
            Ok(vectors) => {
                let hybrid = Hybrid::default().retriever(Hybrid::WORDS, self.words());
                Arc::new(hybrid.retriever(Hybrid::VECTORS, vectors))
            }
            Err(_) => self.words(),
        }
    }

    /// Returns an owner's index as the folder has it now.
    fn current(&self, owner: &Owner) -> Result<Arc<Loaded>> {
        let folder = self.owner_folder(owner);
        let (_, bytes) = Manifest::read(&folder, owner)?;
        let digest = Digest::of(&bytes);
        let known = self.loaded.read(owner, Option::clone);
        if let Some(known) = known.filter(|known| known.digest == digest) {
            return Ok(known);
        }
        let loaded = Arc::new(Loaded::read(&folder, owner, &self.options.words)?);
        self.loaded.change(owner, |known| *known = Some(loaded.clone()));
        Ok(loaded)
    }

    /// Begins a change.
    fn update<'a>(
        &'a self,
        folder: &'a Path,
        owner: &Owner,
        progress: &'a (dyn Fn(IndexProgress) + Send + Sync),
    ) -> Result<Update<'a>> {
        // What is there is read only when no other writer may change it.
        let lock = Lock::of(folder, owner)?;
        let loaded = self.current(owner)?;
        Ok(Update::new(&self.options, self.embedder.as_deref(), folder, lock, loaded, progress))
    }

    /// Names of owners may be no names of files, so the folder is called by a digest.
    fn owner_folder(&self, owner: &Owner) -> PathBuf {
        self.folder.join("owners").join(files::short(Digest::of(owner.as_str().as_bytes())))
    }

    fn version_of(&self, loaded: &Loaded) -> Digest {
        let mut bytes = self.settings.bytes();
        bytes.extend(loaded.digest.as_bytes());
        Digest::of(&bytes)
    }

    fn version(&self, owner: &Owner) -> Result<Digest> {
        Ok(self.version_of(&*self.current(owner)?))
    }
}

/// Finds passages of an index by words.
#[derive(Debug)]
struct ByWords {
    index: Arc<Index>,
}

#[async_trait]
impl Retriever for ByWords {
    fn name(&self) -> &str {
        "words"
    }

    async fn version(&self, owner: &Owner) -> Result<Digest> {
        self.index.version(owner)
    }

    async fn find(&self, owner: &Owner, lookup: &Lookup) -> Result<Found> {
        let loaded = self.index.current(owner)?;
        let passages = loaded.by_words(lookup, &self.index.options.words);
        Ok(Found::new(passages, self.index.version_of(&loaded)))
    }
}

/// Finds passages of an index by vectors.
#[derive(Debug)]
struct ByVectors {
    index: Arc<Index>,
    embedder: Arc<dyn Embedder>,
}

#[async_trait]
impl Retriever for ByVectors {
    fn name(&self) -> &str {
        "vectors"
    }

    async fn version(&self, owner: &Owner) -> Result<Digest> {
        self.index.version(owner)
    }

    async fn find(&self, owner: &Owner, lookup: &Lookup) -> Result<Found> {
        let loaded = self.index.current(owner)?;
        let version = self.index.version_of(&loaded);
        if lookup.text.trim().is_empty() || loaded.vectors.is_empty() {
            return Ok(Found::new(Vec::new(), version));
        }
        let vector = embed_query(&*self.embedder, &lookup.text).await?;
        Ok(Found::new(loaded.by_vector(lookup, &vector)?, version))
    }
}
