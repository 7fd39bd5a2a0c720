//! Ending early, on purpose: a signal for people, texts and sequences of tokens for models.

mod automaton;
mod strings;
mod tokens;

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use futures::task::AtomicWaker;
use futures::{Stream, StreamExt};

pub use strings::StopStrings;
pub use tokens::StopTokens;

/// Ends a reply gracefully: what was said so far is kept. Clones share the signal.
///
/// Dropping a stream throws the reply away; this keeps it.
///
/// ```
/// use alloquy_core::StopSignal;
/// use futures::StreamExt;
///
/// # pollster::block_on(async {
/// let signal = StopSignal::default();
/// let mut numbers = signal.cut(futures::stream::iter(0..));
/// assert_eq!(numbers.next().await, Some(0));
/// signal.stop();
/// assert_eq!(numbers.next().await, None);
/// # });
/// ```
#[derive(Clone, Debug, Default)]
pub struct StopSignal(Arc<State>);

#[derive(Debug, Default)]
struct State {
    stopped: AtomicBool,
    waker: AtomicWaker,
}

impl StopSignal {
    /// Asks for the end, and wakes whoever waits for the next piece.
    pub fn stop(&self) {
        self.0.stopped.store(true, Ordering::SeqCst);
        self.0.waker.wake();
    }

    /// Says whether the end was asked for.
    pub fn is_stopped(&self) -> bool {
        self.0.stopped.load(Ordering::SeqCst)
    }

    /// Returns `stream` up to the signal.
    pub fn cut<S: Stream + Unpin>(&self, stream: S) -> UntilStopped<S> {
        UntilStopped { stream, signal: self.clone() }
    }
}

/// A stream that ends at a [`StopSignal`]; see [`StopSignal::cut`].
#[derive(Debug)]
pub struct UntilStopped<S> {
    stream: S,
    signal: StopSignal,
}

impl<S: Stream + Unpin> Stream for UntilStopped<S> {
    type Item = S::Item;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<S::Item>> {
        // Register first, look second: a signal between the two still wakes this task.
        self.signal.0.waker.register(context.waker());
        match self.signal.is_stopped() {
            true => Poll::Ready(None),
            false => self.stream.poll_next_unpin(context),
        }
    }
}
