//! Orders passages by a model that reads a question and a passage together.

use std::path::Path;
use std::sync::Arc;

use alloquy_core::media::Digest;
use alloquy_core::{Error, ErrorKind, Result};
use alloquy_model_files::TextTokens;
use alloquy_onnx_runtime::DownloadEvent;
use alloquy_retrieval::{Passage, Reranker, sort_passages};
use async_trait::async_trait;

use super::background::{Waiting, in_background};
use super::batches::compute_batches;
use super::files::TextFiles;
use super::graph::Output;
use super::note::TextModelNote;
use super::options::TextModelOptions;
use super::reader::TextReader;
use crate::error::{model, unsupported};

/// A cross-encoder: a model that computes how well a passage answers a question from both together.
///
/// It reads more of a passage than vectors keep, and takes the time of a run for each passage. So it orders the few that a faster
/// retriever found: [`Reranked`](alloquy_retrieval::Reranked).
///
/// ```
/// use std::sync::Arc;
///
/// use alloquy_core::Owner;
/// use alloquy_onnx::OnnxReranker;
/// use alloquy_retrieval::{Lookup, MemoryRetriever, Passage, Reranked, Retriever};
///
/// # let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/text_models/reranker");
/// # pollster::block_on(async {
/// let docs = MemoryRetriever::default();
/// docs.add(&Owner::local(), [Passage::new("1", "Tea is grown in Assam."), Passage::new("2", "Tea is a drink.")]);
/// let reranked = Reranked::new(Arc::new(docs), Arc::new(OnnxReranker::load(folder)?));
/// let found = reranked.find(&Owner::local(), &Lookup::new("Where is tea grown?")).await?;
/// assert!(found.passages.iter().all(|passage| (0.0..=1.0).contains(&passage.score)));
/// # Ok::<(), alloquy_core::Error>(())
/// # })?;
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Debug)]
pub struct OnnxReranker {
    model: Arc<Model>,
    digest: Digest,
}

/// How a reranker is opened, where it is not to be as its files say.
///
/// ```no_run
/// use alloquy_onnx::{OnnxReranker, RerankerOptions};
///
/// let mut options = RerankerOptions::default();
/// options.uses_sigmoid = Some(true);
/// options.model.max_tokens = Some(256);
/// let reranker = OnnxReranker::open("models/ms-marco-MiniLM-L6-v2", &options, &mut |_| {})?;
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct RerankerOptions {
    /// The options that all models of texts have.
    pub model: TextModelOptions,
    /// Whether scores are mapped to 0 to 1 by the logistic function; otherwise as `config.json` says, and they are if it does not say it.
    /// The order is the same.
    pub uses_sigmoid: Option<bool>,
}

/// What is known of a reranker.
///
/// [`OnnxReranker`] has an example.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RerankerInfo {
    /// A short name for people.
    pub name: String,
    /// The name of the graph's file.
    pub graph: String,
    /// The provider that computes.
    pub provider: String,
    /// How many tokens of a question and a passage together are read.
    pub max_tokens: usize,
    /// Whether scores are mapped to 0 to 1.
    pub uses_sigmoid: bool,
    /// What was assumed, or is done otherwise than the files say.
    pub notes: Vec<TextModelNote>,
}

/// The scores of passages.
///
/// [`OnnxReranker::scores`] returns it.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct PassageScores {
    /// A score for each passage.
    pub scores: Vec<f64>,
    /// The indices of passages that are longer than the model reads beside the question; their ends have no effect.
    pub cut: Vec<usize>,
}

#[derive(Debug)]
struct Model {
    info: RerankerInfo,
    reader: TextReader,
    output: Output,
}

/// Opens a reranker in a folder.
///
/// [`OnnxReranker`] has options and an example.
///
/// # Errors
/// As [`OnnxReranker::open`].
pub fn open_reranker(path: impl AsRef<Path>) -> Result<Arc<dyn Reranker>> {
    Ok(Arc::new(OnnxReranker::load(path)?))
}

impl OnnxReranker {
    /// Opens a folder, a folder of a Hugging Face cache, or an `.onnx` file in one, as its files say.
    ///
    /// # Errors
    /// As [`OnnxReranker::open`].
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        Self::open(path, &RerankerOptions::default(), &mut |_| {})
    }

    /// Opens a model with options. `on_event` receives the steps of a download of ONNX Runtime.
    ///
    /// # Errors
    /// * [`ErrorKind::Model`]: files are missing, damaged or contradict each other
    /// * [`ErrorKind::Unsupported`]: the model has another number of scores than one, or an input that is unknown here
    /// * [`ErrorKind::Invalid`]: an option is out of range
    /// * [`ErrorKind::Backend`]: ONNX Runtime or the provider is unavailable
    pub fn open(
        path: impl AsRef<Path>,
        options: &RerankerOptions,
        on_event: &mut dyn FnMut(DownloadEvent),
    ) -> Result<Self> {
        let files = TextFiles::open(path.as_ref())?;
        let opened = TextReader::open(&files, &options.model, None, on_event)?;
        let reader = opened.reader;
        let Some(output) = reader.graph.scores() else {
            let message = format!(
                "the graph has no output logits with scores; its outputs are {}",
                reader.graph.outputs()
            );
            return Err(Error::new(ErrorKind::Unsupported, message));
        };
        let info = RerankerInfo {
            name: files.name().to_owned(),
            graph: opened.graph,
            provider: opened.provider,
            max_tokens: reader.max_tokens,
            uses_sigmoid: options.uses_sigmoid.unwrap_or_else(|| uses_sigmoid(&files)),
            notes: opened.notes,
        };
        let model = Model { info, reader, output };
        // Refuses a model with several scores at once, not at the first question.
        let pair = model.encode("a", "a")?;
        model.compute(&[&pair], pair.ids.len())?;
        let digest = model.digest(opened.files);
        Ok(Self { model: Arc::new(model), digest })
    }

    /// Returns what is known of the model.
    pub fn info(&self) -> &RerankerInfo {
        &self.model.info
    }

    /// Returns how many tokens a text has, read alone.
    ///
    /// ```
    /// # let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/text_models/reranker");
    /// let reranker = alloquy_onnx::OnnxReranker::load(folder)?;
    /// assert!(reranker.count_tokens("Tea is grown in Assam.")? > reranker.count_tokens("Tea")?);
    /// # Ok::<(), alloquy_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Tokenize`] for a text that cannot be encoded.
    pub fn count_tokens(&self, text: &str) -> Result<usize> {
        Ok(self.model.reader.tokenizer.encode(text.trim(), usize::MAX)?.ids.len())
    }

    /// Computes how well each passage answers a question, and lists the passages that are too long.
    ///
    /// # Errors
    /// [`ErrorKind::ContextOverflow`] if the question leaves no room for a passage; [`ErrorKind::Backend`] when ONNX Runtime fails.
    ///
    /// ```
    /// use alloquy_onnx::OnnxReranker;
    ///
    /// # let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/text_models/reranker");
    /// # pollster::block_on(async {
    /// let reranker = OnnxReranker::load(folder)?;
    /// let long = "Rain falls in April. ".repeat(30);
    /// let scores = reranker.scores("Where is tea grown?", &["Tea is grown in Assam.", &long]).await?;
    /// assert_eq!((scores.scores.len(), scores.cut), (2, vec![1]));
    /// # Ok::<(), alloquy_core::Error>(())
    /// # })?;
    /// # Ok::<(), alloquy_core::Error>(())
    /// ```
    pub async fn scores(&self, text: &str, passages: &[&str]) -> Result<PassageScores> {
        if passages.is_empty() {
            return Ok(PassageScores::default());
        }
        let text = text.trim().to_owned();
        let passages: Vec<String> = passages.iter().map(|passage| passage.trim().to_owned()).collect();
        let model = Arc::clone(&self.model);
        in_background("alloquy-reranker", move |waiting| model.scores(&text, &passages, waiting)).await
    }
}

#[async_trait]
impl Reranker for OnnxReranker {
    /// Depends on the graph and its weights, the tokenizer, and the settings that change scores.
    fn digest(&self) -> Digest {
        self.digest
    }

    /// Orders the passages by their texts with the headings above them. The ends of those that are too long for the model have no effect;
    /// [`OnnxReranker::scores`] lists them.
    async fn rerank(&self, text: &str, mut passages: Vec<Passage>) -> Result<Vec<Passage>> {
        let texts: Vec<String> = passages.iter().map(Passage::text_with_heading).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let found = self.scores(text, &texts).await?;
        if !found.cut.is_empty() {
            tracing::debug!(cut = found.cut.len(), "passages are longer than the reranker reads");
        }
        for (passage, score) in passages.iter_mut().zip(found.scores) {
            passage.score = score;
        }
        sort_passages(&mut passages);
        Ok(passages)
    }
}

impl Model {
    fn scores(&self, text: &str, passages: &[String], waiting: &Waiting) -> Result<PassageScores> {
        let computed = compute_batches(
            passages,
            self.reader.are_alone,
            waiting,
            |passage| self.encode(text, passage),
            |rows, width| self.compute(rows, width),
        )?;
        let scores = computed.results.into_iter().map(Option::unwrap_or_default).collect();
        Ok(PassageScores { scores, cut: computed.cut })
    }

    fn encode(&self, text: &str, passage: &str) -> Result<TextTokens> {
        self.reader.tokenizer.encode_pair(text, passage, self.reader.max_tokens)
    }

    /// Returns a digest of what decides scores: the files of the graph and the tokenizer, and the settings.
    fn digest(&self, files: Digest) -> Digest {
        let info = &self.info;
        let settings =
            format!("reranker, format 1, {} tokens, sigmoid {}", info.max_tokens, info.uses_sigmoid);
        Digest::of(format!("{settings}\n{files}").as_bytes())
    }

    /// Computes the scores of the pairs of a batch.
    fn compute(&self, rows: &[&TextTokens], width: usize) -> Result<Vec<f64>> {
        let numbers = self.reader.graph.run(rows, width, &self.output)?;
        if let [_, labels] = numbers.shape.as_slice()
            && *labels != 1
        {
            return Err(unsupported(format!(
                "{} gives {labels} scores for a pair of texts, and a reranker gives 1 (`num_labels` in config.json)",
                self.info.graph
            )));
        }
        let mut scores = Vec::with_capacity(rows.len());
        for score in numbers.rows(rows.len(), &[Some(1)])?.flatten() {
            if !score.is_finite() {
                return Err(model(format!(
                    "{} computed the score {score}, which is no number",
                    self.info.graph
                )));
            }
            let score = f64::from(*score);
            scores.push(if self.info.uses_sigmoid { 1.0 / (1.0 + (-score).exp()) } else { score });
        }
        Ok(scores)
    }
}

/// Returns whether the files ask for the logistic function: unless they name another one, such as `Identity`.
fn uses_sigmoid(files: &TextFiles) -> bool {
    let named = files.description.text(&[
        ("config.json", "/sentence_transformers/activation_fn"),
        ("config.json", "/sbert_ce_default_activation_function"),
    ]);
    named.is_none_or(|name| name.ends_with("Sigmoid"))
}
