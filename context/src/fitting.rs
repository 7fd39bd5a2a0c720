//! What fits: the room that a window has for a prompt, and requests that were made to fit. Knows no template and no tokenizer.

use std::ops::Range;

use alloquy_core::report::{CutHistory, Degradation};
use alloquy_core::{Error, ErrorKind, Message, Request, Result};

/// A request and what its prompt goes without.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FittedRequest {
    /// The request, with the messages that are left.
    pub request: Request,
    /// What the reply remembers of it.
    pub(crate) cut: Option<CutHistory>,
    /// How many messages of its path were dropped.
    pub dropped: usize,
    /// How many units its prompt is shorter for that: those of each message as they were counted when it was left out.
    pub tokens: usize,
}

impl FittedRequest {
    /// A request that goes without nothing.
    pub(crate) fn whole(request: Request) -> Self {
        Self { request, cut: None, dropped: 0, tokens: 0 }
    }

    /// Returns what the reply says of it; `None` when it goes without nothing.
    pub fn degradation(&self) -> Option<Degradation> {
        let (dropped, tokens) = (self.dropped, self.tokens);
        (dropped > 0).then_some(Degradation::HistoryShifted { dropped, tokens })
    }
}

/// Where a path goes on behind what always stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    pub(crate) start: usize,
    /// How many units the prompt is shorter for that.
    pub(crate) tokens: usize,
}

/// What is kept free for a reply unless it is said: MLC's `mean_gen_len`, or a quarter where the window is that small.
pub(crate) fn usual_reply(window: usize) -> usize {
    128.min(window / 4)
}

/// How many units fit, and how many of them are kept free for a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Room {
    pub(crate) window: usize,
    pub(crate) reply: usize,
}

impl Room {
    /// # Errors
    /// [`ErrorKind::Invalid`] when nothing is left for a prompt.
    pub(crate) fn check(self) -> Result<()> {
        let Self { window, reply } = self;
        if reply < window {
            return Ok(());
        }
        let message = format!("{reply} tokens for a reply are not below the window of {window}");
        Err(Error::new(ErrorKind::Invalid, message))
    }

    /// # Errors
    /// [`ErrorKind::Invalid`] for a share of the window that fills nothing, or more than there is.
    pub(crate) fn check_share(share: f64) -> Result<()> {
        if share > 0.0 && share <= 1.0 {
            return Ok(());
        }
        let message = format!("the share {share} of the window is not above 0 and at most 1");
        Err(Error::new(ErrorKind::Invalid, message))
    }

    /// A share of the window in units.
    pub(crate) fn share(self, share: f64) -> usize {
        // A share of a window is far below what a float holds exactly.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
        let units = (self.window as f64 * share) as usize;
        units
    }

    /// The most units of a prompt.
    pub(crate) fn most(self) -> usize {
        self.window.saturating_sub(self.reply)
    }

    /// Refuses a prompt of `units` that leaves no room for any reply, with nothing left to drop.
    ///
    /// # Errors
    /// [`ErrorKind::ContextOverflow`].
    pub(crate) fn refuse_full(self, units: usize, dropped: usize) -> Result<()> {
        if units < self.window {
            return Ok(());
        }
        let message = format!(
            "the last question with what always stays takes {units} units, and {} fit: no room for a reply, though {dropped} \
             earlier messages were left out",
            self.window
        );
        Err(Error::new(ErrorKind::ContextOverflow, message))
    }
}

/// Returns a request with other messages in the place of some.
pub(crate) fn replaced(request: &Request, range: Range<usize>, instead: &[Message]) -> Request {
    let mut replaced = request.clone();
    replaced.path = request.path.excerpt(range.start, instead, range.end..request.path.len());
    replaced
}
