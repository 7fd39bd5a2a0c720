//! The errors of Jinja templates, and their kinds for the caller.

use std::any::Any;

use alloquy_core::{Error, ErrorKind};

#[derive(Debug, thiserror::Error)]
pub(super) enum Fault {
    /// The template called `raise_exception`: its own words, for the user.
    #[error("{0}")]
    Refused(String),
    #[error("the chat template took more than {0} steps")]
    Steps(u64),
    #[error("the chat template wrote more than {0} bytes")]
    Output(usize),
    #[error("the chat template has {found} bytes of source, more than the {allowed} allowed")]
    Source { found: usize, allowed: usize },
    #[error("line {line} of the chat template: `{tag}` inside `{inside}` within a loop is not supported")]
    Jump { line: usize, tag: &'static str, inside: String },
    #[error("line {line} of the chat template: unknown tag `{tag}`")]
    Tag { line: usize, tag: &'static str },
    #[error("line {line} of the chat template: code nests too deeply")]
    Depth { line: usize },
    #[error("line {line} of the chat template: code that Jinja2 does not read")]
    Syntax { line: usize },
    #[error("the template engine panicked on the chat template: {0}")]
    Panic(String),
    #[error("the chat template leaves {0} out of the prompt")]
    LeftOut(&'static str),
    #[error("there is no user message that the system message could be merged into")]
    NoUser,
    #[error("the system message cannot be merged into the first user message: {0}")]
    Unmerged(String),
    #[error("the conversation has every character that could mark a span")]
    Unmarked,
    #[error("a chat template needs at least one message")]
    Empty,
    #[error("message {index} is not an object: {found}")]
    Message { index: usize, found: serde_json::Value },
    #[error("the last message has no text to continue")]
    NothingToContinue,
    #[error("the chat template does not print the last message {0:?} as it is, so it cannot be continued")]
    NotContinued(String),
    #[error("{place}{what}")]
    Engine { place: String, what: String, source: minijinja::Error },
}

/// The words of `raise_exception`. The engine carries them as the source of its own error.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct Refusal(pub(super) String);

/// The source of an error when a template exceeds a limit for memory or output.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("a limit of the template")]
pub(super) struct Excessive;

impl Fault {
    /// Returns whether the template exceeded a limit, and would again.
    pub(super) fn is_exhaustion(&self) -> bool {
        match self {
            Self::Steps(_) | Self::Output(_) | Self::Panic(_) => true,
            Self::Engine { source, .. } => causes(source).any(<dyn std::error::Error>::is::<Excessive>),
            _ => false,
        }
    }

    /// Converts an error of the engine, which had a limit of `steps`.
    pub(super) fn of_engine(error: minijinja::Error, steps: u64) -> Self {
        if let Some(Refusal(words)) = refusal(&error) {
            return Self::Refused(words.clone());
        }
        if ran_dry(&error) {
            return Self::Steps(steps);
        }
        let place = error.line().map_or_else(
            || "chat template: ".to_owned(),
            |line| format!("line {line} of the chat template: "),
        );
        let what = match error.detail() {
            Some(detail) => format!("{}: {detail}", error.kind()),
            None => error.kind().to_string(),
        };
        Self::Engine { place, what, source: error }
    }

    /// Converts the payload of a panic.
    pub(super) fn of_panic(payload: &(dyn Any + Send)) -> Self {
        let words = payload
            .downcast_ref::<&str>()
            .map(|words| (*words).to_owned())
            .or_else(|| payload.downcast_ref::<String>().cloned())
            .unwrap_or_else(|| "no message".to_owned());
        Self::Panic(words)
    }

    fn kind(&self) -> ErrorKind {
        match self {
            Self::LeftOut(_) | Self::NoUser | Self::Unmerged(_) => ErrorKind::Unsupported,
            Self::Empty | Self::Message { .. } | Self::NothingToContinue => ErrorKind::Invalid,
            _ => ErrorKind::Template,
        }
    }
}

impl From<Fault> for Error {
    fn from(fault: Fault) -> Self {
        let error = Error::new(fault.kind(), fault.to_string());
        match fault {
            Fault::Engine { source, .. } => error.with_source(source),
            _ => error,
        }
    }
}

fn refusal<'a>(error: &'a (dyn std::error::Error + 'static)) -> Option<&'a Refusal> {
    causes(error).find_map(|cause| cause.downcast_ref::<Refusal>())
}

fn ran_dry(error: &(dyn std::error::Error + 'static)) -> bool {
    causes(error)
        .filter_map(|cause| cause.downcast_ref::<minijinja::Error>())
        .any(|cause| cause.kind() == minijinja::ErrorKind::OutOfFuel)
}

fn causes<'a>(
    error: &'a (dyn std::error::Error + 'static),
) -> impl Iterator<Item = &'a (dyn std::error::Error + 'static)> {
    std::iter::successors(Some(error), |error| error.source())
}
