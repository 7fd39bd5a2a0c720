//! `alloquy remote`: asks a server what it is, and what it can do.

use std::path::PathBuf;

use alloquy::core::{Error, ErrorKind, Result};
use alloquy::remote::{ChatProtocol, Dialect, RemoteChat, RemoteDecoder, RemoteReport, TokenizerCheck};
use clap::Args;
use serde_json::{Value, json};

use crate::arguments::RemoteArguments;
use crate::context::Context;
use crate::failure::Failure;
use crate::found;
use crate::hub;

const EXAMPLES: &str = "\
Examples:
  alloquy remote http://localhost:8000
  alloquy remote http://localhost:8000 --model ~/models/qwen3-4b   also compare the tokenizers
  alloquy remote http://localhost:8000 --json | jq -r '.models[].name'
  ALLOQUY_REMOTE_KEY=$(cat key) alloquy remote https://models.example.com
  alloquy chat --remote http://localhost:8000 --model Qwen/Qwen3-4B

A server that takes token ids (vLLM, llama.cpp, SGLang, TensorRT-LLM) computes, and everything else stays here: the template, the \
exact history, the protection against control tokens. --model is the folder of its model without weights, or its name on the \
Hub, of which only the tokenizer, the configuration and the template are fetched. Others have chat endpoints alone, which \
--remote-chat uses: `alloquy chat --remote https://models.example.com --remote-chat completions --model NAME`.

The exit code is 1 if no server answers, or if its tokenizer is another one.";

/// Show what a server is, which models it has, and what it can do
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Remote {
    /// The address of the server; that of --remote unless given
    #[arg(value_name = "URL")]
    url: Option<String>,

    /// A folder, or the name of a model of the Hub, whose tokenizer is compared with the server's
    #[arg(short, long, value_name = "NAME", env = "ALLOQUY_MODEL")]
    model: Option<PathBuf>,

    #[command(flatten)]
    remote: RemoteArguments,
}

impl Remote {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        let mut remote = context.settings.settle(&self.remote)?;
        if let Some(url) = &self.url {
            remote.remote = vec![url.clone()];
        }
        let Some(url) = remote.address().map_err(Failure::Arguments)?.map(str::to_owned) else {
            let message =
                "no server is named: write its address, as in `alloquy remote http://localhost:8000`";
            return Err(Failure::Arguments(Error::new(ErrorKind::Invalid, message)));
        };
        if let [further, ..] = remote.further_addresses() {
            let message =
                format!("one server is shown at a time: leave {further:?} out, or write one address");
            return Err(Failure::Arguments(Error::new(ErrorKind::Invalid, message)));
        }
        if let Some(protocol) = remote.remote_chat {
            return print_endpoint(&remote, &url, protocol, context);
        }
        let report = pollster::block_on(remote.server(&url)?.inspect(remote.dialect()))?;
        let is_unknown = report.models.is_empty() && report.dialect == Dialect::Completions;
        if is_unknown && remote.remote_model.is_none() {
            let message = format!(
                "{url} lists no models, so it may be no server of models: check the address, or name a model with --remote-model"
            );
            return Err(Error::new(ErrorKind::NotFound, message).into());
        }
        let check = match &self.model {
            Some(name) => {
                Some(compared(&context.settings.model_named(&name.display().to_string()), &remote, context)?)
            }
            None => None,
        };
        context.print(&text(&report, check.as_ref()), &value(&report, check.as_ref()))
    }
}

/// Prints the models of a chat endpoint.
fn print_endpoint(
    remote: &RemoteArguments,
    url: &str,
    protocol: ChatProtocol,
    context: &Context,
) -> Result<(), Failure> {
    // The name is of no request here, and without one a server with several models is refused.
    let builder = RemoteChat::builder(remote.server(url)?).protocol(protocol).model("any");
    let models = pollster::block_on(async { builder.connect().await?.models().await })?;
    let mut text = format!("address    {url}\nendpoint   {}\n", protocol.path());
    for model in &models {
        text += &format!("model      {model}\n");
    }
    let names: Vec<_> = models.iter().map(|name| json!({ "name": name })).collect();
    context.print(&text, &json!({"address": url, "endpoint": protocol.path(), "models": names}))
}

/// Compares the tokenizer of a folder or of a model of the Hub with that of the server.
///
/// # Errors
/// [`ErrorKind::Model`] for another one, and those of the folder and the server.
fn compared(name: &str, remote: &RemoteArguments, context: &Context) -> Result<TokenizerCheck> {
    let path = found::resolved(name.as_ref());
    hub::fetch_description(&path, context.notes)?;
    let url = remote.address()?.unwrap_or_default();
    let mut builder = RemoteDecoder::builder(remote.server(url)?, alloquy::remote_files(path)?);
    if let Some(model) = &remote.remote_model {
        builder = builder.model(model);
    }
    if let Some(dialect) = remote.dialect() {
        builder = builder.dialect(dialect);
    }
    Ok(pollster::block_on(builder.connect())?.description().tokenizer.clone())
}

fn text(report: &RemoteReport, check: Option<&TokenizerCheck>) -> String {
    let dialect = report.dialect;
    let mut lines = vec![("address", report.url.clone()), ("dialect", dialect.as_str().to_owned())];
    if let Some(version) = &report.version {
        lines.push(("version", version.clone()));
    }
    for model in &report.models {
        let context = model.context_length.map_or_else(String::new, |length| format!(" (context {length})"));
        lines.push(("model", format!("{}{context}", model.name)));
    }
    match check {
        Some(TokenizerCheck::Equal { texts }) => {
            lines.push(("tokenizer", format!("the same: {texts} texts have the same tokens")));
        }
        Some(TokenizerCheck::Unchecked { reason }) => {
            lines.push(("tokenizer", format!("not compared: {reason}")));
        }
        Some(other) => lines.push(("tokenizer", format!("{other:?}"))),
        None => {}
    }
    lines.push(("ignores", listed(&dialect.ignored_options())));
    lines.push(("grammars", listed(&dialect.grammars())));
    lines.push(("has", listed(&features(dialect))));
    let mut text = String::new();
    for (name, value) in lines {
        text += &format!("{name:<10} {value}\n");
    }
    text
}

fn listed(names: &[&str]) -> String {
    if names.is_empty() { "nothing".to_owned() } else { names.join(", ") }
}

/// Returns what servers of a dialect have besides replies.
fn features(dialect: Dialect) -> Vec<&'static str> {
    let features = [
        ("scores of texts", dialect.has_scores()),
        ("caches of owners", dialect.has_salts()),
        ("priorities", dialect.has_priorities()),
        ("cached tokens with the first token", dialect.reports_cache_first()),
    ];
    features.into_iter().filter(|(_, has)| *has).map(|(name, _)| name).collect()
}

fn value(report: &RemoteReport, check: Option<&TokenizerCheck>) -> Value {
    let dialect = report.dialect;
    let mut models = Vec::new();
    for model in &report.models {
        models.push(json!({"name": model.name, "context": model.context_length}));
    }
    let tokenizer = match check {
        Some(TokenizerCheck::Equal { texts }) => json!({"same": true, "texts": texts}),
        Some(TokenizerCheck::Unchecked { reason }) => json!({"same": null, "reason": reason}),
        _ => Value::Null,
    };
    json!({
        "address": report.url,
        "dialect": dialect.as_str(),
        "version": report.version,
        "models": models,
        "tokenizer": tokenizer,
        "ignored": dialect.ignored_options(),
        "grammars": dialect.grammars(),
        "scores": dialect.has_scores(),
        "salts": dialect.has_salts(),
        "priorities": dialect.has_priorities(),
        "cached_first": dialect.reports_cache_first(),
    })
}
