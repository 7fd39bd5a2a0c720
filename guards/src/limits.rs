//! Limits: how many calls, tokens and how much cost an owner, a conversation or a model may have.
//!
//! [`RateLimit`] limits how often a model is called, and [`BudgetLimit`] limits tokens or cost. Both take what a call needs before it,
//! and give it back if the call fails. A [`LimitStore`] counts: [`MemoryLimits`] in one process,
//! and the databases of `alloquy-storage` for several.
//!
//! A call is refused with [`ErrorKind::Busy`] where waiting helps, and [`RetryAfter`] says how long. A
//! call is refused as well when the store fails, because nothing says that it is allowed.

mod budget;
mod rate;
mod rate_limit;
mod store;

use std::fmt;
use std::time::Duration;

use alloquy_core::{Error, ErrorKind, Request, Result};

pub use budget::{Budget, BudgetLimit, Period};
pub use rate::{Rate, Taken};
pub use rate_limit::RateLimit;
pub use store::{LimitStore, MemoryLimits, Spent};

/// What a limit counts together.
///
/// ```
/// use alloquy_core::chat_model::Origin;
/// use alloquy_core::{Owner, Request};
/// use alloquy_guards::limits::Scope;
///
/// let request = Request::default().origin(Origin::new(Owner::local(), "letters".parse()?));
/// assert_ne!(Scope::Owner.key(&request)?, Scope::Conversation.key(&request)?);
/// assert!(Scope::Owner.key(&Request::default()).is_err());
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Scope {
    /// All calls.
    Everything,
    /// The calls of one owner.
    Owner,
    /// The calls of one conversation.
    Conversation,
    /// The calls of one model, by [`Request::model`].
    Model,
}

impl Scope {
    /// Returns the key under which a store counts a request.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for a request without an origin, if the limit is that of an owner or of a conversation.
    pub fn key(self, request: &Request) -> Result<String> {
        let names = match self {
            Self::Everything => vec!["everything"],
            Self::Model => vec!["model", request.model.as_deref().unwrap_or_default()],
            Self::Owner | Self::Conversation => {
                let Some(origin) = &request.origin else {
                    let words = "the request has no owner and no conversation, so its limit is unknown: set its origin, \
                                 or limit everything";
                    return Err(Error::new(ErrorKind::Invalid, words));
                };
                match self {
                    Self::Owner => vec!["owner", origin.owner.as_str()],
                    _ => vec!["conversation", origin.owner.as_str(), origin.conversation.as_str()],
                }
            }
        };
        // As JSON, no two lists of names have the same text.
        Ok(serde_json::json!(names).to_string())
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Everything => "all calls",
            Self::Owner => "an owner",
            Self::Conversation => "a conversation",
            Self::Model => "a model",
        })
    }
}

/// The source of an error that says how long to wait.
///
/// ```
/// use std::time::Duration;
///
/// use alloquy_core::{Error, ErrorKind};
/// use alloquy_guards::limits::RetryAfter;
///
/// let error = Error::new(ErrorKind::Busy, "too many calls").with_source(RetryAfter(Duration::from_secs(3)));
/// assert_eq!(RetryAfter::of(&error), Some(Duration::from_secs(3)));
/// assert_eq!(format!("{error:#}"), "too many calls: try again after 3s");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryAfter(pub Duration);

impl RetryAfter {
    /// Returns how long to wait, if the error or one of its causes says so.
    pub fn of(error: &Error) -> Option<Duration> {
        let mut cause = std::error::Error::source(error);
        while let Some(source) = cause {
            if let Some(after) = source.downcast_ref::<Self>() {
                return Some(after.0);
            }
            cause = source.source();
        }
        None
    }
}

impl fmt::Display for RetryAfter {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A wait is rounded up, because a call that comes too early is refused.
        let step = if self.0 >= Duration::from_secs(1) { 1_000_000_000 } else { 1_000_000 };
        let steps = self.0.as_nanos().div_ceil(step);
        let nanoseconds = u64::try_from(steps.saturating_mul(step)).unwrap_or(u64::MAX);
        write!(formatter, "try again after {:?}", Duration::from_nanos(nanoseconds))
    }
}

impl std::error::Error for RetryAfter {}

/// Returns the error of a store that failed: the call is refused.
fn unchecked(error: Error) -> Error {
    Error::new(error.kind(), "the limit could not be checked, so the call is refused").with_source(error)
}
