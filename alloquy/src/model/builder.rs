//! How a model is opened: every default is the model's own files', then the library's.

use std::fmt;
#[cfg(feature = "onnx")]
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[cfg(feature = "constraints")]
use alloquy_constraints::Llguidance;
use alloquy_core::model_info::ModelInfo;
use alloquy_core::output::ToolChoice;
use alloquy_core::processor::Channel;
use alloquy_core::template::PromptTemplate;
use alloquy_core::{Result, SamplingOptions};
use alloquy_engine::{Engine, LoadPhase, LoadTiming};
use alloquy_inference::{CacheBudget, Generator, GeneratorOptions, LanguageModel, PromptLookup};
#[cfg(all(feature = "media", feature = "onnx"))]
use alloquy_media::MediaOptions;
#[cfg(feature = "onnx")]
use alloquy_onnx::{GraphCacheUse, GraphOptimization, Locator, OnnxEngine, OnnxEngineBuilder, Waiting};
use alloquy_processors::DataProcessorConfig;
use alloquy_templates::Dialect;

use super::context::{ContextPolicy, Fitting, FullContext};
#[cfg(feature = "onnx")]
use super::engine::EngineOptions;
use super::family::{ChosenFamily, FamilySource, GENERIC};
use super::recommended::recommended;
use super::template::{Chosen, Template};
use super::warning::ModelWarning;
use super::{Model, Parts};

/// Opens a [`Model`] otherwise than its files say.
///
/// ```
/// # #[cfg(feature = "pocket")] {
/// use alloquy::{ContextPolicy, Model};
///
/// let model = Model::pocket_builder().threads(1).context_policy(ContextPolicy::Drop).build()?;
/// assert_eq!(model.full_context().policy(), ContextPolicy::Drop);
/// # }
/// # Ok::<(), alloquy::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct ModelBuilder {
    source: Source,
    template: Option<String>,
    own_template: Option<Arc<dyn PromptTemplate>>,
    dialect: Option<Dialect>,
    family: Option<FamilySource>,
    config: DataProcessorConfig,
    is_completion: bool,
    context_policy: Option<ContextPolicy>,
    sampling: SamplingOptions,
    tool_choice: Option<ToolChoice>,
    cache: Option<CacheBudget>,
    generations: Option<usize>,
    lookup: Option<PromptLookup>,
    listener: Listener,
    #[cfg(feature = "onnx")]
    engine: EngineOptions,
    #[cfg(all(feature = "media", feature = "onnx"))]
    media: MediaOptions,
}

/// What computes.
#[derive(Clone, Debug)]
enum Source {
    #[cfg(feature = "onnx")]
    Folder(PathBuf),
    #[cfg(feature = "pocket")]
    Pocket,
    Engine(Arc<dyn Engine>),
}

/// What hears of progress.
#[derive(Clone, Default)]
struct Listener(Option<Arc<Report>>);

type Report = dyn Fn(&str) + Send + Sync;

impl Listener {
    #[cfg(feature = "onnx")]
    fn report(&self, step: &str) {
        if let Some(listener) = &self.0 {
            listener(step);
        }
    }
}

impl fmt::Debug for Listener {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Listener").field(&self.0.is_some()).finish()
    }
}

impl ModelBuilder {
    fn on(source: Source) -> Self {
        Self {
            source,
            template: None,
            own_template: None,
            dialect: None,
            family: None,
            config: DataProcessorConfig::default(),
            is_completion: false,
            context_policy: None,
            sampling: SamplingOptions::default(),
            tool_choice: None,
            cache: None,
            generations: None,
            lookup: None,
            listener: Listener::default(),
            #[cfg(feature = "onnx")]
            engine: EngineOptions::default(),
            #[cfg(all(feature = "media", feature = "onnx"))]
            media: MediaOptions::default(),
        }
    }

    #[cfg(feature = "onnx")]
    pub(super) fn folder(folder: &Path) -> Self {
        Self::on(Source::Folder(folder.to_owned()))
    }

    /// It is too small to be trusted with names: one call in twenty would be of a tool that nobody offers, or leave an argument
    /// out, so its calls are held to the tools unless something else is asked for.
    #[cfg(feature = "pocket")]
    pub(super) fn pocket() -> Self {
        let tool_choice = cfg!(feature = "constraints").then_some(ToolChoice::Auto);
        Self { tool_choice, ..Self::on(Source::Pocket) }
    }

    pub(super) fn engine(engine: Arc<dyn Engine>) -> Self {
        Self::on(Source::Engine(engine))
    }

    /// Computes on an engine that is loaded already: what is set of engines has no effect then.
    pub fn loaded(mut self, engine: Arc<dyn Engine>) -> Self {
        self.source = Source::Engine(engine);
        self
    }

    /// Sets the chat template in place of the model's: the path of a Jinja file, of a conversation template of MLC as JSON, or
    /// the name of a [known one](crate::templates::ConversationTemplate::named).
    pub fn template(mut self, template: impl Into<String>) -> Self {
        self.template = Some(template.into());
        self
    }

    /// Sets a chat template of one's own in place of the model's, and of one that is named.
    pub fn prompt_template(mut self, template: impl PromptTemplate + 'static) -> Self {
        self.own_template = Some(Arc::new(template));
        self
    }

    /// Sets whose prompts a Jinja template's are to be equal to; Hugging Face's transformers 5 unless set.
    pub fn template_dialect(mut self, dialect: Dialect) -> Self {
        self.dialect = Some(dialect);
        self
    }

    /// Sets the model's family, where it is not recognised: the name of a [known one](crate::processors::families), the path of
    /// a JSON file, or a [`Family`](crate::processors::Family) of one's own.
    pub fn family(mut self, family: impl Into<FamilySource>) -> Self {
        self.family = Some(family.into());
        self
    }

    /// Adds a channel of replies to those of the family; one named `thinking` takes the place of the family's own.
    pub fn channel(mut self, channel: Channel) -> Self {
        self.config = self.config.channel(channel);
        self
    }

    /// Sets what the family's processor does otherwise than the family has it.
    pub fn processor_config(mut self, config: DataProcessorConfig) -> Self {
        self.config = config;
        self
    }

    /// Continues texts, as models do that were never taught to converse: without a chat template and a family.
    pub fn completion(mut self) -> Self {
        self.is_completion = true;
        self
    }

    /// Sets what becomes of conversations that outgrow the context; unless set it is an error, or what the model's
    /// `mlc-chat-config.json` says.
    pub fn context_policy(mut self, policy: ContextPolicy) -> Self {
        self.context_policy = Some(policy);
        self
    }

    /// Sets how replies are sampled where a request does not say otherwise. What is absent the model's makers decide, and
    /// stops add up.
    pub fn sampling(mut self, sampling: SamplingOptions) -> Self {
        self.sampling = sampling;
        self
    }

    /// Ends replies at a text too, which is left out of them.
    pub fn stop(mut self, text: impl Into<String>) -> Self {
        self.sampling.stop.push(text.into());
        self
    }

    /// Sets whether replies call tools where a request says nothing of it and demands no grammar; `None`, unless set, lets the
    /// model decide, and nothing checks what it calls. Any other is kept by the feature `constraints`. The tiny model within
    /// this library has [`ToolChoice::Auto`].
    pub fn tool_choice(mut self, choice: impl Into<Option<ToolChoice>>) -> Self {
        self.tool_choice = choice.into();
        self
    }

    /// Keeps KV caches within a budget; [`CacheBudget::default`] unless set.
    pub fn cache(mut self, budget: CacheBudget) -> Self {
        self.cache = Some(budget);
        self
    }

    /// Lets so many replies be written concurrently, while others wait; 4 unless set.
    pub fn generations(mut self, generations: usize) -> Self {
        self.generations = Some(generations);
        self
    }

    /// Writes replies by speculative decoding, with draft tokens from the prompt.
    pub fn lookup(mut self, lookup: PromptLookup) -> Self {
        self.lookup = Some(lookup);
        self
    }

    /// Reports each step of opening as a sentence, such as what is downloaded.
    pub fn on_progress(mut self, listener: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.listener = Listener(Some(Arc::new(listener)));
        self
    }

    /// Opens the model.
    ///
    /// # Errors
    /// As [`Model::open`]; [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) for a setting out of its range,
    /// [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) for a template or a family that nobody knows.
    pub fn build(self) -> Result<Model> {
        self.sampling.validate()?;
        let (engine, mut warnings) = self.loaded_engine()?;
        let info = engine.model();
        let recommended = recommended(info)?;
        let full_context = self.full_context(info)?;
        for degradation in &info.degradations {
            warnings.push(ModelWarning::Degraded(degradation.clone()));
        }
        for (place, value) in &info.ignored {
            let (place, value) = (place.clone(), value.clone());
            warnings.push(ModelWarning::RecommendationIgnored { place, value });
        }
        let mut loading = engine.load_timing().cloned().unwrap_or_default();
        let (template, family) = self.format(&*engine, &mut loading)?;
        warnings.extend(template.warnings);
        if template.missing {
            warnings.push(ModelWarning::NoTemplate);
        }
        if family.fallback {
            warnings.push(ModelWarning::NoFamily);
        }
        let sampling = self.sampling.clone().or(&recommended);
        let name = family.processor.name().to_owned();
        let generator = Generator::new(engine, self.generator_options())?;
        let builder =
            LanguageModel::builder(generator).template(template.template).processor(family.processor);
        #[cfg(feature = "constraints")]
        let builder = builder.grammars(Llguidance::default());
        let language_model = loading.measure(LoadPhase::Processor, || builder.build())?;
        let fitting = Fitting::new(&full_context, &language_model)?;
        let parts = Parts {
            language_model,
            template: template.origin,
            family: name,
            sampling,
            tool_choice: self.tool_choice,
            full_context,
            fitting,
            warnings,
            load_timing: loading,
        };
        Ok(Model { parts: Arc::new(parts) })
    }

    /// A text that is continued is no conversation, of which messages could be left out.
    fn full_context(&self, info: &ModelInfo) -> Result<FullContext> {
        let usual = self.is_completion.then_some(ContextPolicy::Error);
        FullContext::choose(self.context_policy.or(usual), info)
    }

    /// Chooses the template and the family.
    fn format(&self, engine: &dyn Engine, loading: &mut LoadTiming) -> Result<(Template, ChosenFamily)> {
        let info = engine.model();
        if self.is_completion {
            let template = Template::completion(info)?;
            let generic = FamilySource::from(GENERIC);
            let family = ChosenFamily::choose(Some(&generic), info, &DataProcessorConfig::default())?;
            return Ok((template, family));
        }
        let own = self.own_template.as_ref();
        let chosen = Chosen { own, template: self.template.as_deref(), dialect: self.dialect };
        let template = loading.measure(LoadPhase::Template, || Template::choose(chosen, info))?;
        let family = loading.measure(LoadPhase::Processor, || -> Result<_> {
            let family = ChosenFamily::choose(self.family.as_ref(), info, &self.config)?;
            match &template.source {
                // A family looks for what it reads in the template, and this is not the model's own.
                Some(source) => {
                    family.with_model(&super::template::with_source(info, source.clone()), &self.config)
                }
                None => Ok(family),
            }
        })?;
        Ok((template, family))
    }

    /// How the engine's thread works: as it does by default, but for what is set.
    fn generator_options(&self) -> GeneratorOptions {
        let mut options = GeneratorOptions::default();
        if let Some(budget) = self.cache {
            options.cache = budget;
        }
        if let Some(generations) = self.generations {
            options.max_concurrent = generations;
        }
        options.lookup = self.lookup;
        options
    }

    #[cfg(not(feature = "onnx"))]
    fn loaded_engine(&self) -> Result<(Arc<dyn Engine>, Vec<ModelWarning>)> {
        let Source::Engine(engine) = &self.source;
        Ok((Arc::clone(engine), Vec::new()))
    }
}

/// What is set of ONNX Runtime.
#[cfg(feature = "onnx")]
impl ModelBuilder {
    /// Sets what computes, in the order of preference: `cpu`, or one of `cuda`, `coreml`, `directml` and `webgpu` that this
    /// build has as a feature; `cpu` unless set. Where another one than the first is used, a warning and each reply say so.
    pub fn providers<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.engine.providers = names.into_iter().map(Into::into).collect();
        self
    }

    /// Sets what computes the encoder of images and video; the providers of the decoder unless set.
    pub fn vision_providers<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.engine.vision_providers = names.into_iter().map(Into::into).collect();
        self
    }

    /// Sets what computes the encoder of audio; the providers of the decoder unless set.
    pub fn audio_providers<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.engine.audio_providers = names.into_iter().map(Into::into).collect();
        self
    }

    /// Sets how the library of ONNX Runtime is found, and whether it may be downloaded; the first model's counts.
    pub fn runtime(mut self, locator: Locator) -> Self {
        self.engine.runtime = Some(locator);
        self
    }

    /// Sets how many threads compute; one for each physical core unless set.
    pub fn threads(mut self, threads: usize) -> Self {
        self.engine.threads = Some(threads);
        self
    }

    /// Sets how threads wait for work; [`Waiting::Brief`] unless set, but for the tiny model within this library, which spins.
    pub fn waiting(mut self, waiting: Waiting) -> Self {
        self.engine.waiting = Some(waiting);
        self
    }

    /// Adds a low-rank adapter (LoRA), an `.onnx_adapter` file: a name alone is a file in the model's folder.
    pub fn adapter(mut self, file: impl AsRef<Path>) -> Self {
        self.engine.adapter = Some(file.as_ref().to_owned());
        self
    }

    /// Sets how far the model's graph is rewritten when it is loaded; as far as possible unless set.
    pub fn graph_optimization(mut self, level: GraphOptimization) -> Self {
        self.engine.optimization = Some(level);
        self
    }

    /// Keeps the rewritten graph in a folder, which takes as much room as the model, and loads it from there;
    /// [`graph_cache_folder`](crate::graph_cache_folder) is the usual one.
    pub fn graph_cache(mut self, folder: impl Into<PathBuf>) -> Self {
        self.engine.graph_cache = Some(folder.into());
        self
    }

    /// Chooses among graphs of different number types: `q4` takes `model_q4.onnx`, `fp32` takes `model.onnx`.
    pub fn graph_type(mut self, name: impl Into<String>) -> Self {
        self.engine.graph_type = Some(name.into());
        self
    }

    /// Sets how many tokens of a prompt are computed at once; other conversations take their turn between two such chunks.
    pub fn prefill_chunk(mut self, tokens: usize) -> Self {
        self.engine.prefill_chunk = Some(tokens);
        self
    }

    /// Sets how media are read before the model is shown them, and which are refused.
    #[cfg(feature = "media")]
    pub fn media(mut self, options: MediaOptions) -> Self {
        self.media = options;
        self
    }

    /// Sets how many bytes of what encoders gave are cached, so that what is shown again is not encoded again; 256 MiB unless
    /// set.
    pub fn media_cache(mut self, bytes: usize) -> Self {
        self.engine.media_cache = Some(bytes);
        self
    }

    /// Loads what computes alone, without a template and a family: for what only this engine reports. [`ModelBuilder::loaded`]
    /// takes it.
    ///
    /// # Errors
    /// As [`ModelBuilder::build`]; [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) where an engine was given, which
    /// is loaded already.
    pub fn load_engine(&self) -> Result<OnnxEngine> {
        let builder = match &self.source {
            Source::Folder(folder) => {
                self.listener.report(&format!("loading {}", folder.display()));
                OnnxEngine::builder(folder)
            }
            #[cfg(feature = "pocket")]
            Source::Pocket => super::pocket::engine(),
            Source::Engine(engine) => {
                let message = format!("the engine of {:?} is loaded already", engine.model().name);
                return Err(alloquy_core::Error::new(alloquy_core::ErrorKind::Unsupported, message));
            }
        };
        let listener = self.listener.clone();
        let builder = builder.on_event(move |event| listener.report(&event.to_string()));
        self.engine.added_to(self.with_media(builder)).load()
    }

    #[cfg(feature = "media")]
    fn with_media(&self, builder: OnnxEngineBuilder) -> OnnxEngineBuilder {
        let options = self.media.clone();
        builder.media_from(move |model| super::media::media_processor(model, &options))
    }

    #[cfg(not(feature = "media"))]
    fn with_media(&self, builder: OnnxEngineBuilder) -> OnnxEngineBuilder {
        builder
    }

    fn loaded_engine(&self) -> Result<(Arc<dyn Engine>, Vec<ModelWarning>)> {
        if let Source::Engine(engine) = &self.source {
            return Ok((Arc::clone(engine), Vec::new()));
        }
        let engine = self.load_engine()?;
        let warnings = match engine.graph_cache() {
            GraphCacheUse::Off | GraphCacheUse::Read => Vec::new(),
            told => vec![ModelWarning::GraphCache(told.clone())],
        };
        Ok((Arc::new(engine), warnings))
    }
}
