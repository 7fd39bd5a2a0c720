//! How long a reply took, as far as the client sees it.

use std::time::{Duration, Instant};

use alloquy_core::report::ReplyTiming;

use super::event::ChatEvent;

/// The times of one reply.
#[derive(Debug)]
pub(crate) struct Clock {
    start: Instant,
    waiting: Duration,
    first: Option<Instant>,
    last: Option<Instant>,
}

impl Clock {
    pub(crate) fn start() -> Self {
        Self { start: Instant::now(), waiting: Duration::ZERO, first: None, last: None }
    }

    /// The server has accepted the request.
    pub(crate) fn accepted(&mut self) {
        self.waiting = self.start.elapsed();
    }

    /// The server has said something.
    pub(crate) fn received(&mut self, event: &ChatEvent) {
        let is_said = matches!(
            event,
            ChatEvent::Text(_) | ChatEvent::Thinking(_) | ChatEvent::Refusal(_) | ChatEvent::Arguments { .. }
        );
        if is_said {
            let now = Instant::now();
            self.first.get_or_insert(now);
            self.last = Some(now);
        }
    }

    /// Returns the times of a reply of so many tokens. How long the prompt took is part of the wait for the first of them.
    pub(crate) fn timing(&self, generated: usize) -> ReplyTiming {
        let mut timing = ReplyTiming::default();
        timing.waiting = self.waiting;
        timing.first_token = self.first.map(|first| first - self.start);
        if let (Some(first), Some(last)) = (self.first, self.last) {
            timing.decode = last - first;
            timing.decode_tokens = generated.saturating_sub(1);
        }
        timing
    }
}
