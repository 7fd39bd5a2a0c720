//! Opens models from settings, and notes what a person should know of them. What is not set here the library chooses.

use std::path::Path;

use alloquy::core::{Error, ErrorKind, Result};
use alloquy::onnx::{GraphOptimization, KvCacheType, MatMulType};
use alloquy::remote::RemoteFiles;
use alloquy::{ContextPolicy, Model, ModelBuilder, ModelDescription, ModelWarning};

use crate::arguments::{ContextArguments, ModelArguments, NumberType, OptimizationLevel, Waiting, names};
use crate::form::DemandArguments;
use crate::found;
use crate::hub;
use crate::notes::{Loudness, Notes};
use crate::open_model::OpenModel;
use crate::pocket::{POCKET, describe_pocket};
use crate::progress::Progress;
use crate::remote;

/// The name of the fastest provider.
pub(crate) const AUTO: &str = "auto";

/// The provider that computes unless another is named.
pub(crate) const PROVIDER: &str = "cpu";

/// How far graphs are rewritten unless another level is named.
pub(crate) const OPTIMIZATION: OptimizationLevel = OptimizationLevel::All;

/// Loads the model for conversations.
pub(crate) fn model(arguments: &ModelArguments, notes: Notes) -> Result<Model> {
    opened(builder(arguments, notes)?, notes)
}

/// Opens the model of a conversation: that of a chat endpoint, if one is set, or one whose prompts are encoded here.
pub(crate) fn for_turns(
    arguments: &ModelArguments,
    overflow: &ContextArguments,
    demand: Option<&DemandArguments>,
    notes: Notes,
) -> Result<OpenModel> {
    if let (Some(url), Some(protocol)) = (arguments.remote.address()?, arguments.remote.remote_chat) {
        overflow.check_endpoint()?;
        return Ok(remote::endpoint(arguments, url, protocol, notes)?.into());
    }
    let mut builder = overflow.added_to(builder(arguments, notes)?);
    if let Some(demand) = demand {
        builder = demand.freeing(builder);
    }
    Ok(opened(builder, notes)?.into())
}

/// Loads a model, and notes how the graph cache was used and what was measured. A template that reads no messages is an error: no question would reach the
/// model.
pub(crate) fn opened(builder: ModelBuilder, notes: Notes) -> Result<Model> {
    let model = builder.build()?;
    for warning in model.warnings() {
        match warning {
            ModelWarning::GraphCache(outcome) => notes.say(outcome),
            warning @ (ModelWarning::ProviderChosen(_) | ModelWarning::Quantized(_)) => notes.say(warning),
            ModelWarning::NoMessages { origin } => {
                let message = format!(
                    "template {origin:?} reads no messages, so that every prompt would be the same text"
                );
                return Err(Error::new(ErrorKind::Template, message));
            }
            _ => {}
        }
    }
    Ok(model)
}

/// Configures a model by the arguments, and shows the progress of loading it.
pub(crate) fn builder(arguments: &ModelArguments, notes: Notes) -> Result<ModelBuilder> {
    if let Some(url) = arguments.remote.address()? {
        return on_server(arguments, url, notes);
    }
    let mut builder = named(arguments.model.as_deref(), notes)?;
    let progress = Progress::new(notes);
    builder = builder.on_progress(move |step| progress.step(step.to_owned()));
    builder = formatted(arguments.media.added_to(builder), arguments);
    if let Some(providers) = &arguments.provider {
        builder = builder.providers(names(providers));
    }
    for library in &arguments.provider_library {
        builder = builder.provider_library(library);
    }
    if let Some(threads) = arguments.threads {
        builder = builder.threads(threads);
    }
    if let Some(waiting) = arguments.waiting {
        builder = builder.waiting(waiting.into());
    }
    if let Some(file) = &arguments.adapter {
        builder = builder.adapter(file);
    }
    if let Some(draft) = &arguments.draft {
        let folder = found::resolved(draft);
        hub::offer(&folder, notes)?;
        builder = builder.draft(folder);
    }
    if let Some(level) = arguments.graph_optimization {
        builder = builder.graph_optimization(level.into());
    }
    if let Some(kind) = arguments.kv_cache {
        builder = builder.kv_cache(kind.into());
    }
    if let Some(kind) = arguments.matmul {
        builder = builder.matmul(kind.into());
    }
    if arguments.graph_cache {
        builder = builder.graph_cache(alloquy::graph_cache_folder()?);
    }
    Ok(builder)
}

/// Configures a model whose tokens a server computes.
fn on_server(arguments: &ModelArguments, url: &str, notes: Notes) -> Result<ModelBuilder> {
    if arguments.remote.remote_chat.is_some() {
        let message = "this needs the tokens of the prompt, which a chat endpoint does not have: leave --remote-chat out, \
                       and name the folder of the server's model with --model";
        return Err(Error::new(ErrorKind::Unsupported, message));
    }
    let decoder = remote::decoder(arguments, url, notes)?;
    Ok(formatted(Model::over(decoder), arguments))
}

/// Adds the template and the family. A command has one owner, so its conversations share the cache.
fn formatted(mut builder: ModelBuilder, arguments: &ModelArguments) -> ModelBuilder {
    builder = builder.processor_config(arguments.processor()).share_cache(true);
    if let Some(template) = &arguments.template {
        builder = builder.template(template);
    }
    if let Some(dialect) = arguments.template_dialect {
        builder = builder.template_dialect(dialect.into());
    }
    if let Some(family) = &arguments.family {
        builder = builder.family(family.as_str());
    }
    builder
}

/// Returns the builder of the folder that is named, or of the built-in model.
fn named(path: Option<&Path>, notes: Notes) -> Result<ModelBuilder> {
    if let Some(path) = path.filter(|path| !is_pocket(path)) {
        let path = found::resolved(path);
        hub::offer(&path, notes)?;
        return Ok(Model::builder(path));
    }
    pocket()
}

fn is_pocket(path: &Path) -> bool {
    path == Path::new(POCKET)
}

#[cfg(feature = "pocket")]
fn pocket() -> Result<ModelBuilder> {
    Ok(Model::pocket_builder())
}

#[cfg(not(feature = "pocket"))]
fn pocket() -> Result<ModelBuilder> {
    Err(absent())
}

/// Creates the error of a program without a built-in model.
fn absent() -> Error {
    let message = "no model is named: use --model NAME, ALLOQUY_MODEL, or model in the configuration file; \
                   `alloquy models` lists those that are here, and `alloquy pull` fetches one";
    Error::new(ErrorKind::Invalid, message)
}

/// Reads the description files of a model: of the built-in one, or of a folder.
pub(crate) fn describe(path: Option<&Path>) -> Result<ModelDescription> {
    match path {
        Some(path) if !is_pocket(path) => ModelDescription::read(found::resolved(path)),
        _ => describe_pocket().unwrap_or_else(|| Err(absent())),
    }
}

/// Reads the description files of a model on a server: of a folder without weights, or of a model of the Hub.
pub(crate) fn describe_remote(path: &Path) -> Result<ModelDescription> {
    match alloquy::remote_files(found::resolved(path))? {
        RemoteFiles::Folder(folder) => ModelDescription::read(folder),
        other => Err(Error::new(ErrorKind::Unsupported, format!("{other:?} is no folder"))),
    }
}

/// Notes what a person should know of a model, and with `-v` which one it is.
pub(crate) fn warn(model: &OpenModel, notes: Notes) {
    if notes.loudness() >= Loudness::Verbose {
        notes.say(model.summary());
    }
    let Some(model) = model.tokens() else { return };
    for warning in model.warnings() {
        match warning {
            // These were noted when the model was loaded.
            ModelWarning::GraphCache(_) | ModelWarning::ProviderChosen(_) | ModelWarning::Quantized(_) => {}
            // This is noted with each reply.
            ModelWarning::Degraded(_) => {}
            ModelWarning::DialectIgnored { origin } => {
                notes.say(format_args!("{origin}: no Jinja template, so --template-dialect has no effect"));
            }
            warning => notes.say(warning),
        }
    }
    if model.full_context().policy() != ContextPolicy::Error {
        notes.say(model.full_context());
    }
}

impl From<Waiting> for alloquy::onnx::ThreadWaiting {
    fn from(waiting: Waiting) -> Self {
        match waiting {
            Waiting::Brief => Self::Brief,
            Waiting::Spin => Self::Spin,
            Waiting::Sleep => Self::Sleep,
        }
    }
}

impl From<OptimizationLevel> for GraphOptimization {
    fn from(level: OptimizationLevel) -> Self {
        match level {
            OptimizationLevel::Disable => Self::Disable,
            OptimizationLevel::Basic => Self::Basic,
            OptimizationLevel::Extended => Self::Extended,
            OptimizationLevel::All => Self::All,
        }
    }
}

impl From<NumberType> for KvCacheType {
    fn from(kind: NumberType) -> Self {
        match kind {
            NumberType::Exported => Self::Exported,
            NumberType::Int8 => Self::Int8,
        }
    }
}

impl From<NumberType> for MatMulType {
    fn from(kind: NumberType) -> Self {
        match kind {
            NumberType::Exported => Self::Exported,
            NumberType::Int8 => Self::Int8,
        }
    }
}
