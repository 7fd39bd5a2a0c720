//! Where a model's parts come from: a folder, or memory. Runs nothing.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use alloquy_core::Result;
use alloquy_model_files::{Description, FactPlace, ModelFiles, ModelFolder, bounded};

use crate::adapter::ADAPTER;
use crate::graph_file::GraphFile;
use crate::graph_names::type_of;
use crate::{embedded, folder};

/// Where GenAI exports name their decoder's graph.
const GRAPH: FactPlace = ("genai_config.json", "/model/decoder/filename");

/// A graph beside the decoder's: where GenAI exports name its file, and what transformers.js calls it.
type Beside = (FactPlace, &'static str);

const EMBEDDING: Beside = (("genai_config.json", "/model/embedding/filename"), "embed_tokens");
const VISION: Beside = (("genai_config.json", "/model/vision/filename"), "vision_encoder");
const AUDIO: Beside = (("genai_config.json", "/model/speech/filename"), "audio_encoder");

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
    pub(crate) decoder: Part,
    /// What makes embeddings of tokens.
    pub(crate) embedding: Option<Part>,
    /// The encoder of pictures.
    pub(crate) vision: Option<Part>,
    /// The encoder of sounds.
    pub(crate) audio: Option<Part>,
    pub(crate) adapter: Option<AdapterBytes>,
}

/// A graph, and what was read off its file.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) graph: Graph,
    pub(crate) file: GraphFile,
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

/// A graph.
#[derive(Debug)]
pub(crate) enum Graph {
    File(PathBuf),
    Bytes { name: String, bytes: Cow<'static, [u8]> },
}

impl Graph {
    /// Returns the file's name.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::File(path) => path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned(),
            Self::Bytes { name, .. } => name.clone(),
        }
    }
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

fn of_folder(opened: ModelFolder, wanted: Wanted<'_>) -> Result<Parts> {
    let description = Description::read(&opened.files)?;
    let path = folder::graph(&opened, wanted.graph_type, description.text(&[GRAPH]))?;
    let graph_type = wanted.graph_type.or_else(|| type_of(path.file_name()?.to_str()?)).map(str::to_owned);
    let read = |path: PathBuf| -> Result<Part> {
        let file = GraphFile::read(&path, &opened.fence)?;
        Ok(Part { graph: Graph::File(path), file })
    };
    let beside = |(place, name): Beside| -> Result<Option<Part>> {
        folder::beside(&opened, name, graph_type.as_deref(), description.text(&[place]))?
            .map(read)
            .transpose()
    };
    let (embedding, vision, audio) = (beside(EMBEDDING)?, beside(VISION)?, beside(AUDIO)?);
    let decoder = read(path)?;
    let tokenizer = opened.tokenizer()?;
    let adapter = wanted.adapter.map(|name| adapter(name, || folder::adapter(&opened, name))).transpose()?;
    let ModelFolder { name, files, .. } = opened;
    Ok(Parts { name, files, description, tokenizer, decoder, embedding, vision, audio, adapter })
}

fn of_files(mut source: ModelFiles, wanted: Wanted<'_>) -> Result<Parts> {
    let files = source.descriptions()?;
    let description = Description::read(&files)?;
    let (name, bytes) = embedded::take_graph(&mut source, wanted.graph_type, description.text(&[GRAPH]))?;
    let graph_type = wanted.graph_type.or_else(|| type_of(&name)).map(str::to_owned);
    let read = |(name, bytes): (String, Cow<'static, [u8]>)| -> Result<Part> {
        let file = GraphFile::of_bytes(&bytes, &name)?;
        Ok(Part { graph: Graph::Bytes { name, bytes }, file })
    };
    let mut beside = |(place, name): Beside| -> Result<Option<Part>> {
        embedded::take_beside(&mut source, name, graph_type.as_deref(), description.text(&[place]))?
            .map(read)
            .transpose()
    };
    let (embedding, vision, audio) = (beside(EMBEDDING)?, beside(VISION)?, beside(AUDIO)?);
    let decoder = read((name, bytes))?;
    let tokenizer = source.read(TOKENIZER)?.to_vec();
    let held = |name: &Path| Ok(source.read(&name.display().to_string())?.to_vec());
    let adapter = wanted.adapter.map(|name| adapter(name, || held(name))).transpose()?;
    let name = source.name().to_owned();
    Ok(Parts { name, files, description, tokenizer, decoder, embedding, vision, audio, adapter })
}

/// Reads an adapter: a name alone is a file of the model.
fn adapter(name: &Path, of_model: impl FnOnce() -> Result<Vec<u8>>) -> Result<AdapterBytes> {
    let bytes = match name.file_name() == Some(name.as_os_str()) {
        true => of_model()?,
        false => bounded::bytes(name, ADAPTER)?,
    };
    Ok(AdapterBytes { name: name.to_owned(), bytes })
}

const TOKENIZER: &str = "tokenizer.json";
