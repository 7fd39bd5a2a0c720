//! Models and stores from settings: the only place that knows which backends there are.

use std::path::Path;
use std::sync::Arc;

use alloquy_core::{
    ConversationStore, DataProcessor, Engine, Error, ErrorKind, Manager, ManagerBuilder, ModelInfo,
    PromptTemplate, Result, Round, SamplingOptions,
};
use alloquy_onnx::{Gpu, Locator, OnnxEngine, Policy};
use alloquy_templates::{CompletionTemplate, ConversationTemplate, JinjaTemplate, TemplateOrigin};

use serde_json::Value;

use crate::arguments::{ModelArguments, SamplingArguments};
use crate::notes::Notes;
use crate::progress::Progress;
use crate::settings::data_folder;

/// What computes unless another provider is named.
pub(crate) const PROVIDER: &str = "cpu";

/// The family that takes replies as they are.
const GENERIC: &str = "generic";

/// Where MLC's descriptions name a conversation template.
const CONVERSATION_CONFIG: &str = "mlc-chat-config.json";

/// A loaded model with its template and its processor.
#[derive(Debug)]
pub(crate) struct Model {
    pub(crate) round: Round,
    template: Template,
    family: Family,
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
    pub(crate) fn manager(
        &self,
        store: Arc<dyn ConversationStore>,
        sampling: &SamplingArguments,
    ) -> ManagerBuilder {
        let format = SamplingOptions { stop: self.template.stop.clone(), ..SamplingOptions::default() };
        let sampling = sampling.options().or(&format);
        Manager::over(Arc::new(self.round.clone())).store(store).sampling(sampling)
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
    let family = family(arguments.family.as_deref(), engine.model())?;
    assemble(engine, template, family)
}

/// Loads the model for continuing texts: no chat template, no family.
pub(crate) fn completion_model(arguments: &ModelArguments, notes: Notes) -> Result<Model> {
    let engine = engine(arguments, notes)?;
    let template = Arc::new(CompletionTemplate::of(engine.model())?);
    let template = Template { template, origin: "completion".to_owned(), missing: false, stop: Vec::new() };
    let family = family(Some(GENERIC), engine.model())?;
    assemble(engine, template, family)
}

fn assemble(engine: Arc<dyn Engine>, template: Template, family: Family) -> Result<Model> {
    let round = Round::builder(engine)
        .template(Arc::clone(&template.template))
        .processor(Arc::clone(&family.processor))
        .build()?;
    Ok(Model { round, template, family })
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

/// The model's Jinja template, else the conversation template that its description names, else none.
fn own_template(model: &ModelInfo) -> Result<Template> {
    let detected = alloquy_templates::detect(model)?;
    if detected.origin == TemplateOrigin::Completion
        && let Some(template) = conversation_template(model)?
    {
        return conversation(template, model, CONVERSATION_CONFIG);
    }
    let missing = detected.origin == TemplateOrigin::Completion;
    Ok(Template {
        template: detected.template,
        origin: detected.origin.to_string(),
        missing,
        stop: Vec::new(),
    })
}

fn template_file(path: &str, model: &ModelInfo) -> Result<Template> {
    let source = std::fs::read_to_string(path).map_err(|source| {
        Error::new(ErrorKind::Template, format!("template {path:?} cannot be read")).with_source(source)
    })?;
    let template = JinjaTemplate::from_source(source, alloquy_templates::special_tokens(model)?)?;
    Ok(Template { template: Arc::new(template), origin: path.to_owned(), missing: false, stop: Vec::new() })
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
    Ok(Template { template: Arc::new(template), origin: origin.to_owned(), missing: false, stop })
}

/// The template that an MLC description names, with the fields that it changes.
fn conversation_template(model: &ModelInfo) -> Result<Option<ConversationTemplate>> {
    let Some(config) = model.json(CONVERSATION_CONFIG)? else {
        return Ok(None);
    };
    let Some(name) = config.get("conv_template").and_then(Value::as_str) else {
        return Ok(None);
    };
    let template = ConversationTemplate::named(name)?;
    match config.get("conv_config") {
        Some(changes) => template.overridden(&changes.to_string()).map(Some),
        None => Ok(Some(template)),
    }
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

/// Opens the store that a URL names, or the one in the user's data folder.
pub(crate) async fn store(url: Option<&str>) -> Result<Arc<dyn ConversationStore>> {
    match url {
        Some(url) => alloquy_storage::open(url).await,
        None => alloquy_storage::open(&usual_store()?).await,
    }
}

/// Opens a store and says what is in it.
pub(crate) async fn inspect_store(url: Option<&str>) -> Result<String> {
    let named =
        url.map_or_else(|| data_folder().map(|folder| default_store(&folder)), |url| Ok(url.to_owned()))?;
    let count = store(url).await?.count().await?;
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

/// What the description files of a model say; its weights are not read.
#[derive(Debug)]
pub(crate) struct Description {
    pub(crate) info: ModelInfo,
    pub(crate) family: String,
    pub(crate) template: String,
    pub(crate) layout: &'static str,
}

/// Reads the description files of a model.
pub(crate) fn describe(folder: &Path) -> Result<Description> {
    let info = alloquy_onnx::describe(folder)?;
    let family = family(None, &info)?.processor.name().to_owned();
    let template = match alloquy_templates::detect(&info)?.origin {
        TemplateOrigin::Completion if conversation_template(&info)?.is_some() => {
            CONVERSATION_CONFIG.to_owned()
        }
        origin => origin.to_string(),
    };
    let layout = match () {
        () if info.files.contains_key("genai_config.json") => "genai",
        () if folder.join("onnx").is_dir() => "transformers.js",
        () => "optimum",
    };
    Ok(Description { info, family, template, layout })
}
