//! Execution providers by name. What was asked for is used or refused, never replaced.

use alloquy_core::{Error, ErrorKind, Result};
use ort::ep::ExecutionProviderDispatch;

/// One execution provider that this build knows.
struct Provider {
    name: &'static str,
    /// Says whether the loaded library has it.
    is_available: fn() -> ort::Result<bool>,
    /// `None` needs no registration.
    build: Option<fn() -> ExecutionProviderDispatch>,
}

#[cfg(any(feature = "cuda", feature = "coreml", feature = "directml", feature = "webgpu"))]
macro_rules! provider {
    ($name:literal, $type:ty) => {
        Provider {
            name: $name,
            is_available: <$type as ort::ep::ExecutionProvider>::is_available,
            build: Some(|| <$type>::default().build()),
        }
    };
}

const PROVIDERS: &[Provider] = &[
    Provider { name: "cpu", is_available: || Ok(true), build: None },
    #[cfg(feature = "cuda")]
    provider!("cuda", ort::ep::CUDA),
    #[cfg(feature = "coreml")]
    provider!("coreml", ort::ep::CoreML),
    #[cfg(feature = "directml")]
    provider!("directml", ort::ep::DirectML),
    #[cfg(feature = "webgpu")]
    provider!("webgpu", ort::ep::WebGPU),
];

/// Returns what to register for the provider called `name`.
///
/// The library must be loaded.
pub(crate) fn provider(name: &str) -> Result<Vec<ExecutionProviderDispatch>> {
    let known = PROVIDERS.iter().find(|provider| provider.name == name);
    let available = known.filter(|provider| (provider.is_available)().unwrap_or(false));
    match available {
        // A provider that cannot be registered would otherwise be left out without a word.
        Some(provider) => Ok(provider.build.iter().map(|build| build().error_on_failure()).collect()),
        None => Err(unknown(name)),
    }
}

/// Returns the names of those that this build knows and the loaded library has.
pub(crate) fn available() -> Vec<&'static str> {
    let available = PROVIDERS.iter().filter(|provider| (provider.is_available)().unwrap_or(false));
    available.map(|provider| provider.name).collect()
}

fn unknown(name: &str) -> Error {
    let available = available();
    let message = format!(
        "execution provider {name:?} is not available in this build with this onnx runtime, one of: {}",
        available.join(", ")
    );
    Error::new(ErrorKind::Backend, message)
}
