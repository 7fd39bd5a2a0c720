//! Facts about the loaded library of ONNX Runtime, for diagnosis.

use std::ffi::CStr;
use std::path::Path;

use alloquy_core::{Error, ErrorKind, Result};
use alloquy_onnx_runtime::{Library, Locator};
use ort::sys::OrtApiBase;

use crate::environment::{environment, loaded_library, plugged_in};
use crate::providers::available;

/// The loaded library; the result of [`inspect_runtime`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Runtime {
    /// Where it was found.
    pub library: Library,
    /// Its version, such as `1.31.1`.
    pub version: String,
    /// The execution providers that both this build of the crate and the library have.
    pub providers: Vec<&'static str>,
}

/// Finds the library and loads it for the rest of the process.
///
/// # Errors
/// [`ErrorKind::Backend`](alloquy_core::ErrorKind::Backend) if there is no library, or it cannot be used.
///
/// ```no_run
/// use alloquy_onnx::{Locator, DownloadPolicy, inspect_runtime};
///
/// let runtime = inspect_runtime(&Locator::new().policy(DownloadPolicy::Never))?;
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

/// Returns the version of the library that is loaded, with the names and sizes of the libraries of providers that were registered.
pub(crate) fn loaded_version() -> Result<String> {
    let mut version = version(&library()?.path)?;
    for path in plugged_in() {
        let metadata = std::fs::metadata(&path).map_err(|source| crate::error::unreadable(&path, source))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        version += &format!(" with {name} of {} bytes", metadata.len());
    }
    Ok(version)
}

/// Returns the size of the loaded library's file in bytes: builds of one version may differ.
pub(crate) fn loaded_size() -> Result<u64> {
    let path = library()?.path;
    let metadata = std::fs::metadata(&path).map_err(|source| crate::error::unreadable(&path, source))?;
    Ok(metadata.len())
}

/// Returns the first two numbers of the loaded library's version, if it begins with two numbers.
pub(crate) fn loaded_numbers() -> Result<Option<(u32, u32)>> {
    Ok(numbers(&loaded_version()?))
}

fn numbers(version: &str) -> Option<(u32, u32)> {
    let mut numbers = version.split('.').map_while(|number| number.parse().ok());
    Some((numbers.next()?, numbers.next()?))
}

/// Refuses a loaded library that is older than `least`; `reason` is the first part of a sentence that ends with that version.
pub(crate) fn require_version(least: (u32, u32), reason: &str) -> Result<()> {
    let library = library()?;
    let version = version(&library.path)?;
    if numbers(&version).is_some_and(|version| version >= least) {
        return Ok(());
    }
    let (major, minor) = least;
    let message = format!(
        "ONNX Runtime {version} in {:?} cannot run this model: {reason} {major}.{minor}",
        library.path
    );
    Err(Error::new(ErrorKind::Backend, message))
}

fn library() -> Result<Library> {
    loaded_library().ok_or_else(|| Error::new(ErrorKind::Backend, "ONNX Runtime is not loaded"))
}

/// Returns the version of a library that is already loaded.
#[allow(unsafe_code)] // a function of a C library
fn version(path: &Path) -> Result<String> {
    // SAFETY: the environment was made with this very library, so its initialisers have run already.
    let library = unsafe { libloading::Library::new(path) };
    let library = library.map_err(|source| unversioned(path, source))?;
    // SAFETY: ONNX Runtime exports this function with this signature; `ort` has called it before.
    let base = unsafe { library.get::<unsafe extern "C" fn() -> *const OrtApiBase>(b"OrtGetApiBase") };
    let base = base.map_err(|source| unversioned(path, source))?;
    // SAFETY: it returns a table that lives as long as the library, and the version is a C string in it.
    let version = unsafe { CStr::from_ptr(((*base()).GetVersionString)()) };
    Ok(version.to_string_lossy().into_owned())
}

fn unversioned(library: &Path, source: libloading::Error) -> Error {
    Error::new(ErrorKind::Backend, format!("{library:?} does not report its version")).with_source(source)
}
