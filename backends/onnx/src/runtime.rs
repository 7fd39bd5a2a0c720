//! What the library of ONNX Runtime says of itself, for people who look for a problem. Knows no model.

use std::ffi::CStr;
use std::path::Path;

use alloquy_core::{Error, ErrorKind, Result};
use alloquy_onnx_runtime::{Library, Locator};
use ort::sys::OrtApiBase;

use crate::environment::{environment, loaded_library};
use crate::providers::available;

/// The library that is loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Runtime {
    /// Where it was found.
    pub library: Library,
    /// Its version, such as `1.31.1`.
    pub version: String,
    /// The execution providers that this build of the crate knows and the library has.
    pub providers: Vec<&'static str>,
}

/// Finds the library and loads it, which is for the rest of the process.
///
/// # Errors
/// [`ErrorKind::Backend`](alloquy_core::ErrorKind::Backend) when there is none, or none that can be used.
///
/// ```no_run
/// use alloquy_onnx::{Locator, Policy, inspect_runtime};
///
/// let runtime = inspect_runtime(&Locator::new().policy(Policy::Never))?;
/// println!("{} from {}", runtime.version, runtime.library.path.display());
/// assert!(runtime.providers.contains(&"cpu"));
/// # Ok::<(), alloquy_core::Error>(())
/// ```
pub fn inspect_runtime(locator: &Locator) -> Result<Runtime> {
    environment(locator, &mut |_| {})?;
    let library = library()?;
    let version = version(&library.path)?;
    Ok(Runtime { library, version, providers: available() })
}

/// Returns the version of the library that is loaded.
pub(crate) fn loaded_version() -> Result<String> {
    version(&library()?.path)
}

/// Returns how many bytes the file of the loaded library has: builds of one version may differ.
pub(crate) fn loaded_size() -> Result<u64> {
    let path = library()?.path;
    let metadata = std::fs::metadata(&path).map_err(|source| crate::error::unreadable(&path, source))?;
    Ok(metadata.len())
}

/// Returns the first two numbers of the loaded library's version, where it begins with them.
pub(crate) fn loaded_numbers() -> Result<Option<(u32, u32)>> {
    Ok(numbers(&loaded_version()?))
}

fn numbers(version: &str) -> Option<(u32, u32)> {
    let mut numbers = version.split('.').map_while(|number| number.parse().ok());
    Some((numbers.next()?, numbers.next()?))
}

/// Refuses a loaded library that is older than `least`; `reason` says what is wrong with it.
pub(crate) fn require_version(least: (u32, u32), reason: &str) -> Result<()> {
    let library = library()?;
    let version = version(&library.path)?;
    if numbers(&version).is_some_and(|version| version >= least) {
        return Ok(());
    }
    let (major, minor) = least;
    let message = format!(
        "onnx runtime {version} in {:?} cannot run this model: {reason} {major}.{minor}",
        library.path
    );
    Err(Error::new(ErrorKind::Backend, message))
}

fn library() -> Result<Library> {
    let absent = || Error::new(ErrorKind::Backend, "onnx runtime was loaded and is not there");
    loaded_library().ok_or_else(absent)
}

/// Asks a library that is loaded already for its version.
#[allow(unsafe_code)] // a function of a C library
fn version(path: &Path) -> Result<String> {
    let silent = |source| {
        Error::new(ErrorKind::Backend, format!("{path:?} does not tell its version")).with_source(source)
    };
    // SAFETY: the environment was made with this very library, so its initialisers have run already.
    let library = unsafe { libloading::Library::new(path) }.map_err(silent)?;
    // SAFETY: ONNX Runtime exports this function with this signature; `ort` has called it before.
    let base = unsafe { library.get::<unsafe extern "C" fn() -> *const OrtApiBase>(b"OrtGetApiBase") };
    let base = base.map_err(silent)?;
    // SAFETY: it returns a table that lives as long as the library, and the version is a C string in it.
    let version = unsafe { CStr::from_ptr(((*base()).GetVersionString)()) };
    Ok(version.to_string_lossy().into_owned())
}
