//! When what happened to a reply. Knows no text and no template.

use std::time::Instant;

use crate::decoder::{DecodeEnd, DecodeEvent, DecodeEventKind};
use crate::report::ReplyTiming;

/// When what happened to a reply, by the clock of whoever computed it.
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

    /// How long everything took so far since it was asked for at `start`, with a prompt of which `computed` units were
    /// computed; `None` before they are.
    pub(crate) fn timing(&self, start: Instant, computed: usize) -> Option<ReplyTiming> {
        let started = self.started?;
        let prefilled = self.prefilled?;
        let decode = self.first.zip(self.last).map(|(first, last)| last.saturating_duration_since(first));
        Some(ReplyTiming {
            waiting: started.saturating_duration_since(start),
            prefill: prefilled.saturating_duration_since(started),
            prefill_tokens: computed,
            first_token: self.first.map(|first| first.saturating_duration_since(start)),
            decode: decode.unwrap_or_default(),
            decode_tokens: self.tokens.saturating_sub(1),
        })
    }
}
