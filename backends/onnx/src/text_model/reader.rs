//! What models of embeddings and rerankers have in common: a tokenizer and a graph.

use alloquy_core::Result;
use alloquy_core::media::Digest;
use alloquy_model_files::TextTokenizer;
use alloquy_onnx_runtime::DownloadEvent;

use super::files::TextFiles;
use super::graph::TextGraph;
use super::note::TextModelNote;
use super::options::TextModelOptions;
use crate::identity::graph_digests;

/// How many tokens a model reads of which no file says it.
const ASSUMED_TOKENS: usize = 512;

/// A tokenizer and a graph.
#[derive(Debug)]
pub(super) struct TextReader {
    pub(super) tokenizer: TextTokenizer,
    pub(super) graph: TextGraph,
    /// How many tokens of a text are read.
    pub(super) max_tokens: usize,
    /// Whether texts of one run change each other's results.
    pub(super) are_alone: bool,
}

/// What is known once a reader is open.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) reader: TextReader,
    /// The name of the graph's file.
    pub(super) graph: String,
    pub(super) provider: String,
    pub(super) notes: Vec<TextModelNote>,
    /// The digest of the graph with its weights, and of the tokenizer.
    pub(super) files: Digest,
}

impl TextReader {
    /// Loads the tokenizer and the graph. `named` is the number of tokens that a file for models of this kind names.
    pub(super) fn open(
        files: &TextFiles,
        options: &TextModelOptions,
        named: Option<usize>,
        on_event: &mut dyn FnMut(DownloadEvent),
    ) -> Result<Opened> {
        let (tokenizer, tokenizer_digest) = files.tokenizer()?;
        let max_tokens = files.max_tokens(options.max_tokens, named, &tokenizer)?;
        let part = files.graph(options.graph_type.as_deref())?;
        let loaded = options.load(&part.graph, on_event)?;
        let graph = TextGraph::new(loaded.loaded, tokenizer.padding())?;
        let mut notes = TextModelNote::of_warnings(loaded.warnings);
        if max_tokens.is_none() {
            notes.push(TextModelNote::MaxTokensAssumed { tokens: ASSUMED_TOKENS });
        }
        let max_tokens = max_tokens.unwrap_or(ASSUMED_TOKENS);
        let are_alone = part.file.scales_all_rows();
        if are_alone {
            notes.push(TextModelNote::ComputedAlone);
        }
        let reader = Self { tokenizer, graph, max_tokens, are_alone };
        let mut digests = graph_digests(&part)?;
        digests.push(tokenizer_digest);
        let digests: Vec<String> = digests.iter().map(Digest::to_string).collect();
        let files = Digest::of(digests.join("\n").as_bytes());
        Ok(Opened { reader, graph: part.graph.name(), provider: loaded.provider, notes, files })
    }
}
