//! What the library of ONNX Runtime says of itself, for people who look for a problem. Knows no model.

use alloquy_core::{Error, ErrorKind, Result};
use alloquy_onnx_runtime::{Library, Locator};

use crate::environment::{environment, loaded_library};
use crate::providers::available;

/// The library that is loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Runtime {
    /// Where it was found.
    pub library: Library,
    /// What it says of its build, version included.
    pub build: String,
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
/// println!("{} from {}", runtime.build, runtime.library.path.display());
/// assert!(runtime.providers.contains(&"cpu"));
/// # Ok::<(), alloquy_core::Error>(())
/// ```
pub fn inspect_runtime(locator: &Locator) -> Result<Runtime> {
    environment(locator, &mut |_| {})?;
    let library = loaded_library()
        .ok_or_else(|| Error::new(ErrorKind::Backend, "onnx runtime was loaded and is not there"))?;
    Ok(Runtime { library, build: ort::info().to_owned(), providers: available() })
}
