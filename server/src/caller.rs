//! Who sent a request: the owner of its conversations, and the limits of the key.

use std::convert::Infallible;

use alloquy_core::Owner;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;

use crate::keys::KeyLimits;

/// Who sent a request. A handler receives it as an argument.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    /// Whose conversations it sees.
    pub(crate) owner: Owner,
    /// The limits of its key.
    pub(crate) limits: KeyLimits,
}

impl Default for Caller {
    /// The caller of a server without keys.
    fn default() -> Self {
        Self { owner: Owner::local(), limits: KeyLimits::default() }
    }
}

impl<S: Sync> FromRequestParts<S> for Caller {
    type Rejection = Infallible;

    /// Returns the caller that the check of keys has found. A route without that check has the caller of a server without keys, who
    /// owns nothing of a server with keys.
    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        Ok(parts.extensions.get::<Self>().cloned().unwrap_or_default())
    }
}
