//! `alloquy serve`: models and stored conversations over HTTP.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use alloquy::core::{Error, ErrorKind, Result};
use alloquy::guards::redact::RedactReplies;
use alloquy_server::{RequestLimits, Server, ServerBuilder};
use clap::Args;
use clap::builder::BoolishValueParser as Switch;
use serde_json::json;

use crate::arguments::{RedactionArguments, RemoteArguments, ServingArguments, StoreArguments};
use crate::context::Context;
use crate::failure::Failure;
use crate::guards::Guards;
use crate::kept;
use crate::key_file;
use crate::limit_database::LimitDatabase;
use crate::served::NamedModel;
use crate::served_list::ServedList;
use crate::settings::state_folder;

const EXAMPLES: &str = "\
Examples:
  alloquy serve                                     the default model at http://127.0.0.1:8080/v1
  alloquy serve --model qwen=onnx-community/Qwen3-0.6B-ONNX --model pocket
  alloquy serve --model qwen=Qwen/Qwen3-4B@http://localhost:8000   whose tokens a server computes
  alloquy serve --check                             whether it would work; loads nothing, exits with 1 if not
  alloquy serve --bind 0.0.0.0:8080 --host llm.example.org   for other machines, with keys
  curl localhost:8080/v1/chat/completions -H 'content-type: application/json' \\
    -d '{\"messages\": [{\"role\": \"user\", \"content\": \"Hello\"}]}'

Clients of OpenAI's API need only the address. Models are loaded by the first request that names them. How they run is set in the \
configuration file, by the keys of `alloquy chat` such as threads and provider; so are the texts that are removed (guards). `alloquy keys add` creates keys. Ctrl-C or \
SIGTERM ends the server once the running replies have ended, and a second Ctrl-C ends it at once; SIGHUP reads the keys and the configuration file \
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
            notes: context.notes,
        };
        let models = list.models(&context.settings)?;
        let mut summaries = Vec::new();
        for model in &models {
            summaries.push((model.name.clone(), model.describe()?));
        }
        let store = context.settings.settle(&self.store)?;
        let address = serving.bind.unwrap_or(ADDRESS);
        if self.check {
            for model in &models {
                model.reach()?;
            }
            let store = pollster::block_on(kept::inspect_store(&store))?;
            let builder = builder(context, &serving, models)?;
            builder.build()?.check_address(address)?;
            return report(context, address, &summaries, &store);
        }
        let opened = pollster::block_on(kept::kept(&store))?;
        let server = builder(context, &serving, models)?.store(opened.store).owner(opened.owner).build()?;
        server.check_address(address)?;
        let listener = listen(address)?;
        for (name, summary) in &summaries {
            context.notes.say(format_args!("{name}: {summary}"));
        }
        context.notes.say(format_args!("serving at http://{}/v1", listener.local_addr().unwrap_or(address)));
        let settings = context.settings.clone();
        Ok(server.run(listener, move |server| list.reload(&settings, server))?)
    }
}

fn builder(context: &Context, serving: &ServingArguments, models: Vec<NamedModel>) -> Result<ServerBuilder> {
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
    for host in &serving.media_host {
        builder = builder.media_host(host);
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
