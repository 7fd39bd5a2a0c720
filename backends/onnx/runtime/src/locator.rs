//! Searches for a library, in a fixed order of places.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use etcetera::BaseStrategy as _;

use crate::elf;
use crate::error::{LocateError, Result};
use crate::event::DownloadEvent;
use crate::gpu::Gpu;
use crate::install::Staging;
use crate::installed;
use crate::library::{Library, LibraryOrigin, library_in};
use crate::python;
use crate::rights::{self, Readers, Trust};
use crate::wheel::Wheel;

/// The variable that names the folder of files that can be fetched again.
const CACHE: &str = "ALLOQUY_CACHE";

/// Whether a library is on this machine; the result of [`Locator::look`].
///
/// ```
/// use alloquy_onnx_runtime::{LocateError, Locator, Presence};
///
/// fn line(locator: &Locator) -> Result<String, LocateError> {
///     Ok(match locator.look()? {
///         Presence::Found(library) => format!("found {}", library.path.display()),
///         Presence::Fetchable(wheel) => format!("{} bytes can be fetched", wheel.bytes),
///         _ => "unknown".to_owned(),
///     })
/// }
///
/// let locator = Locator::new().library("/nowhere/libonnxruntime.so");
/// assert!(matches!(line(&locator), Err(LocateError::NotAFile { .. })));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Presence {
    /// The library is on this machine.
    Found(Library),
    /// The library is missing, and this wheel would be fetched.
    Fetchable(&'static Wheel),
}

/// What happens when no library is found; set with [`Locator::policy`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum DownloadPolicy {
    /// Fetch the pinned wheel, unless `ALLOQUY_OFFLINE` is set.
    #[default]
    Fetch,
    /// Fail with the command that would set it up.
    Never,
}

/// A search for the library, set up as a builder.
///
/// The environment variables `ORT_DYLIB_PATH`, `ALLOQUY_CACHE` and `ALLOQUY_OFFLINE` are read by each search.
///
/// ```
/// use alloquy_onnx_runtime::{LocateError, Locator, DownloadPolicy};
///
/// let locator = Locator::new().library("/nowhere/libonnxruntime.so").policy(DownloadPolicy::Never);
/// assert!(matches!(locator.locate(|_| {}), Err(LocateError::NotAFile { .. })));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Locator {
    library: Option<PathBuf>,
    cache: Option<PathBuf>,
    policy: DownloadPolicy,
    gpu: Gpu,
    wheel: Option<PathBuf>,
    digest: Option<String>,
}

impl Locator {
    /// Creates a locator that searches every place, and fetches the library when none has it.
    pub fn new() -> Self {
        Self::default()
    }

    /// Names the library; no other place is searched.
    #[must_use]
    pub fn library(mut self, path: impl Into<PathBuf>) -> Self {
        self.library = Some(path.into());
        self
    }

    /// Returns the library that was named.
    pub fn named_library(&self) -> Option<&Path> {
        self.library.as_deref()
    }

    /// Sets the cache's root instead of `ALLOQUY_CACHE` and the user's cache folder.
    #[must_use]
    pub fn cache(mut self, root: impl Into<PathBuf>) -> Self {
        self.cache = Some(root.into());
        self
    }

    /// Sets what happens when no library is found.
    #[must_use]
    pub fn policy(mut self, policy: DownloadPolicy) -> Self {
        self.policy = policy;
        self
    }

    /// Requires a library that supports an accelerator.
    #[must_use]
    pub fn gpu(mut self, gpu: Gpu) -> Self {
        self.gpu = gpu;
        self
    }

    /// Installs from a local wheel instead of downloading one; its digest must be the pinned one.
    #[must_use]
    pub fn wheel(mut self, path: impl Into<PathBuf>) -> Self {
        self.wheel = Some(path.into());
        self
    }

    /// Pins another digest: SHA-256, 64 hexadecimal digits. For mirrors that rebuild wheels.
    #[must_use]
    pub fn digest(mut self, sha256: impl Into<String>) -> Self {
        self.digest = Some(sha256.into());
        self
    }

    /// Finds the library, or fetches it; `on_event` receives the steps of a fetch.
    ///
    /// # Errors
    /// Every kind of [`LocateError`].
    pub fn locate(
        &self,
        mut on_event: impl FnMut(DownloadEvent),
    ) -> std::result::Result<Library, LocateError> {
        match self.search()? {
            Presence::Found(library) => Ok(library),
            Presence::Fetchable(wheel) => self.fetch(wheel, &mut on_event),
        }
    }

    /// Returns the pinned library from the cache, and fetches it into the cache if it is missing. No other place is searched.
    ///
    /// Tools that build packages of a program use it: the library that they copy is the pinned one.
    ///
    /// # Errors
    /// Every kind of [`LocateError`].
    ///
    /// ```no_run
    /// use alloquy_onnx_runtime::Locator;
    ///
    /// let library = Locator::new().cache("target/runtime").install(|event| println!("{event}"))?;
    /// assert!(library.path.starts_with(std::env::current_dir().unwrap_or_default()));
    /// # Ok::<(), alloquy_onnx_runtime::LocateError>(())
    /// ```
    pub fn install(
        &self,
        mut on_event: impl FnMut(DownloadEvent),
    ) -> std::result::Result<Library, LocateError> {
        let wheel = Wheel::pinned(self.gpu)?;
        let folder = self.cached(wheel)?;
        if let Some(library) = self.in_cache(wheel, &folder)? {
            return Ok(library);
        }
        if let Some(reason) = self.refusal() {
            let looked_at = vec![folder.display().to_string()];
            return Err(LocateError::NotFound { reason, command: wheel.command(), looked_at });
        }
        self.fetch(wheel, &mut on_event)
    }

    /// Finds the library, or returns what [`locate`](Self::locate) would fetch; fetches nothing.
    ///
    /// # Errors
    /// Every kind of [`LocateError`]; [`NoPython`](LocateError::NoPython) or
    /// [`NoPip`](LocateError::NoPip) where no Python could fetch the library.
    ///
    /// ```no_run
    /// use alloquy_onnx_runtime::{Locator, Presence};
    ///
    /// match Locator::new().look()? {
    ///     Presence::Found(library) => println!("{}", library.path.display()),
    ///     Presence::Fetchable(wheel) => println!("to be fetched: {} bytes", wheel.bytes),
    ///     _ => {}
    /// }
    /// # Ok::<(), alloquy_onnx_runtime::LocateError>(())
    /// ```
    pub fn look(&self) -> std::result::Result<Presence, LocateError> {
        let found = self.search()?;
        if let (Presence::Fetchable(wheel), None) = (&found, &self.wheel) {
            python::require(wheel)?;
        }
        Ok(found)
    }

    /// Returns the library that the caller or the environment names. A wrong name is an error; the search does not continue.
    fn named(&self) -> Result<Option<Library>> {
        if let Some(path) = &self.library {
            return named_library(path, LibraryOrigin::Option, "the option").map(Some);
        }
        let Some(path) = variable("ORT_DYLIB_PATH") else { return Ok(None) };
        named_library(Path::new(&path), LibraryOrigin::Variable, "ORT_DYLIB_PATH").map(Some)
    }

    fn search(&self) -> Result<Presence> {
        if let Some(library) = self.named()? {
            return Ok(Presence::Found(library));
        }
        let mut looked_at = vec!["ORT_DYLIB_PATH".to_owned()];
        for folder in beside_executable() {
            if let Some(path) = library_in(&folder, self.gpu) {
                return beside(path).map(Presence::Found);
            }
            looked_at.push(folder.display().to_string());
        }
        let wheel = Wheel::pinned(self.gpu);
        if let Ok(wheel) = &wheel
            && let Ok(folder) = self.cached(wheel)
        {
            if let Some(library) = self.in_cache(wheel, &folder)? {
                return Ok(Presence::Found(library));
            }
            looked_at.push(folder.display().to_string());
        }
        if let Some(path) = python::installed_library(self.gpu) {
            elf::check(&path)?;
            return Ok(Presence::Found(Library { path, origin: LibraryOrigin::Python }));
        }
        looked_at.push("python's onnxruntime of at least 1.23".to_owned());
        let wheel = wheel?;
        match self.refusal() {
            Some(reason) => Err(LocateError::NotFound { reason, command: wheel.command(), looked_at }),
            None => Ok(Presence::Fetchable(wheel)),
        }
    }

    /// Returns the library of `wheel` if it is installed and unchanged. Other libraries in that folder do not count.
    fn in_cache(&self, wheel: &Wheel, folder: &Path) -> Result<Option<Library>> {
        if !wheel.files().all(|file| folder.join(file.name).is_file()) {
            return Ok(None);
        }
        let path = folder.join(wheel.library.name);
        for file in installed::files(folder, wheel) {
            rights::check(&file, &path, Trust::Owner)?;
        }
        installed::check(folder, self.readers(), wheel)?;
        Ok(Some(Library { path, origin: LibraryOrigin::Cache }))
    }

    /// Returns who may read the cache: a cache that the caller or the environment names may be filled for other users.
    fn readers(&self) -> Readers {
        let is_named = self.cache.is_some() || variable(CACHE).is_some();
        if is_named { Readers::All } else { Readers::Owner }
    }

    fn cached(&self, wheel: &Wheel) -> Result<PathBuf> {
        let root = self.cache.clone().map_or_else(cache_folder, Ok)?;
        let folder = root.join("onnxruntime").join(wheel.folder());
        std::path::absolute(folder).map_err(crate::error::io_error("resolve", &root))
    }

    /// Returns why nothing may be fetched; `None` when it may.
    fn refusal(&self) -> Option<String> {
        match self.policy {
            DownloadPolicy::Never if self.gpu == Gpu::Cuda => {
                Some("the library with CUDA is not fetched automatically because it is large".to_owned())
            }
            DownloadPolicy::Never => Some("it may not be fetched here".to_owned()),
            DownloadPolicy::Fetch if variable("ALLOQUY_OFFLINE").is_some_and(|value| value != "0") => {
                Some("it is not fetched because ALLOQUY_OFFLINE is set".to_owned())
            }
            DownloadPolicy::Fetch => None,
        }
    }

    fn fetch(&self, wheel: &Wheel, on_event: &mut dyn FnMut(DownloadEvent)) -> Result<Library> {
        let folder = self.cached(wheel)?;
        let staging = Staging::begin(&folder, self.readers(), on_event)?;
        if let Some(library) = self.in_cache(wheel, &folder)? {
            // Another process installed it while this one waited for the lock.
            return Ok(library);
        }
        let digest = self.digest.as_deref().unwrap_or(wheel.sha256);
        let archive = match &self.wheel {
            Some(path) => path.clone(),
            None => {
                on_event(DownloadEvent::Downloading { wheel: wheel.name(), bytes: wheel.bytes });
                python::download(wheel, digest, &staging.download_folder()?)?
            }
        };
        staging.unpack(wheel, &archive, digest, on_event)?;
        staging.publish(on_event)?;
        Ok(Library { path: folder.join(wheel.library.name), origin: LibraryOrigin::Fetched })
    }
}

fn named_library(path: &Path, origin: LibraryOrigin, named_by: &'static str) -> Result<Library> {
    let path = std::path::absolute(path).map_err(crate::error::io_error("resolve", path))?;
    if !path.is_file() {
        return Err(LocateError::NotAFile { named_by, path });
    }
    elf::check(&path)?;
    Ok(Library { path, origin })
}

/// Returns the file of this program. Where a link was started, as package managers put them into `bin`, it is the linked file.
fn executable() -> std::io::Result<PathBuf> {
    let path = env::current_exe()?;
    if path.is_symlink() { path.canonicalize() } else { Ok(path) }
}

/// Returns the folder of this program, and `../lib/NAME` and `../lib` from there; `NAME` is that of the program.
fn beside_executable() -> Vec<PathBuf> {
    let mut folders = Vec::new();
    if let Ok(executable) = executable()
        && let Some(beside) = executable.parent()
    {
        folders.push(beside.to_owned());
        if let (Some(above), Some(name)) = (beside.parent(), executable.file_stem()) {
            folders.push(above.join("lib").join(name));
            folders.push(above.join("lib"));
        }
    }
    folders
}

/// Returns a library beside this program. Users who may change the program may change the library too; other users may not.
fn beside(path: PathBuf) -> Result<Library> {
    let executable = executable().map_err(crate::error::io_error("find", Path::new("this program")))?;
    if executable.parent() != path.parent() {
        rights::check(&path, &path, Trust::OwnerOf(&executable))?;
    }
    elf::check(&path)?;
    Ok(Library { path, origin: LibraryOrigin::Executable })
}

/// Returns an environment variable. An empty one counts as unset, as in shells.
fn variable(name: &str) -> Option<OsString> {
    env::var_os(name).filter(|value| !value.is_empty())
}

/// Returns the folder of files that can be fetched again: `ALLOQUY_CACHE`, or `alloquy` in the user's cache folder.
///
/// # Errors
/// [`LocateError::NoCache`] when the home folder is unknown.
pub fn cache_folder() -> Result<PathBuf> {
    if let Some(named) = variable(CACHE) {
        return Ok(PathBuf::from(named));
    }
    let folders = etcetera::choose_base_strategy().map_err(|_| LocateError::NoCache)?;
    Ok(folders.cache_dir().join("alloquy"))
}
