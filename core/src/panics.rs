//! Panics of what others wrote, as errors of the call that met them.
//!
//! What is caught here is sound to go on after, because nothing that panicked is used again by this crate as if it had not:
//! the future is dropped where it panicked, and what it shared with others it shared behind locks of its own. This crate's own
//! locks guard values that are whole at every moment, so a poisoned one is taken as it is.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use futures::FutureExt;

use crate::{Error, ErrorKind, Result};

/// Waits for what others wrote. Its panic is an error that says who panicked, and with which words.
pub(crate) async fn caught<T>(
    kind: ErrorKind,
    who: &str,
    work: impl Future<Output = Result<T>>,
) -> Result<T> {
    let outcome = AssertUnwindSafe(work).catch_unwind().await;
    outcome.unwrap_or_else(|payload| Err(panicked(kind, who, payload.as_ref())))
}

/// Calls what others wrote, as [`caught`] does where nothing is waited for.
pub(crate) fn caught_now<T>(kind: ErrorKind, who: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    let outcome = catch_unwind(AssertUnwindSafe(work));
    outcome.unwrap_or_else(|payload| Err(panicked(kind, who, payload.as_ref())))
}

fn panicked(kind: ErrorKind, who: &str, payload: &(dyn Any + Send)) -> Error {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
    Error::new(kind, format!("{who} panicked: {}", text.unwrap_or("it did not say why")))
}
