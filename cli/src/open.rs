//! Models and stores from settings: the only place that knows which backends there are.

use std::path::Path;
use std::sync::Arc;

use alloquy_constraints::Llguidance;
use alloquy_core::{
    ConversationStore, DataProcessor, Engine, Error, ErrorKind, HistoryShift, Manager, ManagerBuilder,
    ModelInfo, Owner, PromptTemplate, Query, Request, Result, Round, SamplingOptions, ShiftPolicy,
};
use alloquy_onnx::{Gpu, Locator, OnnxEngine, Policy};
use alloquy_templates::mlc::{ChatConfig, MLC_CHAT_CONFIG};
use alloquy_templates::{
    CompletionTemplate, ConversationTemplate, Detected, JinjaTemplate, TemplateOrigin, sources,
};

use crate::arguments::{ModelArguments, Shift, ShiftArguments, StoreArguments};
use crate::notes::Notes;
use crate::progress::Progress;
use crate::settings::data_folder;

/// What computes unless another provider is named.
pub(crate) const PROVIDER: &str = "cpu";

/// The family that takes replies as they are.
const GENERIC: &str = "generic";

/// Where a model's own chat template stands, and a family looks for it.
const TEMPLATE_FILE: &str = "chat_template.jinja";

/// A loaded model with its template and its processor.
#[derive(Debug)]
pub(crate) struct Model {
    pub(crate) round: Round,
    template: Template,
    family: Family,
    /// What is dropped of a conversation that outgrows the context; nothing when it is off.
    shift: Option<ShiftPolicy>,
}

/// A template and where it came from.
#[derive(Debug)]
struct Template {
    template: Arc<dyn PromptTemplate>,
    origin: String,
    /// The model brings no template and none was named.
    missing: bool,
    /// Texts that end a reply in this template's format.
    stop: Vec<String>,
    /// What the template is written as, where that is not the model's own: a family looks for what it reads.
    source: Option<String>,
    /// What a person should know of it.
    warnings: Vec<String>,
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
        let format = SamplingOptions { stop: self.template.stop.clone(), ..SamplingOptions::default() };
        let builder =
            Manager::over(Arc::new(self.round.clone())).store(kept.store).owner(kept.owner).sampling(format);
        Ok(match self.shift()? {
            Some(shift) => builder.middleware(shift),
            None => builder,
        })
    }

    /// Decides what becomes of conversations that outgrow the context.
    pub(crate) fn shifting(self, arguments: &ShiftArguments) -> Result<Self> {
        let shift = shift_policy(arguments.context_shift, self.round.model())?;
        Ok(Self { shift, ..self })
    }

    fn shift(&self) -> Result<Option<HistoryShift>> {
        self.shift.clone().map(|policy| HistoryShift::new(self.round.clone(), policy)).transpose()
    }

    /// Returns a request as the model will see it: without the messages that it has no room for, where that is on.
    pub(crate) fn fitted(&self, request: Request) -> Result<Request> {
        match self.shift()? {
            Some(shift) => Ok(shift.shift(request)?.request),
            None => Ok(request),
        }
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
        if let Some(policy) = &self.shift {
            let window = policy.window;
            notes.say(format_args!(
                "a conversation of more than {window} tokens goes on without its oldest messages"
            ));
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
    let engine = engine(arguments, notes)?;
    let template = template(arguments.template.as_deref(), engine.model())?;
    let mut family = family(arguments.family.as_deref(), engine.model())?;
    if let Some(source) = &template.source {
        let mut info = engine.model().clone();
        info.files.insert(TEMPLATE_FILE.to_owned(), source.clone());
        family.processor = alloquy_processors::named(family.processor.name(), &info)?;
    }
    assemble(engine, template, family)
}

/// On where it is asked for, or where the model's makers wanted it; with their numbers where they gave some.
fn shift_policy(asked: Option<Shift>, model: &ModelInfo) -> Result<Option<ShiftPolicy>> {
    if asked == Some(Shift::Off) {
        return Ok(None);
    }
    let told = chat_config(model)?.shift_policy(model.context_length)?;
    Ok(told.or_else(|| asked.map(|_| usual_shift(model.context_length))))
}

/// MLC's numbers, but a quarter for the reply where the context is that small.
fn usual_shift(context: usize) -> ShiftPolicy {
    let policy = ShiftPolicy::new(context);
    let reply = policy.reply.min(context / 4);
    policy.reply(reply)
}

/// Loads the model for continuing texts: no chat template, no family.
pub(crate) fn completion_model(arguments: &ModelArguments, notes: Notes) -> Result<Model> {
    let engine = engine(arguments, notes)?;
    let template = Arc::new(CompletionTemplate::of(engine.model())?);
    let template = Template::new(template, "completion");
    let family = family(Some(GENERIC), engine.model())?;
    assemble(engine, template, family)
}

fn assemble(engine: Arc<dyn Engine>, template: Template, family: Family) -> Result<Model> {
    let round = Round::builder(engine)
        .template(Arc::clone(&template.template))
        .processor(Arc::clone(&family.processor))
        .constraints(Llguidance::default())
        .build()?;
    Ok(Model { round, template, family, shift: None })
}

fn engine(arguments: &ModelArguments, notes: Notes) -> Result<Arc<dyn Engine>> {
    let path = arguments.model.as_deref().ok_or_else(no_model)?;
    let progress = Arc::new(Progress::new(notes));
    progress.step(format!("loading {}", path.display()));
    let heard = Arc::clone(&progress);
    let mut builder = OnnxEngine::builder(path).on_event(move |event| heard.step(event.to_string()));
    builder = builder.provider(arguments.provider.as_deref().unwrap_or(PROVIDER));
    if let Some(threads) = arguments.threads {
        builder = builder.threads(threads);
    }
    Ok(Arc::new(builder.load()?))
}

/// Says which library of ONNX Runtime is loaded and what it can compute on; nothing is fetched.
pub(crate) fn runtime(arguments: &ModelArguments) -> Result<String> {
    let locator = Locator::new().policy(Policy::Never);
    let locator = match arguments.provider.as_deref() {
        Some("cuda") => locator.gpu(Gpu::Cuda),
        _ => locator,
    };
    let runtime = alloquy_onnx::inspect_runtime(&locator)?;
    let (path, providers) = (runtime.library.path.display(), runtime.providers.join(", "));
    Ok(format!("onnx runtime {} at {path}, computes on {providers}", runtime.version))
}

fn no_model() -> Error {
    let message = "no model is named: use --model DIR, ALLOQUY_MODEL, or model in the configuration file; \
                   `alloquy models` lists those found";
    Error::new(ErrorKind::Invalid, message)
}

/// A template by a file's path or by a name, else the model's own.
fn template(named: Option<&str>, model: &ModelInfo) -> Result<Template> {
    match named {
        None => own_template(model),
        Some(path) if Path::new(path).is_file() => template_file(path, model),
        Some(name) => named_template(name, model),
    }
}

impl Template {
    fn new(template: Arc<dyn PromptTemplate>, origin: impl Into<String>) -> Self {
        Self {
            template,
            origin: origin.into(),
            missing: false,
            stop: Vec::new(),
            source: None,
            warnings: Vec::new(),
        }
    }
}

fn own_template(model: &ModelInfo) -> Result<Template> {
    let Detected { template, origin, stop, warnings, .. } = alloquy_templates::detect(model)?;
    let missing = origin == TemplateOrigin::Completion;
    let warnings = warnings.iter().map(ToString::to_string).collect();
    Ok(Template { missing, stop, warnings, ..Template::new(template, origin.to_string()) })
}

fn template_file(path: &str, model: &ModelInfo) -> Result<Template> {
    let source = std::fs::read_to_string(path).map_err(|source| {
        Error::new(ErrorKind::Template, format!("template {path:?} cannot be read")).with_source(source)
    })?;
    let template = JinjaTemplate::from_source(source.clone(), alloquy_templates::special_tokens(model)?)?;
    Ok(Template { source: Some(source), ..Template::new(Arc::new(template), path) })
}

fn named_template(name: &str, model: &ModelInfo) -> Result<Template> {
    let template = ConversationTemplate::named(name);
    let template = template.map_err(|error| match error.is_not_found() {
        true => error.context(format!("template {name:?} is no file")),
        false => error,
    })?;
    conversation(template, model, &format!("the known {name:?}"))
}

fn conversation(template: ConversationTemplate, model: &ModelInfo, origin: &str) -> Result<Template> {
    let template = template.with_tokens_of(model)?;
    let stop = template.stop_strings().to_vec();
    let warnings = template.warnings().iter().map(ToString::to_string).collect();
    // It is no Jinja, so a family finds nothing in it that would want another shape.
    let source = Some(String::new());
    Ok(Template { stop, warnings, source, ..Template::new(Arc::new(template), origin) })
}

fn family(named: Option<&str>, model: &ModelInfo) -> Result<Family> {
    match named {
        Some(name) => Ok(Family { processor: alloquy_processors::named(name, model)?, fallback: false }),
        None => {
            let detected = alloquy_processors::detect(model);
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
    Ok(Kept { store, owner: arguments.owner.clone().unwrap_or_else(Owner::local) })
}

/// Opens a store and says what is in it.
pub(crate) async fn inspect_store(arguments: &StoreArguments) -> Result<String> {
    let usual = || data_folder().map(|folder| default_store(&folder));
    let named = arguments.store.clone().map_or_else(usual, Ok)?;
    let Kept { store, owner } = kept(arguments).await?;
    let count = store.count(&owner, &Query::default()).await?;
    Ok(format!("{named}, {count} conversations"))
}

/// Returns the URL of the store that is used unless another is named, and makes its folder.
fn usual_store() -> Result<String> {
    let folder = data_folder()?;
    std::fs::create_dir_all(&folder).map_err(|source| {
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
    pub(crate) context_shift: Shift,
}

/// Reads the description files of a model.
pub(crate) fn describe(folder: &Path) -> Result<Description> {
    let info = alloquy_onnx::describe(folder)?;
    let family = family(None, &info)?.processor.name().to_owned();
    let template = origin(&info)?.to_string();
    let context_shift = match shift_policy(None, &info)? {
        Some(_) => Shift::On,
        None => Shift::Off,
    };
    let layout = match () {
        () if info.files.contains_key("genai_config.json") => "genai",
        () if folder.join("onnx").is_dir() => "transformers.js",
        () => "optimum",
    };
    Ok(Description { info, family, template, layout, context_shift })
}
