//! Why a model could not be fetched, and what to do about it.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crate::size::human;

/// The result of this crate's functions, with [`HubError`].
pub type Result<T, E = HubError> = std::result::Result<T, E>;

/// Why a model could not be found or fetched.
///
/// ```
/// use alloquy_hub::{HubError, ModelName};
///
/// let error = "just-a-name".parse::<ModelName>().unwrap_err();
/// assert!(matches!(error, HubError::Name { .. }));
/// assert!(error.to_string().contains("OWNER/NAME"));
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HubError {
    /// A text that names no model of the Hub.
    #[error(
        "{name:?} is not the name of a model on the Hub: {reason}; write OWNER/NAME, such as onnx-community/Qwen3-0.6B-ONNX"
    )]
    Name {
        /// The text.
        name: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// An endpoint that is not the address of a server.
    #[error(
        "{endpoint:?} is not the address of a Hub ({reason}); HF_ENDPOINT takes one such as https://huggingface.co"
    )]
    Endpoint {
        /// The address.
        endpoint: String,
        /// Why it is none.
        reason: String,
    },
    /// There is no folder for the cache, because the home folder is not known.
    #[error("there is no home folder for the cache of models; set HF_HOME to a folder")]
    NoCache,
    /// The repository does not describe a model for a server: it has no tokenizer, or no configuration.
    #[error(
        "{repository} has no tokenizer.json and config.json, as repositories of GGUF files often do not; name the repository from which \
         it was made, or a folder that has them"
    )]
    NoTokenizer {
        /// The repository.
        repository: String,
    },
    /// Fetching is forbidden by `HF_HUB_OFFLINE`.
    #[error("{model} is not in the cache, and HF_HUB_OFFLINE forbids fetching it")]
    Offline {
        /// The model.
        model: String,
    },
    /// The repository does not exist, or the token may not see it.
    #[error(
        "{endpoint} has no model {repository} that you may read; check the name, and for a private model set HF_TOKEN to a token \
         that may read it"
    )]
    NotFound {
        /// The server.
        endpoint: String,
        /// The repository.
        repository: String,
    },
    /// The repository has no such branch, tag or commit.
    #[error("{repository} has no revision {revision:?}; the usual one is \"main\"")]
    NoRevision {
        /// The repository.
        repository: String,
        /// The revision.
        revision: String,
    },
    /// The server does not accept the token.
    #[error(
        "{endpoint} does not accept the token; make a new one at {endpoint}/settings/tokens and set HF_TOKEN to it"
    )]
    BadToken {
        /// The server.
        endpoint: String,
    },
    /// The authors ask everybody to accept their conditions first.
    #[error(
        "{repository} is gated: accept its conditions at {page}{}",
        if *.has_token { ", as the owner of the token in HF_TOKEN" } else { ", and set HF_TOKEN to a token of your account" }
    )]
    Gated {
        /// The repository.
        repository: String,
        /// The page on which the conditions are accepted.
        page: String,
        /// Whether a token was sent.
        has_token: bool,
    },
    /// The server asks to wait for longer than a pull waits.
    #[error("{host} limits the rate of requests and asks to wait {} seconds; try again then", wait.as_secs())]
    RateLimited {
        /// The server.
        host: String,
        /// How long it asks to wait.
        wait: Duration,
    },
    /// The server answered with an error.
    #[error("{url} answered with status {status}: {message}")]
    Status {
        /// The address that was requested.
        url: String,
        /// The status code of HTTP.
        status: u16,
        /// What the server says about it.
        message: String,
    },
    /// The server could not be reached, or the connection was lost, several times in succession.
    #[error("{host} could not be reached after {tries} tries; what was fetched is kept, so try again later")]
    Connection {
        /// The server.
        host: String,
        /// How often it was tried without receiving anything.
        tries: u32,
        /// The last failure.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The server's answer is not what the API documents.
    #[error("{url} does not answer like a Hub: {reason}")]
    Answer {
        /// The address that was requested.
        url: String,
        /// What is wrong with the answer.
        reason: String,
    },
    /// A repository without a decoder in ONNX and a tokenizer.
    #[error(
        "{repository} has no model in ONNX that can be run: {found}; look for one whose name ends in -ONNX, or export it (docs/models.md)"
    )]
    NoVariant {
        /// The repository.
        repository: String,
        /// What it has instead.
        found: String,
    },
    /// The repository has no variant of that name.
    #[error("{repository} has no variant {variant:?}; it has {}", known.join(", "))]
    UnknownVariant {
        /// The repository.
        repository: String,
        /// The name that was requested.
        variant: String,
        /// The names that there are.
        known: Vec<String>,
    },
    /// A file does not have the digest that the Hub lists for it. Nothing of it was kept.
    #[error(
        "{file} arrived damaged: its digest is {found} instead of {expected}; nothing of it was kept, try again"
    )]
    Digest {
        /// The file.
        file: String,
        /// The digest that the Hub lists, in hexadecimal digits.
        expected: String,
        /// The digest of what arrived.
        found: String,
    },
    /// There is not enough room for what is to be fetched.
    #[error("{} more are needed in {folder:?}, and {} are free; make room or set HF_HOME to another disk", human(*needed), human(*free))]
    DiskFull {
        /// The cache.
        folder: PathBuf,
        /// The bytes that are still to be fetched.
        needed: u64,
        /// The bytes that are free.
        free: u64,
    },
    /// The caller ended the pull. What was fetched is kept.
    #[error("the pull was cancelled; what was fetched is kept")]
    Cancelled,
    /// A file or folder of the cache could not be read or written.
    #[error("cannot {action} {path:?}")]
    Io {
        /// What was done with it.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The failure.
        #[source]
        source: io::Error,
    },
}

/// Returns a function that makes an error of the cache from an I/O error.
pub(crate) fn io_error(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> HubError {
    let path = path.into();
    move |source| HubError::Io { action, path, source }
}
