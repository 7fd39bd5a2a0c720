//! Who sent a request: the owner of its conversations, and the limits of the key.

use alloquy_core::Owner;
use axum::extract::FromRequestParts;
use axum::http::StatusCode;
use axum::http::request::Parts;

use crate::error::{ApiError, ApiResult};
use crate::keys::KeyLimits;
use crate::tally::Tally;

/// Who sent a request. A handler receives it as an argument.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    /// Whose conversations it sees.
    pub(crate) owner: Owner,
    /// The limits of its key.
    pub(crate) limits: KeyLimits,
    /// What the request costs.
    pub(crate) tally: Tally,
}

impl<S: Sync> FromRequestParts<S> for Caller {
    type Rejection = ApiError;

    /// Returns the caller that the check of keys has found. A route without that check answers no request.
    async fn from_request_parts(parts: &mut Parts, _: &S) -> ApiResult<Self> {
        let caller = parts.extensions.get::<Self>().cloned();
        caller.ok_or_else(|| {
            let message = "this route has no check of keys, so it is not known whose data it is for";
            ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, message)
        })
    }
}
