//! What fits: lengths of prompts, the room that a window has for one, and requests that were made to fit. Knows no template
//! and no tokenizer.

use std::ops::Range;

use crate::chat_model::Request;
use crate::media::Digest;
use crate::message::Message;
use crate::report::{CutHistory, Degradation};
use crate::{Error, ErrorKind, Result};

/// Tells how many units the prompt of a request has; media count as many as the positions that they take.
///
/// The `LanguageModel` of alloquy-inference does; so does every closure of the same shape.
pub trait PromptLength: Send + Sync {
    /// Counts the units of the request's prompt.
    ///
    /// # Errors
    /// Those of making the prompt.
    fn units(&self, request: &Request) -> Result<usize>;

    /// Returns what tells the model, its template and its processor from others that count otherwise; `None` where that cannot
    /// be said, and then no reply remembers where the history of its prompt began.
    fn identity(&self) -> Option<Digest> {
        None
    }
}

impl<F: Fn(&Request) -> Result<usize> + Send + Sync> PromptLength for F {
    fn units(&self, request: &Request) -> Result<usize> {
        self(request)
    }
}

/// A request and what its prompt goes without.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FittedRequest {
    /// The request, with the messages that are left.
    pub request: Request,
    /// What the reply remembers of it.
    pub(super) cut: Option<CutHistory>,
    /// How many messages of its path were dropped.
    pub dropped: usize,
    /// How many units its prompt is shorter for that: those of each message as they were counted when it was left out.
    pub tokens: usize,
}

impl FittedRequest {
    /// A request that goes without nothing.
    pub(super) fn whole(request: Request) -> Self {
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
pub(super) struct Cut {
    pub(super) start: usize,
    /// How many units the prompt is shorter for that.
    pub(super) tokens: usize,
}

/// What is kept free for a reply unless it is said: MLC's `mean_gen_len`, or a quarter where the window is that small.
pub(super) fn usual_reply(window: usize) -> usize {
    128.min(window / 4)
}

/// How many units fit, and how many of them are kept free for a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Room {
    pub(super) window: usize,
    pub(super) reply: usize,
}

impl Room {
    /// # Errors
    /// [`ErrorKind::Invalid`] when nothing is left for a prompt.
    pub(super) fn check(self) -> Result<()> {
        let Self { window, reply } = self;
        match reply < window {
            true => Ok(()),
            false => Err(Error::new(
                ErrorKind::Invalid,
                format!("{reply} tokens for a reply are not below the window of {window}"),
            )),
        }
    }

    /// # Errors
    /// [`ErrorKind::Invalid`] for a share of the window that fills nothing, or more than there is.
    pub(super) fn check_share(share: f64) -> Result<()> {
        match share > 0.0 && share <= 1.0 {
            true => Ok(()),
            false => Err(Error::new(
                ErrorKind::Invalid,
                format!("the share {share} of the window is not above 0 and at most 1"),
            )),
        }
    }

    /// A share of the window in units.
    pub(super) fn share(self, share: f64) -> usize {
        // A share of a window is far below what a float holds exactly.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
        let units = (self.window as f64 * share) as usize;
        units
    }

    /// The most units of a prompt.
    pub(super) fn most(self) -> usize {
        self.window.saturating_sub(self.reply)
    }

    /// Refuses a prompt of `units` that leaves no room for any reply, with nothing left to drop.
    ///
    /// # Errors
    /// [`ErrorKind::ContextOverflow`].
    pub(super) fn refuse_full(self, units: usize, dropped: usize) -> Result<()> {
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
pub(super) fn replaced(request: &Request, range: Range<usize>, instead: &[Message]) -> Request {
    let path = request.path.part(range.start, instead, range.end..request.path.len());
    Request { path, ..request.clone() }
}
