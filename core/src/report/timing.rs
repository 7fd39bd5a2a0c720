//! How long a reply took, from the request to its last token.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// How long one model call took, measured by the engine, so a slow reader does not count.
///
/// Times are wall-clock times. They include what the engine computed for other callers meanwhile.
///
/// ```
/// use std::time::Duration;
/// use alloquy_core::report::ReplyTiming;
///
/// let mut timing = ReplyTiming::default();
/// timing.prefill = Duration::from_millis(500);
/// timing.prefill_tokens = 100;
/// assert_eq!((timing.prefill_rate(), timing.decode_rate()), (Some(200.0), None));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ReplyTiming {
    /// Until the prompt began to be computed: rendering it and being queued.
    pub waiting: Duration,
    /// Computing the prompt.
    pub prefill: Duration,
    /// Units of the prompt that were computed.
    pub prefill_tokens: usize,
    /// From the request to the first token; `None` where there was none.
    pub first_token: Option<Duration>,
    /// From the first token to the last.
    pub decode: Duration,
    /// Tokens after the first one, including the end token.
    pub decode_tokens: usize,
}

impl ReplyTiming {
    /// Returns how many units of the prompt were computed per second; `None` if none were.
    pub fn prefill_rate(&self) -> Option<f64> {
        rate(self.prefill_tokens, self.prefill)
    }

    /// Returns how many tokens were generated per second after the first one; `None` if none were.
    pub fn decode_rate(&self) -> Option<f64> {
        rate(self.decode_tokens, self.decode)
    }
}

fn rate(tokens: usize, took: Duration) -> Option<f64> {
    // Token counts are far below the limit of exact integers in a double.
    #[allow(clippy::cast_precision_loss)]
    let tokens = tokens as f64;
    (tokens > 0.0 && !took.is_zero()).then(|| tokens / took.as_secs_f64())
}
