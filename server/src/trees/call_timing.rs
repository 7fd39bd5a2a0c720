//! How long a call of a model took, as answers have it.

use std::time::Duration;

use alloquy_core::report::ReplyTiming;
use schemars::JsonSchema;
use serde::Serialize;

/// How long a call of the model took, in milliseconds. The engine measures it, so a slow client does not count.
#[derive(Clone, Copy, Debug, JsonSchema, PartialEq, Serialize)]
pub(super) struct CallTiming {
    /// Until the prompt began to be computed: rendering it and being queued.
    waiting_ms: f64,
    /// Computing the prompt.
    prefill_ms: f64,
    /// Units of the prompt that were computed. The others were cached.
    prefill_tokens: usize,
    /// From the request to the first token; `null` where there was none.
    first_token_ms: Option<f64>,
    /// From the first token to the last.
    decode_ms: f64,
    /// Tokens after the first one, including the end token.
    decode_tokens: usize,
}

impl CallTiming {
    fn of(timing: &ReplyTiming) -> Self {
        Self {
            waiting_ms: milliseconds(timing.waiting),
            prefill_ms: milliseconds(timing.prefill),
            prefill_tokens: timing.prefill_tokens,
            first_token_ms: timing.first_token.map(milliseconds),
            decode_ms: milliseconds(timing.decode),
            decode_tokens: timing.decode_tokens,
        }
    }

    /// Returns those of several calls.
    pub(super) fn all(timings: &[ReplyTiming]) -> Vec<Self> {
        timings.iter().map(Self::of).collect()
    }
}

/// Returns a time in milliseconds, with three digits after the point.
fn milliseconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e3
}
