//! Context shift: which messages a prompt goes without when it no longer fits. Counts tokens; knows no tokenizer.
//!
//! Reference: `GetInputTokens` of `cpp/llm_chat.cc` in MLC LLM of March 2024.

use std::ops::Range;

use alloquy_core::{Error, ErrorKind, Result};

use super::part::{Part, PartKind};

/// When a conversation outgrows its window, and what it goes on with.
///
/// A prompt that leaves no room for a reply is made anew from its front, its system text and its last messages, as
/// many as fill a share of the window. This is MLC's arithmetic on the parts of one prompt; what applies these numbers to
/// conversations, with any template, is `HistoryShift` of alloquy-context.
///
/// ```
/// use alloquy_templates::mlc::{ContextShift, PartKind, PartLength};
///
/// let shift = ContextShift::new(100).with_mean_gen_len(20);
/// let kinds = [PartKind::System, PartKind::User, PartKind::Assistant, PartKind::User, PartKind::Header];
/// let parts = kinds.map(|kind| PartLength { kind, tokens: 19 });
/// assert!(shift.is_due(0, 95));
/// let shifted = shift.plan(&parts)?;
/// assert_eq!(shifted.dropped(), 1..2);
/// assert_eq!(shifted.tokens, 76);
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ContextShift {
    /// How many tokens fit, prompt and reply together.
    pub window: usize,
    /// How many tokens a reply is expected to have.
    pub mean_gen_len: usize,
    /// The share of the window to fill again; above 0 and at most 1.
    pub shift_fill_factor: f64,
    /// What the conversation may go on with.
    pub restart: Restart,
}

/// What a shifted conversation may go on with, behind its system text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Restart {
    /// Any message, an assistant's too.
    #[default]
    AnyMessage,
    /// A message of the user: from the one chosen on, the next such.
    UserMessage,
    /// What MLC did up to May 2024, defects included: a system text is printed twice when nothing can be dropped,
    /// and what does not fit even so is cut at the very beginning, so that BOS and system text are lost.
    AsMlc,
}

/// How many tokens a part of a prompt has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartLength {
    /// What it is.
    pub kind: PartKind,
    /// How many tokens it has.
    pub tokens: usize,
}

/// A prompt without what no longer fits.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Shift {
    /// How many parts are kept at the beginning: the front and the system text.
    pub kept: usize,
    /// The part that the prompt goes on with.
    pub restart: usize,
    /// The tokens of the new prompt that do not fit even so and must be cut; empty when all do.
    pub cut: Range<usize>,
    /// How many tokens the new prompt has, the cut ones not counted.
    pub tokens: usize,
    /// How many tokens are left for the reply; fewer than expected when the messages that must be kept are long.
    pub room: usize,
}

/// MLC's own `mean_gen_len`.
pub(super) const MEAN_GEN_LEN: usize = 128;

/// MLC's own `shift_fill_factor`.
pub(super) const SHIFT_FILL_FACTOR: f64 = 0.3;

impl ContextShift {
    /// Returns MLC's policy for a window: replies of 128 tokens, and 0.3 of the window to fill again.
    pub fn new(window: usize) -> Self {
        Self {
            window,
            mean_gen_len: MEAN_GEN_LEN,
            shift_fill_factor: SHIFT_FILL_FACTOR,
            restart: Restart::default(),
        }
    }

    /// Sets how many tokens a reply is expected to have.
    #[must_use]
    pub fn with_mean_gen_len(mut self, tokens: usize) -> Self {
        self.mean_gen_len = tokens;
        self
    }

    /// Sets the share of the window to fill again.
    #[must_use]
    pub fn with_fill_factor(mut self, share: f64) -> Self {
        self.shift_fill_factor = share;
        self
    }

    /// Sets what the conversation may go on with.
    #[must_use]
    pub fn with_restart(mut self, restart: Restart) -> Self {
        self.restart = restart;
        self
    }

    /// Checks every value.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] naming the value and the valid range.
    pub fn validate(&self) -> Result<()> {
        let invalid = |message| Err(Error::new(ErrorKind::Invalid, message));
        let (window, reply, share) = (self.window, self.mean_gen_len, self.shift_fill_factor);
        if !(share > 0.0 && share <= 1.0) {
            return invalid(format!("shift_fill_factor {share} is not above 0 and at most 1"));
        }
        if reply >= window {
            return invalid(format!("mean_gen_len {reply} is not below the window of {window} tokens"));
        }
        Ok(())
    }

    /// Says whether a session that holds so many tokens must shift before it takes `new` ones.
    pub fn is_due(&self, held: usize, new: usize) -> bool {
        held.saturating_add(new).saturating_add(self.mean_gen_len) >= self.window
    }

    /// Decides what a prompt of these parts goes on with.
    ///
    /// The last two parts, a question and the header of its reply, are always kept.
    ///
    /// # Errors
    /// [`ErrorKind::ContextOverflow`] when front and system text alone leave no room for a reply.
    pub fn plan(&self, parts: &[PartLength]) -> Result<Shift> {
        let is_lead = |part: &&PartLength| matches!(part.kind, PartKind::Front | PartKind::System);
        let kept = parts.iter().take_while(is_lead).count();
        let lead = tokens(parts.iter().take(kept));
        let restart = self.restart_of(parts, kept);
        let whole = lead.saturating_add(tokens(parts.iter().skip(restart)));
        let cut = match whole < self.window {
            true => 0..0,
            false => self.cut(lead, whole)?,
        };
        let left = whole - cut.len();
        Ok(Shift { kept, restart, cut, tokens: left, room: self.window.saturating_sub(left) })
    }

    /// The part to go on with.
    fn restart_of(&self, parts: &[PartLength], kept: usize) -> usize {
        match (self.fitting(parts), self.restart) {
            (Some(found), Restart::UserMessage) => {
                let next = parts.iter().skip(found).position(|part| part.kind == PartKind::User);
                next.map_or(found, |further| found + further)
            }
            (Some(found), Restart::AnyMessage | Restart::AsMlc) => found,
            // All of the messages, and for MLC the system text once more.
            (None, Restart::AsMlc) => after_front(parts),
            (None, Restart::AnyMessage | Restart::UserMessage) => kept,
        }
    }

    /// The first message from the end that fills the share, counting the text that comes first.
    fn fitting(&self, parts: &[PartLength]) -> Option<usize> {
        let first = after_front(parts);
        let mut filled = parts.get(first)?.tokens;
        let share = self.shift_fill_factor * self.window as f64;
        let messages = parts.iter().enumerate().skip(first + 1).rev();
        messages
            .map(|(position, part)| {
                filled = filled.saturating_add(part.tokens);
                (position, filled)
            })
            .find(|(position, filled)| *filled as f64 >= share && position + 2 < parts.len())
            .map(|(position, _)| position)
    }

    fn cut(&self, lead: usize, whole: usize) -> Result<Range<usize>> {
        let fitting = self.window.saturating_sub(self.mean_gen_len);
        let excess = whole - fitting;
        match self.restart {
            Restart::AsMlc => Ok(0..excess),
            Restart::AnyMessage | Restart::UserMessage if lead < fitting => {
                Ok(lead..lead.saturating_add(excess))
            }
            Restart::AnyMessage | Restart::UserMessage => Err(Error::new(
                ErrorKind::ContextOverflow,
                format!(
                    "the system text has {lead} tokens, of a window of {} tokens {} are for the reply",
                    self.window, self.mean_gen_len
                ),
            )),
        }
    }
}

impl Shift {
    /// Returns the parts that the new prompt goes without; none when MLC repeats one.
    pub fn dropped(&self) -> Range<usize> {
        self.kept..self.restart.max(self.kept)
    }

    /// Returns the text of the new prompt, from which the tokens of [`Shift::cut`] are still to be cut.
    pub fn text(&self, parts: &[Part]) -> String {
        let lead = parts.iter().take(self.kept);
        lead.chain(parts.iter().skip(self.restart)).map(|part| part.text.as_str()).collect()
    }
}

/// Where what MLC calls the prompts begins.
fn after_front(parts: &[PartLength]) -> usize {
    parts.iter().take_while(|part| part.kind == PartKind::Front).count()
}

fn tokens<'a>(parts: impl Iterator<Item = &'a PartLength>) -> usize {
    parts.fold(0, |sum, part| sum.saturating_add(part.tokens))
}
