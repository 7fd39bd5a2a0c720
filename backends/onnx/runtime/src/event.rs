//! The steps of a fetch, as reported to an observer.

use std::fmt;
use std::path::PathBuf;

/// A step of a fetch, as passed to the observer of [`Locator::locate`](crate::Locator::locate). The variants are in the order in
/// which they happen.
///
/// ```
/// use alloquy_onnx_runtime::DownloadEvent;
///
/// assert_eq!(DownloadEvent::Verified.to_string(), "the digest is the pinned one");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DownloadEvent {
    /// Another process is fetching the library; this process waits for it.
    Waiting,
    /// The download begins.
    Downloading {
        /// Package and version, such as `onnxruntime 1.31.1`.
        wheel: String,
        /// The approximate size of the download, in bytes.
        bytes: u64,
    },
    /// The wheel has the pinned digest.
    Verified,
    /// A file is being unpacked.
    Unpacking {
        /// Its name.
        file: String,
    },
    /// The library is in the cache.
    Installed {
        /// The folder that holds the library.
        folder: PathBuf,
    },
}

impl fmt::Display for DownloadEvent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DownloadEvent::Waiting => {
                formatter.write_str("waiting for another process that fetches ONNX Runtime")
            }
            DownloadEvent::Downloading { wheel, bytes } => {
                write!(formatter, "downloading {wheel} ({} MB)", bytes.div_ceil(1_000_000))
            }
            DownloadEvent::Verified => formatter.write_str("the digest is the pinned one"),
            DownloadEvent::Unpacking { file } => write!(formatter, "unpacking {file}"),
            DownloadEvent::Installed { folder } => write!(formatter, "installed into {}", folder.display()),
        }
    }
}
