//! The one error type of all crates: a kind, a sentence, and the cause.

mod excerpt;
mod upstream;

use std::fmt::{self, Write as _};
use std::sync::Arc;

pub use excerpt::excerpt;
pub use upstream::Upstream;

/// A result whose error is [`Error`] unless said otherwise.
pub type Result<T, E = Error> = std::result::Result<T, E>;

type Source = Box<dyn std::error::Error + Send + Sync + 'static>;

/// An error with a kind to branch on and a sentence to show.
///
/// All crates share one error type because errors cross their traits: the failure of a store travels through a turn to
/// its caller. The sentence quotes the invalid value and names the valid ones. `{}` prints the sentence, `{:#}` adds
/// the chain of causes. A quoted value may be long, so what is printed is an [`excerpt`]; [`Error::whole`] has it all.
///
/// ```
/// use alloquy_core::{Error, ErrorKind};
///
/// let error = Error::new(ErrorKind::NotFound, "conversation \"tea\" does not exist");
/// assert_eq!(error.kind(), ErrorKind::NotFound);
/// assert_eq!(error.to_string(), "conversation \"tea\" does not exist");
/// ```
#[derive(Clone)]
pub struct Error {
    repr: Box<Repr>,
}

#[derive(Clone)]
struct Repr {
    kind: ErrorKind,
    message: String,
    source: Option<Arc<dyn std::error::Error + Send + Sync>>,
    upstream: Option<Upstream>,
}

/// What an [`Error`] means to the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A chat template could not be read, compiled or rendered, or refused the conversation.
    Template,
    /// Text could not be turned into tokens, or tokens into text.
    Tokenize,
    /// A model's files are missing, damaged or contradict each other.
    Model,
    /// The runtime below a model is missing, unusable or failed.
    Backend,
    /// Another caller held a resource for longer than this call waits. Nothing was changed, and the call may be tried
    /// again.
    Busy,
    /// The caller cancelled; everything stays usable.
    Cancelled,
    /// The prompt does not fit into the model's context.
    ContextOverflow,
    /// Another writer got there first, or an identifier already exists with other content.
    Conflict,
    /// The named thing does not exist.
    NotFound,
    /// A store could not read or write.
    Store,
    /// Stored data is damaged; nothing was changed.
    Corrupt,
    /// A tool could not be registered or run.
    Tool,
    /// This combination is not supported here.
    Unsupported,
    /// The input is not valid.
    Invalid,
}

impl ErrorKind {
    /// Returns the name in JSON and in logs.
    ///
    /// ```
    /// assert_eq!(alloquy_core::ErrorKind::ContextOverflow.as_str(), "context_overflow");
    /// ```
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Template => "template",
            Self::Tokenize => "tokenize",
            Self::Model => "model",
            Self::Backend => "backend",
            Self::Busy => "busy",
            Self::Cancelled => "cancelled",
            Self::ContextOverflow => "context_overflow",
            Self::Conflict => "conflict",
            Self::NotFound => "not_found",
            Self::Store => "store",
            Self::Corrupt => "corrupt",
            Self::Tool => "tool",
            Self::Unsupported => "unsupported",
            Self::Invalid => "invalid",
        }
    }

    /// Returns the HTTP status of a response to a request that failed with this kind.
    ///
    /// ```
    /// use alloquy_core::ErrorKind;
    ///
    /// assert_eq!([ErrorKind::NotFound, ErrorKind::Invalid, ErrorKind::Busy].map(ErrorKind::http_status), [404, 400, 503]);
    /// ```
    pub fn http_status(self) -> u16 {
        match self {
            Self::Invalid | Self::ContextOverflow | Self::Template | Self::Tokenize => 400,
            Self::NotFound => 404,
            Self::Conflict => 409,
            Self::Cancelled => 499,
            Self::Unsupported => 501,
            Self::Busy => 503,
            Self::Model | Self::Backend | Self::Store | Self::Corrupt | Self::Tool => 500,
        }
    }
}

impl Error {
    /// Creates an error of `kind` with a sentence: lower case, no full stop, the value quoted.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { repr: Box::new(Repr { kind, message, source: None, upstream: None }) }
    }

    /// Attaches the cause.
    ///
    /// ```
    /// use alloquy_core::{Error, ErrorKind};
    ///
    /// let cause = "x".parse::<u32>().unwrap_err();
    /// let error = Error::new(ErrorKind::Invalid, "seed \"x\" is not a number").with_source(cause);
    /// assert_eq!(format!("{error:#}"), "seed \"x\" is not a number: invalid digit found in string");
    /// ```
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Source>) -> Self {
        self.repr.source = Some(Arc::from(source.into()));
        self
    }

    /// Puts a sentence in front and keeps the kind and the cause.
    ///
    /// ```
    /// use alloquy_core::{Error, ErrorKind};
    ///
    /// let error = Error::new(ErrorKind::Store, "disk is full").context("could not append a node");
    /// assert_eq!(error.to_string(), "could not append a node: disk is full");
    /// ```
    #[must_use]
    pub fn context(mut self, sentence: impl fmt::Display) -> Self {
        self.repr.message = format!("{sentence}: {}", self.repr.message);
        self
    }

    /// Notes that it comes from a server elsewhere. [`Upstream`] has an example.
    #[must_use]
    #[allow(clippy::wrong_self_convention, reason = "it says where the error is from")]
    pub fn from_upstream(mut self, upstream: Upstream) -> Self {
        self.repr.upstream = Some(upstream);
        self
    }

    /// Returns whether it, or one of its causes, comes from a server elsewhere. [`Upstream`] has an example.
    pub fn upstream(&self) -> Option<Upstream> {
        let mut error = self;
        loop {
            if error.repr.upstream.is_some() {
                return error.repr.upstream;
            }
            let mut cause = std::error::Error::source(error)?;
            // A cause of another type may have one of this type.
            error = loop {
                match cause.downcast_ref::<Self>() {
                    Some(error) => break error,
                    None => cause = cause.source()?,
                }
            };
        }
    }

    /// Returns the kind.
    pub fn kind(&self) -> ErrorKind {
        self.repr.kind
    }

    /// Returns the sentence and the chain of causes in full length, for a model that reads the error of a tool.
    ///
    /// ```
    /// use alloquy_core::{Error, ErrorKind};
    ///
    /// let error = Error::new(ErrorKind::Tool, "x".repeat(100_000));
    /// assert_eq!(error.whole().len(), 100_000);
    /// assert!(error.to_string().len() < 2_000);
    /// ```
    pub fn whole(&self) -> String {
        let mut sentence = self.repr.message.clone();
        let mut cause = std::error::Error::source(self);
        while let Some(error) = cause {
            // Writing to a string never fails.
            let _ = match error.downcast_ref::<Self>() {
                Some(error) => write!(sentence, ": {}", error.repr.message),
                None => write!(sentence, ": {error}"),
            };
            cause = error.source();
        }
        sentence
    }

    /// Returns whether the caller cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.kind() == ErrorKind::Cancelled
    }

    /// Returns whether another writer got there first.
    pub fn is_conflict(&self) -> bool {
        self.kind() == ErrorKind::Conflict
    }

    /// Returns whether the named thing does not exist.
    pub fn is_not_found(&self) -> bool {
        self.kind() == ErrorKind::NotFound
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if formatter.alternate() {
            formatter.write_str(&excerpt(&self.whole()))
        } else {
            formatter.write_str(&excerpt(&self.repr.message))
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Error")
            .field("kind", &self.repr.kind)
            .field("message", &excerpt(&self.repr.message))
            .field("source", &self.repr.source)
            .finish()
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.repr.source.as_deref().map(|source| source as _)
    }
}
