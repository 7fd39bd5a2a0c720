//! When turns are summarised, how long a summary may be, and how it is shown.

use alloquy_core::{Error, ErrorKind, Result, Role};

use crate::fitting::{Room, usual_reply};

/// The default instruction for the model that summarises. It is part of the policy's identity, which replies remember.
const INSTRUCTION: &str = "Summarise the conversation below for somebody who has to go on with it, in the language that it is \
    held in. Keep names, numbers, decisions, what was promised and what is still open. Write the summary alone.";

/// When a prompt has a summary of its oldest turns, how long the summary may be, and with which role it is shown.
///
/// ```
/// use alloquy_core::Role;
/// use alloquy_context::SummaryPolicy;
///
/// let policy = SummaryPolicy::new(4096).role(Role::System);
/// assert_eq!((policy.reply, policy.summary, policy.fill), (128, 512, 0.5));
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SummaryPolicy {
    /// How many units fit, prompt and reply together.
    pub window: usize,
    /// How many units are kept free for a reply.
    pub reply: usize,
    /// How many turns at the beginning always stay. The preface and system messages at the beginning of the path stay too.
    pub pinned: usize,
    /// The most tokens of a summary.
    pub summary: usize,
    /// The share of the window that a prompt with a new summary fills; above 0 and at most 1.
    pub fill: f64,
    /// The role of the summary. With [`Role::Assistant`] it is the answer to a question that asks for it, because many templates
    /// require that questions and answers alternate. With any other role it is a single message.
    pub role: Role,
    /// The instruction for the model that summarises, before the conversation.
    pub instruction: String,
}

impl SummaryPolicy {
    /// Returns the policy for a window with the usual values.
    ///
    /// A reply has 128 units, or a quarter of a window below 512, and a summary an eighth of the window. A summarised prompt fills
    /// half of the window, nothing is pinned, and the summary is shown as an answer.
    pub fn new(window: usize) -> Self {
        Self {
            window,
            reply: usual_reply(window),
            pinned: 0,
            summary: window / 8,
            fill: 0.5,
            role: Role::Assistant,
            instruction: INSTRUCTION.to_owned(),
        }
    }

    /// Sets how many units are kept free for a reply.
    #[must_use]
    pub fn reply(mut self, units: usize) -> Self {
        self.reply = units;
        self
    }

    /// Sets how many turns at the beginning always stay.
    #[must_use]
    pub fn pinned(mut self, turns: usize) -> Self {
        self.pinned = turns;
        self
    }

    /// Sets the most tokens of a summary.
    #[must_use]
    pub fn summary(mut self, tokens: usize) -> Self {
        self.summary = tokens;
        self
    }

    /// Sets the share of the window that a prompt with a new summary fills.
    #[must_use]
    pub fn fill(mut self, share: f64) -> Self {
        self.fill = share;
        self
    }

    /// Sets the role of the summary.
    #[must_use]
    pub fn role(mut self, role: Role) -> Self {
        self.role = role;
        self
    }

    /// Sets the instruction for the model that summarises.
    #[must_use]
    pub fn instruction(mut self, text: impl Into<String>) -> Self {
        self.instruction = text.into();
        self
    }

    pub(super) fn validated(self) -> Result<Self> {
        let Self { window, reply, summary, .. } = &self;
        self.room().check()?;
        Room::check_share(self.fill)?;
        if *summary == 0 {
            return Err(Error::new(ErrorKind::Invalid, "a summary of 0 tokens says nothing, at least 1"));
        }
        if summary.saturating_add(*reply) >= *window {
            let message = format!(
                "{summary} tokens of a summary and {reply} for a reply are not below the window of {window}"
            );
            return Err(Error::new(ErrorKind::Invalid, message));
        }
        if self.role == Role::Tool {
            let message = "a summary cannot have the role \"tool\"; one of: system, user, assistant";
            return Err(Error::new(ErrorKind::Invalid, message));
        }
        Ok(self)
    }

    /// Returns the most units of a prompt that was just shortened.
    pub(super) fn filled(&self) -> usize {
        self.room().share(self.fill).min(self.room().most())
    }

    pub(super) fn room(&self) -> Room {
        Room { window: self.window, reply: self.reply }
    }
}
