//! A model loaded with ONNX Runtime: its builder, and the engine. Knows no cache.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use alloquy_core::media::Digest;
use alloquy_core::model_info::ModelInfo;
use alloquy_core::prompt::Unit;
use alloquy_core::tokenizer::Tokenizer;
use alloquy_core::{Error, ErrorKind, Result};
use alloquy_engine::media_processor::MediaProcessor;
use alloquy_engine::{Engine, LoadPhase, LoadTiming, Session, Step};
use alloquy_model_files::{HuggingFaceTokenizer, ModelFiles, model_info};
use alloquy_onnx_runtime::{Event, Locator};

use crate::decoder::{Decoder, Threads};
use crate::graph_cache::{self, GraphCache, GraphCacheUse, Made};
use crate::graph_file::GraphFile;
use crate::graph_optimization::GraphOptimization;
use crate::graphs::{Graphs, LoadedBeside};
use crate::identity::{Ran, graph_digests, identity};
use crate::media::{MediaOptions, MediaReader, MediaStatistics, Opened};
use crate::providers::{CPU, Loaded, Providers};
use crate::runtime::{loaded_version, require_version};
use crate::session::{OnnxSession, forward_many, without_media};
use crate::source::{Source, Wanted};
use crate::waiting::Waiting;

/// How many tokens of a prompt are computed at once, unless told otherwise. A graph gives logits for each of
/// them, so that a large vocabulary makes a long chunk costly; a shorter one wastes what the kernels are good at.
const PREFILL_CHUNK: usize = 128;

/// A language model run by ONNX Runtime.
///
/// ```no_run
/// use alloquy_engine::Engine;
/// use alloquy_onnx::OnnxEngine;
///
/// let engine = OnnxEngine::load("models/qwen3-0.6b")?;
/// println!("{} fits {} tokens", engine.model().name, engine.model().context_length);
/// let session = engine.open()?;
/// assert_eq!(session.resident(), 0);
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Debug)]
pub struct OnnxEngine {
    model: ModelInfo,
    tokenizer: Arc<HuggingFaceTokenizer>,
    decoder: Arc<Decoder>,
    media: Option<Arc<MediaReader>>,
    chunk: usize,
    identity: Digest,
    timing: LoadTiming,
    graph_cache: GraphCacheUse,
    waiting: Waiting,
}

impl OnnxEngine {
    /// Loads the model in a folder, on the processor.
    ///
    /// # Errors
    /// As [`OnnxEngineBuilder::load`].
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        Self::builder(path).load()
    }

    /// Starts loading the model in a folder, in a Hugging Face cache, or around a `.onnx` file.
    pub fn builder(path: impl AsRef<Path>) -> OnnxEngineBuilder {
        OnnxEngineBuilder::of(Source::Path(path.as_ref().to_owned()))
    }

    /// Starts loading a model whose files are in memory.
    pub fn of_files(files: ModelFiles) -> OnnxEngineBuilder {
        OnnxEngineBuilder::of(Source::Files(files))
    }

    /// Returns what became of the [`graph_cache`](OnnxEngineBuilder::graph_cache) when the model was loaded.
    pub fn graph_cache(&self) -> &GraphCacheUse {
        &self.graph_cache
    }

    /// Returns how the threads that compute wait for work: as they were [asked to](OnnxEngineBuilder::waiting), or asleep where the
    /// loaded library cannot do that.
    pub fn waiting(&self) -> Waiting {
        self.waiting
    }

    /// Returns what became of the media that were encoded; all is 0 for a model without a media processor.
    pub fn media_statistics(&self) -> MediaStatistics {
        self.media.as_ref().map(|media| media.statistics()).unwrap_or_default()
    }
}

impl Engine for OnnxEngine {
    fn model(&self) -> &ModelInfo {
        &self.model
    }

    fn tokenizer(&self) -> &dyn Tokenizer {
        &*self.tokenizer
    }

    fn media(&self) -> Option<&dyn MediaProcessor> {
        self.media.as_ref().map(|media| media.processor())
    }

    fn positions(&self, unit: &Unit) -> Result<usize> {
        match (unit, &self.media) {
            (Unit::Token(_), _) => Ok(1),
            (Unit::Media(media), Some(reader)) => Ok(reader.passage(media)?.tokens().len()),
            (Unit::Media(media), None) => Err(without_media(media)),
        }
    }

    /// Of the graphs and their weights, the files that say how it is fed, the numbers of its cache, the version of ONNX Runtime, the
    /// provider, how far graphs are optimised, the adapter, and what reads media. Of a file longer than 16 MiB its length and
    /// 256 samples count.
    fn identity(&self) -> Option<Digest> {
        Some(self.identity)
    }

    fn load_timing(&self) -> Option<&LoadTiming> {
        Some(&self.timing)
    }

    fn open(&self) -> Result<Box<dyn Session>> {
        Ok(Box::new(OnnxSession::new(Arc::clone(&self.decoder), self.media.clone(), self.chunk)))
    }

    fn computing(&self) -> Option<Duration> {
        Some(self.decoder.time.total())
    }

    fn prefill_chunk(&self) -> usize {
        self.chunk
    }

    fn forward_many(&self, steps: &mut [Step<'_>]) -> Result<()> {
        forward_many(&self.decoder, steps)
    }
}

/// Options of an [`OnnxEngine`].
///
/// ```no_run
/// use alloquy_onnx::{Locator, OnnxEngine, Waiting};
///
/// let engine = OnnxEngine::builder("models/qwen3-0.6b")
///     .runtime(Locator::new().library("/opt/onnxruntime/lib/libonnxruntime.so"))
///     .threads(3)
///     .waiting(Waiting::Spin)
///     .graph_type("q4")
///     .on_event(|event| eprintln!("{event}"))
///     .load()?;
/// # Ok::<(), alloquy_core::Error>(())
/// ```
pub struct OnnxEngineBuilder {
    source: Source,
    runtime: Option<Locator>,
    /// What computes, and what else may where that cannot.
    providers: Providers,
    threads: Threads,
    optimization: GraphOptimization,
    graph_cache: Option<GraphCache>,
    prefill_chunk: usize,
    graph_type: Option<String>,
    adapter: Option<PathBuf>,
    media: MediaOptions,
    on_event: Box<dyn FnMut(Event)>,
}

impl OnnxEngineBuilder {
    fn of(source: Source) -> Self {
        Self {
            source,
            runtime: None,
            providers: Providers::first(CPU),
            threads: Threads::default(),
            optimization: GraphOptimization::default(),
            graph_cache: None,
            prefill_chunk: PREFILL_CHUNK,
            graph_type: None,
            adapter: None,
            media: MediaOptions::default(),
            on_event: Box::new(|_| {}),
        }
    }

    /// Sets how the library of ONNX Runtime is found, and whether it may be fetched.
    ///
    /// By default it is looked for everywhere and fetched when missing; for CUDA it is never fetched unasked.
    /// A process loads one library: the first engine's.
    #[must_use]
    pub fn runtime(mut self, locator: Locator) -> Self {
        self.runtime = Some(locator);
        self
    }

    /// Sets the execution providers: `cpu`, and those of `cuda`, `coreml`, `directml` and `webgpu` that this build has as a
    /// feature and the library supports. The first computes; another one replaces it only where those before it are unavailable or
    /// cannot load the model, and [`ModelInfo::degradations`] and each reply report that. None is `cpu`.
    ///
    /// ```no_run
    /// use alloquy_engine::Engine;
    /// use alloquy_onnx::OnnxEngine;
    ///
    /// let engine = OnnxEngine::builder("models/qwen3-0.6b").providers(["cuda", "cpu"]).load()?;
    /// for degradation in &engine.model().degradations {
    ///     eprintln!("{degradation:?}");
    /// }
    /// # Ok::<(), alloquy_core::Error>(())
    /// ```
    #[must_use]
    pub fn providers<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.providers = Providers::of(names).unwrap_or_else(|| Providers::first(CPU));
        self
    }

    /// Sets how many threads compute; at least 1, and at most [`most_threads`]. By default one for each physical core.
    #[must_use]
    pub fn threads(mut self, count: usize) -> Self {
        self.threads.count = Some(count);
        self
    }

    /// Sets how threads wait for work; [`Waiting::Brief`] unless told otherwise.
    #[must_use]
    pub fn waiting(mut self, waiting: Waiting) -> Self {
        self.threads.waiting = waiting;
        self
    }

    /// Sets how far the graph is rewritten when it is loaded; as far as can be by default.
    #[must_use]
    pub fn graph_optimization(mut self, level: GraphOptimization) -> Self {
        self.optimization = level;
        self
    }

    /// Keeps optimised graphs in a folder, and takes them from there; by default none are kept.
    ///
    /// One is used again for the same model, on the same processor, with the same library alone, and takes as much room as
    /// the model. What is damaged, or cannot be written, never keeps a model from being loaded:
    /// [`OnnxEngine::graph_cache`] says what became of it. Only what the processor computes is kept.
    ///
    /// ```no_run
    /// use alloquy_onnx::{GraphCacheUse, OnnxEngine};
    ///
    /// let load = || OnnxEngine::builder("models/qwen3-0.6b").graph_cache("cache/graphs").load();
    /// assert_eq!(load()?.graph_cache(), &GraphCacheUse::Written);
    /// assert_eq!(load()?.graph_cache(), &GraphCacheUse::Read);
    /// # Ok::<(), alloquy_core::Error>(())
    /// ```
    #[must_use]
    pub fn graph_cache(mut self, folder: impl Into<PathBuf>) -> Self {
        self.graph_cache = Some(GraphCache::new(folder.into()));
        self
    }

    /// Sets how many tokens of a prompt are computed at once; at least 1. Other conversations take their turn between
    /// two such chunks.
    #[must_use]
    pub fn prefill_chunk(mut self, tokens: usize) -> Self {
        self.prefill_chunk = tokens;
        self
    }

    /// Chooses among graphs of different number types: `q4` takes `model_q4.onnx`, `fp32` takes `model.onnx`.
    #[must_use]
    pub fn graph_type(mut self, name: impl Into<String>) -> Self {
        self.graph_type = Some(name.into());
        self
    }

    /// Adds a low-rank adapter (LoRA) to the model, an `.onnx_adapter` file. A name alone is a file of the model, and must not
    /// lead out of its folder; whatever has a folder in it, such as `./french.onnx_adapter`, is a path.
    ///
    /// The graph needs inputs for what the adapter holds: exporters write them on demand. With another adapter a model has
    /// another [`identity`](Engine::identity).
    ///
    /// ```no_run
    /// use alloquy_onnx::OnnxEngine;
    ///
    /// let engine = OnnxEngine::builder("models/qwen3-0.6b").adapter("french.onnx_adapter").load()?;
    /// # Ok::<(), alloquy_core::Error>(())
    /// ```
    #[must_use]
    pub fn adapter(mut self, file: impl Into<PathBuf>) -> Self {
        self.adapter = Some(file.into());
        self
    }

    /// Sets what makes tensors of media. Without one, a model of pictures or sounds talks text.
    ///
    /// It is used where the model has a graph that encodes media; a model without one takes tokens alone, and its
    /// [`Engine::media`] is `None`.
    #[must_use]
    pub fn media(self, processor: Arc<dyn MediaProcessor>) -> Self {
        self.media_from(move |_| Ok(Some(processor)))
    }

    /// Sets what chooses a media processor by what the model says of itself, as [`media`](Self::media) does without a choice.
    ///
    /// ```no_run
    /// use std::sync::Arc;
    ///
    /// use alloquy_core::Result;
    /// use alloquy_core::model_info::ModelInfo;
    /// use alloquy_engine::media_processor::MediaProcessor;
    /// use alloquy_onnx::OnnxEngine;
    ///
    /// fn choose(model: &ModelInfo) -> Result<Option<Arc<dyn MediaProcessor>>> {
    ///     println!("{:?} has no processor here", model.model_type);
    ///     Ok(None)
    /// }
    ///
    /// let engine = OnnxEngine::builder("models/qwen2.5-vl-3b").media_from(choose).load()?;
    /// # Ok::<(), alloquy_core::Error>(())
    /// ```
    #[must_use]
    pub fn media_from(
        mut self,
        choose: impl FnOnce(&ModelInfo) -> Result<Option<Arc<dyn MediaProcessor>>> + 'static,
    ) -> Self {
        self.media.choose = Some(Box::new(choose));
        self
    }

    /// Sets the execution providers of the encoder of images and video, as [`providers`](Self::providers) does for the decoder;
    /// those of the decoder unless set.
    ///
    /// ```no_run
    /// use alloquy_onnx::OnnxEngine;
    ///
    /// let engine = OnnxEngine::builder("models/qwen2.5-vl-3b").vision_providers(["cuda", "cpu"]).load()?;
    /// # Ok::<(), alloquy_core::Error>(())
    /// ```
    #[must_use]
    pub fn vision_providers<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.media.vision = Providers::of(names);
        self
    }

    /// Sets the execution providers of the encoder of audio; those of the decoder unless set.
    #[must_use]
    pub fn audio_providers<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.media.audio = Providers::of(names);
        self
    }

    /// Sets how many bytes of what encoders gave are kept, so that a picture that is shown again is not encoded again;
    /// 256 MiB by default. Those go first that were not used for longest.
    #[must_use]
    pub fn media_cache(mut self, bytes: usize) -> Self {
        self.media.budget = bytes;
        self
    }

    /// Sets who hears of the progress when the library is fetched.
    #[must_use]
    pub fn on_event(mut self, listener: impl FnMut(Event) + 'static) -> Self {
        self.on_event = Box::new(listener);
        self
    }

    /// Loads the model.
    ///
    /// # Errors
    /// [`ErrorKind::Model`] when files are missing, damaged, contradict each other or lead out of the folder,
    /// [`ErrorKind::Unsupported`] for an export that cannot be run here, [`ErrorKind::Invalid`] for an option
    /// out of range, [`ErrorKind::Backend`] when ONNX Runtime or the provider is not to be had.
    pub fn load(mut self) -> Result<OnnxEngine> {
        self.check()?;
        let mut timing = LoadTiming::default();
        let wanted = Wanted { graph_type: self.graph_type.as_deref(), adapter: self.adapter.as_deref() };
        let parts = timing.measure(LoadPhase::Files, || self.source.parts(wanted))?;
        let tokenizer =
            timing.measure(LoadPhase::Tokenizer, || HuggingFaceTokenizer::from_json(&parts.tokenizer))?;
        let environment = timing.measure(LoadPhase::Runtime, || {
            self.providers.environment(self.runtime.as_ref(), &mut self.on_event)
        })?;
        check_windows(&parts.decoder.file)?;
        let digests = timing.measure(LoadPhase::Identity, || graph_digests(&parts.decoder))?;
        let version = loaded_version()?;
        let waiting = self.threads.waiting.in_force()?;
        let loading =
            Graphs { environment: &environment, threads: self.threads, optimization: self.optimization };
        let Loaded { loaded, provider, degradations } = timing.measure(LoadPhase::Graph, || {
            self.providers.load(|provider, providers| {
                let ran = Ran { provider, version: &version, optimization: self.optimization };
                let made = Made { graph: &parts.decoder.graph, digests: &digests, ran };
                graph_cache::load(self.graph_cache.as_ref(), &made, &loading.with(providers))
            })
        })?;
        let (session, graph_cache) = loaded;
        let (decoder, embedding) =
            timing.measure(LoadPhase::Graph, || loading.decoder(session, &provider, &parts))?;
        let description = &parts.description;
        let (name, files) = (parts.name.clone(), parts.files.clone());
        let mut model = model_info(name, files, description, &tokenizer, decoder.layout.vocabulary)?;
        model.degradations = degradations;
        let tokenizer = Arc::new(tokenizer);
        let opened = Opened {
            parts: &parts,
            layout: &decoder.layout,
            tokenizer: &tokenizer,
            providers: &self.providers,
        };
        let (media, encoders) =
            timing.measure(LoadPhase::Graph, || self.media.open(&opened, &loading, &mut model))?;
        let beside = timing.measure(LoadPhase::Identity, || -> Result<Vec<_>> {
            embedding.into_iter().chain(encoders).map(LoadedBeside::identified).collect()
        })?;
        let ran = Ran { provider: &provider, version: &version, optimization: self.optimization };
        let read_by = media.as_ref().map(|media| media.processor().identity());
        let identity = identity(&parts, &digests, &beside, read_by, &decoder.layout.slots, ran);
        let (decoder, chunk) = (Arc::new(decoder), self.prefill_chunk);
        Ok(OnnxEngine { model, tokenizer, decoder, media, chunk, identity, timing, graph_cache, waiting })
    }

    fn check(&self) -> Result<()> {
        let invalid = |message: &str| Err(Error::new(ErrorKind::Invalid, message));
        match self {
            Self { prefill_chunk: 0, .. } => {
                invalid("a prefill chunk of 0 tokens would never end, at least 1")
            }
            Self { threads: Threads { count: Some(0), .. }, .. } => {
                invalid("0 threads compute nothing, at least 1")
            }
            Self { threads: Threads { count: Some(count), .. }, .. } if *count > most_threads() => {
                let most = most_threads();
                invalid(&format!("{count} threads, expected at most {most}, four times the processors here"))
            }
            _ => Ok(()),
        }
    }
}

/// Returns how many threads may compute at most: four times the processors that this process may use.
///
/// More of them wait for each other and nothing else; a thousand times more take minutes to start.
pub fn most_threads() -> usize {
    4 * std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// Before 1.24, `GroupQueryAttention` counted a window without the token itself, one more than models are trained
/// with (microsoft/onnxruntime, pull request 25927): once a text is longer than the window, every logit is wrong.
fn check_windows(graph: &GraphFile) -> Result<()> {
    match graph.is_windowed {
        true => require_version((1, 24), "sliding windows are computed wrongly before"),
        false => Ok(()),
    }
}

impl fmt::Debug for OnnxEngineBuilder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut fields = formatter.debug_struct("OnnxEngineBuilder");
        fields
            .field("source", &self.source)
            .field("runtime", &self.runtime)
            .field("providers", &self.providers);
        fields.field("threads", &self.threads).field("prefill_chunk", &self.prefill_chunk);
        fields.field("optimization", &self.optimization).field("graph_cache", &self.graph_cache);
        fields.field("graph_type", &self.graph_type).field("adapter", &self.adapter).finish_non_exhaustive()
    }
}
