//! A future that emits while it runs: the shape of every reply and every turn.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures::channel::mpsc;
use futures::future::BoxFuture;
use futures::{FutureExt, SinkExt, Stream, StreamExt};

use crate::panics::caught_now;
use crate::{Error, ErrorKind, Result};

/// A future that emits events while it runs, and ends in a result.
///
/// Polling the stream is what runs it, so it works under any runtime or none. Dropping it drops the work at its
/// next await point, and nothing else breaks. Work that panics ends in an error that says so. [`Run::finish`] runs it to
/// the end.
///
/// ```
/// use alloquy_core::stream::Run;
/// use futures::StreamExt;
///
/// # pollster::block_on(async {
/// let mut run = Run::new(|mut emit| async move {
///     emit.send("one").await;
///     emit.send("two").await;
///     Ok(2)
/// });
/// assert_eq!(run.next().await, Some("one"));
/// assert_eq!(run.finish().await?, 2);
/// # Ok::<(), alloquy_core::Error>(())
/// # })?;
/// # Ok::<(), alloquy_core::Error>(())
/// ```
pub struct Run<E, R> {
    work: Option<BoxFuture<'static, Result<R>>>,
    events: mpsc::Receiver<E>,
    result: Option<Result<R>>,
}

/// The sending side of a [`Run`].
#[derive(Debug)]
pub struct Emit<E>(mpsc::Sender<E>);

impl<E> Emit<E> {
    /// Hands an event to whoever polls, waiting until there is room.
    pub async fn send(&mut self, event: E) {
        // The receiver is gone only when the whole run is being dropped.
        let _ = self.0.send(event).await;
    }

    /// Hands over several events, one after the other.
    pub async fn send_all(&mut self, events: impl IntoIterator<Item = E>) {
        for event in events {
            self.send(event).await;
        }
    }
}

impl<E: Send + 'static, R: Send + 'static> Run<E, R> {
    /// Starts a run. Nothing happens until it is polled.
    pub fn new<F, W>(work: F) -> Self
    where
        F: FnOnce(Emit<E>) -> W,
        W: Future<Output = Result<R>> + Send + 'static,
    {
        let (sender, events) = mpsc::channel(0);
        Self { work: Some(work(Emit(sender)).boxed()), events, result: None }
    }

    /// Changes the result at the end; the events stay as they are. A middleware notes so what it knows of a reply
    /// ([`Reply::facts`](crate::Reply::facts)).
    ///
    /// ```
    /// use alloquy_core::{ReplyStream, Request, Result};
    /// use alloquy_core::middleware::{Middleware, Next};
    ///
    /// /// Notes how many messages a model was shown.
    /// #[derive(Debug)]
    /// struct Count;
    ///
    /// #[async_trait::async_trait]
    /// impl Middleware for Count {
    ///     async fn handle(&self, request: Request, next: Next<'_>) -> Result<ReplyStream> {
    ///         let messages = request.path.len();
    ///         Ok(next.call(request).await?.map_result(move |mut reply| {
    ///             reply.facts.insert("messages".to_owned(), messages.into());
    ///             Ok(reply)
    ///         }))
    ///     }
    /// }
    /// ```
    #[must_use]
    pub fn map_result(mut self, change: impl FnOnce(R) -> Result<R> + Send + 'static) -> Self {
        Self::new(move |mut emit| async move {
            while let Some(event) = self.next().await {
                emit.send(event).await;
            }
            change(self.finish().await?)
        })
    }

    /// Runs to the end, discarding the events that nobody read, and returns the result.
    ///
    /// # Errors
    /// Whatever the work ended in.
    pub async fn finish(mut self) -> Result<R> {
        while self.next().await.is_some() {}
        self.result.unwrap_or_else(|| Err(Error::new(ErrorKind::Cancelled, "the run ended without a result")))
    }
}

impl<E, R> Run<E, R> {
    /// Returns the result, once, after the last event.
    pub(crate) fn take_result(&mut self) -> Option<Result<R>> {
        self.result.take()
    }
}

impl<E, R> Unpin for Run<E, R> {}

impl<E, R> Stream for Run<E, R> {
    type Item = E;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<E>> {
        // What was emitted is read before the work goes on, so that it never runs ahead of its reader.
        if let Poll::Ready(Some(event)) = self.events.poll_next_unpin(context) {
            return Poll::Ready(Some(event));
        }
        let Some(work) = self.work.as_mut() else { return Poll::Ready(None) };
        // A panic is the end of the work like any other: it is dropped, and never polled again.
        let polled = caught_now(ErrorKind::Backend, "what was being run", || Ok(work.poll_unpin(context)));
        if let Poll::Ready(result) = polled.unwrap_or_else(|panicked| Poll::Ready(Err(panicked))) {
            self.result = Some(result);
            // Dropping the work drops its sender, so the events end after those still waiting.
            self.work = None;
        }
        self.events.poll_next_unpin(context)
    }
}

impl<E, R> fmt::Debug for Run<E, R> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Run").field("done", &self.work.is_none()).finish_non_exhaustive()
    }
}
