//! That an error comes from a server elsewhere.

use std::time::Duration;

/// Says that an error comes from a server elsewhere, such as that of a remote model. Its sentence has that server's words and address,
/// which are for the operator of this process and not for its clients.
///
/// ```
/// use alloquy_core::error::Upstream;
/// use alloquy_core::{Error, ErrorKind};
///
/// let refused = Error::new(ErrorKind::Invalid, "the server answered 401 \"no key\"").from_upstream(Upstream::answered(401));
/// let error = Error::new(ErrorKind::Model, "the model does not load").with_source(refused);
/// assert_eq!(error.upstream().and_then(|upstream| upstream.status), Some(401));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Upstream {
    /// The HTTP status with which it has answered; `None` where it has not, or where the answer was cut.
    pub status: Option<u16>,
    /// How long it wants to be left alone.
    pub retry_after: Option<Duration>,
}

impl Upstream {
    /// A server that has answered with a status.
    #[must_use]
    pub fn answered(status: u16) -> Self {
        Self { status: Some(status), retry_after: None }
    }
}
