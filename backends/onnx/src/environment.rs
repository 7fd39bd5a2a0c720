//! The one environment of ONNX Runtime that a process may have.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use alloquy_core::{Error, ErrorKind, Result};
use alloquy_onnx_runtime::{DownloadEvent, Library, Locator};
use ort::environment::Environment;
use ort::logging::LogLevel;

use crate::error;
use crate::telemetry;

/// The loaded library. The first engine loads it, and it stays until the process ends: ONNX Runtime can be loaded only once.
static LOADED: Mutex<Option<Loaded>> = Mutex::new(None);

#[derive(Clone)]
struct Loaded {
    environment: Environment,
    library: Library,
    /// The libraries of providers that were registered.
    plugged_in: Vec<PathBuf>,
}

/// Returns the environment; the first call finds the library and loads it.
///
/// An engine that names another library than the one already loaded is refused.
pub(crate) fn environment(locator: &Locator, on_event: &mut dyn FnMut(DownloadEvent)) -> Result<Environment> {
    let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(loaded) = loaded.as_ref() {
        return same_library(loaded, locator).map(|()| loaded.environment.clone());
    }
    let library = locator.locate(on_event).map_err(not_located)?;
    let environment = load(&library.path)?;
    *loaded = Some(Loaded { environment: environment.clone(), library, plugged_in: Vec::new() });
    Ok(environment)
}

/// Returns the library that was loaded, if one was.
pub(crate) fn loaded_library() -> Option<Library> {
    let loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    loaded.as_ref().map(|loaded| loaded.library.clone())
}

/// Registers a library of an execution provider, for the rest of the process.
///
/// # Errors
/// [`ErrorKind::Backend`] if ONNX Runtime is not loaded, or cannot use the library.
pub(crate) fn plug_in(library: &Path) -> Result<()> {
    let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(loaded) = loaded.as_mut() else {
        return Err(Error::new(ErrorKind::Backend, "ONNX Runtime is not loaded"));
    };
    let library = std::path::absolute(library).unwrap_or_else(|_| library.to_owned());
    if loaded.plugged_in.contains(&library) {
        return Ok(());
    }
    // A registered library needs a name that no other has.
    let name = format!("alloquy-{}", loaded.plugged_in.len());
    let action = format!("register the provider library {library:?}");
    loaded.environment.register_ep_library(name, &library).map_err(error::runtime(&action))?;
    loaded.plugged_in.push(library);
    Ok(())
}

/// Returns whether a registered library has a device for a provider, by the name that ONNX Runtime has for it.
pub(crate) fn is_plugged_in(provider: &str) -> bool {
    let loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(loaded) = loaded.as_ref().filter(|loaded| !loaded.plugged_in.is_empty()) else {
        return false;
    };
    loaded.environment.devices().any(|device| device.ep().is_ok_and(|name| name == provider))
}

/// Returns the libraries of providers that were registered.
pub(crate) fn plugged_in() -> Vec<PathBuf> {
    let loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    loaded.as_ref().map(|loaded| loaded.plugged_in.clone()).unwrap_or_default()
}

fn same_library(loaded: &Loaded, locator: &Locator) -> Result<()> {
    let Some(named) = locator.named_library() else {
        return Ok(());
    };
    let named = std::path::absolute(named).unwrap_or_else(|_| named.to_owned());
    if named != loaded.library.path {
        let message = format!(
            "ONNX Runtime is already loaded from {:?}; a process cannot load {named:?} too",
            loaded.library.path
        );
        return Err(Error::new(ErrorKind::Backend, message));
    }
    Ok(())
}

fn load(library: &Path) -> Result<Environment> {
    telemetry::require_off()?;
    // The path is absolute: Windows has an onnxruntime.dll of its own, and it is an old one.
    let builder = ort::init_from(library)
        .map_err(|error| unusable(library).with_source(error::Cause(error.to_string())))?;
    // On Windows events go to the system's own tracing, and this call turns that off; elsewhere all events are off already.
    let builder = builder.with_telemetry(false).with_name("alloquy").with_logger(Arc::new(log));
    let environment = builder.build().map_err(error::runtime("make its environment"))?;
    environment.set_log_level(LogLevel::Warning);
    Ok(environment)
}

fn unusable(library: &Path) -> Error {
    let message = format!("{library:?} cannot be used; Alloquy needs ONNX Runtime 1.23 or later");
    Error::new(ErrorKind::Backend, message)
}

/// Forwards a message of ONNX Runtime, which would write it to standard error otherwise.
fn log(level: LogLevel, category: &str, _: &str, place: &str, message: &str) {
    match level {
        LogLevel::Fatal | LogLevel::Error => {
            tracing::error!(target: "onnxruntime", category, place, "{message}");
        }
        LogLevel::Warning => tracing::warn!(target: "onnxruntime", category, place, "{message}"),
        LogLevel::Info | LogLevel::Verbose => {
            tracing::trace!(target: "onnxruntime", category, place, "{message}");
        }
    }
}

fn not_located(error: alloquy_onnx_runtime::LocateError) -> Error {
    Error::new(ErrorKind::Backend, error.to_string()).with_source(error)
}
