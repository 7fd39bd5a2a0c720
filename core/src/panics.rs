//! Turns panics in code of the host into errors of the call that ran it.
//!
//! The crate may continue after such a panic. The future that panicked is dropped and never polled again, and its
//! shared state has locks of its own. The locks of this crate guard values that are valid at every moment, so the
//! value of a poisoned lock is used as it is.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use futures::FutureExt;

use crate::{Error, ErrorKind, Result};

/// Awaits a future of the host. Its panic becomes an error that names `who` panicked and quotes the panic message.
pub(crate) async fn caught<T>(
    kind: ErrorKind,
    who: &str,
    work: impl Future<Output = Result<T>>,
) -> Result<T> {
    let outcome = AssertUnwindSafe(work).catch_unwind().await;
    outcome.unwrap_or_else(|payload| Err(panicked(kind, who, payload.as_ref())))
}

/// Calls a function of the host like [`caught`], without waiting.
pub(crate) fn caught_now<T>(kind: ErrorKind, who: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    let outcome = catch_unwind(AssertUnwindSafe(work));
    outcome.unwrap_or_else(|payload| Err(panicked(kind, who, payload.as_ref())))
}

fn panicked(kind: ErrorKind, who: &str, payload: &(dyn Any + Send)) -> Error {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
    Error::new(kind, format!("{who} panicked: {}", text.unwrap_or("it did not say why")))
}
