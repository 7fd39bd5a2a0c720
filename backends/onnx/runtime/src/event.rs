//! What a fetch tells its observer. Prints nothing.

use std::fmt;
use std::path::PathBuf;

/// A step of a fetch, in the order in which they happen.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// Another process is fetching; this one waits for it.
    Waiting,
    /// The download begins.
    Downloading {
        /// Package and version, such as `onnxruntime 1.31.1`.
        wheel: String,
        /// Roughly how many bytes.
        bytes: u64,
    },
    /// The wheel has the pinned digest.
    Verified,
    /// A file is being unpacked.
    Unpacking {
        /// Its name.
        file: String,
    },
    /// Everything is in place.
    Installed {
        /// Where.
        folder: PathBuf,
    },
}

impl fmt::Display for Event {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Event::Waiting => formatter.write_str("waiting for another process that fetches onnx runtime"),
            Event::Downloading { wheel, bytes } => {
                write!(formatter, "downloading {wheel} ({} MB)", bytes.div_ceil(1_000_000))
            }
            Event::Verified => formatter.write_str("the digest is the pinned one"),
            Event::Unpacking { file } => write!(formatter, "unpacking {file}"),
            Event::Installed { folder } => write!(formatter, "installed into {}", folder.display()),
        }
    }
}
