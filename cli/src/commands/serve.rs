//! `alloquy serve`: models and stored conversations over HTTP.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use alloquy::core::{Error, ErrorKind, Result};
use alloquy::guards::redact::RedactReplies;
use alloquy_server::{KeyFile, RequestLimits, ServedReranker, Server, ServerBuilder};
use clap::Args;
use clap::builder::BoolishValueParser as Switch;
use serde_json::json;

use crate::arguments::{
    ContextArguments, ModelArguments, RedactionArguments, ServingArguments, StoreArguments,
};
use crate::context::Context;
use crate::embedders::Embedding;
use crate::failure::Failure;
use crate::found;
use crate::guards::Guards;
use crate::kept;
use crate::key_file;
use crate::limit_database::LimitDatabase;
use crate::pocket::POCKET;
use crate::served::{LocalModel, named};
use crate::settings::state_folder;

const EXAMPLES: &str = "\
Examples:
  alloquy serve                                     the default model at http://127.0.0.1:8080/v1
  alloquy serve --model qwen=onnx-community/Qwen3-0.6B-ONNX --model pocket
  alloquy serve --embedding minilm=all-MiniLM-L6-v2  and a model of embeddings, for /v1/embeddings
  alloquy serve --check                             whether it would work; loads nothing, exits with 1 if not
  alloquy serve --bind 0.0.0.0:8080 --host llm.example.org   for other machines, with keys
  curl localhost:8080/v1/chat/completions -H 'content-type: application/json' \\
    -d '{\"messages\": [{\"role\": \"user\", \"content\": \"Hello\"}]}'

Clients of OpenAI, Anthropic and Ollama need only the address. Models are loaded by the first request that names them. How they run is set in the \
configuration file, by the keys of `alloquy chat` such as threads and provider; so are the texts that are removed (guards). `alloquy keys add` creates keys. Ctrl-C or \
SIGTERM ends the server once the running replies have ended; SIGHUP reads the keys again.";

/// The address at which the server listens, unless another is set.
const ADDRESS: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 8080);

/// How many bytes a MiB has.
const MEBIBYTE: u64 = 1 << 20;

/// Serve models and stored conversations over HTTP, for the clients of OpenAI's API
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Serve {
    /// Serve this model, under a name of its own or as NAME=MODEL; may be repeated. The first one answers requests that name none
    #[arg(short, long, value_name = "NAME", env = "ALLOQUY_MODEL")]
    model: Vec<String>,
    /// Serve this model of embeddings, the folder of one or ngrams, under a name of its own or as NAME=MODEL; may be repeated
    #[arg(long, value_name = "NAME", env = "ALLOQUY_EMBEDDING")]
    embedding: Vec<String>,
    /// Serve this reranker, the folder of a cross-encoder, under a name of its own or as NAME=MODEL; may be repeated
    #[arg(long, value_name = "NAME", env = "ALLOQUY_RERANKER")]
    reranker: Vec<String>,
    /// Check the settings, the models, the store and the keys, and serve nothing
    #[arg(long, env = "ALLOQUY_CHECK", value_parser = Switch::new())]
    check: bool,
    #[command(flatten)]
    serving: ServingArguments,
    #[command(flatten)]
    store: StoreArguments,
}

impl Serve {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        let serving = context.settings.settle(&self.serving)?;
        let models = self.models(context)?;
        let mut summaries = Vec::new();
        for model in &models {
            summaries.push((model.name.clone(), model.check()?));
        }
        let store = context.settings.settle(&self.store)?;
        let address = serving.bind.unwrap_or(ADDRESS);
        if self.check {
            let store = pollster::block_on(kept::inspect_store(&store))?;
            let builder = builder(context, &serving, models)?;
            for argument in &self.embedding {
                let (_, model) = named(argument)?;
                Embedding::check(&model.to_string_lossy())?;
            }
            for argument in &self.reranker {
                let (name, model) = named(argument)?;
                if !found::resolved(&model).exists() {
                    let message = format!("reranker {name:?}: there is no folder {model:?}");
                    return Err(Error::new(ErrorKind::Invalid, message).into());
                }
            }
            builder.build()?.check_address(address)?;
            return report(context, address, &summaries, &store);
        }
        let opened = pollster::block_on(kept::kept(&store))?;
        let builder = self.embedders(builder(context, &serving, models)?)?;
        let server = builder.store(opened.store).owner(opened.owner).build()?;
        server.check_address(address)?;
        let listener = listen(address)?;
        for (name, summary) in &summaries {
            context.notes.say(format_args!("{name}: {summary}"));
        }
        context.notes.say(format_args!("serving at http://{}/v1", listener.local_addr().unwrap_or(address)));
        Ok(server.run(listener, move || KeyFile::read(&key_file::path(&serving.keys)?))?)
    }

    /// Adds the models of embeddings and the rerankers, which are loaded at once.
    fn embedders(&self, mut builder: ServerBuilder) -> Result<ServerBuilder> {
        for argument in &self.embedding {
            let (name, model) = named(argument)?;
            let embedding = Embedding::named(&model.to_string_lossy())?;
            builder = builder.embedder(embedding.served(name)?);
        }
        for argument in &self.reranker {
            let (name, model) = named(argument)?;
            let reranker = alloquy::open_reranker(found::resolved(&model))?;
            builder = builder.reranker(ServedReranker::new(name, reranker));
        }
        Ok(builder)
    }

    /// Returns the models: those that are named, or the default one.
    fn models(&self, context: &Context) -> Result<Vec<LocalModel>> {
        let settings = &context.settings;
        let default = [settings.default_model().unwrap_or_else(|| POCKET.to_owned())];
        let given = if self.model.is_empty() { default.as_slice() } else { &self.model };
        let arguments = settings.settle(&ModelArguments::default())?;
        let overflow = settings.settle(&ContextArguments::default())?;
        let mut models = Vec::new();
        for argument in given {
            let (name, model) = named(argument)?;
            let model = settings.model_named(&model.to_string_lossy());
            let arguments = ModelArguments { model: Some(model.into()), ..arguments.clone() };
            models.push(LocalModel { name, arguments, overflow: overflow.clone(), notes: context.notes });
        }
        Ok(models)
    }
}

fn builder(context: &Context, serving: &ServingArguments, models: Vec<LocalModel>) -> Result<ServerBuilder> {
    let mut builder = Server::builder().limits(limits(serving));
    for model in models {
        builder = builder.model(model.served());
    }
    for host in &serving.host {
        builder = builder.host(host);
    }
    for origin in &serving.origin {
        builder = builder.origin(origin);
    }
    if let Some(mebibytes) = serving.model_memory {
        builder = builder.memory(mebibytes.saturating_mul(MEBIBYTE));
    }
    if let Some(keys) = key_file::keys(&serving.keys)? {
        builder = builder.keys(keys);
    }
    // Budgets of a day outlive a restart.
    if let Some(folder) = state_folder() {
        builder = builder.limit_store(Arc::new(LimitDatabase::new(folder)));
    }
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

fn listen(address: SocketAddr) -> Result<TcpListener> {
    TcpListener::bind(address).map_err(|source| {
        let message =
            format!("{address} cannot be listened at: choose another address with --bind ADDRESS:PORT");
        Error::new(ErrorKind::Backend, message).with_source(source)
    })
}

/// Prints what would be served.
fn report(
    context: &Context,
    address: SocketAddr,
    summaries: &[(String, String)],
    store: &str,
) -> Result<(), Failure> {
    let mut text = format!("address: http://{address}/v1\nstore: {store}\n");
    let mut models = Vec::new();
    for (name, summary) in summaries {
        text.push_str(&format!("model {name}: {summary}\n"));
        models.push(json!({"name": name, "summary": summary}));
    }
    context.print(&text, &json!({"address": address, "store": store, "models": models}))
}
