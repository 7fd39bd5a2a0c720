//! A signal that ends a reply early and keeps its text so far.

mod task_group;

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll};

use futures::task::AtomicWaker;
use futures::{Stream, StreamExt};

pub use task_group::{Task, TaskGroup};

/// Ends a reply gracefully: the text so far is kept. Clones share the signal.
///
/// Dropping a stream instead drops the reply.
///
/// ```
/// use alloquy_core::stop::StopSignal;
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
    /// Signals that follow this one, including those that were dropped.
    children: Mutex<Vec<Weak<State>>>,
}

impl StopSignal {
    /// Requests the end, and wakes the task that waits for the next piece.
    pub fn stop(&self) {
        self.0.stopped.store(true, Ordering::SeqCst);
        self.0.waker.wake();
        let children = std::mem::take(&mut *self.0.children());
        for child in children.iter().filter_map(Weak::upgrade) {
            Self(child).stop();
        }
    }

    /// Returns a signal that is stopped together with this one, and can be stopped alone.
    ///
    /// One signal wakes one task. For several tasks, give each a child of one parent.
    ///
    /// ```
    /// use alloquy_core::stop::StopSignal;
    ///
    /// let parent = StopSignal::default();
    /// let (one, other) = (parent.child(), parent.child());
    /// one.stop();
    /// assert!(one.is_stopped() && !other.is_stopped() && !parent.is_stopped());
    /// parent.stop();
    /// assert!(other.is_stopped() && parent.child().is_stopped());
    /// ```
    #[must_use]
    pub fn child(&self) -> Self {
        let child = Self::default();
        let mut children = self.0.children();
        children.retain(|child| child.strong_count() > 0);
        children.push(Arc::downgrade(&child.0));
        drop(children);
        // A stop before this point did not see the new child; a later one does.
        if self.is_stopped() {
            child.stop();
        }
        child
    }

    /// Returns whether the end was requested.
    pub fn is_stopped(&self) -> bool {
        self.0.stopped.load(Ordering::SeqCst)
    }

    /// Returns `stream`, which ends at the signal.
    pub fn cut<S: Stream + Unpin>(&self, stream: S) -> UntilStopped<S> {
        UntilStopped { stream, signal: self.clone() }
    }
}

impl State {
    fn children(&self) -> MutexGuard<'_, Vec<Weak<State>>> {
        // The list is valid even if a thread panicked while it held the lock.
        self.children.lock().unwrap_or_else(PoisonError::into_inner)
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
        // The waker is registered before the check, so a signal between the two still wakes this task.
        self.signal.0.waker.register(context.waker());
        if self.signal.is_stopped() {
            return Poll::Ready(None);
        }
        self.stream.poll_next_unpin(context)
    }
}
