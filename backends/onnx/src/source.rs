//! Where a model's parts come from: a folder, or memory. Runs nothing.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use alloquy_core::Result;

use crate::description::{Description, Place};
use crate::error::unreadable;
use crate::folder::ModelFolder;
use crate::graph_file::GraphFile;
use crate::model_files::ModelFiles;

/// Where GenAI exports name their decoder's graph.
const GRAPH: Place = ("genai_config.json", "/model/decoder/filename");

/// Where a model is.
#[derive(Debug)]
pub(crate) enum Source {
    Path(PathBuf),
    Files(ModelFiles),
}

/// What a model is made of.
#[derive(Debug)]
pub(crate) struct Parts {
    /// A short name for people.
    pub(crate) name: String,
    /// Texts of the description files, by name.
    pub(crate) files: BTreeMap<String, String>,
    pub(crate) description: Description,
    /// The bytes of `tokenizer.json`.
    pub(crate) tokenizer: Vec<u8>,
    pub(crate) graph: Graph,
    pub(crate) graph_file: GraphFile,
    pub(crate) adapter: Option<AdapterBytes>,
}

/// The file of an adapter.
#[derive(Debug)]
pub(crate) struct AdapterBytes {
    /// As the caller named it.
    pub(crate) name: PathBuf,
    pub(crate) bytes: Vec<u8>,
}

/// Which of several files are wanted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted<'a> {
    /// Among several graphs, the one of this type.
    pub(crate) graph_type: Option<&'a str>,
    /// A name alone is a file of the model; whatever has a folder in it is a path.
    pub(crate) adapter: Option<&'a Path>,
}

/// A decoder's graph.
#[derive(Debug)]
pub(crate) enum Graph {
    File(PathBuf),
    Bytes { name: String, bytes: Cow<'static, [u8]> },
}

impl fmt::Display for Graph {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(formatter, "{path:?}"),
            Self::Bytes { name, .. } => write!(formatter, "{name:?}"),
        }
    }
}

impl Source {
    /// Reads everything but the graph's weights.
    pub(crate) fn parts(self, wanted: Wanted<'_>) -> Result<Parts> {
        match self {
            Self::Path(path) => of_folder(ModelFolder::open(&path)?, wanted),
            Self::Files(files) => of_files(files, wanted),
        }
    }
}

fn of_folder(folder: ModelFolder, wanted: Wanted<'_>) -> Result<Parts> {
    let description = Description::read(&folder.files)?;
    let path = folder.graph(wanted.graph_type, description.text(&[GRAPH]))?;
    let graph_file = GraphFile::read(&path, &folder.fence)?;
    let tokenizer = folder.read(TOKENIZER)?;
    let adapter = wanted.adapter.map(|name| adapter(name, || folder.adapter(name))).transpose()?;
    let ModelFolder { name, files, .. } = folder;
    Ok(Parts { name, files, description, tokenizer, graph: Graph::File(path), graph_file, adapter })
}

fn of_files(mut source: ModelFiles, wanted: Wanted<'_>) -> Result<Parts> {
    let files = source.descriptions()?;
    let description = Description::read(&files)?;
    let (graph, bytes) = source.take_graph(wanted.graph_type, description.text(&[GRAPH]))?;
    let graph_file = GraphFile::of_bytes(&bytes, &graph)?;
    let tokenizer = source.read(TOKENIZER)?.to_vec();
    let held = |name: &Path| Ok(source.read(&name.display().to_string())?.to_vec());
    let adapter = wanted.adapter.map(|name| adapter(name, || held(name))).transpose()?;
    let (name, graph) = (source.name().to_owned(), Graph::Bytes { name: graph, bytes });
    Ok(Parts { name, files, description, tokenizer, graph, graph_file, adapter })
}

/// Reads an adapter: a name alone is a file of the model.
fn adapter(name: &Path, of_model: impl FnOnce() -> Result<Vec<u8>>) -> Result<AdapterBytes> {
    let bytes = match name.file_name() == Some(name.as_os_str()) {
        true => of_model()?,
        false => fs::read(name).map_err(|source| unreadable(name, source))?,
    };
    Ok(AdapterBytes { name: name.to_owned(), bytes })
}

const TOKENIZER: &str = "tokenizer.json";
