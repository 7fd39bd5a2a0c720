//! Computes vectors of texts by a model.

use std::path::Path;
use std::sync::Arc;

use alloquy_core::media::Digest;
use alloquy_core::{Error, ErrorKind, Result};
use alloquy_model_files::TextTokens;
use alloquy_onnx_runtime::DownloadEvent;
use alloquy_retrieval::{Embedder, Embeddings, TextKind};
use async_trait::async_trait;

use super::background::{Waiting, in_background};
use super::batches::compute_batches;
use super::embedder_options::EmbedderOptions;
use super::files::TextFiles;
use super::graph::{Output, TextGraph};
use super::note::TextModelNote;
use super::pooling::{Pooling, normalized};
use super::reader::TextReader;
use super::sentence::Sentence;
use crate::error::{invalid, model, unsupported};

/// A model that computes vectors of texts: a folder as sentence-transformers writes it, with a graph in an ONNX file.
///
/// `modules.json` and `1_Pooling` say how the vectors of tokens become one, and `config_sentence_transformers.json` the prefixes of
/// questions and passages. Vectors always have a length of 1. Where texts are too long for the model,
/// [`Embeddings::cut`] lists them.
///
/// ```
/// use alloquy_onnx::OnnxEmbedder;
/// use alloquy_retrieval::{Embedder, TextKind};
///
/// # let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/text_models/embedder");
/// # pollster::block_on(async {
/// let embedder = OnnxEmbedder::load(folder)?;
/// let passages = embedder.embed(&["Tea is grown in Assam.", "Rain falls in April."], TextKind::Passage).await?;
/// assert!(passages.vectors.iter().all(|vector| vector.len() == embedder.dimensions()));
/// assert!(passages.cut.is_empty());
/// # Ok::<(), alloquy_core::Error>(())
/// # })?;
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Debug)]
pub struct OnnxEmbedder {
    model: Arc<Model>,
    digest: Digest,
}

/// What is known of a model of embeddings.
///
/// ```
/// use alloquy_onnx::{OnnxEmbedder, Pooling};
///
/// # let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/text_models/embedder");
/// let embedder = OnnxEmbedder::load(folder)?;
/// let info = embedder.info();
/// assert_eq!((info.dimensions, info.max_tokens), (16, 32));
/// assert_eq!(info.pooling, [Pooling::Mean]);
/// assert!(info.notes.is_empty(), "the files say everything");
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EmbedderInfo {
    /// A short name for people.
    pub name: String,
    /// The name of the graph's file.
    pub graph: String,
    /// The provider that computes.
    pub provider: String,
    /// How many numbers a vector has.
    pub dimensions: usize,
    /// How many tokens of a text are read, with those of its prefix and those around it.
    pub max_tokens: usize,
    /// How the vectors of tokens become one; none if the graph does it.
    pub pooling: Vec<Pooling>,
    /// The prefix of a question.
    pub query_prefix: String,
    /// The prefix of a passage.
    pub passage_prefix: String,
    /// What was assumed, or is done otherwise than the files say.
    pub notes: Vec<TextModelNote>,
}

/// What computes, shared with the threads that do.
#[derive(Debug)]
struct Model {
    info: EmbedderInfo,
    reader: TextReader,
    output: Output,
    is_lowercase: bool,
    pools_prefix: bool,
}

/// Opens a model of embeddings in a folder.
///
/// [`OnnxEmbedder`] has options and an example.
///
/// # Errors
/// As [`OnnxEmbedder::open`].
pub fn open_embedder(path: impl AsRef<Path>) -> Result<Arc<dyn Embedder>> {
    Ok(Arc::new(OnnxEmbedder::load(path)?))
}

impl OnnxEmbedder {
    /// Opens a folder, a folder of a Hugging Face cache, or an `.onnx` file in one, as its files say.
    ///
    /// # Errors
    /// As [`OnnxEmbedder::open`].
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        Self::open(path, &EmbedderOptions::default(), &mut |_| {})
    }

    /// Opens a model with options. `on_event` receives the steps of a download of ONNX Runtime.
    ///
    /// # Errors
    /// * [`ErrorKind::Model`]: files are missing, damaged or contradict each other
    /// * [`ErrorKind::Unsupported`]: the model has a step or an input that is unknown here
    /// * [`ErrorKind::Invalid`]: an option is out of range
    /// * [`ErrorKind::Backend`]: ONNX Runtime or the provider is unavailable
    pub fn open(
        path: impl AsRef<Path>,
        options: &EmbedderOptions,
        on_event: &mut dyn FnMut(DownloadEvent),
    ) -> Result<Self> {
        let mut files = TextFiles::open(path.as_ref())?;
        let sentence = Sentence::read(&mut files)?;
        let mut opened = TextReader::open(&files, &options.model, sentence.max_tokens, on_event)?;
        let (output, pooling) =
            pooled(&opened.reader.graph, &sentence, options.pooling.clone(), &mut opened.notes)?;
        let info = EmbedderInfo {
            name: files.name().to_owned(),
            graph: opened.graph,
            provider: opened.provider,
            dimensions: 0,
            max_tokens: opened.reader.max_tokens,
            pooling,
            query_prefix: options.query_prefix.clone().unwrap_or(sentence.query_prefix),
            passage_prefix: options.passage_prefix.clone().unwrap_or(sentence.passage_prefix),
            notes: opened.notes,
        };
        let is_lowercase = sentence.is_lowercase;
        let pools_prefix = sentence.pools_prefix;
        let mut model = Model { info, reader: opened.reader, output, is_lowercase, pools_prefix };
        model.info.dimensions = model.dimensions(options.dimensions.or(sentence.dimensions))?;
        let digest = model.digest(opened.files);
        Ok(Self { model: Arc::new(model), digest })
    }

    /// Returns what is known of the model.
    pub fn info(&self) -> &EmbedderInfo {
        &self.model.info
    }

    /// Counts the tokens of a text as the model reads it, with those around it and without a prefix.
    ///
    /// A [`Chunker`] that counts with it makes chunks that the model reads whole.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use alloquy_onnx::OnnxEmbedder;
    /// use alloquy_retrieval::{Chunker, Document};
    ///
    /// # let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/text_models/embedder");
    /// let embedder = Arc::new(OnnxEmbedder::load(folder)?);
    /// let counter = Arc::clone(&embedder);
    /// let count = move |text: &str| counter.count_tokens(text).unwrap_or(usize::MAX);
    /// let chunker = Chunker::new(30, 5)?.counter(embedder.info().name.clone(), Arc::new(count));
    /// let passages = chunker.passages(&Document::text("tea.txt", "Tea is grown in Assam. ".repeat(20)));
    /// assert!(passages.iter().all(|passage| embedder.count_tokens(&passage.text).is_ok_and(|tokens| tokens <= 32)));
    /// # Ok::<(), alloquy_core::Error>(())
    /// ```
    ///
    /// [`Chunker`]: alloquy_retrieval::Chunker
    ///
    /// # Errors
    /// [`ErrorKind::Tokenize`] for a text that cannot be encoded.
    pub fn count_tokens(&self, text: &str) -> Result<usize> {
        Ok(self.model.reader.tokenizer.encode(&self.model.cleaned(text), usize::MAX)?.ids.len())
    }
}

#[async_trait]
impl Embedder for OnnxEmbedder {
    /// Depends on the graph and its weights, the tokenizer, and the settings that change vectors. It does not depend on the version of
    /// ONNX Runtime or on the provider, which change the last digits only.
    fn digest(&self) -> Digest {
        self.digest
    }

    fn dimensions(&self) -> usize {
        self.model.info.dimensions
    }

    /// Computes on a thread of its own. When the future is dropped, the work ends after the batch that is being computed.
    async fn embed(&self, texts: &[&str], kind: TextKind) -> Result<Embeddings> {
        let mut prefixed = Vec::with_capacity(texts.len());
        for text in texts {
            prefixed.push(self.model.prefixed(text, kind));
        }
        if prefixed.is_empty() {
            return Ok(Embeddings::default());
        }
        let model = Arc::clone(&self.model);
        in_background("alloquy-embedder", move |waiting| model.embed(&prefixed, kind, waiting)).await
    }
}

impl Model {
    /// Returns a text with its prefix as the tokenizer receives it.
    fn prefixed(&self, text: &str, kind: TextKind) -> String {
        self.cleaned(&format!("{}{text}", self.prefix(kind)))
    }

    fn cleaned(&self, text: &str) -> String {
        let text = text.trim();
        if self.is_lowercase { text.to_lowercase() } else { text.to_owned() }
    }

    fn prefix(&self, kind: TextKind) -> &str {
        match kind {
            TextKind::Query => &self.info.query_prefix,
            TextKind::Passage => &self.info.passage_prefix,
        }
    }

    /// Computes the vectors of texts that have their prefix.
    fn embed(&self, texts: &[String], kind: TextKind, waiting: &Waiting) -> Result<Embeddings> {
        let skipped = self.skipped(kind)?;
        let computed = compute_batches(
            texts,
            self.reader.are_alone,
            waiting,
            |text| self.encode(text),
            |rows, width| self.compute(rows, width, skipped),
        )?;
        let mut vectors = Vec::with_capacity(texts.len());
        for vector in computed.results {
            // A text without tokens has an empty vector, which gets the direction of all that have none.
            vectors.push(normalized(vector.unwrap_or_default(), self.info.dimensions));
        }
        Ok(Embeddings { vectors, cut: computed.cut })
    }

    fn encode(&self, text: &str) -> Result<TextTokens> {
        self.reader.tokenizer.encode(text, self.reader.max_tokens)
    }

    /// Returns how many tokens at the beginning are not pooled: those of the prefix, if it is not.
    fn skipped(&self, kind: TextKind) -> Result<usize> {
        let prefix = self.prefix(kind);
        if self.pools_prefix || prefix.is_empty() {
            return Ok(0);
        }
        // Without the token that ends a text, as sentence-transformers counts.
        Ok(self.encode(&self.cleaned(prefix))?.ids.len().saturating_sub(1))
    }

    /// Computes the vectors of the texts of a batch, of any length.
    fn compute(&self, rows: &[&TextTokens], width: usize, skipped: usize) -> Result<Vec<Vec<f32>>> {
        let numbers = self.reader.graph.run(rows, width, &self.output)?;
        let mut vectors = Vec::with_capacity(rows.len());
        if self.info.pooling.is_empty() {
            vectors.extend(numbers.rows(rows.len(), &[None])?.map(<[f32]>::to_vec));
        } else {
            for (row, states) in rows.iter().zip(numbers.rows(rows.len(), &[Some(width), None])?) {
                let counted = skipped.min(row.ids.len().saturating_sub(1))..row.ids.len();
                let mut vector = Vec::new();
                for pooling in &self.info.pooling {
                    pooling.pool(states, states.len() / width, counted.clone(), &mut vector);
                }
                vectors.push(vector);
            }
        }
        if vectors.iter().flatten().any(|number| !number.is_finite()) {
            return Err(model(format!(
                "{} computed a vector with a number that is not finite: choose another graph, such as one of 32-bit floats",
                self.info.graph
            )));
        }
        Ok(vectors)
    }

    /// Returns how many numbers a vector has: those that the model computes, or fewer where a caller keeps fewer.
    fn dimensions(&self, kept: Option<usize>) -> Result<usize> {
        let text = self.encode("a")?;
        if text.ids.is_empty() {
            return Err(model(
                "the tokenizer has no tokens for the text \"a\", so it is not that of a model of texts",
            ));
        }
        let computed = self.compute(&[&text], text.ids.len(), 0)?;
        let all = computed.first().map(Vec::len).unwrap_or_default();
        match kept {
            Some(kept) if kept == 0 || kept > all => Err(invalid(format!(
                "{kept} dimensions, expected 1 to {all}, as many as the model's vectors have"
            ))),
            _ => Ok(kept.unwrap_or(all)),
        }
    }

    /// Returns a digest of what decides vectors: the files of the graph and the tokenizer, and the settings.
    fn digest(&self, files: Digest) -> Digest {
        let info = &self.info;
        let pooling: Vec<_> = info.pooling.iter().map(|pooling| pooling.name()).collect();
        let lines = [
            format!("embedder, format 1, output {}, pooling {}", self.output.name, pooling.join(" ")),
            format!("{} dimensions, {} tokens", info.dimensions, info.max_tokens),
            format!(
                "prefixes {:?} {:?}, pooled {}",
                info.query_prefix, info.passage_prefix, self.pools_prefix
            ),
            format!("lowercase {}", self.is_lowercase),
            files.to_string(),
        ];
        Digest::of(lines.join("\n").as_bytes())
    }
}

/// Chooses the output with vectors, and how they are pooled.
///
/// The graph's own vectors of texts are used where the model has a step that is in the graph alone, or where there are no others.
fn pooled(
    graph: &TextGraph,
    sentence: &Sentence,
    asked: Option<Vec<Pooling>>,
    notes: &mut Vec<TextModelNote>,
) -> Result<(Output, Vec<Pooling>)> {
    if let Some(pooling) = &asked
        && pooling.is_empty()
    {
        return Err(invalid("no pooling was given: name at least one, or leave `pooling` out"));
    }
    let tokens = graph.token_vectors();
    let wants_tokens = asked.is_some() || sentence.in_graph.is_none();
    if let (Some(output), true) = (&tokens, wants_tokens) {
        let pooling = asked.or_else(|| sentence.pooling.clone()).unwrap_or_else(|| {
            notes.push(TextModelNote::PoolingAssumed { pooling: Pooling::Mean });
            vec![Pooling::Mean]
        });
        if sentence.pooling.is_some() && !sentence.is_normalized {
            notes.push(TextModelNote::LengthsNormalized);
        }
        return Ok((output.clone(), pooling));
    }
    if asked.is_some() {
        return Err(no_vectors(graph, "no output with a vector for each token, so nothing can be pooled"));
    }
    if let Some(output) = graph.text_vectors() {
        notes.push(TextModelNote::PooledByGraph { output: output.name.clone() });
        return Ok((output, Vec::new()));
    }
    match &sentence.in_graph {
        Some(step) => {
            let message = format!(
                "the model has the step {step}, which only a graph with an output sentence_embedding computes; this graph has {}. \
                 Export the model with sentence-transformers' own exporter",
                graph.outputs()
            );
            Err(unsupported(message))
        }
        None => Err(no_vectors(graph, "no output with vectors")),
    }
}

fn no_vectors(graph: &TextGraph, what: &str) -> Error {
    let message = format!("the graph has {what}; its outputs are {}", graph.outputs());
    Error::new(ErrorKind::Unsupported, message)
}
