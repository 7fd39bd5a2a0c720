//! The files of a model of texts: its tokenizer, its graph, and its descriptions.

use std::path::Path;

use alloquy_core::Result;
use alloquy_core::media::Digest;
use alloquy_model_files::{Description, FactPlace, ModelFolder, TextTokenizer};
use serde_json::Value;

use crate::error::{invalid, model, unsupported};
use crate::folder::text_graph;
use crate::graph_file::GraphFile;
use crate::source::{Graph, Part};

/// How many bytes a description file may have.
const DESCRIPTION: u64 = 1 << 20;

/// The largest number of tokens that a file may name as what a model reads. `tokenizer_config.json` has 10³⁰ where it names none.
const MOST_TOKENS: usize = 1 << 20;

/// Where a model's files name the number of positions that it has.
const POSITIONS: &[FactPlace] =
    &[("config.json", "/max_position_embeddings"), ("config.json", "/n_positions")];
/// Models that number the positions of a text from 2 on, so that they read two tokens less than they have positions.
const FROM_TWO: [&str; 5] = ["camembert", "mpnet", "roberta", "xlm-roberta", "xmod"];
const TOKENIZER_LENGTH: &[FactPlace] = &[("tokenizer_config.json", "/model_max_length")];

/// An opened folder.
#[derive(Debug)]
pub(super) struct TextFiles {
    folder: ModelFolder,
    /// The folder with the tokenizer and `config.json`, where it is not the model's own.
    inner: Option<ModelFolder>,
    pub(super) description: Description,
}

impl TextFiles {
    /// Opens a folder, a folder of a Hugging Face cache, or the folder around a graph.
    pub(super) fn open(path: &Path) -> Result<Self> {
        let folder = ModelFolder::open(path)?;
        let description = Description::read(&folder.files)?;
        Ok(Self { folder, inner: None, description })
    }

    /// Reads the tokenizer and `config.json` of a folder in this one, as early versions of sentence-transformers wrote them.
    pub(super) fn enter(&mut self, inner: &str) -> Result<()> {
        let path = self.folder.inside(inner)?;
        if path.join("tokenizer.json").is_file() {
            let folder = ModelFolder::open(&path)?;
            self.description = Description::read(&folder.files)?;
            self.inner = Some(folder);
        }
        Ok(())
    }

    /// Returns the model's name, for people.
    pub(super) fn name(&self) -> &str {
        &self.folder.name
    }

    /// Reads a description file of JSON; `None` if there is none.
    pub(super) fn json(&self, name: &str) -> Result<Option<Value>> {
        json(&self.folder, name)
    }

    /// Reads a description file that is beside the tokenizer.
    pub(super) fn inner_json(&self, name: &str) -> Result<Option<Value>> {
        json(self.inner(), name)
    }

    fn inner(&self) -> &ModelFolder {
        self.inner.as_ref().unwrap_or(&self.folder)
    }

    /// Reads the tokenizer, and returns it with the digest of its file.
    pub(super) fn tokenizer(&self) -> Result<(TextTokenizer, Digest)> {
        let file = self.inner().tokenizer()?;
        if file.name != "tokenizer.json" {
            let message = format!(
                "the model in {:?} has the tokenizer {:?}, and models of texts need a tokenizer.json. Transformers writes one: \
                 AutoTokenizer.from_pretrained(DIR, use_fast=True).save_pretrained(DIR)",
                self.folder.root, file.name
            );
            return Err(unsupported(message));
        }
        Ok((TextTokenizer::from_json(&file.bytes)?, Digest::of(&file.bytes)))
    }

    /// Chooses the graph and checks its file.
    pub(super) fn graph(&self, graph_type: Option<&str>) -> Result<Part> {
        let path = text_graph(&self.folder, graph_type)?;
        let file = GraphFile::read(&path, &self.folder.fence)?;
        Ok(Part { graph: Graph::File(path), file })
    }

    /// Returns how many tokens the model has positions for.
    fn positions(&self) -> Option<usize> {
        let positions = self.description.size(POSITIONS)?;
        let kind = self.description.text(&[("config.json", "/model_type")]);
        let unused = if kind.is_some_and(|kind| FROM_TWO.contains(&kind)) { 2 } else { 0 };
        Some(positions.saturating_sub(unused))
    }

    /// Returns how many tokens the model reads: what `asked` says, else `named`, else what its other files say.
    ///
    /// Files may name a length that the model does not have: the number of its positions is the most.
    pub(super) fn max_tokens(
        &self,
        asked: Option<usize>,
        named: Option<usize>,
        tokenizer: &TextTokenizer,
    ) -> Result<Option<usize>> {
        let positions = self.positions();
        if let Some(asked) = asked {
            return match positions {
                Some(positions) if asked > positions => Err(invalid(format!(
                    "{asked} tokens are more than the {positions} positions that the model has; leave `max_tokens` out for what its files say"
                ))),
                _ => Ok(Some(asked)),
            };
        }
        let length = named.or_else(|| self.description.size(TOKENIZER_LENGTH));
        let length = length.filter(|&length| length <= MOST_TOKENS);
        Ok(length.into_iter().chain(positions).min().or_else(|| tokenizer.limit()))
    }
}

fn json(folder: &ModelFolder, name: &str) -> Result<Option<Value>> {
    if !folder.inside(name)?.exists() {
        return Ok(None);
    }
    let bytes = folder.read(name, DESCRIPTION)?;
    let value = serde_json::from_slice(&bytes);
    value.map(Some).map_err(|source| model(format!("{name} is not valid JSON")).with_source(source))
}
