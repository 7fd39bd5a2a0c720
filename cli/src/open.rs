//! Models and stores from settings: the only place that knows which backends there are.

mod overflow;
pub(crate) mod pocket;
mod template;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use alloquy_constraints::Llguidance;
use alloquy_core::{
    ConversationStore, DataProcessor, Degradation, Engine, Error, ErrorKind, LoadPhase, LoadTiming, Manager,
    ManagerBuilder, MediaProcessor, MemoryStore, ModelInfo, Owner, Query, Request, Result, SamplingOptions,
    ToolChoice,
};
use alloquy_inference::LanguageModel;
use alloquy_media::{MediaOptions, MediaProcessors};
use alloquy_onnx::{
    Gpu, GraphCacheUse, GraphOptimization, LocateError, Locator, OnnxEngine, OnnxEngineBuilder, Policy,
    Presence,
};
use alloquy_processors::DataProcessorConfig;
use alloquy_templates::mlc::{ChatConfig, MLC_CHAT_CONFIG};
use alloquy_templates::{TemplateOrigin, sources};

use crate::arguments::{ContextPolicy, ModelArguments, OptimizationLevel, StoreArguments, Waiting, provided};
use crate::notes::Notes;
use crate::progress::Progress;
use crate::settings::data_folder;

use overflow::Overflow;
use template::Template;

/// What computes unless another provider is named.
pub(crate) const PROVIDER: &str = "cpu";

/// How far graphs are rewritten unless another level is named.
pub(crate) const OPTIMIZATION: OptimizationLevel = OptimizationLevel::All;

/// The family that takes replies as they are.
const GENERIC: &str = "generic";

/// A loaded model with its template and its processor.
#[derive(Debug)]
pub(crate) struct Model {
    pub(crate) round: LanguageModel,
    template: Template,
    family: Family,
    /// What holds where nobody says otherwise, beside what the engine says of itself.
    sampling: SamplingOptions,
    /// Whether it calls tools, where nobody says; what it calls is then held to what is offered.
    pub(crate) tool_choice: Option<ToolChoice>,
    /// What becomes of a conversation that outgrows the context.
    overflow: Overflow,
    /// How long loading all of it took.
    pub(crate) loading: LoadTiming,
}

/// A processor and how it was chosen.
#[derive(Debug)]
struct Family {
    processor: Arc<dyn DataProcessor>,
    /// No family claims the model and none was named.
    fallback: bool,
}

impl Model {
    /// Begins a manager of this model.
    pub(crate) fn manager(&self, kept: Kept) -> Result<ManagerBuilder> {
        let builder = Manager::builder(self.round.clone())
            .store(kept.store)
            .owner(kept.owner)
            .sampling(self.sampling.clone());
        self.overflow.added_to(builder, &self.round)
    }

    /// Decides what becomes of conversations that outgrow the context.
    pub(crate) fn overflowing(self, asked: Option<ContextPolicy>) -> Result<Self> {
        let overflow = Overflow::choose(asked, self.round.model())?;
        Ok(Self { overflow, ..self })
    }

    /// Returns how replies are sampled that are asked of the model itself: what is absent its makers decide.
    pub(crate) fn sampling(&self, asked: SamplingOptions) -> SamplingOptions {
        asked.or(&self.sampling)
    }

    /// Returns a request as the model will see it, and what it goes without because there is no room for it.
    pub(crate) async fn fitted(&self, request: Request) -> Result<(Request, Vec<Degradation>)> {
        self.overflow.fitted(request, &self.round).await
    }

    /// Returns the name, the family, the template's origin and the context on one line.
    pub(crate) fn summary(&self) -> String {
        let ModelInfo { name, context_length, .. } = self.round.model();
        let (family, origin) = (self.family.processor.name(), &self.template.origin);
        format!("{name}: family {family}, template from {origin}, context {context_length}")
    }

    /// Says which model this is, and what a person should know of it.
    pub(crate) fn introduce(&self, notes: Notes) {
        notes.say(self.summary());
        for (place, value) in &self.round.model().ignored {
            notes.say(format_args!("{place} is {value}, which has no effect"));
        }
        for warning in &self.template.warnings {
            notes.say(format_args!("{}: {warning}", self.template.origin));
        }
        if self.overflow.policy() != ContextPolicy::Error {
            notes.say(&self.overflow);
        }
        if self.template.missing {
            notes.say("this model brings no chat template: it goes on with your text, it does not answer");
        }
        if self.family.fallback {
            notes.say("no family claims this model: its replies are read as plain text");
        }
    }
}

/// Loads the model for conversations.
pub(crate) fn model(arguments: &ModelArguments, notes: Notes) -> Result<Model> {
    conversing(arguments, engine(arguments, notes)?)
}

/// Adds to an engine what conversations need.
pub(crate) fn conversing(arguments: &ModelArguments, engine: Arc<dyn Engine>) -> Result<Model> {
    let mut loading = engine.load_timing().cloned().unwrap_or_default();
    let template = loading.measure(LoadPhase::Template, || Template::choose(arguments, engine.model()))?;
    let family = loading.measure(LoadPhase::Processor, || -> Result<_> {
        let config = arguments.processor();
        let mut family = family(arguments.family.as_deref(), engine.model(), &config)?;
        if let Some(source) = &template.source {
            let info = template::with_source(engine.model(), source.clone());
            family.processor = alloquy_processors::named_with(family.processor.name(), &info, &config)?;
        }
        Ok(family)
    })?;
    let tool_choice = pocket::answers(arguments.model.as_deref()).then_some(ToolChoice::Auto);
    Ok(Model { tool_choice, ..assemble(engine, template, family, loading)? })
}

/// Loads the model for continuing texts: no chat template, no family.
pub(crate) fn completion_model(arguments: &ModelArguments, notes: Notes) -> Result<Model> {
    let engine = engine(arguments, notes)?;
    let template = Template::completion(engine.model())?;
    let family = family(Some(GENERIC), engine.model(), &DataProcessorConfig::default())?;
    let loading = engine.load_timing().cloned().unwrap_or_default();
    assemble(engine, template, family, loading)
}

fn assemble(
    engine: Arc<dyn Engine>,
    template: Template,
    family: Family,
    mut loading: LoadTiming,
) -> Result<Model> {
    let format = SamplingOptions {
        stop: template.stop.clone(),
        stop_tokens: template.stop_tokens.iter().map(|token| vec![*token]).collect(),
        ..SamplingOptions::default()
    };
    let sampling = format.or(&recommended(engine.model())?);
    let builder = LanguageModel::builder(engine)
        .template(Arc::clone(&template.template))
        .processor(Arc::clone(&family.processor))
        .grammars(Llguidance::default());
    let round = loading.measure(LoadPhase::Processor, || builder.build())?;
    Ok(Model { round, template, family, sampling, tool_choice: None, overflow: Overflow::Error, loading })
}

/// What MLC's file recommends, where the files that the engine reads recommend nothing. Its stop texts are its
/// template's, which may be another than the one in use.
fn recommended(model: &ModelInfo) -> Result<SamplingOptions> {
    let alone = SamplingOptions { stop: Vec::new(), stop_tokens: Vec::new(), ..model.sampling.clone() };
    match alone.is_empty() {
        true => {
            let told = chat_config(model)?.sampling;
            Ok(SamplingOptions { stop: Vec::new(), stop_tokens: Vec::new(), ..told })
        }
        false => Ok(SamplingOptions::default()),
    }
}

/// Loads the model alone, without a template and a family.
pub(crate) fn engine(arguments: &ModelArguments, notes: Notes) -> Result<Arc<dyn Engine>> {
    Ok(Arc::new(onnx_engine(arguments, notes)?))
}

/// As [`engine`], for whoever asks what only this backend says.
pub(crate) fn onnx_engine(arguments: &ModelArguments, notes: Notes) -> Result<OnnxEngine> {
    let (mut builder, progress) = begin(arguments, notes)?;
    let options = arguments.media.options();
    builder = builder.on_event(move |event| progress.step(event.to_string()));
    builder = arguments.media.added_to(builder.media_from(move |model| media_processor(model, &options)));
    let providers = arguments.provider.as_deref().unwrap_or(PROVIDER);
    builder = provided(builder, providers, OnnxEngineBuilder::provider, OnnxEngineBuilder::fallback);
    if let Some(threads) = arguments.threads {
        builder = builder.threads(threads);
    }
    if let Some(waiting) = arguments.waiting {
        builder = builder.waiting(match waiting {
            Waiting::Brief => alloquy_onnx::Waiting::Brief,
            Waiting::Spin => alloquy_onnx::Waiting::Spin,
            Waiting::Sleep => alloquy_onnx::Waiting::Sleep,
        });
    }
    if let Some(file) = &arguments.adapter {
        builder = builder.adapter(file);
    }
    if let Some(level) = arguments.graph_optimization {
        builder = builder.graph_optimization(optimization(level));
    }
    if arguments.graph_cache {
        builder = builder.graph_cache(graph_cache()?);
    }
    let engine = builder.load()?;
    match engine.graph_cache() {
        GraphCacheUse::Off | GraphCacheUse::Read => {}
        told => notes.say(told),
    }
    Ok(engine)
}

/// What makes tensors of media for a model that takes some.
fn media_processor(model: &ModelInfo, options: &MediaOptions) -> Result<Option<Arc<dyn MediaProcessor>>> {
    let processors = MediaProcessors::with_options(model, options)?;
    Ok(processors.map(|processors| Arc::new(processors) as Arc<dyn MediaProcessor>))
}

fn optimization(level: OptimizationLevel) -> GraphOptimization {
    match level {
        OptimizationLevel::Disable => GraphOptimization::Disable,
        OptimizationLevel::Basic => GraphOptimization::Basic,
        OptimizationLevel::Extended => GraphOptimization::Extended,
        OptimizationLevel::All => GraphOptimization::All,
    }
}

/// Returns the folder of optimised graphs.
fn graph_cache() -> Result<PathBuf> {
    let folder = alloquy_onnx::cache_folder();
    let unknown = |source: alloquy_onnx::LocateError| {
        Error::new(ErrorKind::Invalid, source.to_string()).with_source(source)
    };
    Ok(folder.map_err(unknown)?.join("graphs"))
}

/// Says what is loaded, and shows that something is going on from then on.
fn begin(arguments: &ModelArguments, notes: Notes) -> Result<(OnnxEngineBuilder, Progress)> {
    let Some(path) = arguments.model.as_deref() else {
        let builder = pocket::builder()?;
        pocket::introduce(notes);
        return Ok((builder, Progress::new(notes)));
    };
    let progress = Progress::new(notes);
    Ok((named_model(path, &progress)?, progress))
}

fn named_model(path: &Path, progress: &Progress) -> Result<OnnxEngineBuilder> {
    if pocket::is_named(path) {
        return pocket::builder();
    }
    progress.step(format!("loading {}", path.display()));
    Ok(OnnxEngine::builder(path))
}

/// What there is of ONNX Runtime.
pub(crate) enum Runtime {
    /// It is loaded; where from, and what it can compute on.
    Loaded(String),
    /// It is not here, and so many bytes would be fetched.
    Fetchable(u64),
}

/// Finds the library of ONNX Runtime and loads it; nothing is fetched.
pub(crate) fn runtime(arguments: &ModelArguments) -> Result<Runtime> {
    let locator = match arguments.provider.as_deref().and_then(|named| named.split(',').next()) {
        // A build without it says so when the model is loaded.
        Some("cuda") if alloquy_onnx::providers().any(|name| name == "cuda") => {
            Locator::new().gpu(Gpu::Cuda).policy(Policy::Never)
        }
        _ => Locator::new(),
    };
    let absent = |source: LocateError| Error::new(ErrorKind::Backend, source.to_string()).with_source(source);
    if let Presence::Fetchable(wheel) = locator.look().map_err(absent)? {
        return Ok(Runtime::Fetchable(wheel.bytes));
    }
    let runtime = alloquy_onnx::inspect_runtime(&locator.policy(Policy::Never))?;
    let (path, providers) = (runtime.library.path.display(), runtime.providers.join(", "));
    Ok(Runtime::Loaded(format!("onnx runtime {} at {path}, computes on {providers}", runtime.version)))
}

fn family(named: Option<&str>, model: &ModelInfo, config: &DataProcessorConfig) -> Result<Family> {
    match named {
        Some(name) => {
            let processor = alloquy_processors::named_with(name, model, config)?;
            Ok(Family { processor, fallback: false })
        }
        None => {
            let detected = alloquy_processors::detect_with(model, config)?;
            Ok(Family { processor: detected.processor, fallback: detected.fallback })
        }
    }
}

/// The conversations of one owner.
pub(crate) struct Kept {
    pub(crate) store: Arc<dyn ConversationStore>,
    pub(crate) owner: Owner,
}

/// Opens the store that the arguments name, or the one in the user's data folder.
pub(crate) async fn kept(arguments: &StoreArguments) -> Result<Kept> {
    let store = match &arguments.store {
        Some(url) => alloquy_storage::open(url).await?,
        None => alloquy_storage::open(&usual_store()?).await?,
    };
    Ok(Kept { store, owner: arguments.owner() })
}

/// Opens the store that the arguments name, or the one in the user's data folder, for reading alone: nothing is made. Before
/// the first conversation was kept, the data folder is as good as an empty store.
pub(crate) async fn kept_for_reading(arguments: &StoreArguments) -> Result<Kept> {
    let store: Arc<dyn ConversationStore> = match &arguments.store {
        Some(url) => alloquy_storage::open_for_reading(url).await?,
        None => match alloquy_storage::open_for_reading(&default_store(&data_folder()?)).await {
            Err(error) if error.is_not_found() => Arc::new(MemoryStore::default()),
            opened => opened?,
        },
    };
    Ok(Kept { store, owner: arguments.owner() })
}

/// Opens a store for reading and says what is in it.
pub(crate) async fn inspect_store(arguments: &StoreArguments) -> Result<String> {
    let usual = || data_folder().map(|folder| default_store(&folder));
    let named = arguments.store.clone().map_or_else(usual, Ok)?;
    let Kept { store, owner } = match kept_for_reading(arguments).await {
        Err(error) if error.is_not_found() => {
            return Ok(format!("{named} does not exist yet; the first conversation makes it"));
        }
        opened => opened?,
    };
    let count = store.count(&owner, &Query::default()).await?;
    let noun = if count == 1 { "conversation" } else { "conversations" };
    Ok(format!("{named}, {count} {noun}"))
}

/// Returns the URL of the store that is used unless another is named, and makes its folder.
fn usual_store() -> Result<String> {
    let folder = data_folder()?;
    crate::file::make_private_folder(&folder).map_err(|source| {
        Error::new(ErrorKind::Store, format!("data folder {folder:?} cannot be made")).with_source(source)
    })?;
    Ok(default_store(&folder))
}

/// Returns the URL of the store in a data folder.
pub(crate) fn default_store(folder: &Path) -> String {
    format!("sqlite:{}", folder.join("conversations.db").display())
}

/// Where the template is from. A conversation template wants tokens, which no description file has.
fn origin(info: &ModelInfo) -> Result<TemplateOrigin> {
    match sources::places(info).first() {
        Some(&origin @ TemplateOrigin::MlcChatConfig) => {
            chat_config(info)?;
            Ok(origin)
        }
        _ => Ok(alloquy_templates::detect(info)?.origin),
    }
}

fn chat_config(info: &ModelInfo) -> Result<ChatConfig> {
    let config = info.files.get(MLC_CHAT_CONFIG).map(|json| ChatConfig::from_json(json)).transpose()?;
    Ok(config.unwrap_or_default())
}

/// What the description files of a model say; its weights are not read.
#[derive(Debug)]
pub(crate) struct Description {
    pub(crate) info: ModelInfo,
    pub(crate) family: String,
    pub(crate) template: String,
    pub(crate) layout: &'static str,
    /// What holds unless it is asked for otherwise.
    pub(crate) context_policy: ContextPolicy,
}

/// Reads the description files of a model as it is named: the one within the program, or a folder.
pub(crate) fn describe_named(path: &Path) -> Result<Description> {
    if pocket::is_named(path)
        && let Some(description) = pocket::describe()
    {
        return description;
    }
    describe(path)
}

/// Reads the description files of a model.
pub(crate) fn describe(folder: &Path) -> Result<Description> {
    let layout = match folder.join("onnx").is_dir() {
        true => "transformers.js",
        false => "optimum",
    };
    summed(alloquy_model_files::describe(folder)?, layout)
}

/// Says what [`Model::summary`] says, without loading anything. A provider that this build does not have is an error.
pub(crate) fn described(arguments: &ModelArguments) -> Result<String> {
    alloquy_onnx::require_providers(
        arguments.provider.as_deref().unwrap_or(PROVIDER).split(',').map(str::trim),
    )?;
    let named = arguments.model.as_deref().filter(|path| !pocket::is_named(path));
    let described = named.map(describe).or_else(pocket::describe).transpose()?;
    let Description { info, family, template, .. } = described.ok_or_else(pocket::absent)?;
    let ModelInfo { name, context_length, .. } = info;
    Ok(format!("{name}: family {family}, template from {template}, context {context_length}"))
}

fn summed(mut info: ModelInfo, layout: &'static str) -> Result<Description> {
    info.sampling = info.sampling.clone().or(&recommended(&info)?);
    let family = family(None, &info, &DataProcessorConfig::default())?.processor.name().to_owned();
    let template = origin(&info)?.to_string();
    let context_policy = Overflow::choose(None, &info)?.policy();
    let layout = if info.files.contains_key("genai_config.json") { "genai" } else { layout };
    Ok(Description { info, family, template, layout, context_policy })
}
