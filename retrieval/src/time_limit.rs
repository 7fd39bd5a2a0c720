//! How long a retriever may take.

use std::sync::Arc;
use std::time::Duration;

use alloquy_core::tool::Timer;
use alloquy_core::{Error, ErrorKind, Result};
use futures::future::{Either, select};

/// How long a retriever may take, by a timer of the host's runtime.
#[derive(Clone, Debug)]
pub(crate) struct TimeLimit {
    pub(crate) limit: Duration,
    pub(crate) timer: Arc<dyn Timer>,
}

/// Waits for work of a retriever, no longer than the limit if there is one.
pub(crate) async fn within<T>(
    limit: Option<&TimeLimit>,
    work: impl Future<Output = Result<T>> + Send,
) -> Result<T> {
    let Some(TimeLimit { limit, timer }) = limit else { return work.await };
    let work = std::pin::pin!(work);
    match select(work, timer.sleep(*limit)).await {
        Either::Left((result, _)) => result,
        Either::Right(_) => {
            let message = format!("no result within {limit:?}: allow more time, or repair what is slow");
            Err(Error::new(ErrorKind::Busy, message))
        }
    }
}
