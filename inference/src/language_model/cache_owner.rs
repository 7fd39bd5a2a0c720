//! Whose cached prompts a prompt may continue.

use alloquy_core::{Owner, Request};

/// Returns the name under which the prompt of a request is cached; `None` for the cache without an owner.
pub(super) fn of_request(request: &Request, is_shared: bool) -> Option<&str> {
    of_owner(&request.origin.as_ref()?.owner, is_shared)
}

/// Returns the name under which an owner's prompts are cached; `None` for the cache without an owner.
pub(super) fn of_owner(owner: &Owner, is_shared: bool) -> Option<&str> {
    let is_own = !is_shared && *owner != Owner::local();
    is_own.then(|| owner.as_str())
}
