//! A future that emits events while it runs, as every reply and every turn does.

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
/// Polling the stream runs the work, so it needs no particular runtime. Dropping it drops the work at its last await
/// point. Work that panics ends in an error. [`EventStream::finish`] runs it to the end.
///
/// ```
/// use alloquy_core::stream::EventStream;
/// use futures::StreamExt;
///
/// # pollster::block_on(async {
/// let mut run = EventStream::new(|mut emit| async move {
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
pub struct EventStream<E, R> {
    work: Option<BoxFuture<'static, Result<R>>>,
    events: mpsc::Receiver<E>,
    result: Option<Result<R>>,
}

/// The sending side of a [`EventStream`].
#[derive(Debug)]
pub struct Emitter<E>(mpsc::Sender<E>);

impl<E> Emitter<E> {
    /// Sends an event to the reader of the run, and waits until it is read.
    pub async fn send(&mut self, event: E) {
        // The receiver is gone only while the whole run is dropped.
        let _ = self.0.send(event).await;
    }

    /// Sends several events, one after the other.
    pub async fn send_all(&mut self, events: impl IntoIterator<Item = E>) {
        for event in events {
            self.send(event).await;
        }
    }
}

impl<E: Send + 'static, R: Send + 'static> EventStream<E, R> {
    /// Starts a run. Nothing happens until it is polled.
    pub fn new<F, W>(work: F) -> Self
    where
        F: FnOnce(Emitter<E>) -> W,
        W: Future<Output = Result<R>> + Send + 'static,
    {
        let (sender, events) = mpsc::channel(0);
        Self { work: Some(work(Emitter(sender)).boxed()), events, result: None }
    }

    /// Changes the result at the end; the events stay as they are. A middleware adds facts to a reply this way
    /// ([`Reply::facts`](crate::Reply::facts)).
    ///
    /// ```
    /// use alloquy_core::{ReplyStream, Request, Result};
    /// use alloquy_core::middleware::{Middleware, Next};
    ///
    /// /// Notes how many messages the model was given.
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

    /// Runs to the end, discards unread events, and returns the result.
    ///
    /// # Errors
    /// The error of the work.
    pub async fn finish(mut self) -> Result<R> {
        while self.next().await.is_some() {}
        self.result.unwrap_or_else(|| Err(Error::new(ErrorKind::Cancelled, "the run ended without a result")))
    }
}

impl<E, R> EventStream<E, R> {
    /// Returns the result, once, after the last event.
    pub(crate) fn take_result(&mut self) -> Option<Result<R>> {
        self.result.take()
    }
}

impl<E, R> Unpin for EventStream<E, R> {}

impl<E, R> Stream for EventStream<E, R> {
    type Item = E;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<E>> {
        // Emitted events are read before the work continues, so that it never runs ahead of its reader.
        if let Poll::Ready(Some(event)) = self.events.poll_next_unpin(context) {
            return Poll::Ready(Some(event));
        }
        let Some(work) = self.work.as_mut() else { return Poll::Ready(None) };
        // After a panic the work is dropped like finished work, and never polled again.
        let polled = caught_now(ErrorKind::Backend, "the work of a run", || Ok(work.poll_unpin(context)));
        if let Poll::Ready(result) = polled.unwrap_or_else(|panicked| Poll::Ready(Err(panicked))) {
            self.result = Some(result);
            // Dropping the work drops its sender, so the stream ends after the last event.
            self.work = None;
        }
        self.events.poll_next_unpin(context)
    }
}

impl<E, R> fmt::Debug for EventStream<E, R> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Run").field("done", &self.work.is_none()).finish_non_exhaustive()
    }
}
