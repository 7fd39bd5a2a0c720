//! Runs work of an engine so that its panics are errors.

use std::panic::{AssertUnwindSafe, catch_unwind};

use alloquy_core::{Error, ErrorKind, Result};

/// Runs work of the engine. When it panics, the sessions that it was computing in are lost, and nothing else.
pub(super) fn guarded<T, E: From<Error>>(work: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
        Err(Error::new(ErrorKind::Backend, "the engine panicked; its session was dropped").into())
    })
}
