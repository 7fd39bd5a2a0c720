//! Finds a model by its path, or by its name on the Hugging Face Hub.

use std::path::{Path, PathBuf};

use alloquy_core::Result;
#[cfg(feature = "hub")]
use alloquy_core::{Error, ErrorKind};
#[cfg(feature = "hub")]
use alloquy_hub::{HubCache, HubError, ModelName};

/// Returns the path of a model: the given one if it exists, else that of the model of this name in the cache of the Hub.
///
/// A path that is neither is returned as it is. Opening it fails with an error that names it.
#[cfg(feature = "hub")]
pub(super) fn located(path: &Path) -> Result<PathBuf> {
    let Some(name) = name(path) else { return Ok(path.to_owned()) };
    let found = HubCache::from_env().and_then(|cache| cache.find(&name));
    match found {
        Ok(Some(model)) => Ok(model.path),
        Ok(None) => Err(absent(&name)),
        Err(error) => Err(unreadable(&name, error)),
    }
}

#[cfg(not(feature = "hub"))]
pub(super) fn located(path: &Path) -> Result<PathBuf> {
    Ok(path.to_owned())
}

/// Returns the folder of the files that describe a model: the given path if it exists, else that of the model of this name in the cache of
/// the Hub, which needs no weights.
#[cfg(all(feature = "hub", feature = "remote"))]
pub(super) fn located_description(path: &Path) -> Result<PathBuf> {
    let Some(name) = name(path) else { return Ok(path.to_owned()) };
    let found = HubCache::from_env().and_then(|cache| cache.find_description(&name));
    match found {
        Ok(Some(model)) => Ok(model.path),
        Ok(None) => {
            let message = format!(
                "there is no folder {:?}, and the tokenizer of no model of that name has been fetched from the Hugging Face Hub; \
                 `alloquy pull {name} --no-weights` fetches it",
                name.to_string()
            );
            Err(Error::new(ErrorKind::NotFound, message))
        }
        Err(error) => Err(unreadable(&name, error)),
    }
}

#[cfg(all(not(feature = "hub"), feature = "remote"))]
pub(super) fn located_description(path: &Path) -> Result<PathBuf> {
    Ok(path.to_owned())
}

/// Reads a path that does not exist as a name on the Hub.
#[cfg(feature = "hub")]
fn name(path: &Path) -> Option<ModelName> {
    if path.exists() {
        return None;
    }
    path.to_str()?.parse().ok()
}

#[cfg(feature = "hub")]
fn absent(name: &ModelName) -> Error {
    let message = format!(
        "there is no folder {:?}, and no model of that name has been fetched from the Hugging Face Hub; `alloquy pull {name}` fetches it",
        name.to_string()
    );
    Error::new(ErrorKind::NotFound, message)
}

#[cfg(feature = "hub")]
fn unreadable(name: &ModelName, error: HubError) -> Error {
    Error::new(ErrorKind::Model, format!("the cache of models cannot be searched for {name}"))
        .with_source(error)
}
