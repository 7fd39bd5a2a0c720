//! Finds a LoRA adapter of a server by its name.

use alloquy_core::{Error, ErrorKind, Result};
use serde_json::Value;

use crate::dialect::Dialect;
use crate::http::Http;
use crate::probe::{models, name_of};
use crate::wire::{Adapter, quoted};

/// Returns how requests name an adapter.
///
/// # Errors
/// Why the server does not answer; [`ErrorKind::NotFound`] for an adapter that it does not list; [`ErrorKind::Unsupported`] where
/// the dialect has no adapters.
pub(crate) async fn find(http: &Http, dialect: Dialect, name: &str) -> Result<Adapter> {
    match dialect {
        Dialect::Vllm | Dialect::Dynamo => {
            listed(http, name).await?;
            Ok(Adapter::Model(name.to_owned()))
        }
        Dialect::Sglang => {
            listed(http, name).await?;
            Ok(Adapter::Named(name.to_owned()))
        }
        Dialect::LlamaCpp => {
            let adapters = http.get("/lora-adapters").await.map_err(|fault| fault.error)?;
            numbered(&adapters, name)
        }
        // Its server has no list.
        Dialect::TensorRtLlm => Ok(Adapter::Named(name.to_owned())),
        Dialect::Completions => {
            let message = format!(
                "the general dialect has no adapters such as {name:?}: set the dialect of the server, or connect with the \
                 adapter as the model"
            );
            Err(Error::new(ErrorKind::Unsupported, message))
        }
    }
}

/// Checks that a server that lists adapters as models lists this one.
async fn listed(http: &Http, name: &str) -> Result<()> {
    let models = models(http).await?;
    let names: Vec<&str> = models.iter().filter_map(name_of).collect();
    if names.contains(&name) { Ok(()) } else { Err(unknown(name, &names)) }
}

/// Finds an adapter in llama.cpp's list: by its path, or by the last part of it.
fn numbered(adapters: &Value, name: &str) -> Result<Adapter> {
    let mut paths = Vec::new();
    for entry in adapters.as_array().into_iter().flatten() {
        let path = entry.get("path").and_then(Value::as_str).unwrap_or_default();
        let last = path.rsplit(['/', '\\']).next().unwrap_or(path);
        let number = entry.get("id").and_then(Value::as_u64);
        if let Some(number) = number.filter(|_| path == name || last == name) {
            return Ok(Adapter::Number(number));
        }
        paths.push(path);
    }
    Err(unknown(name, &paths))
}

fn unknown(name: &str, known: &[&str]) -> Error {
    let known = quoted(&known.join(", "));
    let message = format!("the server has no adapter {name:?}, but: {known}; start it with the adapter");
    Error::new(ErrorKind::NotFound, message)
}
