//! Finds ONNX Runtime on this machine. Fetches nothing.

use alloquy::core::{Error, ErrorKind, Result};
use alloquy::onnx::{DownloadPolicy, Gpu, LocateError, Locator, Presence};

use crate::arguments::{ModelArguments, names};
use crate::open::{self, describe};

/// Whether ONNX Runtime is available.
pub(crate) enum Runtime {
    /// It is loaded; the text says from where, and what it can compute on.
    Loaded(String),
    /// It is not on this machine; this many bytes would be fetched.
    Fetchable(u64),
}

/// Finds the library of ONNX Runtime and loads it; nothing is fetched.
pub(crate) fn runtime(arguments: &ModelArguments) -> Result<Runtime> {
    let locator = match arguments.provider.as_deref().and_then(|named| named.split(',').next()) {
        // A build without it says so when the model is loaded.
        Some("cuda" | open::AUTO) if alloquy::onnx::providers().any(|name| name == "cuda") => {
            Locator::new().gpu(Gpu::Cuda).policy(DownloadPolicy::Never)
        }
        _ => Locator::new(),
    };
    // The fastest provider may be another one than CUDA, which needs a library of its own.
    let is_auto = arguments.provider.as_deref() == Some(open::AUTO);
    let locator = if is_auto && locator.look().is_err() { Locator::new() } else { locator };
    if let Presence::Fetchable(wheel) = locator.look().map_err(absent)? {
        return Ok(Runtime::Fetchable(wheel.bytes));
    }
    let runtime = alloquy::onnx::inspect_runtime(&locator.policy(DownloadPolicy::Never))?;
    let path = runtime.library.path.display();
    let providers = runtime.providers.join(", ");
    Ok(Runtime::Loaded(format!("ONNX Runtime {} at {path}, computes on {providers}", runtime.version)))
}

fn absent(source: LocateError) -> Error {
    Error::new(ErrorKind::Backend, source.to_string()).with_source(source)
}

/// Returns [`Model::summary`](alloquy::Model::summary) without loading anything. A provider that this build does not have is an
/// error.
pub(crate) fn described(arguments: &ModelArguments) -> Result<String> {
    let provider = arguments.provider.as_deref().unwrap_or(open::PROVIDER);
    if provider != open::AUTO {
        alloquy::onnx::require_providers(names(provider))?;
    }
    Ok(describe(arguments.model.as_deref())?.summary())
}
