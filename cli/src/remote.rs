//! Connects to models on servers.

use std::path::Path;

use alloquy::core::{Error, ErrorKind, Result};
use alloquy::remote::{
    ChatProtocol, EndpointHealth, RemoteBuilder, RemoteChat, RemoteDecoder, SaltSecret, TokenizerCheck,
};

use crate::arguments::{ModelArguments, RemoteArguments};
use crate::found;
use crate::hub;
use crate::notes::{Loudness, Notes};
use crate::open_model::Endpoint;
use crate::pocket::POCKET;

/// Connects to the model of a server that takes tokens.
///
/// # Errors
/// Those of the folder, the Hub and the server, and [`ErrorKind::Invalid`] for settings that no server has.
pub(crate) fn decoder(arguments: &ModelArguments, url: &str, notes: Notes) -> Result<RemoteDecoder> {
    let builder = builder(arguments, url, notes)?;
    for name in unused(arguments) {
        notes.say(format_args!("--{name} has no effect: the model is computed at {url}"));
    }
    let decoder = pollster::block_on(builder.connect())?;
    for endpoint in decoder.endpoints() {
        if let EndpointHealth::Resting { error, .. } = endpoint.health {
            notes.say(format_args!("{} is used once it answers: {error}", endpoint.url));
        }
    }
    let description = decoder.description();
    if let TokenizerCheck::Unchecked { reason } = &description.tokenizer {
        notes.say(format_args!("whether {url} has the same tokenizer was not checked: {reason}"));
    }
    if notes.loudness() >= Loudness::Verbose {
        let version =
            description.version.as_deref().map_or_else(String::new, |version| format!(" {version}"));
        notes.say(format_args!(
            "{url}: {}{version}, model {}",
            description.dialect.as_str(),
            description.model
        ));
    }
    Ok(decoder)
}

/// Sets up the connection: fetches the files that describe the model if a model of the Hub is named.
fn builder(arguments: &ModelArguments, url: &str, notes: Notes) -> Result<RemoteBuilder> {
    let remote = &arguments.remote;
    if let Some(adapter) = &arguments.adapter {
        let message = format!(
            "--adapter {adapter:?} is for models on this machine: a server has a model with its adapter under a name of its own, which \
             --remote-model chooses"
        );
        return Err(Error::new(ErrorKind::Invalid, message));
    }
    let server = remote.server(url)?;
    let Some(name) = &arguments.model else {
        return Err(unnamed(&pollster::block_on(server.inspect(remote.dialect()))?.models));
    };
    if name == Path::new(POCKET) {
        let message = "the built-in model is on this machine alone: name the folder of the server's model with --model, or \
                       leave --remote out (--remote none, if a variable or the configuration file sets it)";
        return Err(Error::new(ErrorKind::Invalid, message));
    }
    let path = found::resolved(name);
    hub::fetch_description(&path, notes)?;
    let mut builder = RemoteDecoder::builder(server, alloquy::remote_files(path)?);
    for further in remote.further_addresses() {
        builder = builder.another(remote.server(further)?);
    }
    if let Some(model) = &remote.remote_model {
        builder = builder.model(model);
    }
    if let Some(dialect) = remote.dialect() {
        builder = builder.dialect(dialect);
    }
    if remote.separates_owners { separated(builder, remote, url, notes) } else { Ok(builder) }
}

/// Gives each owner a cache of its own on the server, where the server can do that.
fn separated(
    builder: RemoteBuilder,
    remote: &RemoteArguments,
    url: &str,
    notes: Notes,
) -> Result<RemoteBuilder> {
    let dialect = match remote.dialect() {
        Some(dialect) => dialect,
        None => pollster::block_on(remote.server(url)?.inspect(None))?.dialect,
    };
    if dialect.has_salts() {
        return Ok(builder.salts(SaltSecret::random()?));
    }
    notes.say(format_args!(
        "{url} has one cache for all owners, so each can find out what others have sent: serve one owner, or use a server of dialect vllm"
    ));
    Ok(builder)
}

/// Creates the error for a server whose model has no folder here.
fn unnamed(models: &[alloquy::remote::RemoteModel]) -> Error {
    let names: Vec<_> = models.iter().map(|model| model.name.as_str()).collect();
    let known =
        if names.is_empty() { String::new() } else { format!(" (the server has {})", names.join(", ")) };
    let message = format!(
        "--remote needs the tokenizer of the server's model{known}: name a folder or a model of the Hub that has it with \
         --model, or use a chat endpoint of the server with --remote-chat completions"
    );
    Error::new(ErrorKind::Invalid, message)
}

/// Returns the names of the settings that have no effect on a server.
fn unused(arguments: &ModelArguments) -> Vec<&'static str> {
    let settings = [
        ("provider", arguments.provider.is_some()),
        ("provider-library", !arguments.provider_library.is_empty()),
        ("threads", arguments.threads.is_some()),
        ("waiting", arguments.waiting.is_some()),
        ("draft", arguments.draft.is_some()),
        ("graph-optimization", arguments.graph_optimization.is_some()),
        ("graph-cache", arguments.graph_cache),
        ("kv-cache", arguments.kv_cache.is_some()),
        ("matmul", arguments.matmul.is_some()),
    ];
    settings.into_iter().filter(|(_, is_set)| *is_set).map(|(name, _)| name).collect()
}

/// Connects to a chat endpoint, and notes what is lost there.
///
/// # Errors
/// Those of the server.
pub(crate) fn endpoint(
    arguments: &ModelArguments,
    url: &str,
    protocol: ChatProtocol,
    notes: Notes,
) -> Result<Endpoint> {
    let remote = &arguments.remote;
    let mut builder = RemoteChat::builder(remote.server(url)?).protocol(protocol);
    let named = arguments.model.as_ref().map(|name| name.display().to_string());
    if let Some(name) = remote.remote_model.clone().or(named) {
        builder = builder.model(name);
    }
    let mut ignored = unused(arguments);
    ignored.extend(unused_by_endpoints(arguments));
    for name in ignored {
        notes.say(format_args!("--{name} has no effect: the prompts are made and computed at {url}"));
    }
    let endpoint = Endpoint::new(pollster::block_on(builder.connect())?, url);
    notes.say(endpoint.notice());
    Ok(endpoint)
}

/// Returns the names of further settings that have no effect on a chat endpoint.
fn unused_by_endpoints(arguments: &ModelArguments) -> Vec<&'static str> {
    let settings = [
        ("template", arguments.template.is_some()),
        ("template-dialect", arguments.template_dialect.is_some()),
        ("family", arguments.family.is_some()),
        ("channel", !arguments.channel.is_empty()),
        ("adapter", arguments.adapter.is_some()),
        ("remote-dialect", arguments.remote.dialect().is_some()),
    ];
    settings.into_iter().filter(|(_, is_set)| *is_set).map(|(name, _)| name).collect()
}
