//! The parts of a model, from a folder or from memory.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use alloquy_core::Result;
use alloquy_core::model_info::ModelInfo;
use alloquy_core::report::Warning;
use alloquy_model_files::{
    Description, FactPlace, HuggingFaceTokenizer, ModelFiles, ModelFolder, TokenizerFile, bounded, model_info,
};

use crate::adapter::ADAPTER;
use crate::draft_heads::{self, is_draft_graph};
use crate::graph_file::GraphFile;
use crate::graph_names::type_of;
use crate::layout::Layout;
use crate::{embedded, folder};

/// Where GenAI exports name their decoder's graph.
const GRAPH: FactPlace = ("genai_config.json", "/model/decoder/filename");

/// A graph other than the decoder's: where GenAI exports name its file, and its name in transformers.js.
type GraphPlace = (FactPlace, &'static str);

const EMBEDDING: GraphPlace = (("genai_config.json", "/model/embedding/filename"), "embed_tokens");
const VISION: GraphPlace = (("genai_config.json", "/model/vision/filename"), "vision_encoder");
const AUDIO: GraphPlace = (("genai_config.json", "/model/speech/filename"), "audio_encoder");

/// Where a model is.
#[derive(Debug)]
pub(crate) enum Source {
    Path(PathBuf),
    Files(ModelFiles),
}

/// The parts of a model.
#[derive(Debug)]
pub(crate) struct Parts {
    /// A short name for people.
    pub(crate) name: String,
    /// The texts of the description files, by name.
    pub(crate) files: BTreeMap<String, String>,
    pub(crate) description: Description,
    pub(crate) tokenizer: TokenizerFile,
    pub(crate) decoder: Part,
    /// The graph of embeddings.
    pub(crate) embedding: Option<Part>,
    /// The encoder of images.
    pub(crate) vision: Option<Part>,
    /// The encoder of audio.
    pub(crate) audio: Option<Part>,
    pub(crate) adapter: Option<AdapterBytes>,
    /// The files of graphs that predict several tokens at once.
    pub(crate) draft_graphs: Vec<String>,
}

impl Parts {
    /// Reads the tokenizer.
    pub(crate) fn tokenizer(&self) -> Result<HuggingFaceTokenizer> {
        HuggingFaceTokenizer::of_file(&self.tokenizer, &self.description)
    }

    /// Returns the facts about the model, whose decoder a provider computes.
    pub(crate) fn model_info(
        &self,
        tokenizer: &HuggingFaceTokenizer,
        layout: &Layout,
        provider: &str,
        warnings: Vec<Warning>,
    ) -> Result<ModelInfo> {
        let files = self.files.clone();
        let mut info = model_info(self.name.clone(), files, &self.description, tokenizer, layout.vocabulary)?;
        info.provider = Some(provider.to_owned());
        info.warnings = warnings;
        info.warnings.extend(draft_heads::ignored(&layout.draft_heads, &self.draft_graphs));
        Ok(info)
    }
}

/// A graph, and the facts read from its file.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) graph: Graph,
    pub(crate) file: GraphFile,
}

/// The file of an adapter.
#[derive(Debug)]
pub(crate) struct AdapterBytes {
    /// The name or path that the caller gave.
    pub(crate) name: PathBuf,
    pub(crate) bytes: Vec<u8>,
}

/// The caller's choice of files.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted<'a> {
    /// The number type, where there are several graphs.
    pub(crate) graph_type: Option<&'a str>,
    /// A file name alone is a file of the model; a name with a folder is a path.
    pub(crate) adapter: Option<&'a Path>,
}

/// A graph.
#[derive(Debug)]
pub(crate) enum Graph {
    File(PathBuf),
    Bytes {
        name: String,
        bytes: Cow<'static, [u8]>,
    },
    /// What was made of a file, whose folder has the weights.
    Edited {
        path: PathBuf,
        bytes: Vec<u8>,
    },
}

impl Graph {
    /// Returns a graph of other bytes with the weights of this one.
    pub(crate) fn with_bytes(&self, bytes: Vec<u8>) -> Self {
        match self {
            Self::File(path) | Self::Edited { path, .. } => Self::Edited { path: path.clone(), bytes },
            Self::Bytes { name, .. } => Self::Bytes { name: name.clone(), bytes: bytes.into() },
        }
    }

    /// Returns the file's name.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::File(path) | Self::Edited { path, .. } => {
                path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
            }
            Self::Bytes { name, .. } => name.clone(),
        }
    }
}

impl fmt::Display for Graph {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) | Self::Edited { path, .. } => write!(formatter, "{path:?}"),
            Self::Bytes { name, .. } => write!(formatter, "{name:?}"),
        }
    }
}

impl Source {
    /// Reads all parts except the weights of graphs.
    pub(crate) fn parts(self, wanted: Wanted<'_>) -> Result<Parts> {
        match self {
            Self::Path(path) => of_folder(ModelFolder::open(&path)?, wanted),
            Self::Files(files) => of_files(files, wanted),
        }
    }
}

fn of_folder(opened: ModelFolder, wanted: Wanted<'_>) -> Result<Parts> {
    let description = Description::read(&opened.files)?;
    let path = folder::graph(&opened, wanted.graph_type, description.text(&[GRAPH]))?;
    let graph_type = wanted.graph_type.or_else(|| type_of(path.file_name()?.to_str()?)).map(str::to_owned);
    let graph_type = graph_type.as_deref();
    let embedding = beside_in_folder(&opened, EMBEDDING, graph_type, &description)?;
    let vision = beside_in_folder(&opened, VISION, graph_type, &description)?;
    let audio = beside_in_folder(&opened, AUDIO, graph_type, &description)?;
    let decoder = part_of_folder(&opened, path)?;
    let tokenizer = opened.tokenizer()?;
    let adapter = match wanted.adapter {
        Some(name) => Some(adapter(name, || folder::adapter(&opened, name))?),
        None => None,
    };
    let draft_graphs = folder::draft_graphs(&opened);
    let ModelFolder { name, files, .. } = opened;
    Ok(Parts {
        name,
        files,
        description,
        tokenizer,
        decoder,
        embedding,
        vision,
        audio,
        adapter,
        draft_graphs,
    })
}

fn beside_in_folder(
    opened: &ModelFolder,
    (place, name): GraphPlace,
    graph_type: Option<&str>,
    description: &Description,
) -> Result<Option<Part>> {
    match folder::beside(opened, name, graph_type, description.text(&[place]))? {
        Some(path) => part_of_folder(opened, path).map(Some),
        None => Ok(None),
    }
}

fn part_of_folder(opened: &ModelFolder, path: PathBuf) -> Result<Part> {
    let file = GraphFile::read(&path, &opened.fence)?;
    Ok(Part { graph: Graph::File(path), file })
}

fn of_files(mut source: ModelFiles, wanted: Wanted<'_>) -> Result<Parts> {
    let files = source.descriptions()?;
    let description = Description::read(&files)?;
    let (name, bytes) = embedded::take_graph(&mut source, wanted.graph_type, description.text(&[GRAPH]))?;
    let graph_type = wanted.graph_type.or_else(|| type_of(&name)).map(str::to_owned);
    let graph_type = graph_type.as_deref();
    let embedding = beside_in_memory(&mut source, EMBEDDING, graph_type, &description)?;
    let vision = beside_in_memory(&mut source, VISION, graph_type, &description)?;
    let audio = beside_in_memory(&mut source, AUDIO, graph_type, &description)?;
    let decoder = part_in_memory(name, bytes)?;
    let tokenizer = source.tokenizer()?;
    let adapter = match wanted.adapter {
        Some(name) => Some(adapter(name, || Ok(source.read(&name.display().to_string())?.to_vec()))?),
        None => None,
    };
    let draft_graphs = source.names().filter(|name| is_draft_graph(name)).map(str::to_owned).collect();
    let name = source.name().to_owned();
    Ok(Parts {
        name,
        files,
        description,
        tokenizer,
        decoder,
        embedding,
        vision,
        audio,
        adapter,
        draft_graphs,
    })
}

fn beside_in_memory(
    source: &mut ModelFiles,
    (place, name): GraphPlace,
    graph_type: Option<&str>,
    description: &Description,
) -> Result<Option<Part>> {
    match embedded::take_beside(source, name, graph_type, description.text(&[place]))? {
        Some((name, bytes)) => part_in_memory(name, bytes).map(Some),
        None => Ok(None),
    }
}

fn part_in_memory(name: String, bytes: Cow<'static, [u8]>) -> Result<Part> {
    let file = GraphFile::of_bytes(&bytes, &name)?;
    Ok(Part { graph: Graph::Bytes { name, bytes }, file })
}

/// Reads an adapter. A file name alone is a file of the model, which `of_model` reads.
fn adapter(name: &Path, of_model: impl FnOnce() -> Result<Vec<u8>>) -> Result<AdapterBytes> {
    let bytes =
        if name.file_name() == Some(name.as_os_str()) { of_model()? } else { bounded::bytes(name, ADAPTER)? };
    Ok(AdapterBytes { name: name.to_owned(), bytes })
}
