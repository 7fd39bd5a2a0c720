//! The room that a window has for a prompt, and requests that are shortened to fit.

use std::ops::Range;

use alloquy_core::report::{CutHistory, Warning};
use alloquy_core::{Error, ErrorKind, Message, Request, Result};

/// A request and what its prompt omits.
///
/// ```
/// use alloquy_context::{DropPolicy, HistoryDrop};
/// use alloquy_core::{Message, Preface, Request};
/// use alloquy_testing::ScriptedModel;
///
/// let model = ScriptedModel::new([("<assistant>", "Hello!")]);
/// let policy = HistoryDrop::new(model, DropPolicy::new(60).reply(10))?;
/// let question = Message::user("The second question");
/// let path = vec![Message::user("The first question"), Message::assistant("Hello!"), question];
/// let fitted = policy.fit(Request::new(Preface::system("Be kind."), path))?;
/// assert_eq!((fitted.dropped, fitted.tokens), (2, 28));
/// assert_eq!(fitted.request.path.len(), 1);
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TrimmedRequest {
    /// The request, with the messages that are left.
    pub request: Request,
    /// What the reply remembers of the omission.
    pub(crate) cut: Option<CutHistory>,
    /// How many messages of its path were dropped.
    pub dropped: usize,
    /// The units that leave its prompt. Each message counts as it did when it was left out.
    pub tokens: usize,
}

impl TrimmedRequest {
    /// A request that omits nothing.
    pub(crate) fn whole(request: Request) -> Self {
        Self { request, cut: None, dropped: 0, tokens: 0 }
    }

    /// Returns the warning of the reply; `None` where nothing is omitted.
    pub fn warning(&self) -> Option<Warning> {
        let dropped = self.dropped;
        let tokens = self.tokens;
        (dropped > 0).then_some(Warning::HistoryShifted { dropped, tokens })
    }
}

/// Where a path continues after the messages that always stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    pub(crate) start: usize,
    /// The units that left the prompt.
    pub(crate) tokens: usize,
}

/// Returns the default room for a reply: MLC's `mean_gen_len`, or a quarter of a small window.
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
    /// [`ErrorKind::Invalid`] for a share of the window that is not above 0 and at most 1.
    pub(crate) fn check_share(share: f64) -> Result<()> {
        if share > 0.0 && share <= 1.0 {
            return Ok(());
        }
        let message = format!("the share {share} of the window is not above 0 and at most 1");
        Err(Error::new(ErrorKind::Invalid, message))
    }

    /// A share of the window in units.
    pub(crate) fn share(self, share: f64) -> usize {
        // A share of a window is far below the numbers that a float cannot represent.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
        let units = (self.window as f64 * share) as usize;
        units
    }

    /// The most units of a prompt.
    pub(crate) fn most(self) -> usize {
        self.window.saturating_sub(self.reply)
    }

    /// Refuses a prompt of `units` that leaves no room for a reply, although nothing else can be dropped.
    ///
    /// # Errors
    /// [`ErrorKind::ContextOverflow`].
    pub(crate) fn refuse_full(self, units: usize, dropped: usize) -> Result<()> {
        if units < self.window {
            return Ok(());
        }
        let message = format!(
            "the last question with what always stays takes {units} tokens, and {} fit: no room for a reply, though {dropped} \
             earlier messages were left out",
            self.window
        );
        Err(Error::new(ErrorKind::ContextOverflow, message))
    }
}

/// Returns a request in which other messages replace a range of the path.
pub(crate) fn replaced(request: &Request, range: Range<usize>, instead: &[Message]) -> Request {
    let mut replaced = request.clone();
    replaced.path = request.path.excerpt(range.start, instead, range.end..request.path.len());
    replaced
}
