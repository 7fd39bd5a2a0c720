//! Finds out what a server is: its dialect, its model, and how long its context is.

use std::sync::Arc;

use alloquy_core::media::Digest;
use alloquy_core::{Error, ErrorKind, Result};
use serde_json::{Value, json};

use crate::dialect::Dialect;
use crate::http::Http;
use crate::wire::{quoted, size};

/// How many slots a server may have. A number above it is none.
const MOST_SLOTS: usize = 1 << 12;

/// What a server says of itself.
#[derive(Debug)]
pub(crate) struct Probed {
    pub(crate) dialect: Dialect,
    pub(crate) model: String,
    pub(crate) context_length: Option<usize>,
    pub(crate) version: Option<String>,
    /// Numbers that depend on the model alone, by their names.
    pub(crate) facts: Vec<(&'static str, u64)>,
    pub(crate) slots: Option<ProbedSlots>,
}

/// The slots of a llama.cpp server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProbedSlots {
    pub(crate) count: usize,
    /// Which model it runs, and how: what a saved slot depends on.
    pub(crate) identity: Digest,
}

/// Asks a server. What the caller knows is not asked.
///
/// # Errors
/// Why the server does not answer; [`ErrorKind::NotFound`] for a model that it does not have; [`ErrorKind::Invalid`] when it
/// has several and none is chosen.
pub(crate) async fn probe(http: &Http, dialect: Option<Dialect>, model: Option<String>) -> Result<Probed> {
    let models = models(http).await?;
    let dialect = match dialect {
        Some(dialect) => dialect,
        None => detect(http, &models).await,
    };
    let entry = chosen(&models, model.as_deref())?;
    let name = model.or_else(|| entry.and_then(name_of).map(str::to_owned));
    let model = name.ok_or_else(no_model)?;
    let mut probed =
        Probed { dialect, model, context_length: None, version: None, facts: Vec::new(), slots: None };
    probed.context_length = entry.and_then(|entry| entry.get("max_model_len")).and_then(size);
    match dialect {
        Dialect::LlamaCpp => {
            let props = known(http, "/props").await;
            probed.context_length = props.pointer("/default_generation_settings/n_ctx").and_then(size);
            probed.version = text(&props, "build_info");
            probed.facts = entry.map(facts).unwrap_or_default();
            let slots =
                props.get("total_slots").and_then(size).filter(|slots| (1..=MOST_SLOTS).contains(slots));
            probed.slots =
                slots.map(|count| ProbedSlots { count, identity: identity(http, &probed.model, &props) });
        }
        Dialect::Vllm | Dialect::TensorRtLlm => {
            probed.version = text(&known(http, "/version").await, "version");
        }
        Dialect::Sglang => probed.version = text(&known(http, "/get_server_info").await, "version"),
        Dialect::Completions | Dialect::Dynamo => {}
    }
    Ok(probed)
}

/// Returns the identity of a model as a server runs it.
fn identity(http: &Http, model: &str, props: &Value) -> Digest {
    let fields = ["model_path", "model_ftype", "build_info"].map(|field| props.get(field));
    let context = props.pointer("/default_generation_settings/n_ctx");
    let whole = json!(["llama.cpp", http.address(), model, fields, context]);
    Digest::of(whole.to_string().as_bytes())
}

/// Returns the name of the model: the given one, which the server need not list, or that of its only one.
///
/// # Errors
/// As [`probe`].
pub(crate) async fn model_name(http: Arc<Http>, given: Option<String>) -> Result<String> {
    if let Some(name) = given {
        return Ok(name);
    }
    let models = models(&http).await?;
    let name = chosen(&models, None)?.and_then(name_of);
    name.map(str::to_owned).ok_or_else(no_model)
}

fn no_model() -> Error {
    Error::new(
        ErrorKind::Invalid,
        "the server lists no models: name the model with `model`, or --remote-model of the command line",
    )
}

/// Returns the list of models; an empty one where the server has no such list.
pub(crate) async fn models(http: &Http) -> Result<Vec<Value>> {
    match http.get("/v1/models").await {
        Ok(answer) => Ok(answer.get("data").and_then(Value::as_array).cloned().unwrap_or_default()),
        Err(fault) if matches!(fault.error.kind(), ErrorKind::NotFound | ErrorKind::Unsupported) => {
            Ok(Vec::new())
        }
        Err(fault) => Err(fault.error),
    }
}

/// Finds out which dialect the server speaks.
pub(crate) async fn detect(http: &Http, models: &[Value]) -> Dialect {
    let owner = models.first().and_then(|model| model.get("owned_by")).and_then(Value::as_str);
    match owner {
        Some("vllm") => return Dialect::Vllm,
        Some("llamacpp") => return Dialect::LlamaCpp,
        Some("sglang") => return Dialect::Sglang,
        Some("tensorrt_llm") => return Dialect::TensorRtLlm,
        // Hosted models of the same owner have no list of workers.
        Some("nvidia") if known(http, "/health").await.get("instances").is_some() => return Dialect::Dynamo,
        _ => {}
    }
    if known(http, "/props").await.get("default_generation_settings").is_some() {
        return Dialect::LlamaCpp;
    }
    if known(http, "/get_model_info").await.get("model_path").is_some() {
        return Dialect::Sglang;
    }
    Dialect::Completions
}

/// Returns what a server says at a path, or nothing.
async fn known(http: &Http, path: &str) -> Value {
    http.get(path).await.unwrap_or(Value::Null)
}

pub(crate) fn name_of(entry: &Value) -> Option<&str> {
    entry.get("id").and_then(Value::as_str)
}

/// Returns whether a model is an adapter. vLLM and SGLang list adapters as models that have a parent.
pub(crate) fn is_adapter(entry: &Value) -> bool {
    entry.get("parent").is_some_and(|parent| !parent.is_null())
}

/// Returns the entry of the model. A server without a list may have any model.
pub(crate) fn chosen<'m>(models: &'m [Value], wanted: Option<&str>) -> Result<Option<&'m Value>> {
    let names: Vec<&str> = models.iter().filter_map(name_of).collect();
    let Some(wanted) = wanted else {
        let mut bases = models.iter().filter(|entry| !is_adapter(entry));
        if let (Some(only), None) = (bases.next(), bases.next()) {
            return Ok(Some(only));
        }
        if names.len() > 1 {
            let message = format!(
                "the server has several models, choose one with `model`, or --remote-model of the command line: {}",
                quoted(&names.join(", "))
            );
            return Err(Error::new(ErrorKind::Invalid, message));
        }
        return Ok(models.first());
    };
    let found = models.iter().find(|entry| name_of(entry) == Some(wanted));
    if found.is_none() && !names.is_empty() {
        let message = format!("the server has no model {wanted:?}, but: {}", quoted(&names.join(", ")));
        return Err(Error::new(ErrorKind::NotFound, message));
    }
    Ok(found)
}

/// Returns what llama.cpp lists of a model. Quantisation does not change it.
fn facts(entry: &Value) -> Vec<(&'static str, u64)> {
    let mut facts = Vec::new();
    for name in ["n_vocab", "n_embd", "n_params"] {
        let number = entry.get("meta").and_then(|meta| meta.get(name)).and_then(Value::as_u64);
        facts.extend(number.map(|number| (name, number)));
    }
    facts
}

fn text(value: &Value, field: &str) -> Option<String> {
    value.get(field).and_then(Value::as_str).map(str::to_owned)
}
