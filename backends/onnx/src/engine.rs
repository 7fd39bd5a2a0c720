//! A model loaded with ONNX Runtime: the engine and its builder.

mod provider_options;
mod quantization_options;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use alloquy_core::Result;
use alloquy_core::media::Digest;
use alloquy_core::model_info::ModelInfo;
use alloquy_core::prompt::PromptUnit;
use alloquy_core::tokenizer::Tokenizer;
use alloquy_engine::media_processor::MediaProcessor;
use alloquy_engine::{BatchStep, Engine, LoadPhase, LoadTiming, Session};
use alloquy_model_files::{HuggingFaceTokenizer, ModelFiles};
use alloquy_onnx_runtime::{DownloadEvent, Locator};

use crate::cache_memory::{CacheLocation, CacheMemory};
use crate::decoder::{Decoder, Threads};
use crate::error::invalid;
use crate::graph_cache::{GraphCache, GraphCacheStatus};
use crate::graph_optimization::GraphOptimization;
use crate::graphs::{Graphs, LoadedGraph};
use crate::identity::{GraphRuntime, graph_digests, identity};
use crate::media::{MediaOptions, MediaReader, MediaStatistics, Opened};
use crate::prompt_logits::{LoadedDecoder, PromptLogits};
use crate::provider_trial::ProviderChoice;
use crate::providers::{CPU, Loaded, Providers};
use crate::quantization::Quantization;
use crate::quantization_quality::QuantizationQuality;
use crate::quantized_graph::QuantizedGraph;
use crate::runtime::loaded_version;
use crate::session::{OnnxSession, forward_many, without_media};
use crate::source::{Source, Wanted};
use crate::trial::Trial;
use crate::waiting::ThreadWaiting;

/// A language model run by ONNX Runtime.
///
/// ```no_run
/// use alloquy_engine::Engine;
/// use alloquy_onnx::OnnxEngine;
///
/// let engine = OnnxEngine::load("models/qwen3-0.6b")?;
/// println!("{} fits {} tokens", engine.model().name, engine.model().context_length);
/// let session = engine.open()?;
/// assert_eq!(session.length(), 0);
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
    graph_cache: GraphCacheStatus,
    prompt_logits: PromptLogits,
    quantization_quality: Option<QuantizationQuality>,
    waiting: ThreadWaiting,
    chosen: Option<ProviderChoice>,
}

impl OnnxEngine {
    /// Loads the model in a folder, on the processor.
    ///
    /// # Errors
    /// As [`OnnxEngineBuilder::load`].
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        Self::builder(path).load()
    }

    /// Returns a builder for the model in a folder, in a Hugging Face cache, or with a given `.onnx` file.
    pub fn builder(path: impl AsRef<Path>) -> OnnxEngineBuilder {
        OnnxEngineBuilder::of(Source::Path(path.as_ref().to_owned()))
    }

    /// Returns a builder for a model whose files are in memory.
    pub fn of_files(files: ModelFiles) -> OnnxEngineBuilder {
        OnnxEngineBuilder::of(Source::Files(files))
    }

    /// Returns how the [`graph_cache`](OnnxEngineBuilder::graph_cache) was used when the model was loaded.
    pub fn graph_cache(&self) -> &GraphCacheStatus {
        &self.graph_cache
    }

    /// Returns of which tokens of a prompt logits are computed.
    pub fn prompt_logits(&self) -> &PromptLogits {
        &self.prompt_logits
    }

    /// Returns how much the model changed with the number types that were [chosen](OnnxEngineBuilder::kv_cache); `None` where they are those
    /// of the export.
    pub fn quantization_quality(&self) -> Option<&QuantizationQuality> {
        self.quantization_quality.as_ref()
    }

    /// Returns how the threads that compute wait for work: as [requested](OnnxEngineBuilder::waiting), or
    /// [`ThreadWaiting::Sleep`] where the loaded library does not support that.
    pub fn waiting(&self) -> ThreadWaiting {
        self.waiting
    }

    /// Returns which provider was chosen and why, if the [providers](OnnxEngineBuilder::providers) were `auto`.
    pub fn provider_choice(&self) -> Option<&ProviderChoice> {
        self.chosen.as_ref()
    }

    /// Returns in which memory the caches of sessions are.
    pub fn cache_location(&self) -> &CacheLocation {
        &self.decoder.cache_location
    }

    /// Returns statistics of encoded media; all numbers are 0 for a model without a media processor.
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

    fn positions(&self, unit: &PromptUnit) -> Result<usize> {
        match (unit, &self.media) {
            (PromptUnit::Token(_), _) => Ok(1),
            (PromptUnit::Media(media), Some(reader)) => Ok(reader.positions(media)?.tokens().len()),
            (PromptUnit::Media(media), None) => Err(without_media(media)),
        }
    }

    /// Depends on the graphs and their weights, the description files, the number types of the cache, the adapter, and the media
    /// processor. Depends also on the version of ONNX Runtime, the provider, and the level of graph optimization. Of a file longer
    /// than 16 MiB, the length and 256 samples are hashed.
    fn identity(&self) -> Option<Digest> {
        Some(self.identity)
    }

    fn load_timing(&self) -> Option<&LoadTiming> {
        Some(&self.timing)
    }

    fn open(&self) -> Result<Box<dyn Session>> {
        Ok(Box::new(OnnxSession::new(Arc::clone(&self.decoder), self.media.clone(), self.chunk)?))
    }

    fn computing(&self) -> Option<Duration> {
        Some(self.decoder.time.total())
    }

    fn prefill_chunk(&self) -> usize {
        self.chunk
    }

    fn forward_many(&self, steps: &mut [BatchStep<'_>]) -> Result<()> {
        forward_many(&self.decoder, steps)
    }
}

/// Options of an [`OnnxEngine`].
///
/// ```no_run
/// use alloquy_onnx::{Locator, OnnxEngine, ThreadWaiting};
///
/// let engine = OnnxEngine::builder("models/qwen3-0.6b")
///     .runtime(Locator::new().library("/opt/onnxruntime/lib/libonnxruntime.so"))
///     .threads(3)
///     .waiting(ThreadWaiting::Spin)
///     .graph_type("q4")
///     .on_event(|event| eprintln!("{event}"))
///     .load()?;
/// # Ok::<(), alloquy_core::Error>(())
/// ```
pub struct OnnxEngineBuilder {
    source: Source,
    runtime: Option<Locator>,
    /// The provider that computes, and those that replace it where it cannot.
    providers: Providers,
    /// Libraries of providers, which are not in the library of ONNX Runtime.
    provider_libraries: Vec<PathBuf>,
    cache_memory: CacheMemory,
    threads: Threads,
    optimization: GraphOptimization,
    graph_cache: Option<GraphCache>,
    prefill_chunk: Option<usize>,
    quantization: Quantization,
    state_budget: Option<usize>,
    graph_type: Option<String>,
    adapter: Option<PathBuf>,
    media: MediaOptions,
    on_event: Box<dyn FnMut(DownloadEvent)>,
}

impl OnnxEngineBuilder {
    fn of(source: Source) -> Self {
        Self {
            source,
            runtime: None,
            providers: Providers::first(CPU),
            provider_libraries: Vec::new(),
            cache_memory: CacheMemory::default(),
            threads: Threads::default(),
            optimization: GraphOptimization::default(),
            graph_cache: None,
            prefill_chunk: None,
            quantization: Quantization::default(),
            state_budget: None,
            graph_type: None,
            adapter: None,
            media: MediaOptions::default(),
            on_event: Box::new(|_| {}),
        }
    }

    /// Sets how the library of ONNX Runtime is found, and whether it may be fetched.
    ///
    /// By default every place is searched, and a missing library is fetched, except the one for CUDA.
    /// A process loads one library: the first engine's.
    #[must_use]
    pub fn runtime(mut self, locator: Locator) -> Self {
        self.runtime = Some(locator);
        self
    }

    /// Sets how many threads compute: from 1 to [`most_threads`](crate::most_threads). The default is one for each physical core.
    #[must_use]
    pub fn threads(mut self, count: usize) -> Self {
        self.threads.count = Some(count);
        self
    }

    /// Sets how threads wait for work; the default is [`ThreadWaiting::Brief`].
    #[must_use]
    pub fn waiting(mut self, waiting: ThreadWaiting) -> Self {
        self.threads.waiting = waiting;
        self
    }

    /// Sets how far the graph is rewritten when it is loaded; the default is [`GraphOptimization::All`].
    ///
    /// With every level but [`GraphOptimization::Disable`], a graph that computes logits for all tokens of a prompt is edited so that
    /// it computes the last ones only. [`OnnxEngine::prompt_logits`] returns whether it was.
    #[must_use]
    pub fn graph_optimization(mut self, level: GraphOptimization) -> Self {
        self.optimization = level;
        self
    }

    /// Keeps optimised graphs in a folder and loads them from there; by default none are kept.
    ///
    /// An optimised graph is used again only for the same model on the same processor with the same library. It takes as much
    /// room on disk as the model. Only graphs for the provider `cpu` are kept.
    ///
    /// An entry that is damaged or cannot be written never keeps a model from being loaded: [`OnnxEngine::graph_cache`] reports
    /// it.
    ///
    /// ```no_run
    /// use alloquy_onnx::{GraphCacheStatus, OnnxEngine};
    ///
    /// let first = OnnxEngine::builder("models/qwen3-0.6b").graph_cache("cache/graphs").load()?;
    /// assert_eq!(first.graph_cache(), &GraphCacheStatus::Written);
    /// let second = OnnxEngine::builder("models/qwen3-0.6b").graph_cache("cache/graphs").load()?;
    /// assert_eq!(second.graph_cache(), &GraphCacheStatus::Read);
    /// # Ok::<(), alloquy_core::Error>(())
    /// ```
    #[must_use]
    pub fn graph_cache(mut self, folder: impl Into<PathBuf>) -> Self {
        self.graph_cache = Some(GraphCache::new(folder.into()));
        self
    }

    /// Sets how many tokens of a prompt are computed at once; at least 1. Between two such chunks, other conversations can
    /// compute.
    #[must_use]
    pub fn prefill_chunk(mut self, tokens: usize) -> Self {
        self.prefill_chunk = Some(tokens);
        self
    }

    /// Sets how many bytes of states a session keeps, for models with convolutions or recurrent layers; the default is 512 MiB.
    ///
    /// Such a model cannot go back to any position as one with attention alone can. It goes back to the ends of earlier prompts and
    /// replies, whose states are kept, and computes again what follows. With 0, an edited conversation is computed from its
    /// beginning. Beyond the budget the oldest states are dropped first, but for the very first.
    ///
    /// ```no_run
    /// use alloquy_onnx::OnnxEngine;
    ///
    /// let engine = OnnxEngine::builder("models/lfm2-1.2b").state_budget(64 << 20).load()?;
    /// # Ok::<(), alloquy_core::Error>(())
    /// ```
    #[must_use]
    pub fn state_budget(mut self, bytes: usize) -> Self {
        self.state_budget = Some(bytes);
        self
    }

    /// Chooses among graphs of different number types: `q4` loads `model_q4.onnx`, `fp32` loads `model.onnx`.
    #[must_use]
    pub fn graph_type(mut self, name: impl Into<String>) -> Self {
        self.graph_type = Some(name.into());
        self
    }

    /// Adds a low-rank adapter (LoRA) to the model, an `.onnx_adapter` file.
    ///
    /// A file name alone names a file of the model, and must not lead out of its folder. A name with a folder, such as
    /// `./french.onnx_adapter`, is a path.
    ///
    /// The graph needs an input for each tensor of the adapter: exporters write them on demand. A model with another adapter
    /// has another [`identity`](Engine::identity).
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

    /// Sets the media processor, which makes tensors of images, audio and video. Without one, every model takes only text.
    ///
    /// The processor is used where the model has a graph that encodes media. A model without such a graph takes only tokens,
    /// and its [`Engine::media`] is `None`.
    #[must_use]
    pub fn media(self, processor: Arc<dyn MediaProcessor>) -> Self {
        self.media_from(move |_| Ok(Some(processor)))
    }

    /// Sets a function that chooses the media processor by the facts about the model; see [`media`](Self::media).
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

    /// Sets how many bytes of encoded media are kept, so that an image in the history is encoded only once; the default is
    /// 256 MiB. The least recently used are removed first.
    #[must_use]
    pub fn media_cache(mut self, bytes: usize) -> Self {
        self.media.budget = bytes;
        self
    }

    /// Sets the listener that receives the steps of a download of the library.
    #[must_use]
    pub fn on_event(mut self, listener: impl FnMut(DownloadEvent) + 'static) -> Self {
        self.on_event = Box::new(listener);
        self
    }

    /// Loads the model.
    ///
    /// # Errors
    /// * [`ErrorKind::Model`]: files are missing, damaged, contradict each other or lead out of the folder
    /// * [`ErrorKind::Unsupported`]: the export cannot be run here
    /// * [`ErrorKind::Invalid`]: an option is out of range
    /// * [`ErrorKind::Backend`]: ONNX Runtime or the provider is unavailable
    ///
    /// [`ErrorKind::Model`]: alloquy_core::ErrorKind::Model
    /// [`ErrorKind::Unsupported`]: alloquy_core::ErrorKind::Unsupported
    /// [`ErrorKind::Invalid`]: alloquy_core::ErrorKind::Invalid
    /// [`ErrorKind::Backend`]: alloquy_core::ErrorKind::Backend
    #[allow(clippy::too_many_lines)] // straight steps, each of which takes what those before made
    pub fn load(mut self) -> Result<OnnxEngine> {
        self.check()?;
        let chunk = self.chunk();
        let mut timing = LoadTiming::default();
        let wanted = Wanted { graph_type: self.graph_type.as_deref(), adapter: self.adapter.as_deref() };
        let parts = timing.measure(LoadPhase::Files, || self.source.parts(wanted))?;
        let tokenizer = timing.measure(LoadPhase::Tokenizer, || parts.tokenizer())?;
        self.providers = self.providers.with_libraries(&self.provider_libraries);
        let environment = timing.measure(LoadPhase::Runtime, || {
            self.providers.environment(self.runtime.as_ref(), &mut self.on_event)
        })?;
        parts.decoder.file.check_windows()?;
        let digests = timing.measure(LoadPhase::Identity, || graph_digests(&parts.decoder))?;
        let version = loaded_version()?;
        let waiting = self.threads.waiting.in_force()?;
        let loading = Graphs {
            environment: &environment,
            threads: self.threads,
            optimization: self.optimization,
            cache_memory: self.cache_memory,
        };
        let trial = Trial { parts: &parts, digests: &digests, loading: &loading, chunk };
        let chosen = timing.measure(LoadPhase::Graph, || trial.choose(&mut self.providers))?;
        let quantized = QuantizedGraph {
            wanted: self.quantization,
            parts: &parts,
            digests: &digests,
            tokenizer: &tokenizer,
            loading: &loading,
            cache: self.graph_cache.as_ref(),
            version: &version,
        };
        let (loaded, quantization_quality) =
            timing.measure(LoadPhase::Graph, || quantized.load(&self.providers))?;
        let Loaded { loaded, provider, warnings } = loaded;
        let LoadedDecoder { session, cache: graph_cache, digests, unedited } = loaded;
        let (mut decoder, embedding) =
            timing.measure(LoadPhase::Graph, || loading.decoder(session, &provider, &parts))?;
        let prompt_logits = PromptLogits::of(unedited, &decoder.layout);
        decoder.state_budget = self.state_budget.unwrap_or(decoder.state_budget);
        let mut model = parts.model_info(&tokenizer, &decoder.layout, &provider, warnings)?;
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
            embedding.into_iter().chain(encoders).map(LoadedGraph::identified).collect()
        })?;
        let ran = GraphRuntime { provider: &provider, version: &version, optimization: self.optimization };
        let read_by = media.as_ref().map(|media| media.processor().identity());
        let identity = identity(&parts, &digests, &beside, read_by, &decoder.layout, ran);
        let decoder = Arc::new(decoder);

        Ok(OnnxEngine {
            model,
            tokenizer,
            decoder,
            media,
            chunk,
            identity,
            timing,
            graph_cache,
            prompt_logits,
            quantization_quality,
            waiting,
            chosen,
        })
    }

    fn check(&self) -> Result<()> {
        if self.prefill_chunk == Some(0) {
            return Err(invalid("a prefill chunk of 0 tokens would never end, at least 1"));
        }
        self.threads.check()
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
