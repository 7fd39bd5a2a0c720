//! How long a reply took, from the request to its last token.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// How long one call of a model took, measured where it was computed: a slow reader makes no model slow.
///
/// Times are those of a clock on the wall. What others computed in between, on the same engine, is in them.
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
    /// Until the prompt was taken up: making it, and waiting for others.
    pub waiting: Duration,
    /// Computing the prompt.
    pub prefill: Duration,
    /// Units of the prompt that were computed.
    pub prefill_tokens: usize,
    /// From the request to the first token; `None` where there was none.
    pub first_token: Option<Duration>,
    /// From the first token to the last.
    pub decode: Duration,
    /// Tokens behind the first one, the one that ended the reply included.
    pub decode_tokens: usize,
}

impl ReplyTiming {
    /// Returns units of the prompt a second; `None` where there is nothing to tell it from.
    pub fn prefill_rate(&self) -> Option<f64> {
        rate(self.prefill_tokens, self.prefill)
    }

    /// Returns tokens of the reply a second, the first one not counted; `None` where there is nothing to tell it from.
    pub fn decode_rate(&self) -> Option<f64> {
        rate(self.decode_tokens, self.decode)
    }
}

fn rate(tokens: usize, took: Duration) -> Option<f64> {
    // Numbers of tokens are far below what a float holds exactly.
    #[allow(clippy::cast_precision_loss)]
    let tokens = tokens as f64;
    (tokens > 0.0 && !took.is_zero()).then(|| tokens / took.as_secs_f64())
}
