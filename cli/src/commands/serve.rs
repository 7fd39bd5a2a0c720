//! `alloquy serve`: models and stored conversations over HTTP.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::time::Duration;
use std::{fmt, fs};

use alloquy::core::{Error, ErrorKind, Result};
use alloquy::guards::redact::RedactReplies;
use alloquy_server::{RequestLimits, Server, ServerBuilder};
use clap::Args;
use clap::builder::BoolishValueParser as Switch;
use serde_json::{Value, json};

use crate::arguments::{
    LogFormat, RedactionArguments, RemoteArguments, ServingArguments, StoreArguments, ToolArguments,
};
use crate::context::Context;
use crate::failure::Failure;
use crate::guards::Guards;
use crate::kept;
use crate::key_file;
use crate::limit_counts;
use crate::listener;
use crate::served::NamedModel;
use crate::served_library::ServedLibrary;
use crate::served_list::ServedList;
use crate::served_retrieval::ServedRetrieval;
use crate::served_snapshots;
use crate::served_tools::NamedTools;
use crate::settings::Settings;

const EXAMPLES: &str = "\
Examples:
  alloquy serve                                     the default model at http://127.0.0.1:8080/v1
  alloquy serve --port 9000                         at another port of this machine
  alloquy serve --model qwen=onnx-community/Qwen3-0.6B-ONNX --model pocket
  alloquy serve --model qwen=Qwen/Qwen3-4B@http://localhost:8000   whose tokens a server computes
  alloquy serve --embedding minilm=all-MiniLM-L6-v2  and a model of embeddings, for /v1/embeddings
  alloquy serve --serve-mcp \"time=uvx mcp-server-time\"   and tools, which requests name by the label
  alloquy serve --prompts prompts --flows flows      with a library of prompts, and the flows of a folder
  alloquy serve --snapshots /var/lib/alloquy/snapshots   what is computed is not computed again after a restart
  alloquy serve --check                             whether it would work; loads nothing, exits with 1 if not
  alloquy serve --bind 0.0.0.0:8080 --host llm.example.org   for other machines, with keys
  curl localhost:8080/v1/chat/completions -H 'content-type: application/json' \\
    -d '{\"messages\": [{\"role\": \"user\", \"content\": \"Hello\"}]}'

Clients of OpenAI, Anthropic and Ollama need only the address. Models are loaded by the first request that names them. How they run is set in the \
configuration file, by the keys of `alloquy chat` such as threads and provider; so are the texts that are removed (guards). `alloquy keys add` creates keys. Ctrl-C or \
SIGTERM ends the server once the running replies have ended, and a second Ctrl-C ends it at once; SIGHUP reads the keys, the prompts, the flows and the configuration file \
again: models that have changed are unloaded once they write no reply.";

/// The address at which the server listens, unless another is set.
const ADDRESS: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 8080);

/// How many bytes a MiB has.
const MEBIBYTE: u64 = 1 << 20;

/// Serve models and stored conversations over HTTP, for the clients of OpenAI's API
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Serve {
    /// Serve this model, under a name of its own or as NAME=MODEL; may be repeated. MODEL@URL is on that server, as with --remote, and
    /// MODEL@none on this machine. The first one answers requests that name none
    #[arg(short, long, value_name = "NAME", env = "ALLOQUY_MODEL")]
    model: Vec<String>,
    /// Check the settings, the models, the store and the keys, and serve nothing
    #[arg(long, env = "ALLOQUY_CHECK", value_parser = Switch::new())]
    check: bool,
    #[command(flatten)]
    serving: ServingArguments,
    #[command(flatten)]
    retrieval: ServedRetrieval,
    #[command(flatten)]
    library: ServedLibrary,
    #[command(flatten)]
    remote: RemoteArguments,
    #[command(flatten)]
    store: StoreArguments,
}

impl Serve {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        let serving = context.settings.settle(&self.serving)?;
        let list = ServedList {
            named: self.model,
            remote: self.remote,
            serving: self.serving,
            library: self.library,
            notes: context.notes,
        };
        let models = list.models(&context.settings)?;
        let mut summaries = Vec::new();
        for model in &models {
            summaries.push((model.name.clone(), model.describe()?));
        }
        let library = list.library.open(&context.settings, serving.flows.as_deref())?;
        let store = context.settings.settle(&self.store)?;
        let address = serving.bind.unwrap_or(ADDRESS);
        let tools = NamedTools::all(&serving)?;
        let plan = Plan { address, models: summaries, library: library.summaries().to_vec() };
        if self.check {
            for model in &models {
                model.reach()?;
            }
            let store = pollster::block_on(kept::inspect_store(&store))?;
            library.check()?;
            let builder = library.add_to(builder(context, &serving, models)?);
            self.retrieval.check()?;
            builder.build()?.check_address(address)?;
            return plan.report(context, &store);
        }
        let format = serving.log_format.unwrap_or_default();
        let opened = pollster::block_on(kept::kept(&store))?;
        if let Err(problem) = library.check() {
            say(context, format, format_args!("{problem}"));
        }
        let builder = library.add_to(builder(context, &serving, models)?);
        let builder = self.retrieval.add_to(builder)?;
        let mut builder = builder.store(opened.store).owner(opened.owner);
        if let Some(counts) = pollster::block_on(limit_counts::of(&store))? {
            builder = builder.limit_store(counts);
        }
        let rules = context.settings.settle(&ToolArguments::default())?;
        for tools in &tools {
            builder = tools.add_to(builder, &rules, context.notes)?;
        }
        let server = builder.build()?;
        let listener = listener_of(&server, address)?;
        plan.say(context, format);
        let address = listener.local_addr().unwrap_or(address);
        say(context, format, format_args!("serving at http://{address}/v1"));
        if !serving.no_page {
            say(context, format, format_args!("the page with the conversations: http://{address}/"));
        }
        let settings = context.settings.clone();
        Ok(server.run(listener, move |server| list.reload(&settings, server))?)
    }

    /// Returns the form of the log.
    ///
    /// # Errors
    /// Those of the settings.
    pub(crate) fn log_format(&self, settings: &Settings) -> Result<LogFormat> {
        Ok(settings.settle(&self.serving)?.log_format.unwrap_or_default())
    }
}

/// Returns the listener that the service manager passes, else one at the address.
fn listener_of(server: &Server, address: SocketAddr) -> Result<TcpListener> {
    if let Some(listener) = listener::passed()? {
        return Ok(listener);
    }
    server.check_address(address)?;
    listener::listen(address)
}

fn builder(context: &Context, serving: &ServingArguments, models: Vec<NamedModel>) -> Result<ServerBuilder> {
    let mut builder = Server::builder().limits(limits(serving)).page(!serving.no_page);
    for model in models {
        builder = builder.model(model.served());
    }
    for host in &serving.host {
        builder = builder.host(host);
    }
    for origin in &serving.origin {
        builder = builder.origin(origin);
    }
    for host in &serving.media_host {
        builder = builder.media_host(host);
    }
    if let Some(mebibytes) = serving.model_memory {
        builder = builder.memory(mebibytes.saturating_mul(MEBIBYTE));
    }
    if let Some(place) = served_snapshots::opened(serving)? {
        builder = builder.snapshots(place);
    }
    if let Some(keys) = key_file::keys(&serving.keys)? {
        builder = builder.keys(keys);
    }
    if let Some(path) = &serving.metrics_token_file {
        builder = builder.metrics_token(metrics_token(path)?);
    }
    #[cfg(feature = "otlp")]
    let mut builder = builder.follow_traces(crate::log::follow);
    let redaction = context.settings.settle(&RedactionArguments::default())?;
    if let Some(redactor) = Guards::redacting(&redaction)?.redactor().cloned() {
        builder = builder.managers(move |manager| manager.middleware(RedactReplies::new(redactor.clone())));
    }
    Ok(builder)
}

fn limits(serving: &ServingArguments) -> RequestLimits {
    let mut limits = RequestLimits::default();
    limits.running = serving.concurrent.unwrap_or(limits.running);
    limits.waiting = serving.queue.unwrap_or(limits.waiting);
    limits.drain = serving.drain.map_or(limits.drain, Duration::from_secs);
    limits
}

/// Reads the token of the metrics. The line break at the end of a file is no part of it.
fn metrics_token(path: &Path) -> Result<String> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(text.trim().to_owned()),
        Err(source) => {
            let message = format!(
                "the token of the metrics cannot be read from {path:?}: write one there with `openssl rand -hex 32`"
            );
            Err(Error::new(ErrorKind::Invalid, message).with_source(source))
        }
    }
}

/// Says something to the operator, in the form of the server's log.
fn say(context: &Context, format: LogFormat, text: fmt::Arguments<'_>) {
    match format {
        LogFormat::Text => context.notes.say(text),
        LogFormat::Json => tracing::info!(target: "alloquy_server", "{text}"),
    }
}

/// What is served.
struct Plan {
    address: SocketAddr,
    /// The names of the models and what they are.
    models: Vec<(String, String)>,
    /// The prompts, the flows and the prices, where there are any.
    library: Vec<(&'static str, String)>,
}

impl Plan {
    /// Says what is served.
    fn say(&self, context: &Context, format: LogFormat) {
        for (name, summary) in &self.models {
            say(context, format, format_args!("{name}: {summary}"));
        }
        for (kind, summary) in &self.library {
            say(context, format, format_args!("{kind}: {summary}"));
        }
    }

    /// Prints what would be served.
    fn report(&self, context: &Context, store: &str) -> Result<(), Failure> {
        let address = self.address;
        let mut text = format!("address: http://{address}/v1\nstore: {store}\n");
        let mut models = Vec::new();
        for (name, summary) in &self.models {
            text.push_str(&format!("model {name}: {summary}\n"));
            models.push(json!({"name": name, "summary": summary}));
        }
        let mut object = json!({"address": address, "store": store, "models": models});
        for (kind, summary) in &self.library {
            text.push_str(&format!("{kind}: {summary}\n"));
            if let Value::Object(fields) = &mut object {
                fields.insert((*kind).to_owned(), json!(summary));
            }
        }
        context.print(&text, &object)
    }
}
