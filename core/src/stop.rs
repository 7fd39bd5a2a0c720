//! Ending early, on purpose: a signal for people, and texts for models.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use futures::task::AtomicWaker;
use futures::{Stream, StreamExt};

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

/// Watches text for the first of several stop texts, holding back only what may still become one.
///
/// ```
/// use alloquy_core::StopStrings;
///
/// let mut stops = StopStrings::new(["USER:".to_owned()]);
/// assert_eq!(stops.push("Hello US"), ("Hello ".to_owned(), false));
/// assert_eq!(stops.push("A"), ("USA".to_owned(), false));
/// assert_eq!(stops.push(" USER: x"), (" ".to_owned(), true));
/// ```
#[derive(Clone, Debug, Default)]
pub struct StopStrings {
    stops: Vec<String>,
    held: String,
}

impl StopStrings {
    /// Watches for `stops`; empty ones are ignored, since they would match anywhere.
    pub fn new(stops: impl IntoIterator<Item = String>) -> Self {
        let stops = stops.into_iter().filter(|stop| !stop.is_empty()).collect();
        Self { stops, held: String::new() }
    }

    /// Takes more text; returns what is certainly part of the reply, and whether a stop text ended it.
    pub fn push(&mut self, text: &str) -> (String, bool) {
        self.held.push_str(text);
        let found = self.stops.iter().filter_map(|stop| self.held.find(stop)).min();
        let settled = found.unwrap_or_else(|| self.held.len() - self.partial());
        let rest = self.held.split_off(settled);
        let text = std::mem::replace(&mut self.held, rest);
        if found.is_some() {
            self.held.clear();
        }
        (text, found.is_some())
    }

    /// Returns how many bytes are held back.
    pub fn held(&self) -> usize {
        self.held.len()
    }

    /// Returns what was held back: the reply ended without a stop text.
    pub fn finish(&mut self) -> String {
        std::mem::take(&mut self.held)
    }

    /// The length of the longest end of `held` that begins a stop text.
    fn partial(&self) -> usize {
        let begins = |length: &usize| {
            let start = self.held.len() - length;
            let tail = self.held.get(start..);
            tail.is_some_and(|tail| self.stops.iter().any(|stop| stop.starts_with(tail)))
        };
        let longest = self.stops.iter().map(String::len).max().unwrap_or(0);
        (1..longest).rev().filter(|&length| length <= self.held.len()).find(begins).unwrap_or(0)
    }
}
