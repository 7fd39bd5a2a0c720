//! Where a model's parts come from: a folder, or memory. Runs nothing.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use alloquy_core::Result;

use crate::description::{Description, Place};
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
    /// Reads everything but the graph's weights; among several graphs, the one of `graph_type`.
    pub(crate) fn parts(self, graph_type: Option<&str>) -> Result<Parts> {
        match self {
            Self::Path(path) => of_folder(ModelFolder::open(&path)?, graph_type),
            Self::Files(files) => of_files(files, graph_type),
        }
    }
}

fn of_folder(folder: ModelFolder, graph_type: Option<&str>) -> Result<Parts> {
    let description = Description::read(&folder.files)?;
    let path = folder.graph(graph_type, description.text(&[GRAPH]))?;
    let graph_file = GraphFile::read(&path, &folder.fence)?;
    let tokenizer = folder.read(TOKENIZER)?;
    let ModelFolder { name, files, .. } = folder;
    Ok(Parts { name, files, description, tokenizer, graph: Graph::File(path), graph_file })
}

fn of_files(mut source: ModelFiles, graph_type: Option<&str>) -> Result<Parts> {
    let files = source.descriptions()?;
    let description = Description::read(&files)?;
    let (graph, bytes) = source.take_graph(graph_type, description.text(&[GRAPH]))?;
    let graph_file = GraphFile::of_bytes(&bytes, &graph)?;
    let tokenizer = source.read(TOKENIZER)?.to_vec();
    let (name, graph) = (source.name().to_owned(), Graph::Bytes { name: graph, bytes });
    Ok(Parts { name, files, description, tokenizer, graph, graph_file })
}

const TOKENIZER: &str = "tokenizer.json";
