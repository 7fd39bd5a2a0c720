//! Keeps optimised graphs on disk, so that a model is optimised only once for a processor.
//!
//! An entry is a folder, named by a digest of everything that the optimised graph depends on. It is written under another
//! name and then moved to its place. Entries are checked when they are read, so a damaged entry only costs time.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use alloquy_core::media::Digest;
use alloquy_core::{Error, ErrorKind, Result};
use alloquy_model_files::bounded;
use ort::session::Session;
use serde::{Deserialize, Serialize};

use crate::decoder::{self, Loading};
use crate::error::model;
use crate::graph_file::{GraphFile, WEIGHTS};
use crate::graph_optimization::GraphOptimization;
use crate::identity::{GraphRuntime, file_digest, optimized_identity};
use crate::providers::CPU;
use crate::runtime::loaded_size;
use crate::source::Graph;

/// The files of an entry. Weights are in a file of their own, so that their size has no limit and they can be mapped.
const GRAPH: &str = "model.onnx";
const ENTRY: &str = "entry.json";
/// How long [`ENTRY`] may be, in bytes.
const NOTE: u64 = 64 << 10;

/// How long a note of what was measured of a model may be, in bytes.
const MEASUREMENT: u64 = 1 << 20;

/// The end of an entry's folder name while it is written.
const PARTIAL: &str = ".partial";

/// The end of an entry's folder name while another entry replaces it.
const LEAVING: &str = ".leaving";

/// The age at which an unfinished entry of a killed process is removed.
const STALE: Duration = Duration::from_secs(24 * 60 * 60);

/// How the graph cache was used when a model was loaded. [`OnnxEngineBuilder::graph_cache`](crate::OnnxEngineBuilder::graph_cache)
/// has an example.
///
/// ```
/// use alloquy_onnx::GraphCacheStatus;
///
/// let status = GraphCacheStatus::NotKept { reason: "the disk is full".to_owned() };
/// assert_eq!(status.to_string(), "the optimised graph is not kept: the disk is full");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum GraphCacheStatus {
    /// No cache is set.
    #[default]
    Off,
    /// The optimised graph was read from the cache.
    Read,
    /// The model's graph was optimised and is in the cache now.
    Written,
    /// The same; the earlier entry could not be used.
    Rewritten {
        /// Why the earlier entry could not be used.
        reason: String,
    },
    /// The model's own graph was loaded, and no entry was written.
    NotKept {
        /// Why no entry was written.
        reason: String,
    },
}

impl fmt::Display for GraphCacheStatus {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => formatter.write_str("optimised graphs are not kept"),
            Self::Read => formatter.write_str("the optimised graph was kept from before"),
            Self::Written => formatter.write_str("the optimised graph is kept for the next time"),
            Self::Rewritten { reason } => {
                write!(
                    formatter,
                    "the optimised graph that was kept could not be used and is written again: {reason}"
                )
            }
            Self::NotKept { reason } => write!(formatter, "the optimised graph is not kept: {reason}"),
        }
    }
}

/// A graph, and everything that its optimised form depends on.
pub(crate) struct Made<'a> {
    pub(crate) graph: &'a Graph,
    /// The digests of the graph and its weights.
    pub(crate) digests: &'a [Digest],
    pub(crate) ran: GraphRuntime<'a>,
}

/// Loads a graph, through the cache if there is one.
pub(crate) fn load(
    cache: Option<&GraphCache>,
    made: &Made<'_>,
    loading: &Loading<'_>,
) -> Result<(Session, GraphCacheStatus)> {
    let status = match cache {
        None => GraphCacheStatus::Off,
        Some(_) if made.ran.optimization == GraphOptimization::Disable => {
            GraphCacheStatus::NotKept { reason: "graphs are not optimised".to_owned() }
        }
        // Other providers compile parts of a graph into code that has no form on disk, or insert copies between devices.
        Some(_) if made.ran.provider != CPU => GraphCacheStatus::NotKept {
            reason: "only graphs that the processor computes are kept".to_owned(),
        },
        Some(cache) => {
            let key = optimized_identity(made.digests, made.ran, loaded_size()?);
            return cache.load(key, made.graph, loading);
        }
    };
    Ok((decoder::load(made.graph, loading)?, status))
}

/// A folder of optimised graphs.
#[derive(Debug)]
pub(crate) struct GraphCache {
    folder: PathBuf,
}

/// The digests of an entry's files, as written in [`ENTRY`].
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Entry {
    key: Digest,
    graph: Digest,
    weights: Option<Digest>,
}

impl GraphCache {
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// Loads the optimised graph with a key, or else `graph` itself, and keeps its optimised form then.
    fn load(&self, key: Digest, graph: &Graph, loading: &Loading<'_>) -> Result<(Session, GraphCacheStatus)> {
        let unusable = match self.read(key, loading) {
            Ok(Some(session)) => return Ok((session, GraphCacheStatus::Read)),
            Ok(None) => None,
            Err(error) => Some(format!("{error:#}")),
        };
        let (session, kept) = self.optimised(key, graph, loading)?;
        let used = match (kept, unusable) {
            (Ok(()), None) => GraphCacheStatus::Written,
            (Ok(()), Some(reason)) => GraphCacheStatus::Rewritten { reason },
            (Err(error), None) => GraphCacheStatus::NotKept { reason: format!("{error:#}") },
            (Err(error), Some(before)) => {
                GraphCacheStatus::NotKept { reason: format!("{before}; {error:#}") }
            }
        };
        Ok((session, used))
    }

    /// Reads a note that was kept under a key; `None` if there is none, or none that can be read.
    pub(crate) fn note(&self, key: Digest) -> Option<Vec<u8>> {
        bounded::bytes(&self.folder.join(format!("{key}.json")), MEASUREMENT).ok()
    }

    /// Keeps a note under a key. An earlier one is replaced at once, never in part.
    pub(crate) fn keep_note(&self, key: Digest, note: &[u8]) -> Result<()> {
        let partial = Partial::begin(&self.folder, key)?;
        let written = partial.folder.join(ENTRY);
        let place = self.folder.join(format!("{key}.json"));
        let kept = fs::write(&written, note)
            .and_then(|()| restrict(&partial.folder))
            .and_then(|()| fs::rename(&written, &place));
        kept.map_err(|source| unwritable(&place, source))
    }

    /// Loads an entry; `None` if there is none.
    fn read(&self, key: Digest, loading: &Loading<'_>) -> Result<Option<Session>> {
        let folder = self.folder.join(key.to_string());
        if !folder.exists() {
            return Ok(None);
        }
        let graph = folder.join(GRAPH);
        if Entry::written(&folder)? != Entry::of(key, &folder)? {
            return Err(model(format!("{folder:?} does not hold what was written there")));
        }
        GraphFile::read(&graph, &folder)?;
        // It is optimised already.
        let loading = Loading { optimization: GraphOptimization::Disable, ..*loading };
        decoder::load(&Graph::File(graph), &loading).map(Some)
    }

    /// Loads the model's own graph, and returns whether its optimised form could be kept.
    fn optimised(&self, key: Digest, graph: &Graph, loading: &Loading<'_>) -> Result<(Session, Result<()>)> {
        let partial = match Partial::begin(&self.folder, key) {
            Ok(partial) => partial,
            Err(error) => return Ok((decoder::load(graph, loading)?, Err(error))),
        };
        let written = partial.folder.join(GRAPH);
        match decoder::load(graph, &Loading { written: Some(&written), ..*loading }) {
            Ok(session) => Ok((session, partial.publish(key, &self.folder))),
            // The failure may be that the graph could not be written, so it is loaded without writing.
            Err(error) => Ok((decoder::load(graph, loading)?, Err(error))),
        }
    }
}

impl Entry {
    /// Reads the digests that were written with an entry.
    fn written(folder: &Path) -> Result<Self> {
        let path = folder.join(ENTRY);
        let bytes = bounded::bytes(&path, NOTE)?;
        serde_json::from_slice(&bytes)
            .map_err(|source| model(format!("{path:?} is damaged")).with_source(source))
    }

    /// Computes the digests of the files in a folder. Of a long file the length and samples are hashed.
    fn of(key: Digest, folder: &Path) -> Result<Self> {
        let weights = Some(folder.join(WEIGHTS)).filter(|path| path.exists());
        let weights = weights.map(|path| file_digest(&path)).transpose()?;
        Ok(Self { key, graph: file_digest(&folder.join(GRAPH))?, weights })
    }
}

/// An entry while it is written. Unless it is published, it is removed when it is dropped.
struct Partial {
    folder: PathBuf,
}

impl Partial {
    fn begin(root: &Path, key: Digest) -> Result<Self> {
        /// Numbers the entries of this process.
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = root.join(format!(".{key}-{}-{count}{PARTIAL}", process::id()));
        make_private(root).map_err(|source| unwritable(root, source))?;
        remove_stale(root);
        make_private(&folder).map_err(|source| unwritable(&folder, source))?;
        Ok(Self { folder })
    }

    fn publish(self, key: Digest, root: &Path) -> Result<()> {
        let entry = Entry::of(key, &self.folder)?;
        let place = root.join(key.to_string());
        self.finish(&entry, &place).map_err(|source| unwritable(&self.folder, source))
    }

    /// Writes the digests and moves the folder to its place.
    fn finish(&self, entry: &Entry, place: &Path) -> io::Result<()> {
        fs::write(self.folder.join(ENTRY), serde_json::to_vec(entry)?)?;
        restrict(&self.folder)?;
        // A rename does not replace a folder that holds files, so an earlier entry is moved away first. It is removed at the
        // end of the block.
        if place.exists() {
            let leaving = Self { folder: self.folder.with_extension("leaving") };
            fs::rename(place, &leaving.folder)?;
        }
        fs::rename(&self.folder, place)
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        // After it is published, there is nothing to remove. A folder that cannot be removed now is stale tomorrow.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Creates a folder, and the missing ones above it, for its owner alone: users who may write into it decide what is computed.
fn make_private(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(folder)
}

/// Removes the rights of other users from the files of a folder: ONNX Runtime writes them with the rights of the umask.
fn restrict(folder: &Path) -> io::Result<()> {
    #[cfg(unix)]
    for file in fs::read_dir(folder)? {
        fs::set_permissions(file?.path(), std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
    }
    #[cfg(not(unix))]
    let _ = folder;
    Ok(())
}

/// Removes unfinished entries of processes that were killed.
fn remove_stale(root: &Path) {
    let entries = fs::read_dir(root).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| is_partial(&entry.file_name().to_string_lossy())) {
        let changed = entry.metadata().and_then(|metadata| metadata.modified()).ok();
        if changed.and_then(|changed| changed.elapsed().ok()).is_some_and(|age| age > STALE) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Returns whether a folder has the name of an entry that is being written or replaced.
fn is_partial(name: &str) -> bool {
    let key = name.strip_prefix('.').and_then(|name| name.split('-').next());
    let ends = name.ends_with(PARTIAL) || name.ends_with(LEAVING);
    ends && key.is_some_and(|key| key.parse::<Digest>().is_ok())
}

fn unwritable(path: &Path, source: io::Error) -> Error {
    Error::new(ErrorKind::Backend, format!("could not write {path:?}")).with_source(source)
}
