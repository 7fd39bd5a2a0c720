//! Builds a model. Defaults are those of the model's files, then those of the library.

#[cfg(feature = "onnx")]
mod number_types;
#[cfg(feature = "onnx")]
mod providers;

#[cfg(feature = "onnx")]
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[cfg(feature = "constraints")]
use alloquy_constraints::LlguidanceEngine;
use alloquy_core::model_info::ModelInfo;
use alloquy_core::output::ToolChoice;
use alloquy_core::processor::Channel;
use alloquy_core::template::PromptTemplate;
use alloquy_core::{Result, SamplingOptions};
use alloquy_engine::decoder::Decoder;
use alloquy_engine::{Engine, LoadPhase, LoadTiming};
use alloquy_inference::{CacheBudget, DraftModel, Drafting, LanguageModel, PromptLookup};
#[cfg(all(feature = "media", feature = "onnx"))]
use alloquy_media::MediaOptions;
#[cfg(feature = "onnx")]
use alloquy_onnx::{
    CacheLocation, GraphCacheStatus, GraphOptimization, Locator, OnnxEngine, OnnxEngineBuilder, ThreadWaiting,
};
use alloquy_processors::DataProcessorConfig;
use alloquy_templates::Dialect;

use super::computer::{Computer, Source};
use super::context::{ContextPolicy, Fitting, FullContext};
#[cfg(feature = "onnx")]
use super::engine::EngineOptions;
use super::family::{ChosenFamily, FamilySource, GENERIC};
use super::generating::{DraftFrom, Generating};
use super::listener::Listener;
#[cfg(feature = "onnx")]
use super::location::located;
use super::recommended::recommended;
use super::template::{Chosen, Template};
use super::warning::ModelWarning;
use super::{Model, Parts};

/// Opens a [`Model`] with settings other than those of its files.
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
    generating: Generating,
    listener: Listener,
    #[cfg(feature = "onnx")]
    engine: EngineOptions,
    #[cfg(all(feature = "media", feature = "onnx"))]
    media: MediaOptions,
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
            generating: Generating::default(),
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

    /// Constrains the calls of the built-in model by default. It is small: without constraints one call in twenty names an
    /// unknown tool or leaves an argument out.
    #[cfg(feature = "pocket")]
    pub(super) fn pocket() -> Self {
        let tool_choice = cfg!(feature = "constraints").then_some(ToolChoice::Auto);
        Self { tool_choice, ..Self::on(Source::Pocket) }
    }

    pub(super) fn engine(engine: Arc<dyn Engine>) -> Self {
        Self::on(Source::Engine(engine))
    }

    pub(super) fn decoder(decoder: Arc<dyn Decoder>) -> Self {
        Self::on(Source::Decoder(decoder))
    }

    /// Uses an engine that is loaded already. Settings of the engine have no effect then.
    pub fn loaded(mut self, engine: Arc<dyn Engine>) -> Self {
        self.source = Source::Engine(engine);
        self
    }

    /// Sets the chat template, which replaces the model's own.
    ///
    /// It is the path of a Jinja file or of a conversation template of MLC as JSON, or the name of a
    /// [known template](crate::templates::ConversationTemplate::named).
    pub fn template(mut self, template: impl Into<String>) -> Self {
        self.template = Some(template.into());
        self
    }

    /// Sets a chat template of your own, which replaces the model's own and a named one.
    pub fn prompt_template(mut self, template: impl PromptTemplate + 'static) -> Self {
        self.own_template = Some(Arc::new(template));
        self
    }

    /// Sets the program whose prompts a Jinja template reproduces. The default is Hugging Face's transformers 5.
    pub fn template_dialect(mut self, dialect: Dialect) -> Self {
        self.dialect = Some(dialect);
        self
    }

    /// Sets the model's family, for a model that no family claims.
    ///
    /// It is the name of a [known family](crate::processors::families), the path of a JSON file, or a
    /// [`Family`](crate::processors::Family) of your own.
    pub fn family(mut self, family: impl Into<FamilySource>) -> Self {
        self.family = Some(family.into());
        self
    }

    /// Adds a channel of replies to those of the family. One named `thinking` replaces the family's own.
    pub fn channel(mut self, channel: Channel) -> Self {
        self.config = self.config.channel(channel);
        self
    }

    /// Sets options of the family's processor.
    pub fn processor_config(mut self, config: DataProcessorConfig) -> Self {
        self.config = config;
        self
    }

    /// Continues texts, without a chat template and a family. This is for models that were not trained to converse.
    pub fn completion(mut self) -> Self {
        self.is_completion = true;
        self
    }

    /// Sets the policy for conversations that are longer than the context.
    ///
    /// The default is that of the model's `mlc-chat-config.json`, else [`ContextPolicy::Error`].
    pub fn context_policy(mut self, policy: ContextPolicy) -> Self {
        self.context_policy = Some(policy);
        self
    }

    /// Sets the default sampling options of requests.
    ///
    /// Options that are absent have the values that the model's authors recommend. Stops are added to those of the model.
    pub fn sampling(mut self, sampling: SamplingOptions) -> Self {
        self.sampling = sampling;
        self
    }

    /// Adds a text that ends replies. The text is not part of the reply.
    pub fn stop(mut self, text: impl Into<String>) -> Self {
        self.sampling.stop.push(text.into());
        self
    }

    /// Sets the tool choice of requests that have neither a tool choice nor a grammar.
    ///
    /// With `None`, the default, the model decides and its calls are not constrained. Other choices need the feature
    /// `constraints`. The built-in tiny model has [`ToolChoice::Auto`].
    pub fn tool_choice(mut self, choice: impl Into<Option<ToolChoice>>) -> Self {
        self.tool_choice = choice.into();
        self
    }

    /// Sets the budget of the KV caches. The default is [`CacheBudget::default`].
    pub fn cache(mut self, budget: CacheBudget) -> Self {
        self.generating.cache = Some(budget);
        self
    }

    /// Sets whether owners share cached prompts, as
    /// [`LanguageModelBuilder::share_cache`](alloquy_inference::LanguageModelBuilder::share_cache) does. By default they do not.
    pub fn share_cache(mut self, shared: bool) -> Self {
        self.generating.shares_cache = shared;
        self
    }

    /// Sets how many replies are generated concurrently; others are queued. The default is 4.
    pub fn generations(mut self, generations: usize) -> Self {
        self.generating.generations = Some(generations);
        self
    }

    /// Generates replies by speculative decoding, with draft tokens from the prompt.
    pub fn lookup(mut self, lookup: PromptLookup) -> Self {
        self.generating.lookup = Some(lookup);
        self
    }

    /// Generates replies by speculative decoding, with draft tokens from a smaller model that is loaded already. With
    /// [`ModelBuilder::lookup`], the prompt comes first.
    pub fn draft_model(mut self, draft: impl Into<DraftModel>) -> Self {
        self.generating.draft = Some(DraftFrom::Model(draft.into()));
        self
    }

    /// Sets when replies have drafts. The default is [`Drafting::Measured`]: as long as they save time.
    pub fn drafting(mut self, drafting: Drafting) -> Self {
        self.generating.drafting = drafting;
        self
    }

    /// Sets a function that receives each step of opening as a sentence, such as a download.
    pub fn on_progress(mut self, listener: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.listener = Listener::new(listener);
        self
    }

    /// Opens the model.
    ///
    /// # Errors
    /// The errors of [`Model::open`], [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) for a setting out of its range, and
    /// [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) for an unknown template or family.
    pub fn build(self) -> Result<Model> {
        self.sampling.validate()?;
        let (computer, mut warnings) = self.loaded_computer()?;
        let info = computer.model();
        let recommended = recommended(info)?;
        let full_context = self.full_context(info)?;
        warnings.extend(ModelWarning::of_files(info));
        let mut loading = computer.load_timing();
        let (template, family) = self.format(info, &mut loading)?;
        warnings.extend(template.warnings);
        if template.missing {
            warnings.push(ModelWarning::NoTemplate);
        }
        if family.fallback {
            warnings.push(ModelWarning::NoFamily);
        }
        let sampling = self.sampling.clone().or(&recommended);
        let name = family.processor.name().to_owned();
        let decoder: Arc<dyn Decoder> = match computer {
            Computer::Engine(engine) => {
                Arc::new(self.generating.start(engine, self.loaded_draft(&mut warnings)?)?)
            }
            Computer::Decoder(decoder) => decoder,
        };
        let builder = LanguageModel::builder(decoder).template(template.template).processor(family.processor);
        let builder = builder.share_cache(self.generating.shares_cache);
        #[cfg(feature = "constraints")]
        let builder = builder.grammars(LlguidanceEngine::default());
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

    /// Chooses the policy for a full context. A text that is continued has no messages to leave out, so its default is an error.
    fn full_context(&self, info: &ModelInfo) -> Result<FullContext> {
        let usual = self.is_completion.then_some(ContextPolicy::Error);
        FullContext::choose(self.context_policy.or(usual), info)
    }

    /// Chooses the template and the family.
    fn format(&self, info: &ModelInfo, loading: &mut LoadTiming) -> Result<(Template, ChosenFamily)> {
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
                // The family looks in the template for the fields that it reads, and this is not the model's own template.
                Some(source) => {
                    family.with_model(&super::template::with_source(info, source.clone()), &self.config)
                }
                None => Ok(family),
            }
        })?;
        Ok((template, family))
    }

    #[cfg(not(feature = "onnx"))]
    fn loaded_draft(&self, _warnings: &mut Vec<ModelWarning>) -> Result<Option<DraftModel>> {
        Ok(None)
    }

    /// Loads the engine, unless an engine or a decoder was given.
    fn loaded_computer(&self) -> Result<(Computer, Vec<ModelWarning>)> {
        match &self.source {
            Source::Engine(engine) => Ok((Computer::Engine(Arc::clone(engine)), Vec::new())),
            Source::Decoder(decoder) => Ok((Computer::Decoder(Arc::clone(decoder)), Vec::new())),
            #[cfg(feature = "onnx")]
            _ => {
                let (engine, warnings) = self.loaded_engine()?;
                Ok((Computer::Engine(engine), warnings))
            }
        }
    }
}

/// Settings of ONNX Runtime.
#[cfg(feature = "onnx")]
impl ModelBuilder {
    /// Sets how the library of ONNX Runtime is found, and whether it may be downloaded.
    ///
    /// A process loads the library once, for its first model. The locator of a later model has no effect.
    pub fn runtime(mut self, locator: Locator) -> Self {
        self.engine.runtime = Some(locator);
        self
    }

    /// Sets how many threads compute. The default is one for each physical core.
    pub fn threads(mut self, threads: usize) -> Self {
        self.engine.threads = Some(threads);
        self
    }

    /// Sets how threads wait for work. The default is [`ThreadWaiting::Brief`], and [`ThreadWaiting::Spin`] for the built-in
    /// model.
    pub fn waiting(mut self, waiting: ThreadWaiting) -> Self {
        self.engine.waiting = Some(waiting);
        self
    }

    /// Adds a low-rank adapter (LoRA), an `.onnx_adapter` file. A name without a folder is a file in the model's folder.
    pub fn adapter(mut self, file: impl AsRef<Path>) -> Self {
        self.engine.adapter = Some(file.as_ref().to_owned());
        self
    }

    /// Sets how far the model's graph is optimized when it is loaded. The default is as far as possible.
    pub fn graph_optimization(mut self, level: GraphOptimization) -> Self {
        self.engine.optimization = Some(level);
        self
    }

    /// Keeps the optimized graph in a folder and loads it from there. The folder takes as much space as the model.
    ///
    /// [`graph_cache_folder`](crate::graph_cache_folder) is the usual folder.
    pub fn graph_cache(mut self, folder: impl Into<PathBuf>) -> Self {
        self.engine.graph_cache = Some(folder.into());
        self
    }

    /// Chooses among graphs of different number types: `q4` chooses `model_q4.onnx`, `fp32` chooses `model.onnx`.
    pub fn graph_type(mut self, name: impl Into<String>) -> Self {
        self.engine.graph_type = Some(name.into());
        self
    }

    /// Sets how many tokens of a prompt are computed at once. Other conversations are computed between two such chunks.
    pub fn prefill_chunk(mut self, tokens: usize) -> Self {
        self.engine.prefill_chunk = Some(tokens);
        self
    }

    /// Generates replies by speculative decoding, with draft tokens from the smaller model in a folder.
    ///
    /// It must have the same tokenizer, which [`ModelBuilder::build`] checks, and runs on the same providers and threads. Replies are
    /// the same as without, at any temperature. They have drafts as long as these save time ([`ModelBuilder::drafting`]).
    ///
    /// ```no_run
    /// let model = alloquy::Model::builder("models/qwen3-4b").draft("models/qwen3-0.6b").build()?;
    /// println!("{:?}", model.ask("Name the planets.")?.reply.speculation);
    /// # Ok::<(), alloquy::Error>(())
    /// ```
    pub fn draft(mut self, folder: impl Into<PathBuf>) -> Self {
        self.generating.draft = Some(DraftFrom::Folder(folder.into()));
        self
    }

    /// Sets how media are read, and which are refused.
    #[cfg(feature = "media")]
    pub fn media(mut self, options: MediaOptions) -> Self {
        self.media = options;
        self
    }

    /// Sets how many bytes of encoded media are cached, so that the same media are encoded once. The default is 256 MiB.
    pub fn media_cache(mut self, bytes: usize) -> Self {
        self.engine.media_cache = Some(bytes);
        self
    }

    /// Loads only the engine, without a template and a family.
    ///
    /// The engine has more reports than the model. [`ModelBuilder::loaded`] builds a model on it.
    ///
    /// # Errors
    /// The errors of [`ModelBuilder::build`], and [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) if an engine was
    /// given, which is loaded already.
    pub fn load_engine(&self) -> Result<OnnxEngine> {
        self.engine_builder()?.load()
    }

    /// Configures an engine.
    fn engine_builder(&self) -> Result<OnnxEngineBuilder> {
        let builder = match &self.source {
            Source::Folder(folder) => {
                let located = located(folder)?;
                self.listener.report(&format!("loading {}", folder.display()));
                OnnxEngine::builder(located)
            }
            #[cfg(feature = "pocket")]
            Source::Pocket => super::pocket::engine(),
            Source::Engine(engine) => {
                let message = format!("the engine of {:?} is loaded already", engine.model().name);
                return Err(alloquy_core::Error::new(alloquy_core::ErrorKind::Unsupported, message));
            }
            Source::Decoder(decoder) => {
                let message = format!("{:?} has a decoder and no engine", decoder.model().name);
                return Err(alloquy_core::Error::new(alloquy_core::ErrorKind::Unsupported, message));
            }
        };
        let listener = self.listener.clone();
        let builder = builder.on_event(move |event| listener.report(&event.to_string()));
        Ok(self.engine.added_to(self.with_media(builder)))
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

    /// Loads the draft model with those settings of the model that are not of its files.
    fn loaded_draft(&self, warnings: &mut Vec<ModelWarning>) -> Result<Option<DraftModel>> {
        let Some(mut builder) = self.generating.draft_folder().map(Self::folder) else { return Ok(None) };
        builder.engine = EngineOptions { adapter: None, graph_type: None, ..self.engine.clone() };
        builder.listener = self.listener.clone();
        let (engine, noted) = builder.loaded_engine()?;
        warnings.extend(noted);
        Ok(Some(engine.into()))
    }

    fn loaded_engine(&self) -> Result<(Arc<dyn Engine>, Vec<ModelWarning>)> {
        let engine = self.load_engine()?;
        let mut warnings = match engine.graph_cache() {
            GraphCacheStatus::Off | GraphCacheStatus::Read => Vec::new(),
            status => vec![ModelWarning::GraphCache(status.clone())],
        };
        warnings.extend(engine.quantization_quality().copied().map(ModelWarning::Quantized));
        warnings.extend(engine.provider_choice().cloned().map(ModelWarning::ProviderChosen));
        if let location @ CacheLocation::Host { reason: Some(_) } = engine.cache_location() {
            warnings.push(ModelWarning::CachesOffDevice(location.clone()));
        }
        Ok((Arc::new(engine), warnings))
    }
}
