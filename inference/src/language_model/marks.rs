//! The times of a reply. Knows no text and no template.

use std::time::Instant;

use alloquy_core::report::ReplyTiming;
use alloquy_engine::decoder::{DecodeEnd, DecodeEvent, DecodeEventKind};

/// The times of a reply, by the clock of its decoder.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Marks {
    started: Option<Instant>,
    prefilled: Option<Instant>,
    first: Option<Instant>,
    last: Option<Instant>,
    tokens: usize,
}

impl Marks {
    /// Takes the time of an event.
    pub(crate) fn take(&mut self, event: &DecodeEvent) {
        match event.kind {
            DecodeEventKind::Started { .. } => self.started = Some(event.at),
            DecodeEventKind::Prefilled(_) => self.prefilled = Some(event.at),
            DecodeEventKind::Token { .. } | DecodeEventKind::Finished(DecodeEnd::StopToken(_)) => {
                self.first.get_or_insert(event.at);
                self.last = Some(event.at);
                self.tokens += 1;
            }
            _ => {}
        }
    }

    /// Returns how long everything took since the request at `start`, with a prompt of which `computed` units were computed;
    /// `None` before they are.
    pub(crate) fn timing(&self, start: Instant, computed: usize) -> Option<ReplyTiming> {
        let started = self.started?;
        let prefilled = self.prefilled?;
        let decode = self.first.zip(self.last).map(|(first, last)| last.saturating_duration_since(first));
        let mut timing = ReplyTiming::default();
        timing.waiting = started.saturating_duration_since(start);
        timing.prefill = prefilled.saturating_duration_since(started);
        timing.prefill_tokens = computed;
        timing.first_token = self.first.map(|first| first.saturating_duration_since(start));
        timing.decode = decode.unwrap_or_default();
        timing.decode_tokens = self.tokens.saturating_sub(1);
        Some(timing)
    }
}
