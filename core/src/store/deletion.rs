//! The error of a deletion that failed after it had deleted some of the conversations.

use std::error::Error as StdError;
use std::fmt;

use super::ConversationId;
use crate::Error;

/// A [`delete_matching`](super::ConversationStore::delete_matching) that failed midway, in a store that does not delete
/// many conversations in one transaction. It is among the causes of the error.
///
/// ```
/// use alloquy_core::{Error, ErrorKind};
/// use alloquy_core::store::PartialDeletion;
///
/// let cause = Error::new(ErrorKind::Store, "the disk is gone");
/// let error = PartialDeletion::error(vec!["tea".parse()?], cause);
/// assert_eq!(error.to_string(), "1 conversation was deleted before the others failed; the same call deletes the rest");
/// assert_eq!(PartialDeletion::of(&error).map(PartialDeletion::deleted), Some(&["tea".parse()?][..]));
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Debug)]
pub struct PartialDeletion {
    deleted: Vec<ConversationId>,
    cause: Error,
}

impl PartialDeletion {
    /// Creates the error of a deletion that failed after some conversations were deleted. If none were, it is the cause
    /// itself.
    #[must_use]
    pub fn error(deleted: Vec<ConversationId>, cause: Error) -> Error {
        let message = match deleted.len() {
            0 => return cause,
            1 => "1 conversation was deleted before the others failed".to_owned(),
            count => format!("{count} conversations were deleted before the others failed"),
        };
        let error = Error::new(cause.kind(), format!("{message}; the same call deletes the rest"));
        error.with_source(Self { deleted, cause })
    }

    /// Finds it among the causes of an error; `None` if nothing was deleted.
    #[must_use]
    pub fn of(error: &Error) -> Option<&Self> {
        let mut causes = std::iter::successors(error.source(), |&cause| cause.source());
        causes.find_map(|cause| cause.downcast_ref())
    }

    /// Returns the conversations that were deleted, in the order of the query.
    #[must_use]
    pub fn deleted(&self) -> &[ConversationId] {
        &self.deleted
    }
}

impl fmt::Display for PartialDeletion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.deleted.iter().map(ConversationId::as_str).collect();
        write!(formatter, "{names:?} were deleted")
    }
}

impl StdError for PartialDeletion {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(&self.cause)
    }
}
