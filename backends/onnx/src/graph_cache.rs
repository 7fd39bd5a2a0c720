//! Optimised graphs on disk, so that a model is optimised once for a processor. Knows no tokens.
//!
//! An entry is a folder, named by a digest of everything that the optimised graph depends on. It is written beside its
//! place and moved there whole. What is read is checked: a damaged entry costs time, and nothing else.

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
use crate::identity::{Ran, file_digest, optimized_identity};
use crate::providers::CPU;
use crate::runtime::loaded_size;
use crate::source::Graph;

/// The files of an entry. Weights stand beside the graph, so that their size has no limit and they can be mapped.
const GRAPH: &str = "model.onnx";
const ENTRY: &str = "entry.json";
/// How long what an entry says of its files may be.
const NOTE: u64 = 64 << 10;

/// How the folder of an entry ends while it is written.
const PARTIAL: &str = ".partial";

/// How the folder of an entry ends that makes way for another.
const LEAVING: &str = ".leaving";

/// When what a killed process left half written is removed.
const STALE: Duration = Duration::from_secs(24 * 60 * 60);

/// What became of the graph cache when a model was loaded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum GraphCacheUse {
    /// There was to be none.
    #[default]
    Off,
    /// The optimised graph came from there.
    Read,
    /// The model's graph was optimised and is kept there now.
    Written,
    /// The same; what was kept there before could not be used.
    Rewritten {
        /// Why.
        reason: String,
    },
    /// The model's own graph was loaded, and nothing is kept.
    NotKept {
        /// Why.
        reason: String,
    },
}

impl fmt::Display for GraphCacheUse {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => formatter.write_str("optimised graphs are not kept"),
            Self::Read => formatter.write_str("the optimised graph was kept from before"),
            Self::Written => formatter.write_str("the optimised graph is kept for the next time"),
            Self::Rewritten { reason } => {
                write!(
                    formatter,
                    "the optimised graph that was kept could not be used and is written anew: {reason}"
                )
            }
            Self::NotKept { reason } => write!(formatter, "the optimised graph is not kept: {reason}"),
        }
    }
}

/// A graph and what an optimised form of it depends on.
pub(crate) struct Made<'a> {
    pub(crate) graph: &'a Graph,
    /// Of the graph and its weights.
    pub(crate) digests: &'a [Digest],
    pub(crate) ran: Ran<'a>,
}

/// Loads a graph, by way of the cache where there is one.
pub(crate) fn load(
    cache: Option<&GraphCache>,
    made: &Made<'_>,
    loading: &Loading<'_>,
) -> Result<(Session, GraphCacheUse)> {
    let plain = |reason: &str| {
        let reason = reason.to_owned();
        Ok((decoder::load(made.graph, loading)?, GraphCacheUse::NotKept { reason }))
    };
    match (cache, made.ran.optimization) {
        (None, _) => Ok((decoder::load(made.graph, loading)?, GraphCacheUse::Off)),
        (Some(_), GraphOptimization::Disable) => plain("graphs are not optimised"),
        // Others compile parts of a graph into what has no form on disk, or copy between devices in it.
        (Some(_), _) if made.ran.provider != CPU => plain("only graphs that the processor computes are kept"),
        (Some(cache), _) => {
            let key = optimized_identity(made.digests, made.ran, loaded_size()?);
            cache.load(key, made.graph, loading)
        }
    }
}

/// A folder of optimised graphs.
#[derive(Debug)]
pub(crate) struct GraphCache {
    folder: PathBuf,
}

/// What an entry says of its files.
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

    /// Loads the optimised graph of that key, or else `graph` itself, whose optimised form is then kept.
    fn load(&self, key: Digest, graph: &Graph, loading: &Loading<'_>) -> Result<(Session, GraphCacheUse)> {
        let unusable = match self.read(key, loading) {
            Ok(Some(session)) => return Ok((session, GraphCacheUse::Read)),
            Ok(None) => None,
            Err(error) => Some(format!("{error:#}")),
        };
        let (session, kept) = self.optimised(key, graph, loading)?;
        let used = match (kept, unusable) {
            (Ok(()), None) => GraphCacheUse::Written,
            (Ok(()), Some(reason)) => GraphCacheUse::Rewritten { reason },
            (Err(error), None) => GraphCacheUse::NotKept { reason: format!("{error:#}") },
            (Err(error), Some(before)) => GraphCacheUse::NotKept { reason: format!("{before}; {error:#}") },
        };
        Ok((session, used))
    }

    /// Loads an entry; `None` where there is none.
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

    /// Loads the model's own graph, and says whether its optimised form could be kept.
    fn optimised(&self, key: Digest, graph: &Graph, loading: &Loading<'_>) -> Result<(Session, Result<()>)> {
        let partial = match Partial::begin(&self.folder, key) {
            Ok(partial) => partial,
            Err(error) => return Ok((decoder::load(graph, loading)?, Err(error))),
        };
        let written = partial.folder.join(GRAPH);
        match decoder::load(graph, &Loading { written: Some(&written), ..*loading }) {
            Ok(session) => Ok((session, partial.publish(key, &self.folder))),
            // What cannot be written may run all the same.
            Err(error) => Ok((decoder::load(graph, loading)?, Err(error))),
        }
    }
}

impl Entry {
    /// Reads what an entry says of its files.
    fn written(folder: &Path) -> Result<Self> {
        let path = folder.join(ENTRY);
        let bytes = bounded::bytes(&path, NOTE)?;
        serde_json::from_slice(&bytes)
            .map_err(|source| model(format!("{path:?} is damaged")).with_source(source))
    }

    /// Describes the files that there are. Of long ones samples count, and the length.
    fn of(key: Digest, folder: &Path) -> Result<Self> {
        let weights = Some(folder.join(WEIGHTS)).filter(|path| path.exists());
        let weights = weights.map(|path| file_digest(&path)).transpose()?;
        Ok(Self { key, graph: file_digest(&folder.join(GRAPH))?, weights })
    }
}

/// An entry that is being written; what is not published is removed.
struct Partial {
    folder: PathBuf,
}

impl Partial {
    fn begin(root: &Path, key: Digest) -> Result<Self> {
        /// Tells apart those of one process.
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
        let failed = |source| unwritable(&self.folder, source);
        let bytes = serde_json::to_vec(&entry).map_err(|source| failed(source.into()))?;
        fs::write(self.folder.join(ENTRY), bytes).map_err(failed)?;
        restrict(&self.folder).map_err(failed)?;
        let place = root.join(key.to_string());
        // A folder that is not empty is not moved over, so what is there leaves first.
        if place.exists() {
            let away = Self { folder: self.folder.with_extension("leaving") };
            fs::rename(&place, &away.folder).map_err(failed)?;
        }
        fs::rename(&self.folder, &place).map_err(failed)
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        // Nothing is there any more once it is published; what cannot be removed is stale tomorrow.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Makes a folder, and those above it, for its owner alone: whoever may write into it decides what is computed.
fn make_private(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(folder)
}

/// Takes the rights of others from the files of a folder: ONNX Runtime writes them as the umask has it.
fn restrict(folder: &Path) -> io::Result<()> {
    #[cfg(unix)]
    for file in fs::read_dir(folder)? {
        fs::set_permissions(file?.path(), std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
    }
    #[cfg(not(unix))]
    let _ = folder;
    Ok(())
}

/// Removes what processes left that did not come to their end.
fn remove_stale(root: &Path) {
    let entries = fs::read_dir(root).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| is_partial(&entry.file_name().to_string_lossy())) {
        let changed = entry.metadata().and_then(|metadata| metadata.modified()).ok();
        if changed.and_then(|changed| changed.elapsed().ok()).is_some_and(|age| age > STALE) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Says whether a folder has a name that [`Partial::begin`] gives, or the one that an entry gets that leaves.
fn is_partial(name: &str) -> bool {
    let key = name.strip_prefix('.').and_then(|name| name.split('-').next());
    let ends = name.ends_with(PARTIAL) || name.ends_with(LEAVING);
    ends && key.is_some_and(|key| key.parse::<Digest>().is_ok())
}

fn unwritable(path: &Path, source: io::Error) -> Error {
    Error::new(ErrorKind::Backend, format!("could not write {path:?}")).with_source(source)
}
